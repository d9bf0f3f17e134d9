/* Products with vectors by part: the caller has one pointer per part, to memory of the part's
 * device or of the host. No vector is copied between them. */
#include "core/fill.h"
#include "plan/tuner.h"

typedef struct by_part {
    tess_product_kind kind;
    int k;
    tess_block_order order;
    double alpha, beta;
    const void *const *x, *const *w;
    void *const *y;
    int64_t ldx, ldy;
    double *dots; /* one number per part, all equal; NULL: none */
} by_part;

static tess_status check(const tess_plan *plan, const char *call, const void *x, const void *y)
{
    if (!plan)
        return TESS_ERR_ARGUMENT;
    if (!plan->device->backend->each_part)
        return tess_fail(plan->ctx, TESS_ERR_ARGUMENT,
                         "%s: the plan's device has one part: open one like \"cuda:0,1\" or "
                         "\"cpu:4,4\"",
                         call);
    if (!x || !y)
        return tess_fail(plan->ctx, TESS_ERR_ARGUMENT, "%s: the list of vectors is NULL", call);
    return TESS_OK;
}

static tess_status check_part(tess_plan *part, int rank, const void *x, const void *y)
{
    if (part->matrix->rows == 0 || (x && y))
        return TESS_OK;
    return tess_fail(part->ctx, TESS_ERR_ARGUMENT, "part %d of a vector is NULL: it has %lld rows",
                     rank, (long long)part->matrix->rows);
}

/* ---- Which rows a part has ---- */

typedef struct looking {
    int rank;
    tess_plan_part found;
} looking;

static tess_status look(void *user, int rank, tess_plan *part, int64_t first_row)
{
    looking *l = user;
    if (rank == l->rank)
        l->found = (tess_plan_part){.device = part->local ? part->local : part->device,
                                    .first_row = first_row,
                                    .rows = part->matrix->rows};
    return TESS_OK;
}

int tess_plan_parts(const tess_plan *plan)
{
    return !plan ? 0 : plan->device->backend->parts ? plan->device->backend->parts(plan) : 1;
}

tess_status tess_plan_get_part(tess_plan *plan, int rank, size_t size, tess_plan_part *out)
{
    TESS_TRY(check(plan, __func__, out, out));
    const int count = tess_plan_parts(plan);
    if (rank < 0 || rank >= count)
        return tess_fail(plan->ctx, TESS_ERR_ARGUMENT, "%s: part %d is not one of 0..%d", __func__,
                         rank, count - 1);
    looking l = {.rank = rank};
    TESS_TRY(plan->device->backend->each_part(plan, look, &l));
    return tess_fill(out, size, &l.found, sizeof *out);
}

/* ---- Products ---- */

static tess_status multiply(void *user, int rank, tess_plan *part, int64_t first_row)
{
    const by_part *c = user;
    const void *x = c->x[rank];
    void *y = c->y[rank];
    (void)first_row;
    TESS_TRY(check_part(part, rank, x, y));
    if (c->kind == TESS_PRODUCT_SPMV_TRANSPOSE)
        return tess_spmv_transpose(part, c->alpha, x, c->beta, y);
    if (c->kind == TESS_PRODUCT_SPMM)
        return tess_spmm(part, c->k, c->order, c->alpha, x, c->ldx, c->beta, y, c->ldy);
    if (c->dots)
        return tess_spmv_dot(part, c->alpha, x, c->beta, y, c->w ? c->w[rank] : NULL,
                             &c->dots[rank]);
    return tess_spmv(part, c->alpha, x, c->beta, y);
}

static tess_status add(void *user, int rank, tess_plan *part, int64_t first_row)
{
    const by_part *c = user;
    (void)first_row;
    TESS_TRY(check_part(part, rank, c->x[rank], c->y[rank]));
    return part->device->backend->dot(part, c->x[rank], c->y[rank], &c->dots[rank]);
}

static tess_status run(tess_plan *plan, const char *call, tess_part_fn body, by_part *c)
{
    TESS_TRY(check(plan, call, c->x, c->y));
    TESS_TRY(tess_plan_follow(plan));
    return plan->device->backend->each_part(plan, body, c);
}

/* The same with a dot product. */
static tess_status run_dot(tess_plan *plan, const char *call, tess_part_fn body, by_part *c,
                           double *dot)
{
    TESS_TRY(check(plan, call, c->x, c->y));
    if (!dot)
        return tess_fail(plan->ctx, TESS_ERR_ARGUMENT, "%s: dot is NULL", call);
    TESS_TRY(TESS_CALLOC(plan->ctx, tess_plan_parts(plan), &c->dots));
    const tess_status status = run(plan, call, body, c);
    if (status == TESS_OK)
        *dot = c->dots[0];
    tess_free(plan->ctx, c->dots);
    return status;
}

tess_status tess_spmv_parts(tess_plan *plan, double alpha, const void *const *x, double beta,
                            void *const *y)
{
    return run(plan, __func__, multiply, &(by_part){.alpha = alpha, .beta = beta, .x = x, .y = y});
}

tess_status tess_spmv_transpose_parts(tess_plan *plan, double alpha, const void *const *x,
                                      double beta, void *const *y)
{
    return run(
        plan, __func__, multiply,
        &(by_part){
            .kind = TESS_PRODUCT_SPMV_TRANSPOSE, .alpha = alpha, .beta = beta, .x = x, .y = y});
}

tess_status tess_spmm_parts(tess_plan *plan, int k, tess_block_order order, double alpha,
                            const void *const *X, int64_t ldx, double beta, void *const *Y,
                            int64_t ldy)
{
    return run(plan, __func__, multiply,
               &(by_part){.kind = TESS_PRODUCT_SPMM,
                          .k = k,
                          .order = order,
                          .alpha = alpha,
                          .beta = beta,
                          .x = X,
                          .y = Y,
                          .ldx = ldx,
                          .ldy = ldy});
}

tess_status tess_spmv_dot_parts(tess_plan *plan, double alpha, const void *const *x, double beta,
                                void *const *y, const void *const *w, double *dot)
{
    return run_dot(plan, __func__, multiply,
                   &(by_part){.alpha = alpha, .beta = beta, .x = x, .y = y, .w = w}, dot);
}

tess_status tess_dot_parts(tess_plan *plan, const void *const *x, const void *const *y, double *dot)
{
    /* y is only read; it is not const because a product writes it. */
    return run_dot(plan, __func__, add, &(by_part){.x = x, .y = (void *const *)(uintptr_t)y}, dot);
}

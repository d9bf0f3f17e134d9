/* Plans of a device of several parts: one plan a part (backend.c). The caller's vectors are whole.
 */
#include "dist/parts.h"

typedef struct tess_parts_plan {
    tess_parts *parts;
    tess_part **part;
    tess_plan **plan;
} tess_parts_plan;

static tess_parts_plan *state_of(const tess_plan *plan)
{
    return plan->state;
}

/* ---- Making and releasing ---- */

typedef struct making {
    tess_parts_plan *p;
    const tess_matrix *A;
    const tess_plan_options *options;
} making;

/* The part's own block gets A's coordinates of its block rows. */
static tess_status take_coordinates(const tess_matrix *A, const tess_part *part)
{
    tess_matrix *own = part->own;
    const int64_t count = own->block_rows * A->dimensions;
    if (!A->coordinates || count == 0)
        return TESS_OK;
    TESS_TRY(TESS_ALLOC(part->ctx, count, &own->coordinates));
    memcpy(own->coordinates, A->coordinates + part->firsts[part->comm.rank] * A->dimensions,
           (size_t)count * sizeof *own->coordinates);
    own->dimensions = A->dimensions;
    return TESS_OK;
}

static tess_status make_one(void *user, int rank)
{
    const making *m = user;
    const tess_parts_member *member = &m->p->parts->member[rank];
    const tess_comm comm = tess_team_comm(m->p->parts->team, rank);
    TESS_TRY(tess_part_deal(member->ctx, &comm, rank == 0 ? m->A : NULL, &m->p->part[rank]));
    m->p->part[rank]->same_process = true;
    TESS_TRY(take_coordinates(m->A, m->p->part[rank]));
    return tess_plan_create_part(m->p->part[rank], member->device, m->options, &m->p->plan[rank]);
}

static tess_status destroy_one(void *user, int rank)
{
    tess_parts_plan *p = user;
    tess_plan_destroy(p->plan[rank]);
    tess_part_destroy(p->part[rank]);
    return TESS_OK;
}

static void release(tess_plan *plan)
{
    tess_parts_plan *p = state_of(plan);
    if (p->part && p->plan)
        (void)tess_parts_run(p->parts, destroy_one, p);
    TESS_FREE(plan->ctx, p->part, p->plan, p);
}

static tess_status prepare(tess_plan *plan, const tess_plan_options *options)
{
    tess_parts_plan *p;
    tess_parts *parts = tess_parts_of(plan->device);
    TESS_TRY(TESS_CALLOC(plan->ctx, 1, &p));
    p->parts = parts;
    plan->state = p;
    tess_status status = TESS_CALLOC(plan->ctx, parts->count, &p->part);
    TESS_THEN(TESS_CALLOC(plan->ctx, parts->count, &p->plan));
    TESS_THEN(tess_parts_run(parts, make_one, &(making){p, plan->matrix, options}));
    if (status != TESS_OK) {
        release(plan);
        return status;
    }
    tess_plan_name_as(plan, p->plan[0]);
    return TESS_OK;
}

/* ---- Products ---- */

typedef struct product {
    tess_parts_plan *p;
    bool transpose, several; /* several: k vectors, in that order */
    int k;
    tess_block_order order;
    double alpha, beta;
    const void *x, *w, *values;
    void *y;
    int64_t ldx, ldy;
    double *dots; /* the dot product as each part has it */
} product;

/* The part's rows of whole vectors. */
static void *rows_of(const product *c, int rank, const void *vectors, int64_t ld)
{
    const tess_part *part = c->p->part[rank];
    const int64_t step = c->several && c->order == TESS_ORDER_ROW_MAJOR ? ld : 1;
    char *data = (char *)(uintptr_t)vectors;
    return data ? data +
                      (size_t)(tess_part_first_row(part, rank) * step) * tess_type_size(part->type)
                : NULL;
}

/* Between two columns of a part lie other parts' rows. A device with memory of its own would copy
 * back stale values for them, so it multiplies one column after the other. */
static tess_status multiply_columns(const product *c, tess_plan *plan, const char *x, char *y)
{
    const size_t scalar = tess_type_size(plan->matrix->type);
    for (int v = 0; v < c->k; v++)
        TESS_TRY(tess_spmv(plan, c->alpha, x + (size_t)(v * c->ldx) * scalar, c->beta,
                           y + (size_t)(v * c->ldy) * scalar));
    return TESS_OK;
}

static tess_status multiply_one(void *user, int rank)
{
    const product *c = user;
    tess_plan *plan = c->p->plan[rank];
    const void *x = rows_of(c, rank, c->x, c->ldx);
    void *y = rows_of(c, rank, c->y, c->ldy);
    if (c->transpose)
        return tess_spmv_transpose(plan, c->alpha, x, c->beta, y);
    if (c->several && c->order == TESS_ORDER_COLUMN_MAJOR &&
        c->p->parts->member[rank].device->backend->owns)
        return multiply_columns(c, plan, x, y);
    if (c->several)
        return tess_spmm(plan, c->k, c->order, c->alpha, x, c->ldx, c->beta, y, c->ldy);
    if (c->dots)
        return tess_spmv_dot(plan, c->alpha, x, c->beta, y, rows_of(c, rank, c->w, 0),
                             &c->dots[rank]);
    return tess_spmv(plan, c->alpha, x, c->beta, y);
}

static tess_status run(tess_plan *plan, tess_team_fn body, product *c)
{
    c->p = state_of(plan);
    return tess_parts_run(c->p->parts, body, c);
}

static tess_status spmv(tess_plan *plan, double alpha, const void *x, double beta, void *y)
{
    return run(plan, multiply_one, &(product){.alpha = alpha, .beta = beta, .x = x, .y = y});
}

static tess_status spmv_transpose(tess_plan *plan, double alpha, const void *x, double beta,
                                  void *y)
{
    return run(plan, multiply_one,
               &(product){.transpose = true, .alpha = alpha, .beta = beta, .x = x, .y = y});
}

static tess_status spmm(tess_plan *plan, int k, tess_block_order order, double alpha, const void *X,
                        int64_t ldx, double beta, void *Y, int64_t ldy)
{
    return run(plan, multiply_one,
               &(product){.several = true,
                          .k = k,
                          .order = order,
                          .alpha = alpha,
                          .beta = beta,
                          .x = X,
                          .y = Y,
                          .ldx = ldx,
                          .ldy = ldy});
}

static tess_status spmv_dot(tess_plan *plan, double alpha, const void *x, double beta, void *y,
                            const void *w, double *dot)
{
    double dots[TESS_PARTS_MOST] = {0};
    TESS_TRY(run(plan, multiply_one,
                 &(product){.alpha = alpha, .beta = beta, .x = x, .y = y, .w = w, .dots = dots}));
    *dot = dots[0];
    return TESS_OK;
}

static tess_status dot_one(void *user, int rank)
{
    const product *c = user;
    tess_plan *plan = c->p->plan[rank];
    return plan->device->backend->dot(plan, rows_of(c, rank, c->x, 0), rows_of(c, rank, c->y, 0),
                                      &c->dots[rank]);
}

static tess_status dot_product(tess_plan *plan, const void *x, const void *y, double *dot)
{
    double dots[TESS_PARTS_MOST] = {0};
    TESS_TRY(run(plan, dot_one, &(product){.x = x, .y = (void *)(uintptr_t)y, .dots = dots}));
    *dot = dots[0];
    return TESS_OK;
}

/* ---- The rest ---- */

/* Gives a part its values. Its block rows are contiguous in A, and so are their values. */
static tess_status update_one(void *user, int rank)
{
    const product *c = user;
    tess_plan *plan = c->p->plan[rank];
    const tess_part *part = c->p->part[rank];
    int64_t at = 0;
    for (int r = 0; r < rank; r++)
        at += c->p->part[r]->entries;
    return tess_plan_update_values(plan, (const char *)c->values +
                                             (size_t)at * tess_part_block_bytes(part));
}

static tess_status update_values(tess_plan *plan, const void *values)
{
    return run(plan, update_one, &(product){.values = values});
}

static void explain(tess_plan *plan)
{
    const tess_parts_plan *p = state_of(plan);
    for (int rank = 0; rank < p->parts->count; rank++)
        tess_append(plan->explain, sizeof plan->explain, "%s", tess_plan_explain(p->plan[rank]));
}

typedef struct each {
    tess_parts_plan *p;
    tess_part_fn body;
    void *user;
} each;

static tess_status each_one(void *user, int rank)
{
    const each *e = user;
    return e->body(e->user, rank, e->p->plan[rank], tess_part_first_row(e->p->part[rank], rank));
}

static tess_status each_part(tess_plan *plan, tess_part_fn body, void *user)
{
    tess_parts_plan *p = state_of(plan);
    return tess_parts_run(p->parts, each_one, &(each){p, body, user});
}

static int count_parts(const tess_plan *plan)
{
    return state_of(plan)->parts->count;
}

const tess_backend tess_parts_backend = {
    .name = "parts",
    .open = tess_parts_open,
    .close = tess_parts_close,
    .prepare = prepare,
    .release = release,
    .spmv = spmv,
    .spmv_transpose = spmv_transpose,
    .spmv_dot = spmv_dot,
    .dot = dot_product,
    .spmm = spmm,
    .update_values = update_values,
    .explain = explain,
    .each_part = each_part,
    .parts = count_parts,
};

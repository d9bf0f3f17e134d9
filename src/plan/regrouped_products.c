/* Products of a regrouped plan: passes around the inner plan's, or none (regrouped.h).
 *
 * Vectors in the memory of a device are permuted by the device, in the plan's stream. Vectors in
 * the host's memory are permuted by the host. The inner product takes either. Buffers for one
 * vector are made with the plan, those for several at the first product with so many.
 */
#include "plan/products.h"
#include "plan/regrouped.h"

/* ---- Where vectors are ---- */

/* Whether the vector is in the memory of a device. */
static bool is_local(const tess_regrouped *r, const void *vector)
{
    const tess_backend *real = r->real->backend;
    return vector && real->owns && real->owns(r->real, vector);
}

static tess_status need(tess_plan *plan, int which, bool local, size_t bytes, void **out)
{
    tess_regrouped *r = tess_regrouped_of(plan);
    tess_regrouped_buffer *b = local ? &r->local[which] : &r->host[which];
    const tess_backend *real = r->real->backend;
    if (b->bytes < bytes) {
        void *data;
        TESS_TRY(local ? real->memory_alloc(r->real, bytes, &data)
                       : tess_alloc_bytes(plan->ctx, (int64_t)bytes, 1, &data));
        if (local)
            real->memory_free(r->real, b->data);
        else
            tess_free(plan->ctx, b->data);
        *b = (tess_regrouped_buffer){data, bytes};
    }
    *out = b->data;
    return TESS_OK;
}

void tess_regrouped_free(tess_ctx *ctx, tess_regrouped *r)
{
    if (!r)
        return;
    const tess_backend *real = r->real->backend;
    for (int i = 0; i < TESS_REGROUPED_BUFFERS; i++) {
        tess_free(ctx, r->host[i].data);
        if (r->local[i].data)
            real->memory_free(r->real, r->local[i].data);
    }
    for (int i = 0; i < 2; i++)
        if (r->device_source[i])
            real->memory_free(r->real, r->device_source[i]);
    tess_matrix_destroy(r->matrix);
    TESS_FREE(ctx, r->source[0], r->source[1], r);
}

/* ---- Passes ---- */

/* Several vectors as a product has them. */
typedef struct vectors {
    int count;
    int64_t row, vector; /* strides */
} vectors;

static const vectors one = {1, 1, 0};

/* Strides of the same vectors in a buffer, without gaps. */
static vectors packed(const tess_plan *plan, const vectors *v)
{
    const bool columns = v->row == 1;
    return (vectors){v->count, columns ? 1 : v->count, columns ? plan->matrix->rows : 1};
}

/* `back`: from the inner order into the caller's. */
static tess_status move(tess_plan *plan, bool back, const void *from, const vectors *f, void *to,
                        const vectors *t, double beta)
{
    const tess_regrouped *r = tess_regrouped_of(plan);
    const bool local = is_local(r, from);
    const tess_permute pass = {.type = plan->matrix->type,
                               .rows = plan->matrix->rows,
                               .vectors = f->count,
                               .source = local ? r->device_source[back] : r->source[back],
                               .fields = r->fields,
                               .to_fields = back,
                               .from = from,
                               .from_row = f->row,
                               .from_vector = f->vector,
                               .to = to,
                               .to_row = t->row,
                               .to_vector = t->vector,
                               .beta = beta};
    if (local)
        return r->real->backend->memory_permute(plan->inner, &pass);
    tess_permute_host(plan->ctx, r->real->threads > 0 ? r->real->threads : plan->ctx->threads,
                      &pass);
    return TESS_OK;
}

tess_status tess_regrouped_take(tess_plan *plan, const void *from, void *to)
{
    return move(plan, false, from, &one, to, &one, 0);
}

tess_status tess_regrouped_give(tess_plan *plan, const void *from, void *to)
{
    return move(plan, true, from, &one, to, &one, 0);
}

static size_t bytes_of(const tess_plan *plan, int64_t count)
{
    return (size_t)(plan->matrix->rows * count) * tess_type_size(plan->matrix->type);
}

tess_status tess_regrouped_alloc(tess_plan *plan, const void *like, int64_t count, void **out)
{
    tess_regrouped *r = tess_regrouped_of(plan);
    if (is_local(r, like))
        return r->real->backend->memory_alloc(r->real, bytes_of(plan, count), out);
    return tess_alloc_bytes(plan->ctx, plan->matrix->rows * count,
                            tess_type_size(plan->matrix->type), out);
}

void tess_regrouped_release(tess_plan *plan, void *given)
{
    tess_regrouped *r = tess_regrouped_of(plan);
    if (is_local(r, given))
        r->real->backend->memory_free(r->real, given);
    else
        tess_free(plan->ctx, given);
}

/* Brings the caller's vectors into a buffer, in the inner order. */
static tess_status bring(tess_plan *plan, int which, const void *from, const vectors *f, void **out)
{
    const vectors t = packed(plan, f);
    TESS_TRY(
        need(plan, which, is_local(tess_regrouped_of(plan), from), bytes_of(plan, f->count), out));
    return move(plan, false, from, f, *out, &t, 0);
}

/* Moves the inner product's result into the caller's y. Where y is on a device and a vector that
 * the product read is not, `waits`: the call returns when y is complete. */
static tess_status give(tess_plan *plan, const void *result, const vectors *f, void *y,
                        const vectors *t, double beta, bool waits)
{
    const tess_regrouped *r = tess_regrouped_of(plan);
    TESS_TRY(move(plan, true, result, f, y, t, beta));
    return waits && is_local(r, y) ? r->real->backend->synchronize(r->real) : TESS_OK;
}

/* ---- Products ---- */

/* A product of the inner plan with vectors by fields. */
typedef struct by_fields {
    tess_product_call call; /* comes first */
    bool *has;              /* whether the kernel that was asked last has such a product */
} by_fields;

static tess_status run_by_fields(tess_plan *inner, const tess_product_call *c)
{
    const tess_fields_product product = {.transpose = c->operation != TESS_OPERATION_NONE,
                                         .alpha = c->alpha,
                                         .beta = c->beta,
                                         .x = c->x,
                                         .w = c->w,
                                         .y = c->y,
                                         .dot = c->dot};
    bool *has = ((const by_fields *)c)->has;
    TESS_TRY(inner->device->backend->fields_multiply(inner, &product, has));
    return *has ? TESS_OK : TESS_ERR_UNSUPPORTED;
}

/* The product without passes. *done is false where there is none, or where the driver refuses it as
 * the inner plan's first product: with passes another kernel may take the place of the inner one.
 */
static tess_status multiply_by_fields(tess_plan *plan, const tess_product_call *call, bool *done)
{
    bool has = tess_regrouped_of(plan)->fused[call->operation != TESS_OPERATION_NONE];
    *done = false;
    if (!has)
        return TESS_OK;
    const tess_kept_error kept = tess_error_keep(plan->ctx);
    by_fields product = {*call, &has};
    product.call.run = run_by_fields;
    const tess_status status = tess_plan_perform(plan->inner, &product.call);
    *done = has && (status != TESS_ERR_DEVICE || plan->inner->proven);
    if (*done)
        return status;
    tess_error_restore(plan->ctx, &kept);
    return TESS_OK;
}

/* The product has run with passes, and will from now on. */
static void take_passes(tess_plan *plan, tess_operation operation)
{
    bool *fused = &tess_regrouped_of(plan)->fused[operation != TESS_OPERATION_NONE];
    if (*fused) {
        *fused = false;
        tess_regrouped_describe(plan);
    }
}

typedef tess_status (*vector_product)(tess_plan *plan, double alpha, const void *x, double beta,
                                      void *y);

static tess_status multiply(tess_plan *plan, tess_operation operation, vector_product run,
                            double alpha, const void *x, double beta, void *y)
{
    const tess_regrouped *r = tess_regrouped_of(plan);
    void *taken, *result;
    bool done;
    if (r->in_place || plan->matrix->rows == 0)
        return run(plan->inner, alpha, x, beta, y);
    const tess_product_call call = {
        .operation = operation, .alpha = alpha, .x = x, .beta = beta, .y = y};
    TESS_TRY(multiply_by_fields(plan, &call, &done));
    if (done)
        return TESS_OK;
    TESS_TRY(bring(plan, TESS_REGROUPED_X, x, &one, &taken));
    TESS_TRY(need(plan, TESS_REGROUPED_Y, is_local(r, y), bytes_of(plan, 1), &result));
    TESS_TRY(run(plan->inner, alpha, taken, 0, result));
    take_passes(plan, operation);
    return give(plan, result, &one, y, &one, beta, !is_local(r, x));
}

static tess_status spmv(tess_plan *plan, double alpha, const void *x, double beta, void *y)
{
    return multiply(plan, TESS_OPERATION_NONE, tess_spmv, alpha, x, beta, y);
}

/* B^T is A^T in the same order. */
static tess_status spmv_transpose(tess_plan *plan, double alpha, const void *x, double beta,
                                  void *y)
{
    return multiply(plan, TESS_OPERATION_TRANSPOSE, tess_spmv_transpose, alpha, x, beta, y);
}

/* y and w are brought too: the dot product is the inner one's. */
static tess_status spmv_dot(tess_plan *plan, double alpha, const void *x, double beta, void *y,
                            const void *w, double *dot)
{
    const tess_regrouped *r = tess_regrouped_of(plan);
    void *taken, *result, *factor = NULL;
    bool done;
    if (r->in_place || plan->matrix->rows == 0)
        return tess_spmv_dot(plan->inner, alpha, x, beta, y, w, dot);
    const tess_product_call call = {
        .alpha = alpha, .x = x, .beta = beta, .y = y, .w = w, .dot = dot};
    TESS_TRY(multiply_by_fields(plan, &call, &done));
    if (done)
        return TESS_OK;
    TESS_TRY(bring(plan, TESS_REGROUPED_X, x, &one, &taken));
    if (beta == 0)
        TESS_TRY(need(plan, TESS_REGROUPED_Y, is_local(r, y), bytes_of(plan, 1), &result));
    else
        TESS_TRY(bring(plan, TESS_REGROUPED_Y, y, &one, &result));
    if (w == x)
        factor = taken;
    else if (w && w != y)
        TESS_TRY(bring(plan, TESS_REGROUPED_W, w, &one, &factor));
    TESS_TRY(tess_spmv_dot(plan->inner, alpha, taken, beta, result, factor, dot));
    take_passes(plan, TESS_OPERATION_NONE);
    return give(plan, result, &one, y, &one, 0, !is_local(r, x) || (factor && !is_local(r, w)));
}

static tess_status spmm(tess_plan *plan, int k, tess_block_order order, double alpha, const void *X,
                        int64_t ldx, double beta, void *Y, int64_t ldy)
{
    const tess_regrouped *r = tess_regrouped_of(plan);
    const bool columns = order == TESS_ORDER_COLUMN_MAJOR;
    const vectors x = {k, columns ? 1 : ldx, columns ? ldx : 1};
    const vectors y = {k, columns ? 1 : ldy, columns ? ldy : 1}, inside = packed(plan, &y);
    const int64_t ld = columns ? plan->matrix->rows : k;
    void *taken, *result;
    if (r->in_place || plan->matrix->rows == 0)
        return tess_spmm(plan->inner, k, order, alpha, X, ldx, beta, Y, ldy);
    TESS_TRY(bring(plan, TESS_REGROUPED_X, X, &x, &taken));
    TESS_TRY(need(plan, TESS_REGROUPED_Y, is_local(r, Y), bytes_of(plan, k), &result));
    TESS_TRY(tess_spmm(plan->inner, k, order, alpha, taken, ld, 0, result, ld));
    return give(plan, result, &inside, Y, &y, beta, !is_local(r, X));
}

/* The sum has another order than A's plan has, which rounding may show. */
static tess_status dot_product(tess_plan *plan, const void *x, const void *y, double *dot)
{
    return plan->inner->device->backend->dot(plan->inner, x, y, dot);
}

/* ---- The rest ---- */

/* Values in device memory come to the host, which puts them in their places. */
static tess_status update_values(tess_plan *plan, const void *values)
{
    tess_regrouped *r = tess_regrouped_of(plan);
    const tess_matrix *A = plan->matrix;
    const int64_t stored = tess_matrix_stored(A);
    void *copy = NULL;
    tess_status status = TESS_OK;
    if (is_local(r, values)) {
        const size_t size = tess_type_size(A->type);
        TESS_TRY_CLEAN(tess_alloc_bytes(plan->ctx, stored, size, &copy));
        TESS_TRY_CLEAN(
            r->real->backend->memory_copy_from(r->real, copy, values, (size_t)stored * size));
    }
    TESS_TRY_CLEAN(
        tess_regroup_values(A, copy ? copy : values, r->source[0], r->source[1], r->matrix));
    TESS_TRY_CLEAN(tess_plan_update_values(plan->inner, r->matrix->values));
    tess_regrouped_describe(plan);
cleanup:
    tess_free(plan->ctx, copy);
    return status;
}

static tess_status set_stream(tess_plan *plan, void *stream)
{
    return tess_plan_set_stream(plan->inner, stream);
}

static void release(tess_plan *plan)
{
    tess_plan_destroy(plan->inner);
    tess_regrouped_free(plan->ctx, tess_regrouped_of(plan));
}

/* The device's table, without the functions that need a plan of the device's own. */
tess_backend tess_regrouped_table(const tess_backend *real)
{
    tess_backend table = *real;
    table.open = NULL;
    table.close = NULL;
    table.prepare = NULL;
    table.settle = NULL;
    table.explain = NULL;
    table.host_values = NULL;
    table.space = table.part_space = NULL;
    table.fields_open = NULL;
    table.fields_multiply = NULL;
    table.multigrid = NULL;
    table.candidates = NULL;
    table.costs = NULL;
    table.operators = NULL;
    table.solves_at_once = NULL;
    table.prepare_ahead = NULL;
    table.release = release;
    table.spmv = spmv;
    table.spmv_transpose = real->spmv_transpose ? spmv_transpose : NULL;
    table.spmv_dot = real->spmv_dot ? spmv_dot : NULL;
    table.dot = real->dot ? dot_product : NULL;
    table.spmm = real->spmm ? spmm : NULL;
    table.update_values = real->update_values ? update_values : NULL;
    table.set_stream = real->set_stream ? set_stream : NULL;
    return table;
}

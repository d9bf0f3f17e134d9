/* Making a regrouped plan, and whether it pays (regrouped.h).
 *
 * An automatic choice takes these steps, and ends at the first one that says no:
 *
 *     glance       a few rows: is detection worth its time?
 *     detection    are there blocks?
 *     model        is their product with its passes faster than A as it is, by a margin?
 *     timing       which of the two is faster? It stays.
 */
#include "plan/regrouped.h"

#include "matrix/detect/regroup.h"
#include "plan/model/model.h"
#include "plan/products.h"

/* The most that a regrouped plan may be predicted to take to be tried, as a share of the time of A
 * as it is: it needs a second copy of the matrix, and detection takes as long as many products. */
#define PAYS 0.9

enum { TIMED = 5, ROUNDS = 2 };

/* ---- Whether ---- */

static tess_status refuse(tess_ctx *ctx, const char *why)
{
    return tess_fail(ctx, TESS_ERR_UNSUPPORTED, "regroup: %s: use TESS_REGROUP_OFF", why);
}

/* Checks what a regrouped plan needs of matrix and device. */
static tess_status check(tess_ctx *ctx, const tess_matrix *A, const tess_device *device)
{
    const tess_backend *backend = device->backend;
    if (backend->each_part || backend->sum)
        return refuse(ctx,
                      "the matrix is held by several parts, which have numberings of their own");
    if (!backend->spmv || (backend->owns && !backend->memory_permute))
        return refuse(ctx, "the device does not bring vectors into another order");
    if (A->rows != A->cols)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "regroup: %lld x %lld: one order of rows and columns needs a square "
                         "matrix: use TESS_REGROUP_OFF",
                         (long long)A->rows, (long long)A->cols);
    return A->rows > INT32_MAX ? refuse(ctx, "the matrix has more than 2^31 - 1 rows") : TESS_OK;
}

/* Returns whether an automatic choice may be looked for: the caller left everything open, and a
 * search would be made too. */
static bool worth_a_glance(const tess_matrix *A, const tess_device *device,
                           const tess_plan_options *options)
{
    const tess_backend *backend = device->backend;
    return options->regroup == TESS_REGROUP_AUTO && options->effort != TESS_EFFORT_ESTIMATE &&
           !options->format && !options->kernel && !options->params && !options->reproducible &&
           !tess_is_complex(A->type) && A->rows == A->cols && A->block_height == 1 &&
           A->block_width == 1 && backend->costs && !backend->each_part && !backend->sum &&
           A->rows <= INT32_MAX && (!backend->owns || backend->memory_permute) &&
           tess_matrix_spmv_bytes(A) >= TESS_TUNER_LEAST_BYTES;
}

/* ---- Making ---- */

/* Makes both lists of rows, and finds out whether there is anything to permute. */
static tess_status list_rows(tess_ctx *ctx, const int64_t *order, int64_t rows, tess_regrouped *r)
{
    TESS_TRY(TESS_ALLOC(ctx, rows, &r->source[0]));
    TESS_TRY(TESS_ALLOC(ctx, rows, &r->source[1]));
    r->in_place = true;
    for (int64_t i = 0; i < rows; i++) {
        r->source[0][i] = (int32_t)order[i];
        r->source[1][order[i]] = (int32_t)i;
        r->in_place = r->in_place && order[i] == i;
    }
    return TESS_OK;
}

/* Sends the lists to the device's memory; an order of fields needs none. */
static tess_status send_rows(int64_t rows, tess_regrouped *r)
{
    const tess_backend *real = r->real->backend;
    const size_t bytes = (size_t)rows * sizeof *r->source[0];
    for (int i = 0; i < 2 && real->owns && r->fields == 0 && bytes > 0; i++) {
        TESS_TRY(real->memory_alloc(r->real, bytes, &r->device_source[i]));
        TESS_TRY(real->memory_copy_to(r->real, r->device_source[i], r->source[i], bytes));
    }
    return TESS_OK;
}

/* Replaces the inner plan by another trial of its search, if that is faster because it needs no
 * passes. The search did not know of passes. It stays, as an explanation. */
static tess_status choose_without_passes(const tess_matrix *A, tess_regrouped *r, tess_plan **inner)
{
    tess_search *search = (*inner)->search;
    tess_plan *other;
    if (!search || !search->open || r->in_place)
        return TESS_OK;
    const int64_t best = tess_regrouped_fastest(A, r, search);
    if (best == search->chosen)
        return TESS_OK;
    const tess_candidate *c = &search->trials[best].candidate;
    const tess_plan_options options = {
        .format = c->format, .kernel = c->kernel, .params = c->params};
    const tess_kept_error kept = tess_error_keep(A->ctx);
    const tess_status status =
        tess_plan_prepare(A->ctx, r->matrix, r->real, &options, false, &other);
    if (status == TESS_ERR_MEMORY)
        return status;
    tess_error_restore(A->ctx, &kept);
    if (status != TESS_OK)
        return TESS_OK;
    search->chosen = best;
    other->search = search;
    other->moves = c->bytes;
    other->memory = c->memory;
    memcpy(r->instead_of, (*inner)->kernel, sizeof r->instead_of);
    (*inner)->search = NULL;
    tess_plan_destroy(*inner);
    *inner = other;
    return TESS_OK;
}

/* Finds out whether y = A x needs no passes, now that the inner plan exists. */
static tess_status fuse(tess_regrouped *r, tess_plan *inner)
{
    const tess_backend *real = r->real->backend;
    bool has = false;
    if (r->fields > 0 && !r->in_place && real->fields_open)
        TESS_TRY(real->fields_open(inner, &has));
    r->fused[0] = r->fused[1] = has;
    return TESS_OK;
}

/* Buffers of the passes for one vector, so that a product does not allocate. */
static tess_status reserve(tess_ctx *ctx, const tess_matrix *A, tess_regrouped *r)
{
    const tess_backend *real = r->real->backend;
    const bool passes = tess_regrouped_pass_bytes(A, r) > 0;
    const size_t bytes = passes ? (size_t)A->rows * tess_type_size(A->type) : 0;
    for (int i = TESS_REGROUPED_X; i <= TESS_REGROUPED_Y && bytes > 0; i++) {
        tess_regrouped_buffer *b = real->owns ? &r->local[i] : &r->host[i];
        TESS_TRY(real->owns ? real->memory_alloc(r->real, bytes, &b->data)
                            : tess_alloc_bytes(ctx, (int64_t)bytes, 1, &b->data));
        b->bytes = bytes;
    }
    return TESS_OK;
}

/* B and all that goes with it, without its plan. */
static tess_status prepare(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                           const tess_regrouping *R, tess_regrouped **out)
{
    tess_regrouped *r;
    int64_t *order = NULL;
    TESS_TRY(TESS_CALLOC(ctx, 1, &r));
    r->real = device;
    r->block = R->block;
    r->fields = R->fields;
    memcpy(r->reason, R->reason, sizeof r->reason);
    r->table = tess_regrouped_table(device->backend);
    r->device = *device;
    r->device.backend = &r->table;
    r->device.performance = NULL;
    tess_status status;
    TESS_TRY_CLEAN(tess_progress(ctx, "permuting", 0, 1));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->rows, &order));
    memcpy(order, R->order, (size_t)A->rows * sizeof *order);
    TESS_TRY_CLEAN(tess_regroup_matrix(ctx, A, order, R->block, &r->matrix));
    if (r->fields == 0) /* fields keep the order of their nodes */
        TESS_TRY_CLEAN(tess_regroup_near(ctx, &r->matrix, order, &r->near));
    TESS_TRY_CLEAN(list_rows(ctx, order, A->rows, r));
    *out = r;
    r = NULL;
cleanup:
    tess_free(ctx, order);
    tess_regrouped_free(ctx, r);
    return status;
}

/* The inner plan, and the plan around it, which takes over r. */
static tess_status wrap(tess_ctx *ctx, const tess_matrix *A, const tess_plan_options *options,
                        tess_regrouped *r, tess_plan **out)
{
    tess_plan_options inside = *options;
    tess_plan *plan = NULL, *inner = NULL;
    tess_status status;
    inside.regroup = TESS_REGROUP_OFF;
    TESS_TRY_CLEAN(tess_plan_create(ctx, r->matrix, r->real, &inside, &inner));
    TESS_TRY_CLEAN(choose_without_passes(A, r, &inner));
    TESS_TRY_CLEAN(send_rows(A->rows, r));
    TESS_TRY_CLEAN(fuse(r, inner));
    TESS_TRY_CLEAN(reserve(ctx, A, r));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 1, &plan));
    *plan = (tess_plan){.ctx = ctx,
                        .device = &r->device,
                        .matrix = A,
                        .all_rows = A->rows,
                        .values = A->values,
                        .version = A->version,
                        .state = r,
                        .inner = inner,
                        .named = inner->named};
    tess_regrouped_describe(plan);
    tess_word_open(&plan->turn);
    *out = plan;
    return TESS_OK;
cleanup:
    tess_plan_destroy(inner);
    tess_regrouped_free(ctx, r);
    return status;
}

/* ---- Asked for ---- */

static tess_status make_asked(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                              const tess_plan_options *options, tess_plan **out)
{
    const double start = tess_seconds();
    tess_regrouping *R;
    tess_regrouped *r;
    TESS_TRY(check(ctx, A, device));
    TESS_TRY(tess_detect_regrouping(ctx, A, NULL, &R));
    tess_status status =
        R->block > 1
            ? prepare(ctx, A, device, R, &r)
            : tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                        "regroup: %s: leave TESS_REGROUP_ON out, and a plan takes A as it is",
                        R->reason);
    tess_regrouping_destroy(R);
    TESS_TRY(status);
    TESS_TRY(wrap(ctx, A, options, r, out));
    r->seconds = tess_seconds() - start;
    return TESS_OK;
}

/* ---- By itself ---- */

/* Finds out whether B with its passes is predicted to be faster than A's plan. */
static tess_status predicted_to_pay(tess_plan *plain, tess_regrouped *r, bool *pays)
{
    tess_candidate B;
    const tess_candidate A = tess_plan_priced(plain);
    TESS_TRY(tess_regrouped_estimate(plain->matrix, r, A.predicted <= 0, &B));
    const bool fuses = tess_regrouped_fuses(r, &B);
    const double passes = fuses ? 0 : tess_regrouped_pass_seconds(plain->matrix, r, B.bytes);
    const double pass_bytes = fuses ? 0 : tess_regrouped_pass_bytes(plain->matrix, r);
    const double regrouped = tess_candidate_doubted(&B) + passes;
    r->plain_seconds = A.predicted;
    if (A.predicted > 0 && B.predicted > 0)
        *pays = regrouped < PAYS * A.predicted;
    else
        *pays = B.bytes + pass_bytes < PAYS * A.bytes;
    tess_log(plain->ctx, "regroup: %s; predicted %.3g ms instead of %.3g ms: %s", r->reason,
             1e3 * regrouped, 1e3 * A.predicted, *pays ? "tried" : "not taken");
    return TESS_OK;
}

/* The median of a plan's runs in two turns. */
static tess_status time_both(tess_plan *plans[2], double seconds[2])
{
    tess_ctx *ctx = plans[0]->ctx;
    const tess_matrix *A = plans[0]->matrix;
    const tess_product product = {.kind = TESS_PRODUCT_SPMV};
    double times[2][ROUNDS * TIMED];
    void *x = NULL, *y = NULL;
    tess_status status;
    TESS_TRY_CLEAN(tess_alloc_bytes(ctx, A->cols, tess_type_size(A->type), &x));
    TESS_TRY_CLEAN(tess_calloc_bytes(ctx, A->rows, tess_type_size(A->type), &y));
    tess_random_vector(x, A->cols, A->type);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < 2; i++) {
            double *into = times[i] + round * TIMED;
            TESS_TRY_CLEAN(tess_product_time(plans[i], &product, 1, x, 0, y, 1, into));
            TESS_TRY_CLEAN(tess_product_time(plans[i], &product, 1, x, 0, y, TIMED, into));
        }
    for (int i = 0; i < 2; i++)
        seconds[i] = tess_median(times[i], ROUNDS * TIMED);
cleanup:
    TESS_FREE(ctx, x, y);
    return status;
}

/* Puts a regrouped plan in the place of *plan, if it is measured to be faster. */
static tess_status challenge(tess_regrouped *r, const tess_plan_options *options, double start,
                             tess_plan **plan)
{
    tess_plan *plans[2] = {*plan, NULL};
    double seconds[2] = {0};
    TESS_TRY(wrap((*plan)->ctx, (*plan)->matrix, options, r, &plans[1]));
    const tess_status status = time_both(plans, seconds);
    const bool won = status == TESS_OK && seconds[1] < seconds[0];
    tess_log((*plan)->ctx, "regroup: %.3g ms instead of %.3g ms", 1e3 * seconds[1],
             1e3 * seconds[0]);
    r->plain_seconds = seconds[0];
    r->measured = true;
    r->seconds = tess_seconds() - start;
    tess_plan_destroy(plans[!won]);
    *plan = plans[won];
    return status;
}

static tess_status look(tess_ctx *ctx, const tess_plan_options *options, tess_plan **plan)
{
    const double start = tess_seconds();
    const tess_matrix *A = (*plan)->matrix;
    tess_device *device = (*plan)->device;
    tess_regrouping *R;
    tess_regrouped *r;
    bool promising, pays = false;
    TESS_TRY(tess_glance_regrouping(ctx, A, &promising));
    if (!promising)
        return TESS_OK;
    TESS_TRY(tess_detect_regrouping(ctx, A, NULL, &R));
    tess_status status = R->block > 1 ? prepare(ctx, A, device, R, &r) : TESS_OK;
    const bool found = R->block > 1;
    tess_regrouping_destroy(R);
    if (status != TESS_OK || !found)
        return status;
    status = predicted_to_pay(*plan, r, &pays);
    if (status == TESS_OK && pays)
        return challenge(r, options, start, plan);
    tess_regrouped_free(ctx, r);
    return status;
}

tess_status tess_plan_regroup(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                              const tess_plan_options *options, tess_plan **plan)
{
    if (options->regroup == TESS_REGROUP_ON)
        TESS_TRY(tess_refuse_complex(ctx, "regroup", A->type));
    if (options->regroup == TESS_REGROUP_ON)
        return make_asked(ctx, A, device, options, plan);
    if (!worth_a_glance(A, device, options))
        return TESS_OK;
    /* Whatever fails here, memory or a stop included, leaves the plan that there is. */
    const tess_kept_error kept = tess_error_keep(ctx);
    if (look(ctx, options, plan) != TESS_OK)
        tess_error_restore(ctx, &kept);
    return TESS_OK;
}

/* tess_predict: the model's answers as a public structure. */
#include "plan/model/model.h"
#include "plan/tuner.h"

enum { DEVICES_MAX = 1024, SOLVES_MAX = 16 };

/* One allocation each. */
typedef struct prediction {
    tess_prediction public;
    tess_ctx *ctx;
    tess_predicted_kernel *kernels;
    tess_predicted_solve solves[SOLVES_MAX];
} prediction;

void tess_prediction_destroy(tess_prediction *p)
{
    prediction *whole = (prediction *)p;
    if (!whole)
        return;
    TESS_FREE(whole->ctx, whole->kernels, whole);
}

/* ---- Kernels ---- */

static bool comes_before(const tess_predicted_kernel *a, const tess_predicted_kernel *b)
{
    return a->seconds > 0 && (!(b->seconds > 0) || a->seconds < b->seconds);
}

/* A plan looks at the candidates in the order of times that are doubted for some formats (rank.c).
 * Who reads predictions gets what it would take first, then the others by the times that are
 * printed; equal ones, a kernel's parameters, as they are. */
static void sort_others(tess_predicted_kernel *kernels, int64_t count)
{
    for (int64_t i = 2; i < count; i++) {
        const tess_predicted_kernel moved = kernels[i];
        int64_t to = i;
        for (; to > 1 && comes_before(&moved, &kernels[to - 1]); to--)
            kernels[to] = kernels[to - 1];
        kernels[to] = moved;
    }
}

/* *iterated: the product of an iteration. */
static tess_status predict_kernels(const tess_model *model, const tess_matrix *A,
                                   tess_device *device, prediction *p, tess_model_problem *iterated)
{
    tess_product product = {.kind = TESS_PRODUCT_SPMV, .effort = TESS_EFFORT_ESTIMATE};
    product.shapes = tess_search_shapes(TESS_EFFORT_ESTIMATE, A);
    tess_candidates list = {0};
    tess_model_problem problem = tess_model_problem_of(A);
    const tess_backend *backend = device->backend;
    problem.at_once = backend->solves_at_once && backend->solves_at_once(device, A);
    tess_status status;
    TESS_TRY_CLEAN(tess_candidates_list(device, A, &product, &list));
    TESS_TRY_CLEAN(TESS_CALLOC(device->ctx, list.count + 1, &p->kernels));
    for (int64_t i = 0; i < list.count; i++) {
        const tess_candidate *c = &list.items[i];
        tess_predicted_kernel *k = &p->kernels[p->public.kernel_count++];
        memcpy(k->format, c->format, sizeof k->format);
        memcpy(k->kernel, c->kernel, sizeof k->kernel);
        memcpy(k->params, c->params, sizeof k->params);
        tess_model_problem_take(&problem, c);
        k->bytes = c->bytes;
        k->memory = c->memory;
        k->seconds = c->predicted;
        k->best_seconds = tess_model_spmv(model, &problem, 1, true);
        if (i == 0) /* what a plan takes */
            *iterated = problem;
    }
    if (!model->foreign)
        sort_others(p->kernels, p->public.kernel_count);
cleanup:
    tess_candidates_free(device->ctx, &list);
    return status;
}

/* ---- Devices ---- */

/* 1, 2, 4 ... and `most`. */
static void predict_solves(const tess_model *model, const tess_model_problem *problem,
                           const tess_link *link, int most, prediction *p)
{
    p->public.worthwhile = 1;
    for (int n = 1; n <= most; n = n < most && 2 * n > most ? most : 2 * n) {
        tess_predicted_solve *s = &p->solves[p->public.solve_count];
        if (!tess_model_solve(model, problem, link, n, s))
            return;
        p->public.solve_count++;
        s->speedup = p->solves[0].iteration / s->iteration;
        if (s->speedup >= 0.5 * n)
            p->public.worthwhile = n;
    }
}

/* ---- The whole ---- */

static tess_status predict(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                           const tess_predict_options *options, prediction *p)
{
    const tess_model *model = tess_device_performance(device);
    tess_model_problem iterated = {0};
    if (!model)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "no model of device '%s': `tessera calibrate` makes one where it can be "
                         "measured",
                         device->model[0] ? device->model : device->backend->name);
    memcpy(p->public.model, model->device, sizeof p->public.model);
    p->public.stand_in = model->stand_in;
    TESS_TRY(predict_kernels(model, A, device, p, &iterated));
    tess_link link = tess_model_link(model, options->link_bandwidth, options->sync_seconds);
    predict_solves(model, &iterated, &link, options->devices > 0 ? options->devices : 1, p);
    p->public.kernels = p->kernels;
    p->public.solves = p->solves;
    return TESS_OK;
}

tess_status tess_predict(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                         const tess_predict_options *given, tess_prediction **out)
{
    tess_predict_options taken;
    const tess_predict_options *options = &taken;
    if (!ctx || !A || !device || !out)
        return tess_null_argument(ctx, __func__);
    TESS_TRY(TESS_TAKE_OPTIONS(ctx, tess_predict_options, given, &taken));
    if (options->devices < 0 || options->devices > DEVICES_MAX)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_predict: devices = %d is outside 0..%d",
                         options->devices, DEVICES_MAX);
    if (!(options->link_bandwidth >= 0) || !(options->sync_seconds >= 0))
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_predict: link_bandwidth = %g and sync_seconds = %g: both are at "
                         "least 0",
                         options->link_bandwidth, options->sync_seconds);
    prediction *p;
    TESS_TRY(TESS_CALLOC(ctx, 1, &p));
    p->ctx = ctx;
    tess_status status = predict(ctx, A, device, options, p);
    if (status != TESS_OK) {
        tess_prediction_destroy(&p->public);
        return status;
    }
    *out = &p->public;
    return TESS_OK;
}

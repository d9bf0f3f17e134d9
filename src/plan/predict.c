/* tess_predict: the model's answers as a public structure. */
#include "plan/model/model.h"
#include "plan/tuner.h"

#include <math.h>

enum { SOLVES_MAX = 16 };

/* What a caller's tess_prediction is part of. */
typedef struct prediction {
    tess_prediction public;
    tess_ctx *ctx;
    tess_predicted_kernel *kernels;
    tess_predicted_solve solves[SOLVES_MAX], weak[SOLVES_MAX];
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

/* A plan looks at candidates in the order of times that are doubted for some formats (rank.c). A
 * prediction lists first what a plan would take, then the others by their undoubted times.
 * Candidates with equal times, which are one kernel with several parameters, keep their order. */
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
    sort_others(p->kernels, p->public.kernel_count);
cleanup:
    tess_candidates_free(device->ctx, &list);
    return status;
}

/* ---- Devices ---- */

/* What the predictions for all numbers of devices share. */
typedef struct devices_work {
    const tess_model *model;
    const tess_model_problem *problem;
    const tess_matrix *A;
    const tess_predict_options *options;
    tess_link link;
    bool parts;                          /* A can be dealt out */
    tess_model_split splits[SOLVES_MAX]; /* by the number of the prediction */
} devices_work;

/* The largest number of bytes, rows, halo rows and neighbours that any part has. */
static tess_status split_of(tess_ctx *ctx, const devices_work *work, int devices, prediction *p,
                            tess_model_split *out)
{
    tess_partition *partition;
    TESS_TRY(tess_partition_create(ctx, work->A, devices, work->options->partition, &partition));
    snprintf(p->public.partition, sizeof p->public.partition, "%s", partition->name);
    const double row = (double)tess_type_size(work->A->type) * work->A->block_height;
    tess_partition_part most = {0};
    double all = 0;
    for (int r = 0; r < partition->count; r++) {
        const tess_partition_part *part = &partition->parts[r];
        all += part->bytes - (double)part->halo * row;
        most.bytes = fmax(most.bytes, part->bytes);
        most.rows = tess_max(most.rows, part->rows);
        most.halo = tess_max(most.halo, part->halo);
        most.neighbours = (int)tess_max(most.neighbours, part->neighbours);
    }
    *out = (tess_model_split){.bytes = all > 0 ? most.bytes / all : 1,
                              .rows = most.rows > 0 ? (double)most.rows / (double)work->A->rows : 1,
                              .halo = (double)most.halo * row,
                              .messages = most.neighbours};
    tess_partition_destroy(partition);
    return TESS_OK;
}

/* Eq. 10: of the product's flops, those of entries that are not 0. */
static void count_useful(const tess_model_problem *problem, const prediction *p,
                         tess_predicted_solve *solve)
{
    const double times = solve->flops / (2 * problem->stored + 13 * problem->rows);
    solve->useful_flops = times * (2 * problem->stored * p->public.density + 13 * problem->rows);
}

/* Predicts solves on 1, 2, 4 ... and `most` devices. */
static tess_status predict_solves(tess_ctx *ctx, devices_work *work, int most, prediction *p)
{
    p->public.worthwhile = 1;
    for (int n = 1; n <= most; n = n < most ? tess_min(most, 2 * n) : 2 * n) {
        const int64_t at = p->public.solve_count;
        tess_predicted_solve *s = &p->solves[at];
        work->link.split = NULL;
        if (n > 1 && work->parts) {
            TESS_TRY(split_of(ctx, work, n, p, &work->splits[at]));
            work->link.split = &work->splits[at];
        }
        if (!tess_model_solve(work->model, work->problem, &work->link, n, s))
            return TESS_OK;
        p->public.solve_count++;
        count_useful(work->problem, p, s);
        s->speedup = p->solves[0].iteration / s->iteration;
        if (s->speedup >= 0.5 * n)
            p->public.worthwhile = n;
    }
    return TESS_OK;
}

/* The power of a part's rows by which its halo grows: 0 for slabs, 2/3 for boxes of a cube, 1 where
 * columns have no locality. Least squares of the logarithms; 2/3 where one partition is all there
 * is. */
static double halo_power(const devices_work *work, const prediction *p)
{
    double count = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (int64_t i = 1; i < p->public.solve_count; i++) {
        const tess_model_split *s = &work->splits[i];
        if (!(s->halo > 0))
            continue;
        const double rows = log(s->rows), halo = log(s->halo);
        count++;
        x += rows;
        y += halo;
        xx += rows * rows;
        xy += rows * halo;
    }
    const double spread = count * xx - x * x;
    const double power = count > 1 && spread > 0 ? (count * xy - x * y) / spread : 2.0 / 3;
    return fmin(fmax(power, 0), 1);
}

/* n matrices of the problem's size, one after the other. */
static tess_model_problem times(const tess_model_problem *problem, double n)
{
    tess_model_problem p = *problem;
    p.rows *= n;
    p.stored *= n;
    p.blocks *= n;
    p.far *= n;
    p.block_rows *= n;
    p.changes *= n;
    p.alone *= n;
    p.bytes *= n;
    return p;
}

/* Each device has as many rows as A, and shares are as uneven as those of A's parts. */
static void predict_weak(const devices_work *work, prediction *p)
{
    const double power = halo_power(work, p);
    for (int64_t i = 0; i < p->public.solve_count && work->parts; i++) {
        const int n = p->solves[i].devices;
        const tess_model_problem all = times(work->problem, n);
        tess_model_split grown = work->splits[i];
        tess_predicted_solve *s = &p->weak[i];
        tess_link link = work->link;
        grown.halo *= pow(n, power);
        link.split = &grown;
        if (!tess_model_solve(work->model, &all, &link, n, s))
            return;
        count_useful(work->problem, p, s);
        s->speedup = p->weak[0].iteration / s->iteration;
        p->public.weak_count++;
    }
}

static tess_status predict_devices(tess_ctx *ctx, const tess_model *model,
                                   const tess_model_problem *iterated, const tess_matrix *A,
                                   const tess_predict_options *options, prediction *p)
{
    const bool square = A->rows == A->cols && A->block_height == A->block_width;
    devices_work work = {.model = model,
                         .problem = iterated,
                         .A = A,
                         .options = options,
                         .link = tess_model_link(model, options),
                         .parts = square || options->partition};
    tess_statistics statistics;
    TESS_TRY(tess_matrix_statistics(ctx, A, &statistics));
    p->public.density = iterated->stored > 0 ? (double)statistics.nonzeros / iterated->stored : 1;
    TESS_TRY(predict_solves(ctx, &work, options->devices > 0 ? options->devices : 1, p));
    predict_weak(&work, p);
    return TESS_OK;
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
    TESS_TRY(predict_devices(ctx, model, &iterated, A, options, p));
    p->public.kernels = p->kernels;
    p->public.solves = p->solves;
    p->public.weak = p->weak;
    return TESS_OK;
}

tess_status tess_predict(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                         const tess_predict_options *given, tess_prediction **out)
{
    tess_predict_options taken;
    const tess_predict_options *options = &taken;
    if (!ctx || !A || !device || !out)
        return tess_null_argument(ctx, __func__);
    TESS_TRY(tess_model_take_options(ctx, __func__, given, &taken));
    TESS_TRY(tess_refuse_complex(ctx, __func__, A->type));
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

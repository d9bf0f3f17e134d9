/* A product and a CG iteration of one matrix: their operations, summed. */
#include "plan/model/model.h"

tess_model_problem tess_model_problem_of(const tess_matrix *A)
{
    int64_t longest = 0, changes = 0, before = -1;
    for (int64_t i = 0; i < A->block_rows; i++) {
        int64_t length = A->row_offsets[i + 1] - A->row_offsets[i];
        longest = tess_max(length, longest);
        changes += length != before;
        before = length;
    }
    double size = sqrt((double)A->block_height * A->block_width);
    return (tess_model_problem){.rows = (double)A->rows,
                                .stored = (double)tess_matrix_stored(A),
                                .blocks = (double)A->blocks,
                                .far = tess_matrix_scattered(A) * (double)A->blocks,
                                .block_rows = (double)A->block_rows,
                                .changes = (double)changes,
                                .longest = (double)longest,
                                .x_bytes = (double)A->cols * (double)tess_type_size(A->type),
                                .block = (int32_t)(size + 0.5),
                                .type = A->type,
                                .bytes = tess_matrix_spmv_bytes(A)};
}

void tess_model_problem_take(tess_model_problem *problem, const tess_candidate *candidate)
{
    memcpy(problem->name, candidate->class_name, sizeof problem->name);
    problem->bytes = candidate->bytes;
    memcpy(problem->irregular_as, candidate->irregular_as, sizeof problem->irregular_as);
    memcpy(problem->single_class, candidate->single_class, sizeof problem->single_class);
    problem->alone = candidate->alone;
    problem->left = candidate->left;
    problem->idle = candidate->idle;
    problem->waits = candidate->waits;
}

double tess_model_longer(const tess_model_problem *p)
{
    return p->block_rows > 0 ? fmax(p->longest - p->blocks / p->block_rows, 0) : 0;
}

/* Whether a GPU's kernels cut the longest rows. */
static bool has_long_rows(const tess_model_problem *p)
{
    return p->block_rows > 0 && p->longest > 2 * p->blocks / p->block_rows + 8;
}

/* Whether a class of a GPU was measured with long rows. Where it was not, nothing can be predicted:
 * a kernel that does not cut them takes a hundred times as long. */
static bool knows_long_rows(const tess_model *model, const tess_model_problem *p)
{
    const tess_extra_key longest = {p->name, p->block, p->type, TESS_EXTRA_LONGEST};
    const tess_extra_key cut = {p->name, p->block, p->type, TESS_EXTRA_CUT};
    return !model->gpu || tess_model_extra_at(model, &longest, 0, -1) >= 0 ||
           tess_model_extra_at(model, &cut, 0, -1) >= 0;
}

/* A device's share of the product, with `beside` bytes of other data touched between two
 * products. */
static tess_model_load load_beside(const tess_model_problem *p, double n, double beside)
{
    return (tess_model_load){.name = p->name,
                             .block = p->block,
                             .type = p->type,
                             .bytes = p->bytes / n,
                             .block_rows = p->block_rows / n,
                             .length = p->block_rows > 0 ? p->blocks / p->block_rows : 0,
                             .waits = p->waits,
                             .scalars = p->blocks > 0 ? p->stored / p->blocks : 0,
                             .working = p->bytes / n + beside};
}

/* How much longer a product takes because one stream does a share of it after the others have
 * ended. */
static double seconds_left(const tess_model *model, const tess_model_problem *p,
                           const tess_model_load *load, double seconds, bool best)
{
    tess_model_load alone = *load;
    if (!(p->left > 0) || !p->single_class[0])
        return 0;
    alone.name = p->single_class;
    double more = tess_model_seconds(model, &alone, best) - seconds;
    return more > 0 ? p->left * more : 0;
}

static double spmv_beside(const tess_model *model, const tess_model_problem *p, double n,
                          double beside, bool best)
{
    tess_model_load load = load_beside(p, n, beside);
    double seconds = tess_model_seconds(model, &load, best);
    if (!(seconds > 0) || (has_long_rows(p) && !knows_long_rows(model, p)))
        return 0;
    double shared = p->changes * tess_model_extra_seconds(model, p, TESS_EXTRA_CHANGE) +
                    p->alone * tess_model_extra_seconds(model, p, TESS_EXTRA_ALONE) +
                    p->far * tess_model_extra_seconds(model, p, TESS_EXTRA_FAR);
    double resident = tess_model_resident_share(model, &load);
    double alone = tess_model_longer(p) * tess_model_extra_seconds(model, p, TESS_EXTRA_LONGEST) +
                   (1 - resident) * p->idle;
    seconds += seconds_left(model, p, &load, seconds, best);
    /* In the cubes that curves are fitted to, a tenth of the rows change their length, at the
     * faces. */
    if (p->changes > 0.15 * p->block_rows)
        alone += resident * tess_model_extra_seconds(model, p, TESS_EXTRA_UNEVEN);
    if (has_long_rows(p))
        alone += tess_model_extra_seconds(model, p, TESS_EXTRA_CUT);
    return seconds + shared / n + alone;
}

double tess_model_spmv(const tess_model *model, const tess_model_problem *problem, int devices,
                       bool best)
{
    return spmv_beside(model, problem, devices, 0, best);
}

/* The doubt of an unsteady kernel between two calibrated block sizes: nine of ten cases take at
 * most this many times the predicted time (H200, 180 cases of all block sizes). For ksparse_large
 * it is 1.4 times. For sliced, which is steady, it is 1.04 times in f64 and 1.13 in f32. */
static const double unsteady_doubt = 1.25;

double tess_model_spmv_doubt(const tess_model *model, const tess_model_problem *problem,
                             bool unsteady)
{
    const tess_model_load load = load_beside(problem, 1, 0);
    const double doubt = tess_model_doubt(model, &load);
    return unsteady && !tess_model_calibrated(model, &load) ? unsteady_doubt * doubt : doubt;
}

/* ---- An iteration ---- */

/* Vectors that the passes move, and that are touched between two products. */
enum { DOT = 2, RESIDUAL = 5, DIRECTION = 5, MOVED = DOT + RESIDUAL + DIRECTION, TOUCHED = 6 };

/* Seconds of the passes: those beside a matrix that stays in a GPU's cache and those beside one
 * that goes through it, blended by the share of the matrix that stays. */
static double seconds_of_passes(const tess_model *model, const tess_model_load *passes,
                                double resident, bool best)
{
    tess_model_load streamed = *passes;
    streamed.name = TESS_MODEL_STREAMED;
    double in = tess_model_seconds(model, passes, best);
    double out = tess_model_seconds_from(model, &streamed, true, best);
    if (!(in > 0) || !(out > 0))
        return in > 0 ? in : out;
    return resident * in + (1 - resident) * out;
}

/* The whole iteration in one launch; 0: the model does not know its time. */
static double seconds_at_once(const tess_model *model, const tess_model_problem *p, int devices,
                              bool best)
{
    tess_model_load load = {.name = TESS_MODEL_AT_ONCE,
                            .type = p->type,
                            .bytes = p->bytes,
                            .block_rows = p->block_rows,
                            .working = p->bytes};
    return p->at_once && devices == 1 ? tess_model_seconds_from(model, &load, true, best) : 0;
}

/* ---- Several devices ---- */

/* Eq. 11's copies and synchronisations, and the sums of dot products that an iteration waits for.
 */
enum { SYNCS = 4, SUMS = 2 };

tess_status tess_model_take_options(tess_ctx *ctx, const char *call,
                                    const tess_predict_options *given, tess_predict_options *out)
{
    enum { DEVICES_MAX = 1024 };
    tess_predict_options taken;
    TESS_TRY(TESS_TAKE_OPTIONS(ctx, tess_predict_options, given, &taken));
    if (taken.devices < 0 || taken.devices > DEVICES_MAX)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "%s: devices = %d is outside 0..%d", call,
                         taken.devices, DEVICES_MAX);
    if (!(taken.link_bandwidth >= 0) || !(taken.sync_seconds >= 0) || !(taken.latency_seconds >= 0))
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "%s: link_bandwidth = %g, sync_seconds = %g and latency_seconds = %g: all "
                         "are at least 0",
                         call, taken.link_bandwidth, taken.sync_seconds, taken.latency_seconds);
    if (taken.shared != 0 && taken.shared != 1)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "%s: shared = %d is neither 0 nor 1", call,
                         taken.shared);
    *out = taken;
    return TESS_OK;
}

tess_link tess_model_link(const tess_model *model, const tess_predict_options *options)
{
    static const double default_link = 50e9, default_sync = 10e-6, default_latency = 2e-6;
    tess_link link = {.transfer = {.mu = 19, .sigma = 1.4, .nu = default_link},
                      .sync_seconds =
                          options->sync_seconds > 0 ? options->sync_seconds : default_sync,
                      .latency_seconds =
                          options->latency_seconds > 0 ? options->latency_seconds : default_latency,
                      .shared = options->shared};
    for (int64_t i = 0; i < model->curve_count; i++)
        if (strcmp(model->curves[i].name, TESS_MODEL_COPIES) == 0)
            link.transfer = model->curves[i].average;
    if (options->link_bandwidth > 0)
        link.transfer.nu = options->link_bandwidth;
    return link;
}

/* T_idc of eq. 11 for `bytes` bytes: fewer bytes never take longer. */
static double transfer_seconds(const tess_link *link, double bytes)
{
    const double size = fmax(bytes, tess_sigmoid_turn(&link->transfer));
    return size / tess_sigmoid_value(&link->transfer, size);
}

/* Eq. 11's communication: T_idc and four synchronisations. */
static double all_of_p(const tess_model_problem *problem, const tess_link *link, double copies)
{
    const double vector = problem->rows * (double)tess_type_size(problem->type);
    return transfer_seconds(link, copies * vector) + SYNCS * link->sync_seconds;
}

/* A halo travels at the link's full throughput after one latency per message. A sum takes one
 * latency per level of a binary tree. */
static void communicate(const tess_model_problem *problem, const tess_link *link, int devices,
                        tess_iteration *it)
{
    if (link->split) {
        it->halo =
            link->split->halo / link->transfer.nu + link->split->messages * link->latency_seconds;
        it->sums = SUMS * ceil(log2(devices)) * link->latency_seconds;
    } else {
        it->sums = SYNCS * link->sync_seconds;
        it->halo = all_of_p(problem, link, 1) - it->sums;
    }
    it->communication = it->halo + it->sums;
}

bool tess_model_iteration(const tess_model *model, const tess_model_problem *problem, int devices,
                          const tess_link *link, bool best, tess_iteration *out)
{
    const tess_model_split *split = devices > 1 && link ? link->split : NULL;
    const bool shared = devices > 1 && link && link->shared;
    /* The number of devices whose equal shares would be as large as the largest part's. */
    double n = shared ? 1 : split ? 1 / split->bytes : devices;
    double rows = shared ? 1 : split ? 1 / split->rows : devices;
    double vector = problem->rows / rows * (double)tess_type_size(problem->type);
    double touched = TOUCHED * vector, once = seconds_at_once(model, problem, devices, best);
    double spmv = spmv_beside(model, problem, n, touched, best);
    tess_model_load product = load_beside(problem, n, touched);
    tess_model_load load = {.name = TESS_MODEL_VECTORS,
                            .type = problem->type,
                            .bytes = MOVED * vector,
                            .working = touched};
    if (!model->gpu)
        load.working += problem->bytes / n;
    double passes =
        seconds_of_passes(model, &load, tess_model_resident_share(model, &product), best);
    if (passes > 0 && has_long_rows(problem)) {
        const tess_extra_key cut = {TESS_MODEL_VECTORS, 0, problem->type, TESS_EXTRA_CUT};
        passes += tess_model_extra_at(model, &cut, 0, 0);
    }
    if (once > 0) { /* divided in proportion to the bytes */
        spmv = once * problem->bytes / (problem->bytes + load.bytes);
        passes = once - spmv;
    }
    if (!(spmv > 0) || !(passes > 0) || (devices > 1 && !link))
        return false;
    tess_iteration it = {.spmv = spmv,
                         .dot = passes * DOT / MOVED,
                         .residual = passes * RESIDUAL / MOVED,
                         .direction = passes * DIRECTION / MOVED,
                         .flops = 2 * problem->stored + 13 * problem->rows};
    if (devices > 1)
        communicate(problem, link, devices, &it);
    if (shared && split) { /* every part's halo is read and written in the memory of all */
        it.halo = passes * 2 * devices * split->halo / load.bytes +
                  split->messages * link->latency_seconds;
        it.communication = it.halo + it.sums;
    }
    it.seconds = it.spmv + it.dot + it.residual + it.direction + it.communication;
    *out = it;
    return true;
}

bool tess_model_solve(const tess_model *model, const tess_model_problem *problem,
                      const tess_link *link, int devices, tess_predicted_solve *out)
{
    tess_iteration mean, best;
    if (!tess_model_iteration(model, problem, devices, link, false, &mean) ||
        !tess_model_iteration(model, problem, devices, link, true, &best))
        return false;
    *out = (tess_predicted_solve){.devices = devices,
                                  .spmv = mean.spmv,
                                  .best_spmv = best.spmv,
                                  .dot = mean.dot,
                                  .residual = mean.residual,
                                  .direction = mean.direction,
                                  .communication = mean.communication,
                                  .iteration = mean.seconds,
                                  .best_iteration = best.seconds,
                                  .flops = mean.flops,
                                  .halo = mean.halo,
                                  .sums = mean.sums,
                                  .largest = 1};
    if (devices > 1) {
        out->through_host = all_of_p(problem, link, devices);
        out->direct = all_of_p(problem, link, 1);
    }
    if (devices > 1 && link->split) {
        out->halo_bytes = link->split->halo;
        out->messages = link->split->messages;
        out->largest = link->split->bytes * devices;
    }
    return true;
}

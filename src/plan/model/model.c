/* Predictions: bytes over throughput, summed over the kernels of an iteration. */
#include "plan/model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- What is in a model ---- */

tess_status tess_model_create(tess_ctx *ctx, const char *device, tess_model **out)
{
    tess_model *model;
    TESS_TRY(TESS_CALLOC(ctx, 1, &model));
    model->ctx = ctx;
    model->speed = 1;
    snprintf(model->device, sizeof model->device, "%s", device);
    *out = model;
    return TESS_OK;
}

void tess_model_destroy(tess_model *model)
{
    if (!model)
        return;
    tess_free(model->ctx, model->curves);
    tess_free(model->ctx, model->extras);
    tess_free(model->ctx, model);
}

/* Room for one more element. */
static tess_status grow(tess_ctx *ctx, void **items, int64_t count, int64_t *capacity, size_t size)
{
    if (count < *capacity)
        return TESS_OK;
    int64_t more = *capacity > 0 ? 2 * *capacity : 32;
    void *grown;
    TESS_TRY(tess_alloc_bytes(ctx, more, size, &grown));
    if (count > 0)
        memcpy(grown, *items, (size_t)count * size);
    tess_free(ctx, *items);
    *items = grown;
    *capacity = more;
    return TESS_OK;
}

tess_status tess_model_add_curve(tess_model *model, const tess_model_curve *curve)
{
    TESS_TRY(grow(model->ctx, (void **)&model->curves, model->curve_count, &model->curve_capacity,
                  sizeof *curve));
    model->curves[model->curve_count++] = *curve;
    return TESS_OK;
}

tess_status tess_model_add_extra(tess_model *model, const tess_model_extra *extra)
{
    TESS_TRY(grow(model->ctx, (void **)&model->extras, model->extra_count, &model->extra_capacity,
                  sizeof *extra));
    model->extras[model->extra_count++] = *extra;
    return TESS_OK;
}

void tess_model_drop_extras(tess_model *model, tess_extra_kind kind)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < model->extra_count; i++)
        if (model->extras[i].kind != kind)
            model->extras[kept++] = model->extras[i];
    model->extra_count = kept;
}

/* How far a measured class is from the wanted one: block sizes by their ratio, and rather another
 * size than another precision. */
static double distance(int32_t block, tess_type type, int32_t wanted, tess_type wanted_type)
{
    double apart = block > 0 && wanted > 0 ? fabs(log2((double)block / wanted)) : 0;
    return apart + (type != wanted_type ? 10 : 0);
}

static const tess_model_curve *find_curve(const tess_model *model, const char *name, int32_t block,
                                          tess_type type, bool cached)
{
    const tess_model_curve *best = NULL;
    double least = INFINITY;
    for (int64_t i = 0; i < model->curve_count; i++) {
        const tess_model_curve *c = &model->curves[i];
        double apart = distance(c->block, c->type, block, type);
        if (c->cached == cached && apart < least && strcmp(c->name, name) == 0) {
            least = apart;
            best = c;
        }
    }
    return best;
}

/* ---- One operation ---- */

/* In the cache a block of a few numbers takes as long as one of a few more, being instructions and
 * not bytes: one that is smaller than those of the curve costs what they do. */
static double bytes_as_measured(const tess_model_curve *curve, const tess_model_load *load)
{
    double scalar = (double)tess_type_size(load->type);
    double theirs = scalar * curve->block * curve->block, ours = scalar * load->scalars;
    if (!curve->cached || curve->block > 3 || !(ours > 0) || ours >= theirs)
        return load->bytes;
    return load->bytes * (4 + theirs) / (4 + ours);
}

double tess_model_factor(const tess_model_factors *f, double x)
{
    int above = 0, last = f->count - 1;
    if (last < 0 || !(x > 0))
        return 1;
    while (above <= last && f->point[above].at < x)
        above++;
    if (above == 0 || above > last)
        return f->point[above == 0 ? 0 : last].factor;
    double low = f->point[above - 1].at, high = f->point[above].at;
    double at = log(x / low) / log(high / low);
    return (1 - at) * f->point[above - 1].factor + at * f->point[above].factor;
}

/* A sigmoid falls faster than the bytes below some size, and the time would grow again: from there
 * on it stays, being that of starting. */
static double over(const tess_model *model, const tess_model_curve *curve,
                   const tess_model_load *load, bool best)
{
    const tess_sigmoid *s = best ? &curve->best : &curve->average;
    double bytes = bytes_as_measured(curve, load) + curve->row_bytes * load->lines;
    double slope = s->sigma * log(2);
    double turn = slope < 1 ? exp2(s->mu + s->sigma * log(1 / slope - 1)) : 0;
    /* What comes from memory was measured where all does. */
    double least = curve->cached ? 0 : TESS_CACHE_GONE * model->cache_bytes;
    /* Of a GPU's product from memory the start is added. */
    bool starts = curve->cached || !tess_model_vectors_stay(model);
    double size = bytes > turn || !starts ? bytes : turn;
    double speed = tess_sigmoid_value(s, size > least ? size : least);
    return (size / (model->speed * speed) + curve->step_seconds * load->length) *
           tess_model_factor(&curve->lengths, load->length) *
           tess_model_factor(&curve->sizes, load->bytes);
}

/* What a GPU's class needs to start, whatever it moves. */
static double start_of(const tess_model *model, const tess_model_load *load, bool best)
{
    const tess_model_curve *curve = find_curve(model, load->name, load->block, load->type, true);
    tess_model_load nothing = *load;
    nothing.bytes = 1;
    nothing.lines = 0;
    return curve && tess_model_vectors_stay(model) ? over(model, curve, &nothing, best) : 0;
}

double tess_model_seconds_from(const tess_model *model, const tess_model_load *load, bool cached,
                               bool best)
{
    const tess_model_curve *curve = find_curve(model, load->name, load->block, load->type, cached);
    if (!curve || !(load->bytes > 0))
        return 0;
    double seconds = over(model, curve, load, best);
    double share = load->bytes / (TESS_CACHE_GONE * model->cache_bytes);
    /* Memory's speed has been measured with more; the start is not shorter for less. */
    return cached || !(share < 1) ? seconds : seconds + (1 - share) * start_of(model, load, best);
}

/* What extras are of. */
typedef struct extra_key {
    const char *name;
    int32_t block;
    tess_type type;
    tess_extra_kind kind;
} extra_key;

static bool is_of(const tess_model_extra *e, const extra_key *key)
{
    return e->kind == key->kind && strcmp(e->name, key->name) == 0;
}

/* Between the measured sizes of x linear in their logarithm, beyond them constant; `otherwise` when
 * there is none. */
static double extra_at(const tess_model *model, const extra_key *key, double x, double otherwise)
{
    const tess_model_extra *below = NULL, *above = NULL;
    double least = INFINITY;
    for (int64_t i = 0; i < model->extra_count; i++) {
        const tess_model_extra *e = &model->extras[i];
        double apart = distance(e->block, e->type, key->block, key->type);
        if (is_of(e, key) && apart < least)
            least = apart;
    }
    for (int64_t i = 0; i < model->extra_count; i++) {
        const tess_model_extra *e = &model->extras[i];
        if (!is_of(e, key) || distance(e->block, e->type, key->block, key->type) > least)
            continue;
        if (e->x_bytes <= x && (!below || e->x_bytes > below->x_bytes))
            below = e;
        if (e->x_bytes >= x && (!above || e->x_bytes < above->x_bytes))
            above = e;
    }
    if (!below || !above || below == above)
        return below ? below->seconds : above ? above->seconds : otherwise;
    double at = log(x / below->x_bytes) / log(above->x_bytes / below->x_bytes);
    return (1 - at) * below->seconds + at * above->seconds;
}

/* No random matrix is symmetric: what irregular rows cost beside their bytes symmetric storage pays
 * like bsr does, but for streams out of step, which bands have too. */
double tess_model_extra_seconds(const tess_model *model, const tess_model_problem *p,
                                tess_extra_kind kind)
{
    static const char symmetric[] = "symmetric";
    char name[TESS_MODEL_CLASS];
    bool half = kind != TESS_EXTRA_ALONE && strncmp(p->name, symmetric, sizeof symmetric - 1) == 0;
    snprintf(name, sizeof name, "%s%s", half ? "bsr" : p->name,
             half ? p->name + sizeof symmetric - 1 : "");
    const extra_key key = {name, p->block, p->type, kind};
    return extra_at(model, &key, kind == TESS_EXTRA_FAR ? p->x_bytes : 0, 0);
}

/* The share of the data that comes from the cache: as measured, else falling with the logarithm. */
static double resident_share(const tess_model *model, const tess_model_load *load)
{
    const extra_key key = {load->name, load->block, load->type, TESS_EXTRA_RESIDENT};
    double gone = TESS_CACHE_GONE / TESS_CACHE_KEPT, times = gone;
    double full = TESS_L2_GONE * model->cache_bytes, most = TESS_L2_KEPT * model->cache_bytes;
    double working = load->working, left = 1;
    if (tess_model_vectors_stay(model) && working > most) {
        left = working < full ? log(full / working) / log(full / most) : 0;
        working = most;
    }
    if (model->cache_bytes > 0)
        times = working / model->cache_bytes / TESS_CACHE_KEPT;
    double share = times <= 1 ? 1 : times >= gone ? 0 : 1 - log(times) / log(gone);
    return left * extra_at(model, &key, working, share);
}

/* What a class needs at least that was not measured with data from memory: as the fastest that was
 * and pays for bytes alone. */
static double least_from_memory(const tess_model *model, const tess_model_load *load, bool best)
{
    double fastest = 0, least = TESS_CACHE_GONE * model->cache_bytes;
    double small = load->bytes < least ? 1 - load->bytes / least : 0;
    double size = load->bytes > least ? load->bytes : least;
    for (int64_t i = 0; i < model->curve_count; i++) {
        const tess_model_curve *c = &model->curves[i];
        double speed = tess_sigmoid_value(&c->average, size);
        if (!c->cached && c->block > 0 && c->type == load->type && c->row_bytes == 0 &&
            c->step_seconds == 0 && speed > fastest)
            fastest = speed;
    }
    return fastest > 0 && load->lines > 0
               ? load->bytes / (model->speed * fastest) + small * start_of(model, load, best)
               : 0;
}

double tess_model_seconds(const tess_model *model, const tess_model_load *load, bool best)
{
    double in = tess_model_seconds_from(model, load, true, best);
    double out = tess_model_seconds_from(model, load, false, best);
    if (in > 0 && !(out > 0)) {
        double least = least_from_memory(model, load, best);
        out = least > in ? least : 0;
    }
    if (!(in > 0) || !(out > 0))
        return in > 0 ? in : out;
    double share = resident_share(model, load);
    return share * in + (1 - share) * out;
}

tess_model_problem tess_model_problem_of(const tess_matrix *A)
{
    int64_t longest = 0, changes = 0, before = -1;
    for (int64_t i = 0; i < A->block_rows; i++) {
        int64_t length = A->row_offsets[i + 1] - A->row_offsets[i];
        longest = length > longest ? length : longest;
        changes += length != before;
        before = length;
    }
    double size = sqrt((double)A->block_height * A->block_width);
    return (tess_model_problem){.rows = (double)A->rows,
                                .stored = (double)tess_matrix_stored(A),
                                .blocks = (double)A->blocks,
                                .far = tess_matrix_scattered(A) * (double)A->blocks,
                                .lines = (double)A->block_rows,
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
    problem->alone = candidate->alone;
    problem->left = candidate->left;
}

/* Whether a GPU's kernels cut the longest rows. */
static bool has_long_rows(const tess_model_problem *p)
{
    return p->lines > 0 && p->longest > 2 * p->blocks / p->lines + 8;
}

/* Whether a class of a GPU was measured with long rows: where it was not, nothing can be said, as
 * one that does not cut them takes a hundred times as long. */
static bool knows_long_rows(const tess_model *model, const tess_model_problem *p)
{
    const extra_key longest = {p->name, p->block, p->type, TESS_EXTRA_LONGEST};
    const extra_key cut = {p->name, p->block, p->type, TESS_EXTRA_CUT};
    return !tess_model_vectors_stay(model) || extra_at(model, &longest, 0, -1) >= 0 ||
           extra_at(model, &cut, 0, -1) >= 0;
}

/* A device's share of the product, with `beside` bytes of other data touched between two. */
static tess_model_load load_beside(const tess_model_problem *p, double n, double beside)
{
    return (tess_model_load){.name = p->name,
                             .block = p->block,
                             .type = p->type,
                             .bytes = p->bytes / n,
                             .lines = p->lines / n,
                             .length = p->lines > 0 ? p->blocks / p->lines : 0,
                             .scalars = p->blocks > 0 ? p->stored / p->blocks : 0,
                             .working = p->bytes / n + beside};
}

/* What the share of a product takes longer that is done in one stream instead of several. */
static double seconds_left(const tess_model *model, const tess_model_problem *p,
                           const tess_model_load *load, double seconds, bool best)
{
    char name[TESS_MODEL_CLASS];
    tess_model_load alone = *load;
    static const char streams[] = " streams=";
    const char *at = strstr(p->name, streams);
    if (!(p->left > 0) || !at)
        return 0;
    snprintf(name, sizeof name, "%.*s%s1", (int)(at - p->name), p->name, streams);
    alone.name = name;
    double more = tess_model_seconds(model, &alone, best) - seconds;
    return more > 0 ? p->left * more : 0;
}

static double spmv_beside(const tess_model *model, const tess_model_problem *p, int devices,
                          double beside, bool best)
{
    double n = devices;
    tess_model_load load = load_beside(p, n, beside);
    double seconds = tess_model_seconds(model, &load, best);
    if (!(seconds > 0) || (has_long_rows(p) && !knows_long_rows(model, p)))
        return 0;
    double shared = p->changes * tess_model_extra_seconds(model, p, TESS_EXTRA_CHANGE) +
                    p->alone * tess_model_extra_seconds(model, p, TESS_EXTRA_ALONE) +
                    p->far * tess_model_extra_seconds(model, p, TESS_EXTRA_FAR);
    double alone = p->longest * tess_model_extra_seconds(model, p, TESS_EXTRA_LONGEST);
    seconds += seconds_left(model, p, &load, seconds, best);
    /* Of the cubes that curves are made of a tenth of the rows change, at their faces. */
    if (p->changes > 0.15 * p->lines)
        alone +=
            resident_share(model, &load) * tess_model_extra_seconds(model, p, TESS_EXTRA_UNEVEN);
    if (has_long_rows(p))
        alone += tess_model_extra_seconds(model, p, TESS_EXTRA_CUT);
    return seconds + shared / n / model->speed + alone;
}

double tess_model_spmv(const tess_model *model, const tess_model_problem *problem, int devices,
                       bool best)
{
    return spmv_beside(model, problem, devices, 0, best);
}

/* ---- An iteration ---- */

/* Vectors that the passes move, and that are touched between two products. */
enum { DOT = 2, RESIDUAL = 5, DIRECTION = 5, MOVED = DOT + RESIDUAL + DIRECTION, TOUCHED = 6 };

bool tess_model_vectors_stay(const tess_model *model)
{
    return strncmp(model->device, "cpu", 3) != 0;
}

/* Passes beside a matrix in a GPU's cache, and beside one that goes through it: as much of each as
 * there is of the matrix. */
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

/* The whole iteration in one launch; 0: not that the model knows of. */
static double seconds_at_once(const tess_model *model, const tess_model_problem *p, int devices,
                              bool best)
{
    tess_model_load load = {.name = TESS_MODEL_AT_ONCE,
                            .type = p->type,
                            .bytes = p->bytes,
                            .lines = p->lines,
                            .working = p->bytes};
    return p->at_once && devices == 1 ? tess_model_seconds_from(model, &load, true, best) : 0;
}

bool tess_model_iteration(const tess_model *model, const tess_model_problem *problem, int devices,
                          const tess_link *link, bool best, tess_iteration *out)
{
    double n = devices, vector = problem->rows / n * (double)tess_type_size(problem->type);
    double touched = TOUCHED * vector, once = seconds_at_once(model, problem, devices, best);
    double spmv = spmv_beside(model, problem, devices, touched, best);
    tess_model_load product = load_beside(problem, n, touched);
    tess_model_load load = {.name = TESS_MODEL_VECTORS,
                            .type = problem->type,
                            .bytes = MOVED * vector,
                            .working = touched};
    if (!tess_model_vectors_stay(model))
        load.working += problem->bytes / n;
    double passes = seconds_of_passes(model, &load, resident_share(model, &product), best);
    if (passes > 0 && has_long_rows(problem)) {
        const extra_key cut = {TESS_MODEL_VECTORS, 0, problem->type, TESS_EXTRA_CUT};
        passes += extra_at(model, &cut, 0, 0);
    }
    if (once > 0) { /* each part as its bytes are */
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
    if (devices > 1) {
        double sent = n * vector; /* each sends its part of p to the others */
        it.communication =
            sent / tess_sigmoid_value(&link->transfer, sent) + 4 * link->sync_seconds;
    }
    it.seconds = it.spmv + it.dot + it.residual + it.direction + it.communication;
    *out = it;
    return true;
}

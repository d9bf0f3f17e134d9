/* What is in a model, and the time of one operation: bytes over throughput. */
#include "plan/model/model.h"

/* ---- What is in a model ---- */

tess_status tess_model_create(tess_ctx *ctx, const char *device, tess_model **out)
{
    tess_model *model;
    TESS_TRY(TESS_CALLOC(ctx, 1, &model));
    model->ctx = ctx;
    model->scale = (tess_model_scale){1, 1};
    snprintf(model->device, sizeof model->device, "%s", device);
    /* The first part of the text is the backend: "cpu, 2 threads, ...". */
    const tess_backend *backend = tess_backend_named(device, strcspn(device, ","));
    model->gpu = !backend || backend->asynchronous;
    *out = model;
    return TESS_OK;
}

void tess_model_destroy(tess_model *model)
{
    if (!model)
        return;
    TESS_FREE(model->ctx, model->curves, model->extras, model);
}

tess_status tess_model_add_curve(tess_model *model, const tess_model_curve *curve)
{
    TESS_TRY(TESS_GROW(model->ctx, &model->curves, model->curve_count, &model->curve_capacity));
    model->curves[model->curve_count++] = *curve;
    return TESS_OK;
}

tess_status tess_model_add_extra(tess_model *model, const tess_model_extra *extra)
{
    TESS_TRY(TESS_GROW(model->ctx, &model->extras, model->extra_count, &model->extra_capacity));
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

/* How far a measured class is from the wanted one: by the ratio of block sizes. Another precision
 * is as far as a block of twice or half the size. */
static double distance(int32_t block, tess_type type, int32_t wanted, tess_type wanted_type)
{
    double gap = block > 0 && wanted > 0 ? fabs(log2((double)block / wanted)) : 0;
    return gap + (type != wanted_type ? 1 : 0);
}

static int parameters_of(const tess_model_curve *curve)
{
    return 3 + (curve->row_bytes > 0) + (curve->step_seconds > 0);
}

/* A curve that has no more points than parameters and still is a tenth off its own points was
 * fitted to a disturbance: it counts as far as the farthest block size. */
static double undetermined(const tess_model_curve *curve)
{
    return curve->points <= parameters_of(curve) && curve->error > 0.1 ? 16 : 0;
}

static const tess_model_curve *find_curve(const tess_model *model, const char *name, int32_t block,
                                          tess_type type, bool cached)
{
    const tess_model_curve *best = NULL;
    double least = INFINITY;
    for (int64_t i = 0; i < model->curve_count; i++) {
        const tess_model_curve *c = &model->curves[i];
        if (c->cached != cached || strcmp(c->name, name) != 0)
            continue;
        double gap = distance(c->block, c->type, block, type) + undetermined(c);
        if (gap < least) {
            least = gap;
            best = c;
        }
    }
    return best;
}

/* ---- One operation ---- */

/* The bytes by which a load is looked up on a curve. In the cache a small block costs instructions
 * rather than bytes: a block smaller than those of the curve costs as much as they do. */
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

/* Throughput of plain reading from memory; 0: not known. */
static double reading_at(const tess_model *model, double bytes)
{
    const tess_model_curve *reading = find_curve(model, TESS_MODEL_READING, 0, TESS_F64, false);
    double least = TESS_CACHE_GONE * model->cache_bytes;
    return reading ? tess_sigmoid_value(&reading->average, tess_max(bytes, least)) : 0;
}

/* Throughput by a curve from memory. Beyond the largest size of a calibration it grows as that of
 * plain reading does, whatever the curve says. */
static double speed_from_memory(const tess_model *model, const tess_sigmoid *s, double size)
{
    double least = TESS_CACHE_GONE * model->cache_bytes;
    double most = TESS_CACHE_MOST * model->cache_bytes, reading = reading_at(model, most);
    if (!(size > most) || !(most > 0) || !(reading > 0))
        return tess_sigmoid_value(s, tess_max(size, least));
    return tess_sigmoid_value(s, most) * reading_at(model, size) / reading;
}

/* How many times the rounds of the largest product of a calibration `size` bytes take; at least 1.
 * Every round of threads pays for the steps of its rows, so that a product of twice the rows has
 * twice as many steps. Without this a class whose curve has long steps and a steep slope, fitted to
 * rows of few lengths, would be faster than memory beyond the calibrated sizes (H200,
 * row_per_thread, b = 24, f64, 545 MB: 126 us expected, 147 measured). Rows longer than those of a
 * calibration are fewer for as many bytes, and pay for steps by their length. */
static double beyond_calibrated(const tess_model *model, double size, double length)
{
    const double most = TESS_CACHE_MOST * model->cache_bytes;
    const double rounds = size * tess_min(1, TESS_LENGTH_MOST / length) / most;
    return most > 0 && rounds > 1 ? rounds : 1;
}

/* Seconds by one curve. Below the sigmoid's turn the time stays constant: the time of starting. */
static double over(const tess_model *model, const tess_model_curve *curve,
                   const tess_model_load *load, bool best)
{
    const tess_sigmoid *s = best ? &curve->best : &curve->average;
    double bytes = bytes_as_measured(curve, load) + curve->row_bytes * load->block_rows;
    double turn = tess_sigmoid_turn(s);
    /* For a GPU's product from memory the caller adds the time of starting. */
    bool starts = curve->cached || !model->gpu;
    double size = bytes > turn || !starts ? bytes : turn;
    double speed = curve->cached ? tess_sigmoid_value(s, size) : speed_from_memory(model, s, size);
    /* `waits` compares with a large matrix, and only curves from memory are of large ones. */
    double waits = load->waits > 0 && !curve->cached ? load->waits : 1;
    /* A CPU's rows do not run side by side. There steps are what a fit to rows of some lengths left
     * to them, and mean nothing of longer ones. */
    double length = model->gpu ? load->length : tess_min(load->length, TESS_LENGTH_MOST);
    double steps = length * waits * (curve->cached ? 1 : beyond_calibrated(model, size, length));
    return (size / speed + curve->step_seconds * steps) *
           tess_model_factor(&curve->lengths, load->length) *
           tess_model_factor(&curve->sizes, load->bytes);
}

/* The time that a GPU's class needs to start, however few bytes it moves. */
static double start_of(const tess_model *model, const tess_model_load *load, bool best)
{
    const tess_model_curve *curve = find_curve(model, load->name, load->block, load->type, true);
    tess_model_load nothing = *load;
    nothing.bytes = 1;
    nothing.block_rows = 0;
    return curve && model->gpu ? over(model, curve, &nothing, best) : 0;
}

/* The time by the curve of exactly the load's block size and precision, or by the nearest one if
 * the place (cache or memory) has none of them. */
static double at_calibrated_from(const tess_model *model, const tess_model_load *load, bool cached,
                                 bool best)
{
    const tess_model_curve *curve = find_curve(model, load->name, load->block, load->type, cached);
    if (!curve || !(load->bytes > 0))
        return 0;
    double seconds = over(model, curve, load, best);
    if (cached)
        return seconds;
    double share = load->bytes / (TESS_CACHE_GONE * model->cache_bytes);
    /* Curves from memory were measured with more bytes. Starting takes just as long for fewer. */
    if (share < 1)
        seconds += (1 - share) * start_of(model, load, best);
    double reading = load->block > 0 ? reading_at(model, load->bytes) : 0;
    return reading > 0 ? fmax(seconds, load->bytes / reading) : seconds;
}

static bool is_of(const tess_model_extra *e, const tess_extra_key *key)
{
    return e->kind == key->kind && strcmp(e->name, key->name) == 0;
}

double tess_model_extra_at(const tess_model *model, const tess_extra_key *key, double x,
                           double otherwise)
{
    const tess_model_extra *below = NULL, *above = NULL;
    double least = INFINITY;
    for (int64_t i = 0; i < model->extra_count; i++) {
        const tess_model_extra *e = &model->extras[i];
        if (is_of(e, key))
            least = fmin(least, distance(e->block, e->type, key->block, key->type));
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

double tess_model_extra_seconds(const tess_model *model, const tess_model_problem *p,
                                tess_extra_kind kind)
{
    bool own = kind == TESS_EXTRA_ALONE || !p->irregular_as[0];
    const tess_extra_key key = {own ? p->name : p->irregular_as, p->block, p->type, kind};
    return tess_model_extra_at(model, &key, kind == TESS_EXTRA_FAR ? p->x_bytes : 0, 0);
}

double tess_model_resident_share(const tess_model *model, const tess_model_load *load)
{
    const tess_extra_key key = {load->name, load->block, load->type, TESS_EXTRA_RESIDENT};
    double gone = TESS_CACHE_GONE / TESS_CACHE_KEPT, times = gone;
    double full = TESS_L2_GONE * model->cache_bytes, most = TESS_L2_KEPT * model->cache_bytes;
    double working = load->working, left = 1;
    if (model->gpu && working > most) {
        left = working < full ? log(full / working) / log(full / most) : 0;
        working = most;
    }
    if (model->cache_bytes > 0)
        times = working / model->cache_bytes / TESS_CACHE_KEPT;
    double share = times <= 1 ? 1 : times >= gone ? 0 : 1 - log(times) / log(gone);
    return left * tess_model_extra_at(model, &key, working, share);
}

/* The least time from memory of a class that was measured in the cache only: that of the fastest
 * class that pays for bytes alone. */
static double least_from_memory(const tess_model *model, const tess_model_load *load, bool best)
{
    double fastest = 0, least = TESS_CACHE_GONE * model->cache_bytes;
    double small = load->bytes < least ? 1 - load->bytes / least : 0;
    double size = tess_max(load->bytes, least);
    for (int64_t i = 0; i < model->curve_count; i++) {
        const tess_model_curve *c = &model->curves[i];
        double speed = tess_sigmoid_value(&c->average, size);
        if (!c->cached && c->block > 0 && c->type == load->type && c->row_bytes == 0 &&
            c->step_seconds == 0 && speed > fastest)
            fastest = speed;
    }
    return fastest > 0 && load->block_rows > 0
               ? load->bytes / fastest + small * start_of(model, load, best)
               : 0;
}

/* The time from the cache and from memory, blended by the share of the data in the cache. A class
 * that was measured at this block size in the cache only was too slow there to be worth more: from
 * memory it is predicted no faster than in the cache. */
static double at_calibrated(const tess_model *model, const tess_model_load *load, bool best)
{
    double in = at_calibrated_from(model, load, true, best);
    double out = at_calibrated_from(model, load, false, best);
    if (in > 0 && !(out > 0)) {
        double least = least_from_memory(model, load, best);
        out = least > in ? least : 0;
    }
    if (!(in > 0) || !(out > 0))
        return in > 0 ? in : out;
    const tess_model_curve *curve = find_curve(model, load->name, load->block, load->type, false);
    if (curve && (curve->block != load->block || curve->type != load->type) && out < in)
        out = in;
    double share = tess_model_resident_share(model, load);
    return share * in + (1 - share) * out;
}

/* ---- Between calibrated block sizes ---- */

/* The nearest block size that was calibrated and the nearest one on the other side of the wanted
 * one, of the same precision. */
typedef struct neighbours {
    tess_model_load load[2]; /* the wanted load, with their block sizes and precisions */
    int count;
    double at; /* how far the wanted size is from the first to the second, by logarithms */
} neighbours;

static const tess_model_curve *find_beyond(const tess_model *model, const tess_model_curve *near,
                                           int32_t block)
{
    const tess_model_curve *best = NULL;
    for (int64_t i = 0; i < model->curve_count; i++) {
        const tess_model_curve *c = &model->curves[i];
        if (c->type != near->type || strcmp(c->name, near->name) != 0 || c->block == block ||
            (c->block < block) == (near->block < block))
            continue;
        if (!best || abs(c->block - block) < abs(best->block - block))
            best = c;
    }
    return best;
}

static neighbours neighbours_of(const tess_model *model, const tess_model_load *load)
{
    neighbours n = {.load = {*load, *load}};
    const tess_model_curve *in = find_curve(model, load->name, load->block, load->type, true);
    const tess_model_curve *out = find_curve(model, load->name, load->block, load->type, false);
    const tess_model_curve *near = in ? in : out, *beyond = NULL;
    if (in && out &&
        distance(out->block, out->type, load->block, load->type) <
            distance(in->block, in->type, load->block, load->type))
        near = out;
    if (!near)
        return n;
    n.count = 1;
    n.load[0].block = near->block;
    n.load[0].type = near->type;
    if (near->block > 0 && load->block > 0 && near->block != load->block)
        beyond = find_beyond(model, near, load->block);
    if (beyond) {
        n.count = 2;
        n.load[1].block = beyond->block;
        n.load[1].type = beyond->type;
        n.at = log((double)load->block / near->block) / log((double)beyond->block / near->block);
    }
    return n;
}

static double between(const neighbours *n, const double seconds[2])
{
    if (n->count < 2 || !(seconds[0] > 0) || !(seconds[1] > 0))
        return seconds[0] > 0 ? seconds[0] : seconds[1];
    return exp((1 - n->at) * log(seconds[0]) + n->at * log(seconds[1]));
}

double tess_model_seconds_from(const tess_model *model, const tess_model_load *load, bool cached,
                               bool best)
{
    const neighbours n = neighbours_of(model, load);
    double seconds[2] = {0};
    for (int i = 0; i < n.count; i++)
        seconds[i] = at_calibrated_from(model, &n.load[i], cached, best);
    return between(&n, seconds);
}

double tess_model_seconds(const tess_model *model, const tess_model_load *load, bool best)
{
    const neighbours n = neighbours_of(model, load);
    double seconds[2] = {0};
    for (int i = 0; i < n.count; i++)
        seconds[i] = at_calibrated(model, &n.load[i], best);
    return between(&n, seconds);
}

/* The relative error of a prediction by the curve: that of its own points. The error is raised
 * where there are hardly more points than parameters, which then follow any disturbance. A CPU's
 * stand-in is off by more than its points are, and by about as much for all classes. */
static double error_of(const tess_model *model, const tess_model_curve *curve)
{
    int free = curve->points - parameters_of(curve);
    if (model->stand_in && !model->gpu)
        return 0;
    return curve->error * sqrt((double)curve->points / tess_max(free, 1));
}

bool tess_model_calibrated(const tess_model *model, const tess_model_load *load)
{
    const bool cached = tess_model_resident_share(model, load) > 0.5;
    const tess_model_curve *curve = find_curve(model, load->name, load->block, load->type, cached);
    return curve && curve->block == load->block && curve->type == load->type;
}

double tess_model_doubt(const tess_model *model, const tess_model_load *load)
{
    const neighbours n = neighbours_of(model, load);
    double seconds[2] = {0}, most = 0;
    for (int i = 0; i < n.count; i++) {
        const tess_model_load *at = &n.load[i];
        bool cached = tess_model_resident_share(model, at) > 0.5;
        const tess_model_curve *curve = find_curve(model, at->name, at->block, at->type, cached);
        seconds[i] = at_calibrated(model, at, false);
        most = fmax(most, seconds[i] * (1 + (curve ? error_of(model, curve) : 0)));
    }
    double expected = between(&n, seconds);
    return expected > 0 ? most / expected : 1;
}

/* Fits curves to samples. */
#include "calibrate/samples.h"

enum { FIT_MAX = 128, ENOUGH = 6 /* points to separate rows and steps from bytes */ };

typedef struct fit_points {
    double bytes[FIT_MAX], block_rows[FIT_MAX], seconds[FIT_MAX], length[FIT_MAX];
    int count;
} fit_points;

/* A sample's time without the model's extras for rows of changing lengths and for blocks done
 * alone. At least a fixed share of the time remains, since the extras are uncertain. */
static double plain_seconds(const tess_calibration *c, const tess_sample *s)
{
    static const double least = 0.6;
    tess_model_problem problem = {.block = c->block, .type = c->type};
    memcpy(problem.name, s->name, sizeof problem.name);
    memcpy(problem.irregular_as, s->irregular_as, sizeof problem.irregular_as);
    double rest = s->seconds -
                  s->changes * tess_model_extra_seconds(c->model, &problem, TESS_EXTRA_CHANGE) -
                  s->alone * tess_model_extra_seconds(c->model, &problem, TESS_EXTRA_ALONE);
    return tess_max(rest, least * s->seconds);
}

static void add_point(const tess_calibration *c, const tess_sample *s, fit_points *p)
{
    p->bytes[p->count] = s->bytes;
    p->block_rows[p->count] = s->block_rows;
    p->length[p->count] = s->length;
    p->seconds[p->count++] = plain_seconds(c, s);
}

/* Selects the samples called `name` that are in the cache, or those that come from memory. Sizes
 * between belong to neither. */
static void select_points(const tess_calibration *c, const char *name, bool cached,
                          double working_share, fit_points *p)
{
    p->count = 0;
    for (int64_t i = 0; i < c->regular && p->count < FIT_MAX; i++) {
        const tess_sample *s = &c->samples[i];
        double times = s->bytes * working_share / c->model->cache_bytes;
        if (strcmp(s->name, name) == 0 &&
            (cached ? times <= TESS_CACHE_KEPT : times >= TESS_CACHE_GONE))
            add_point(c, s, p);
    }
}

/* A point's bytes and seconds for the curve's sigmoid: the cost of rows counts as bytes, and the
 * seconds of steps are subtracted. */
static double sigmoid_bytes(const tess_model_curve *curve, const fit_points *p, int i)
{
    return p->bytes[i] + curve->row_bytes * p->block_rows[i];
}

static double sigmoid_seconds(const tess_model_curve *curve, const fit_points *p, int i)
{
    return p->seconds[i] - curve->step_seconds * p->length[i];
}

/* The relative error of the curve's time. */
static double relative_error(const tess_model_curve *curve, const fit_points *p, int i)
{
    double x = sigmoid_bytes(curve, p, i), rest = p->seconds[i] - sigmoid_seconds(curve, p, i);
    return (x / tess_sigmoid_value(&curve->average, x) + rest) / p->seconds[i] - 1;
}

/* Fits the curve's sigmoid for given row_bytes and step_seconds. Returns false when there are too
 * few points, or when the steps take nearly all the time of a point. */
static bool fit_sigmoid(const fit_points *p, tess_model_curve *curve)
{
    double x[FIT_MAX] = {0}, y[FIT_MAX] = {0};
    for (int i = 0; i < p->count; i++) {
        double seconds = sigmoid_seconds(curve, p, i);
        if (seconds < 0.2 * p->seconds[i])
            return false;
        x[i] = sigmoid_bytes(curve, p, i);
        y[i] = x[i] / seconds;
    }
    /* In memory, speed does not rise with size. */
    if (!tess_sigmoid_fit(x, y, p->count, !curve->cached, &curve->average))
        return false;
    curve->best = tess_sigmoid_envelope(&curve->average, x, y, p->count);
    curve->points = p->count;
    curve->error = 0;
    for (int i = 0; i < p->count; i++)
        curve->error += fabs(relative_error(curve, p, i)) / p->count;
    return true;
}

/* Adds the points between cache and memory that were as fast as the cache's curve predicts: their
 * data were in the cache. */
static void add_resident(const tess_calibration *c, const tess_model_curve *curve,
                         double working_share, fit_points *p)
{
    static const double slower = 0.1;
    const double most = c->model->gpu ? TESS_L2_KEPT : TESS_CACHE_GONE;
    for (int64_t i = 0; i < c->regular && p->count < FIT_MAX; i++) {
        const tess_sample *s = &c->samples[i];
        double times = s->bytes * working_share / c->model->cache_bytes;
        if (strcmp(s->name, curve->name) != 0 || times <= TESS_CACHE_KEPT || times >= most)
            continue;
        add_point(c, s, p);
        if (relative_error(curve, p, p->count - 1) < -slower)
            p->count--;
    }
}

/* Drops points that took far longer than the curve predicts: another program ran meanwhile. */
static void drop_outliers(const tess_model_curve *curve, fit_points *p)
{
    int kept = 0;
    for (int i = 0; i < p->count; i++) {
        if (relative_error(curve, p, i) < -0.25)
            continue;
        p->bytes[kept] = p->bytes[i];
        p->block_rows[kept] = p->block_rows[i];
        p->length[kept] = p->length[i];
        p->seconds[kept++] = p->seconds[i];
    }
    p->count = kept;
}

/* The error of a curve, with a penalty for each parameter that it uses. */
static double score(const tess_model_curve *curve)
{
    return curve->error * (1 + 0.04 * (curve->row_bytes > 0) + 0.04 * (curve->step_seconds > 0));
}

/* Finds the best curve over the possible costs of a row and of a step. Points of long and of short
 * rows separate the two.
 */
static bool fit_best(const fit_points *p, tess_model_curve *curve)
{
    tess_model_curve tried = *curve;
    bool found = false, enough = p->count >= ENOUGH;
    for (double step = 0; step <= (enough ? 2e-6 : 0); step = step > 0 ? 1.3 * step : 1e-9) {
        for (double bytes = 0; bytes <= (enough ? 4096 : 0); bytes = bytes > 0 ? 2 * bytes : 8) {
            tried.row_bytes = bytes;
            tried.step_seconds = step;
            if (fit_sigmoid(p, &tried) && (!found || score(&tried) < score(curve))) {
                *curve = tried;
                found = true;
            }
        }
    }
    return found;
}

/* Groups of points of similar size, each with a correction factor for what the curve leaves
 * unexplained. Group i has `x` from first * growth^(i - 1/2) to first * growth^(i + 1/2). */
typedef struct grouping {
    double first, growth;
    int groups;
} grouping;

static void fit_factors(const fit_points *p, const double *x, const double *left, grouping g,
                        tess_model_factors *out)
{
    double logs[TESS_MODEL_FACTORS] = {0}, factors[TESS_MODEL_FACTORS] = {0};
    int counts[TESS_MODEL_FACTORS] = {0};
    for (int i = 0; i < p->count; i++) {
        double steps = x[i] > g.first ? log(x[i] / g.first) / log(g.growth) + 0.5 : 0;
        int at = steps < g.groups ? (int)steps : g.groups - 1;
        logs[at] += log(x[i]);
        factors[at] += left[i];
        counts[at]++;
    }
    for (int i = 0; i < g.groups; i++) {
        if (counts[i] < 2) /* a single point may have been disturbed */
            continue;
        out->point[out->count].at = exp(logs[i] / counts[i]);
        out->point[out->count++].factor = factors[i] / counts[i];
    }
}

/* Fits the factors: for rows of about 7, 27 and 81 blocks, then in the cache for the sizes of
 * calibrate.c. */
static void fit_rest(const fit_points *p, tess_model_curve *curve)
{
    static const grouping lengths = {9, 3, 3}, sizes = {1e5, 2.5, TESS_MODEL_FACTORS};
    double left[FIT_MAX];
    for (int i = 0; i < p->count; i++)
        left[i] = 1 / (1 + relative_error(curve, p, i));
    if (p->length[0] > 0)
        fit_factors(p, p->length, left, lengths, &curve->lengths);
    if (!curve->cached)
        return;
    for (int i = 0; i < p->count; i++)
        left[i] /= tess_model_factor(&curve->lengths, p->length[i]);
    fit_factors(p, p->bytes, left, sizes, &curve->sizes);
}

static tess_status fit_class(tess_calibration *c, const char *name, bool cached,
                             double working_share)
{
    fit_points p;
    tess_model_curve curve = {.block = c->block, .type = c->type, .cached = cached};
    snprintf(curve.name, sizeof curve.name, "%s", name);
    select_points(c, name, cached, working_share, &p);
    if (!fit_best(&p, &curve))
        return TESS_OK;
    drop_outliers(&curve, &p);
    if (cached)
        add_resident(c, &curve, working_share, &p);
    if (!fit_best(&p, &curve))
        return TESS_OK;
    if (p.count >= ENOUGH)
        fit_rest(&p, &curve);
    return tess_model_add_curve(c->model, &curve);
}

/* ---- Between cache and memory ---- */

enum { BINS = 6 };

/* Adds the resident share at one size. */
static tess_status add_share(tess_calibration *c, const char *name, double bytes, double share)
{
    tess_model_extra extra = {.block = c->block,
                              .type = c->type,
                              .kind = TESS_EXTRA_RESIDENT,
                              .x_bytes = bytes,
                              .seconds = tess_clamp(share, 0, 1)};
    snprintf(extra.name, sizeof extra.name, "%s", name);
    return tess_model_add_extra(c->model, &extra);
}

/* Computes the resident shares from the samples between cache and memory, whose times lie between
 * the two curves. */
static tess_status fit_shares(tess_calibration *c, const char *name, double working_share)
{
    double shares[BINS] = {0}, logs[BINS] = {0}, cache = c->model->cache_bytes;
    int counts[BINS] = {0};
    double width = log(TESS_CACHE_GONE / TESS_CACHE_KEPT) / BINS;
    for (int64_t i = 0; i < c->regular; i++) {
        const tess_sample *s = &c->samples[i];
        double times = s->bytes * working_share / cache;
        if (strcmp(s->name, name) != 0 || times <= TESS_CACHE_KEPT || times >= TESS_CACHE_GONE)
            continue;
        tess_model_load load = {.name = name,
                                .block = c->block,
                                .type = c->type,
                                .bytes = s->bytes,
                                .block_rows = s->block_rows,
                                .length = s->length};
        double in = tess_model_seconds_from(c->model, &load, true, false);
        double out = tess_model_seconds_from(c->model, &load, false, false);
        if (!(in > 0) || !(out > 1.05 * in)) /* the curves are too close */
            continue;
        const int bin = tess_min((int)(log(times / TESS_CACHE_KEPT) / width), BINS - 1);
        shares[bin] += (out - plain_seconds(c, s)) / (out - in);
        logs[bin] += log(s->bytes * working_share);
        counts[bin]++;
    }
    TESS_TRY(add_share(c, name, TESS_CACHE_KEPT * cache, 1));
    for (int i = 0; i < BINS; i++)
        if (counts[i] > 0)
            TESS_TRY(add_share(c, name, exp(logs[i] / counts[i]), shares[i] / counts[i]));
    return add_share(c, name, TESS_CACHE_GONE * cache, 0);
}

tess_status tess_calibration_fit(tess_calibration *c, double working_share)
{
    for (int64_t i = 0; i < c->regular; i++) {
        const char *name = c->samples[i].name;
        bool seen = false;
        for (int64_t k = 0; k < i && !seen; k++)
            seen = strcmp(c->samples[k].name, name) == 0;
        if (seen)
            continue;
        for (int cached = 0; cached < 2; cached++)
            TESS_TRY(fit_class(c, name, cached != 0, working_share));
        if (working_share > 0)
            TESS_TRY(fit_shares(c, name, working_share));
    }
    return TESS_OK;
}

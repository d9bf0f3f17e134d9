/* From samples to curves. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plan/calibrate.h"

enum { FIT_MAX = 64 };

typedef struct fit_points {
    double bytes[FIT_MAX], lines[FIT_MAX], seconds[FIT_MAX];
    int count;
} fit_points;

/* The samples called `name` that are in cache, or those that are not; what lies between belongs to
 * neither. */
static void select_points(const tess_calibration *c, const char *name, bool cached,
                          double working_share, fit_points *p)
{
    p->count = 0;
    for (int64_t i = 0; i < c->count && p->count < FIT_MAX; i++) {
        const tess_sample *s = &c->samples[i];
        double times = s->bytes * working_share / c->model->cache_bytes;
        if (strcmp(s->name, name) != 0 ||
            (cached ? times > TESS_CACHE_KEPT : times < TESS_CACHE_GONE))
            continue;
        p->bytes[p->count] = s->bytes;
        p->lines[p->count] = s->lines;
        p->seconds[p->count++] = s->seconds;
    }
}

/* The curve when a row costs curve->row_bytes; false when there are too few points. */
static bool fit_with_rows(const fit_points *p, tess_model_curve *curve)
{
    double x[FIT_MAX] = {0}, y[FIT_MAX] = {0};
    for (int i = 0; i < p->count; i++) {
        x[i] = p->bytes[i] + curve->row_bytes * p->lines[i];
        y[i] = x[i] / p->seconds[i];
    }
    if (!tess_sigmoid_fit(x, y, p->count, &curve->average))
        return false;
    curve->best = tess_sigmoid_envelope(&curve->average, x, y, p->count);
    curve->points = p->count;
    curve->error = 0;
    for (int i = 0; i < p->count; i++)
        curve->error += fabs(tess_sigmoid_value(&curve->average, x[i]) / y[i] - 1) / p->count;
    return true;
}

/* Leaves out points that are far below the curve: something else ran meanwhile. */
static void drop_outliers(const tess_model_curve *curve, fit_points *p)
{
    int kept = 0;
    for (int i = 0; i < p->count; i++) {
        double x = p->bytes[i] + curve->row_bytes * p->lines[i];
        if (x / p->seconds[i] < 0.75 * tess_sigmoid_value(&curve->average, x))
            continue;
        p->bytes[kept] = p->bytes[i];
        p->lines[kept] = p->lines[i];
        p->seconds[kept++] = p->seconds[i];
    }
    p->count = kept;
}

/* The best curve over what a row may cost: points of long and of short rows tell. */
static bool fit_points_best(const fit_points *p, tess_model_curve *curve)
{
    tess_model_curve tried = *curve;
    tried.row_bytes = 0;
    if (!fit_with_rows(p, &tried))
        return false;
    *curve = tried;
    for (double bytes = 8; bytes <= 4096; bytes *= 2) {
        tried.row_bytes = bytes;
        if (fit_with_rows(p, &tried) && tried.error < 0.95 * curve->error)
            *curve = tried;
    }
    return true;
}

static tess_status fit_class(tess_calibration *c, const char *name, bool cached,
                             double working_share)
{
    fit_points p;
    tess_model_curve curve = {.block = c->block, .type = c->type, .cached = cached};
    snprintf(curve.name, sizeof curve.name, "%s", name);
    select_points(c, name, cached, working_share, &p);
    if (!fit_points_best(&p, &curve))
        return TESS_OK;
    drop_outliers(&curve, &p);
    if (!fit_points_best(&p, &curve))
        return TESS_OK;
    return tess_model_add_curve(c->model, &curve);
}

tess_status tess_calibration_fit(tess_calibration *c, double working_share)
{
    for (int64_t i = 0; i < c->count; i++) {
        bool seen = false;
        for (int64_t k = 0; k < i && !seen; k++)
            seen = strcmp(c->samples[k].name, c->samples[i].name) == 0;
        for (int cached = 0; cached < 2 && !seen; cached++)
            TESS_TRY(fit_class(c, c->samples[i].name, cached != 0, working_share));
    }
    return TESS_OK;
}

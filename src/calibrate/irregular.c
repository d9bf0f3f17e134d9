/* Computes extras from samples of irregular matrices. */
#include "calibrate/samples.h"

/* The model's time for a sample of an irregular matrix. */
static double expected_of(const tess_calibration *c, const tess_model_problem *problem,
                          const tess_sample *s)
{
    tess_model_problem p = *problem;
    memcpy(p.name, s->name, sizeof p.name);
    memcpy(p.irregular_as, s->irregular_as, sizeof p.irregular_as);
    p.bytes = s->bytes;
    p.alone = s->alone;
    return tess_model_spmv(c->model, &p, 1, false);
}

static tess_status add_extra(tess_calibration *c, const tess_sample *s, tess_extra_kind kind,
                             double x_bytes, double seconds)
{
    tess_model_extra extra = {
        .block = c->block, .type = c->type, .kind = kind, .x_bytes = x_bytes, .seconds = seconds};
    memcpy(extra.name, s->name, sizeof extra.name);
    return tess_model_add_extra(c->model, &extra);
}

tess_status tess_calibration_extras(tess_calibration *c, const tess_irregular *irregular,
                                    tess_extra_kind kind, double units, double least)
{
    tess_model_problem problem = irregular->problem;
    double x_bytes = kind == TESS_EXTRA_FAR ? problem.x_bytes : 0;
    problem.longest = 0; /* not yet in the model: the extra sought, and those measured later */
    if (kind != TESS_EXTRA_LONGEST)
        problem.far = 0;
    if (kind == TESS_EXTRA_CHANGE)
        problem.changes = 0;
    for (int64_t i = irregular->first; i < irregular->last && units > 0; i++) {
        const tess_sample *s = &c->samples[i];
        double expected = expected_of(c, &problem, s), more = s->seconds - expected;
        bool cut = kind == TESS_EXTRA_LONGEST && c->device->backend->asynchronous;
        if (!(expected > 0))
            continue;
        if (s->seconds > least * expected)
            TESS_TRY(add_extra(c, s, kind, x_bytes, more / units));
        else
            TESS_TRY(
                add_extra(c, s, cut ? TESS_EXTRA_CUT : kind, x_bytes, cut ? tess_max(more, 0) : 0));
    }
    return TESS_OK;
}

/* The fastest sample of a class; NULL: there is none. */
static const tess_sample *find_sample(const tess_calibration *c, const tess_irregular *irregular,
                                      const char *name)
{
    const tess_sample *found = NULL;
    for (int64_t i = irregular->first; i < irregular->last; i++) {
        const tess_sample *s = &c->samples[i];
        if (strcmp(s->name, name) == 0 && (!found || s->seconds < found->seconds))
            found = s;
    }
    return found;
}

/* Adds the extra ALONE from the difference of two measured times. The curves' errors are larger
 * than this difference, but the same in both times. */
static tess_status add_alone(tess_calibration *c, const tess_irregular *even,
                             const tess_irregular *uneven)
{
    for (int64_t i = uneven->first; i < uneven->last; i++) {
        const tess_sample *s = &c->samples[i], *beside = find_sample(c, even, s->name);
        if (find_sample(c, uneven, s->name) != s || !beside || !(s->alone > beside->alone))
            continue;
        double expected =
            expected_of(c, &uneven->problem, s) - expected_of(c, &even->problem, beside);
        double more = s->seconds - beside->seconds - expected;
        TESS_TRY(
            add_extra(c, s, TESS_EXTRA_ALONE, 0, more > 0 ? more / (s->alone - beside->alone) : 0));
    }
    return TESS_OK;
}

tess_status tess_calibration_irregular(tess_calibration *c, const tess_irregular *random,
                                       const tess_irregular *even, const tess_irregular *uneven)
{
    /* Random rows have a few blocks done alone, uneven rows many, so the two extras are computed in
     * turn. The time that is assigned to the wrong one shrinks to a quarter in each round. */
    enum { TIMES = 4 };
    for (int again = 0; again < TIMES; again++) {
        if (again > 0) {
            c->model->curve_count = 0;
            tess_model_drop_extras(c->model, TESS_EXTRA_RESIDENT);
            TESS_TRY(tess_calibration_fit(c, 1));
        }
        tess_model_drop_extras(c->model, TESS_EXTRA_CHANGE);
        TESS_TRY(tess_calibration_extras(c, random, TESS_EXTRA_CHANGE, random->problem.changes, 1));
        tess_model_drop_extras(c->model, TESS_EXTRA_ALONE);
        TESS_TRY(add_alone(c, even, uneven));
    }
    return TESS_OK;
}

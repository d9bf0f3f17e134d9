/* A solver with pc=amg on the fake device or on a CPU. */
#ifndef FAKE_AMG_SETTING_H
#define FAKE_AMG_SETTING_H

#include "session.h"
#include "solve/pc/amg/amg.h"
#include "solve/solve.h"

typedef struct setting {
    tess_device *device;
    tess_plan *plan;
    tess_solver *solver;
} setting;

/* What the caller says of the modes: nothing, coordinates, or the modes themselves. */
typedef enum known { NOTHING, COORDINATES, MODES } known;

static inline tess_status say(tess_solver *solver, const tess_matrix *A, known what)
{
    enum { COUNT = 2 };
    const int32_t b = A->block_height;
    if (what == NOTHING)
        return TESS_OK;
    double *numbers = test_vector(COUNT * A->block_rows * b, TESS_F64, 17);
    const tess_status status = what == COORDINATES
                                   ? tess_solver_set_coordinates(solver, b, numbers)
                                   : tess_solver_set_modes(solver, COUNT, numbers, A->rows);
    free(numbers);
    return status;
}

static inline tess_status open_setting_with(tess_ctx *ctx, const tess_matrix *A, const char *device,
                                            const char *spec, known what, setting *s)
{
    static const tess_plan_options guess = {.effort = TESS_EFFORT_ESTIMATE};
    *s = (setting){0};
    TESS_TRY(tess_device_open(ctx, device, &s->device));
    TESS_TRY(tess_plan_create(ctx, A, s->device, &guess, &s->plan));
    TESS_TRY(tess_solver_create(s->plan, spec, &s->solver));
    TESS_TRY(say(s->solver, A, what));
    return tess_solver_set_up(s->solver);
}

static inline tess_status open_setting(tess_ctx *ctx, const tess_matrix *A, const char *device,
                                       const char *spec, setting *s)
{
    return open_setting_with(ctx, A, device, spec, NOTHING, s);
}

static inline void close_setting(setting *s)
{
    tess_solver_destroy(s->solver);
    tess_plan_destroy(s->plan);
    tess_device_close(s->device);
}

static inline const tess_amg *hierarchy(const setting *s)
{
    return s->solver->pc.state;
}

#endif

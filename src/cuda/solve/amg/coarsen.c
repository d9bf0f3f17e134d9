/* Computes the values of a multigrid level on the device (solve/pc/amg/device.h).
 *
 * A level has its matrices in BSR. A's arrays are those of the coarse matrix of the level before;
 * the finest level has its own.
 */
#include "cuda/solve/amg/coarsen_level.h"

#include "cuda/solve/amg/bottom.h"
#include "cuda/solve/amg/groups.h"
#include "cuda/solve/amg/lanczos.h"
#include "cuda/solve/amg/strength.h"

static void release(tess_coarsen_level *s)
{
    for (int i = 0; i < 3 * COARSEN_MATRICES; i++)
        tess_cuda_free(s->cuda, s->owned[i]);
    tess_cuda_free(s->cuda, s->inverse);
    tess_cuda_free(s->cuda, s->from);
    tess_cuda_free(s->cuda, s->dead);
    tess_cuda_free(s->cuda, s->modes);
    tess_cuda_free(s->cuda, s->bottom);
    tess_cuda_free(s->cuda, s->strength_memory);
    tess_cuda_free(s->cuda, s->groups[0]);
    tess_cuda_free(s->cuda, s->groups[1]);
    for (int i = 0; i < MODULES; i++)
        tess_cuda_unload(s->cuda, s->module[i]);
}

static void destroy(void *state)
{
    tess_coarsen_level *s = state;
    if (!s)
        return;
    const bool entered = tess_cuda_enter(s->cuda) == TESS_OK;
    if (entered)
        (void)s->cuda->driver.cuStreamSynchronize(s->cuda->stream);
    release(s);
    if (entered)
        tess_cuda_leave(s->cuda);
    tess_free(s->cuda->ctx, s);
}

/* The functions of a shape, from one of the level's first `modules` modules; NULL: none has the
 * shape. */
static const cu_function *find_shape(const tess_coarsen_level *s, int modules,
                                     const int32_t shape[3])
{
    for (int i = 0; s && i < modules; i++)
        if (memcmp(s->shape[i], shape, sizeof s->shape[i]) == 0)
            return s->function[i];
    return NULL;
}

tess_status tess_coarsen_load(tess_coarsen_level *s, int which, int32_t height, int32_t inner,
                              int32_t width)
{
    static const char *const entries[ENTRIES] = {"multiply", "smooth", "turn", "revive", "filter"};
    const int32_t shape[3] = {height, inner, width};
    const cu_function *found = find_shape(s, which, shape);
    char defines[TESS_CUDA_DEFINES];
    found = found ? found : find_shape(s->above, MODULES, shape);
    memcpy(s->shape[which], shape, sizeof shape);
    if (found) {
        memcpy(s->function[which], found, sizeof s->function[which]);
        return TESS_OK;
    }
    tess_coarsen_defines(height, inner, width, defines, sizeof defines);
    TESS_TRY(tess_cuda_load_code(s->cuda, "coarsen.cu", defines, &s->module[which]));
    for (int i = 0; i < ENTRIES; i++) {
        TESS_TRY(TESS_CU(
            s->cuda, cuModuleGetFunction(&s->function[which][i], s->module[which], entries[i])));
        tess_cuda_load_now(s->cuda, s->function[which][i]);
    }
    return TESS_OK;
}

static tess_status place(tess_coarsen_level *s, const tess_plan *plan, const tess_amg_level *level)
{
    if (s->above) {
        s->matrix[COARSEN_A] = s->above->matrix[COARSEN_COARSE];
    } else {
        TESS_TRY(tess_coarsen_put_pattern(s, COARSEN_A, level->A, plan));
        TESS_TRY(tess_coarsen_put_values(s, COARSEN_A));
    }
    const int64_t inverse = level->A->block_rows * level->A->block_height * level->A->block_height;
    return tess_coarsen_put_array(s->cuda, NULL, inverse, sizeof(double), &s->inverse);
}

static tess_status create(tess_plan *plan, const tess_amg_level *level, void *above, void **out)
{
    tess_cuda *cuda = tess_cuda_of(plan->device);
    tess_coarsen_level *s;
    TESS_TRY(TESS_CALLOC(cuda->ctx, 1, &s));
    s->cuda = cuda;
    s->plan = plan->matrix->type == TESS_F64 ? plan : NULL;
    s->above = above;
    tess_status status = tess_cuda_enter(cuda);
    if (status == TESS_OK)
        status = tess_cuda_leave_with(cuda, place(s, plan, level));
    if (status != TESS_OK) {
        destroy(s);
        return status;
    }
    *out = s;
    return TESS_OK;
}

/* ---- Launches ---- */

tess_status tess_coarsen_run(tess_cuda *cuda, const char *source, const char *defines,
                             tess_cuda_launch *l)
{
    char threads[32];
    cu_function function;
    if (l->grid[0] == 0)
        return TESS_OK;
    snprintf(threads, sizeof threads, "-DTHREADS=%u", l->block[0]);
    TESS_TRY(tess_cuda_helper(cuda, source, defines ? defines : threads, l->entry, &function));
    TESS_TRY(tess_cuda_allow_shared(cuda, function, l->shared));
    return tess_cuda_launch_one(cuda, function, l, cuda->stream);
}

static tess_status launch(tess_coarsen_level *s, int module, int entry, tess_cuda_launch *l)
{
    if (l->grid[0] == 0)
        return TESS_OK;
    return tess_cuda_launch_one(s->cuda, s->function[module][entry], l, s->cuda->stream);
}

/* ---- Values ---- */

static tess_status multiply(tess_coarsen_level *s, int module, int left, int right, int to)
{
    tess_cuda_launch l;
    tess_coarsen_multiply(&s->matrix[left], &s->matrix[right], &s->matrix[to], &l);
    return launch(s, module, MULTIPLY, &l);
}

tess_status tess_coarsen_bring_values(tess_coarsen_level *s, const tess_amg_level *level)
{
    tess_cuda *cuda = s->cuda;
    if (!s->above && s->plan)
        TESS_TRY(tess_cuda_copy_values(tess_cuda_plan_of(s->plan), s->matrix[COARSEN_A].values));
    else if (!s->above)
        TESS_TRY(tess_cuda_upload(cuda, s->matrix[COARSEN_A].values, level->A->values,
                                  (size_t)tess_matrix_stored(level->A) * sizeof(double),
                                  cuda->stream));
    s->has_values = true;
    return TESS_OK;
}

/* Whether the device filters A. Scalars need a mode for that, which the finest level does not have
 * on the device. */
static bool filters(void *state)
{
    const tess_coarsen_level *s = state;
    return s->above || s->matrix[COARSEN_A].height > 1;
}

/* Brings A's values to the device, and F's where the host filters. The inverse diagonal is there
 * already. */
static tess_status upload_numbers(tess_coarsen_level *s, const tess_amg_level *level)
{
    if (!s->has_values)
        TESS_TRY(tess_coarsen_bring_values(s, level));
    s->has_values = false; /* the next `start` has other values */
    if (!s->filtered || filters(s))
        return TESS_OK;
    return tess_cuda_upload(s->cuda, s->matrix[COARSEN_F].values, level->filtered->values,
                            (size_t)tess_matrix_stored(level->filtered) * sizeof(double),
                            s->cuda->stream);
}

/* Logs what the launches since *since took, if the log is read. */
static tess_status log_time(const tess_coarsen_level *s, const char *what, double *since)
{
    if (!s->cuda->ctx->log)
        return TESS_OK;
    TESS_TRY(TESS_CU(s->cuda, cuStreamSynchronize(s->cuda->stream)));
    const double now = tess_seconds();
    tess_log(s->cuda->ctx, "pc=amg: %lld rows, %s: %.2f ms",
             (long long)s->matrix[COARSEN_A].block_rows, what, 1e3 * (now - *since));
    *since = now;
    return TESS_OK;
}

static tess_status filter(tess_coarsen_level *s)
{
    const tess_coarsen_matrix *A = &s->matrix[COARSEN_A];
    const cu_pointer modes = A->height == 1 ? s->above->modes : 0;
    tess_cuda_launch l;
    tess_coarsen_filter(A, &s->matrix[COARSEN_F], modes, &l);
    return launch(s, FINE, FILTER, &l);
}

static tess_status run(tess_coarsen_level *s, const tess_amg_level *level)
{
    double since = tess_seconds();
    tess_cuda_launch l;
    if (s->filtered && filters(s))
        TESS_TRY(filter(s));
    TESS_TRY(multiply(s, FINE, s->filtered ? COARSEN_F : COARSEN_A, COARSEN_Q, COARSEN_P));
    TESS_TRY(log_time(s, "A Q", &since));
    tess_coarsen_smooth(&s->matrix[COARSEN_P], &s->matrix[COARSEN_Q], s->inverse,
                        tess_amg_omega(level), &l);
    TESS_TRY(launch(s, FINE, SMOOTH, &l));
    TESS_TRY(log_time(s, "P = Q - omega D^-1 A Q", &since));
    TESS_TRY(multiply(s, FINE, COARSEN_A, COARSEN_P, COARSEN_AP));
    TESS_TRY(log_time(s, "A P", &since));
    tess_coarsen_turn(&s->matrix[COARSEN_P], s->from, s->matrix[COARSEN_R].values, &l);
    TESS_TRY(launch(s, FINE, TURN, &l));
    TESS_TRY(log_time(s, "R = P'", &since));
    TESS_TRY(multiply(s, CROSS, COARSEN_R, COARSEN_AP, COARSEN_COARSE));
    TESS_TRY(log_time(s, "R A P", &since));
    tess_coarsen_revive(&s->matrix[COARSEN_COARSE], s->dead, &s->matrix[COARSEN_R],
                        &s->matrix[COARSEN_Q], &s->matrix[COARSEN_A], &l);
    return launch(s, CROSS, REVIVE, &l);
}

static tess_status start(void *state, const tess_amg_level *level)
{
    tess_coarsen_level *s = state;
    TESS_TRY(tess_cuda_enter(s->cuda));
    tess_status status = upload_numbers(s, level);
    if (status == TESS_OK)
        status = run(s, level);
    return tess_cuda_leave_with(s->cuda, status);
}

static tess_status wait(void *state)
{
    const tess_coarsen_level *s = state;
    TESS_TRY(tess_cuda_enter(s->cuda));
    return tess_cuda_leave_with(s->cuda, TESS_CU(s->cuda, cuStreamSynchronize(s->cuda->stream)));
}

static const void *values(void *state, tess_amg_matrix which)
{
    static const int of[AMG_MATRICES] = {
        [AMG_MATRIX_A] = COARSEN_COARSE, [AMG_MATRIX_P] = COARSEN_P, [AMG_MATRIX_R] = COARSEN_R};
    const tess_coarsen_level *s = state;
    return (const void *)(uintptr_t)s->matrix[of[which]].values;
}

static const void *inverse_values(void *state)
{
    return (const void *)(uintptr_t)((const tess_coarsen_level *)state)->inverse;
}

static const void *modes(void *state)
{
    return (const void *)(uintptr_t)((const tess_coarsen_level *)state)->modes;
}

static void *bottom_values(void *state)
{
    return (void *)(uintptr_t)((const tess_coarsen_level *)state)->bottom;
}

static tess_status own_values(void *state, const tess_amg_level *level, const void **out)
{
    tess_coarsen_level *s = state;
    if (!s->has_values) {
        TESS_TRY(tess_cuda_enter(s->cuda));
        TESS_TRY(tess_cuda_leave_with(s->cuda, tess_coarsen_bring_values(s, level)));
    }
    *out = (const void *)(uintptr_t)s->matrix[COARSEN_A].values;
    return TESS_OK;
}

const tess_amg_device_ops tess_cuda_amg_ops = {
    .create = create,
    .inverse = tess_coarsen_inverse,
    .put_inverse = tess_coarsen_put_inverse,
    .strength = tess_cuda_strength,
    .groups = tess_coarsen_groups,
    .tentative = tess_coarsen_tentative,
    .patterns = tess_coarsen_patterns,
    .filters = filters,
    .destroy = destroy,
    .start = start,
    .wait = wait,
    .values = values,
    .inverse_values = inverse_values,
    .modes = modes,
    .own_values = own_values,
    .bottom_most = tess_cuda_bottom_most,
    .bottom = tess_coarsen_bottom,
    .bottom_values = bottom_values,
    .open_vectors = tess_cuda_open_vectors,
    .close_vectors = tess_cuda_close_vectors,
    .lanczos = &tess_cuda_lanczos_ops,
};

/* Computes the values of a multigrid level on the device (solve/pc/amg/device.h).
 *
 * A level has copies of the patterns that the host found, in BSR. Its A is the coarse matrix of the
 * finer level and shares its arrays; the finest level has a copy of A.
 */
#include "cuda/solve/coarsen.h"

#include "cuda/plan/plan.h"
#include "cuda/solve/space.h"
#include "solve/pc/amg/device.h"

/* Matrices of a level. F: A without weak blocks; not made where all are strong. */
enum { A, F, Q, P, AP, R, COARSE, MATRICES };
/* Modules, for products of b x b with b x k blocks and of k x b with b x k blocks. */
enum { FINE, CROSS, MODULES };
enum { MULTIPLY, SMOOTH, TURN, REVIVE, ENTRIES };

typedef struct level_numbers {
    tess_cuda *cuda;
    tess_plan *plan; /* of the finest level, whose device copy has A's values; NULL: it is f32 */
    tess_coarsen_matrix matrix[MATRICES];
    cu_pointer owned[3 * MATRICES]; /* arrays of these, 0 where they are another level's */
    cu_pointer inverse, from, dead;
    bool any_dead, finest, filtered;
    cu_module module[MODULES]; /* NULL where the functions are another level's */
    cu_function function[MODULES][ENTRIES];
    int32_t shape[MODULES][3];
} level_numbers;

static void release(level_numbers *s)
{
    for (int i = 0; i < 3 * MATRICES; i++)
        tess_cuda_free(s->cuda, s->owned[i]);
    tess_cuda_free(s->cuda, s->inverse);
    tess_cuda_free(s->cuda, s->from);
    tess_cuda_free(s->cuda, s->dead);
    for (int i = 0; i < MODULES; i++)
        tess_cuda_unload(s->cuda, s->module[i]);
}

static void destroy(void *state)
{
    level_numbers *s = state;
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

/* ---- Patterns and code ---- */

/* The functions of a shape that a level has loaded; NULL: it has none. */
static const cu_function *find_shape(const level_numbers *s, int modules, const int32_t shape[3])
{
    for (int i = 0; s && i < modules; i++)
        if (memcmp(s->shape[i], shape, sizeof s->shape[i]) == 0)
            return s->function[i];
    return NULL;
}

static tess_status load_module(level_numbers *s, const level_numbers *above, int which,
                               int32_t height, int32_t inner, int32_t width)
{
    static const char *const entries[ENTRIES] = {"multiply", "smooth", "turn", "revive"};
    const int32_t shape[3] = {height, inner, width};
    const cu_function *found = find_shape(s, which, shape);
    char defines[TESS_CUDA_DEFINES];
    found = found ? found : find_shape(above, MODULES, shape);
    memcpy(s->shape[which], shape, sizeof shape);
    if (found) {
        memcpy(s->function[which], found, sizeof s->function[which]);
        return TESS_OK;
    }
    tess_coarsen_defines(height, inner, width, defines, sizeof defines);
    TESS_TRY(tess_cuda_load_code(s->cuda, "coarsen.cu", defines, &s->module[which]));
    for (int i = 0; i < ENTRIES; i++)
        TESS_TRY(TESS_CU(
            s->cuda, cuModuleGetFunction(&s->function[which][i], s->module[which], entries[i])));
    return TESS_OK;
}

/* Too little device memory is TESS_ERR_UNSUPPORTED: the host then computes the level. */
static tess_status put_array(tess_cuda *cuda, const void *host, int64_t count, size_t size,
                             cu_pointer *to)
{
    const size_t bytes = (size_t)count * size;
    const tess_status status = tess_cuda_alloc(cuda, bytes, "a multigrid level", to);
    if (status != TESS_OK)
        return status == TESS_ERR_MEMORY ? TESS_ERR_UNSUPPORTED : status;
    return host ? tess_cuda_upload(cuda, *to, host, bytes, cuda->stream) : TESS_OK;
}

/* Copies the pattern of M, and `with_values` its values. */
static tess_status put_matrix(level_numbers *s, int which, const tess_matrix *M, bool with_values)
{
    tess_coarsen_matrix *to = &s->matrix[which];
    cu_pointer *owned = s->owned + 3 * which;
    *to = (tess_coarsen_matrix){.block_rows = M->block_rows,
                                .blocks = M->blocks,
                                .longest = tess_matrix_longest_row(M),
                                .height = M->block_height,
                                .width = M->block_width};
    TESS_TRY(
        put_array(s->cuda, M->row_offsets, M->block_rows + 1, sizeof *M->row_offsets, &owned[0]));
    TESS_TRY(put_array(s->cuda, M->columns, M->blocks, sizeof *M->columns, &owned[1]));
    TESS_TRY(put_array(s->cuda, with_values ? M->values : NULL, tess_matrix_stored(M),
                       sizeof(double), &owned[2]));
    to->offsets = owned[0];
    to->columns = owned[1];
    to->values = owned[2];
    return TESS_OK;
}

/* Fails where a row has too many scalars for the kernels' 31 bits, or the grid too many rows. */
static tess_status check_sizes(const level_numbers *s)
{
    for (int i = 0; i < MATRICES; i++) {
        const tess_coarsen_matrix *m = &s->matrix[i];
        if (m->longest * m->height * tess_max(m->width, m->height) > INT32_MAX ||
            m->block_rows > INT32_MAX)
            return tess_fail(s->cuda->ctx, TESS_ERR_UNSUPPORTED,
                             "a row of %lld blocks of %d x %d has more than 2^31-1 scalars",
                             (long long)m->longest, (int)m->height, (int)m->width);
    }
    return TESS_OK;
}

static double bytes_of(const tess_matrix *M)
{
    return M ? (double)tess_matrix_stored(M) * sizeof(double) + 4 * (double)M->blocks +
                   8 * (double)M->block_rows
             : 0;
}

/* Fails without room for the values and for the plans of P, R and the coarse matrix, whose padding
 * counts as half of their bytes. The level is then computed on the host, and the device needs room
 * for plans only. */
static tess_status check_room(const level_numbers *s, const tess_amg_level *level,
                              const tess_matrix *coarse, bool finest)
{
    size_t available, total;
    const double plans = bytes_of(level->P) + bytes_of(level->R) + bytes_of(coarse);
    const double numbers = plans + bytes_of(level->AP) + bytes_of(level->tentative) +
                           bytes_of(level->filtered) + (finest ? bytes_of(level->A) : 0);
    TESS_TRY(TESS_CU(s->cuda, cuMemGetInfo(&available, &total)));
    if (numbers + 1.5 * plans > (double)available)
        return tess_fail(s->cuda->ctx, TESS_ERR_UNSUPPORTED,
                         "device '%s' has %.1f MB free, and its numbers and plans take %.1f",
                         s->cuda->name, 1e-6 * (double)available, 1e-6 * (numbers + 1.5 * plans));
    return TESS_OK;
}

static tess_status fill(level_numbers *s, const tess_amg_level *level, const tess_matrix *coarse,
                        const level_numbers *above)
{
    const int32_t b = level->A->block_height, k = coarse->block_height;
    const int64_t coarse_rows = coarse->block_rows * k;
    s->filtered = level->filtered != NULL;
    s->finest = !above;
    TESS_TRY(check_room(s, level, coarse, s->finest));
    TESS_TRY(load_module(s, above, FINE, b, b, k));
    TESS_TRY(load_module(s, above, CROSS, k, b, k));
    if (above)
        s->matrix[A] = above->matrix[COARSE];
    else
        TESS_TRY(put_matrix(s, A, level->A, false));
    if (s->filtered)
        TESS_TRY(put_matrix(s, F, level->filtered, false));
    TESS_TRY(put_matrix(s, Q, level->tentative, true));
    TESS_TRY(put_matrix(s, P, level->P, false));
    TESS_TRY(put_matrix(s, AP, level->AP, false));
    TESS_TRY(put_matrix(s, R, level->R, false));
    TESS_TRY(put_matrix(s, COARSE, coarse, false));
    TESS_TRY(check_sizes(s));
    TESS_TRY(put_array(s->cuda, NULL, level->A->block_rows * b * b, sizeof(double), &s->inverse));
    TESS_TRY(put_array(s->cuda, level->R_from, level->P->blocks, sizeof *level->R_from, &s->from));
    for (int64_t i = 0; i < coarse_rows; i++)
        s->any_dead |= level->dead[i];
    return put_array(s->cuda, level->dead, coarse_rows, sizeof *level->dead, &s->dead);
}

static tess_status create(tess_plan *plan, const tess_amg_level *level, const tess_matrix *coarse,
                          void *above, void **out)
{
    tess_cuda *cuda = tess_cuda_of(plan->device);
    level_numbers *s;
    TESS_TRY(TESS_CALLOC(cuda->ctx, 1, &s));
    s->cuda = cuda;
    s->plan = plan->matrix->type == TESS_F64 ? plan : NULL;
    tess_status status = tess_cuda_enter(cuda);
    if (status == TESS_OK) {
        status = fill(s, level, coarse, above);
        tess_cuda_leave(cuda);
    }
    if (status != TESS_OK) {
        destroy(s);
        return status;
    }
    *out = s;
    return TESS_OK;
}

/* ---- Values ---- */

static tess_status launch(level_numbers *s, int module, int entry, tess_cuda_launch *l)
{
    if (l->grid[0] == 0)
        return TESS_OK;
    TESS_TRY(tess_cuda_allow_shared(s->cuda, s->function[module][entry], l->shared));
    return tess_cuda_launch_one(s->cuda, s->function[module][entry], l, s->cuda->stream);
}

static tess_status multiply(level_numbers *s, int module, int left, int right, int to)
{
    /* Shared memory for several thread blocks at once. Rows that need more are summed in memory. */
    enum { BLOCKS_AT_ONCE = 6 };
    tess_cuda_launch l;
    tess_coarsen_multiply(&s->matrix[left], &s->matrix[right], &s->matrix[to],
                          s->cuda->shared_bytes / BLOCKS_AT_ONCE, &l);
    return launch(s, module, MULTIPLY, &l);
}

static tess_status upload_numbers(level_numbers *s, const tess_amg_level *level)
{
    tess_cuda *cuda = s->cuda;
    const int32_t b = level->A->block_height;
    if (s->finest && s->plan)
        TESS_TRY(tess_cuda_copy_values(tess_cuda_plan_of(s->plan), s->matrix[A].values));
    else if (s->finest)
        TESS_TRY(tess_cuda_upload(cuda, s->matrix[A].values, level->A->values,
                                  (size_t)tess_matrix_stored(level->A) * sizeof(double),
                                  cuda->stream));
    if (s->filtered)
        TESS_TRY(tess_cuda_upload(cuda, s->matrix[F].values, level->filtered->values,
                                  (size_t)tess_matrix_stored(level->filtered) * sizeof(double),
                                  cuda->stream));
    return tess_cuda_upload(cuda, s->inverse, level->inverse,
                            (size_t)(level->A->block_rows * b * b) * sizeof(double), cuda->stream);
}

static tess_status run(level_numbers *s, const tess_amg_level *level)
{
    tess_cuda_launch l;
    TESS_TRY(multiply(s, FINE, s->filtered ? F : A, Q, P));
    tess_coarsen_smooth(&s->matrix[P], &s->matrix[Q], s->inverse, tess_amg_omega(level), &l);
    TESS_TRY(launch(s, FINE, SMOOTH, &l));
    TESS_TRY(multiply(s, FINE, A, P, AP));
    tess_coarsen_turn(&s->matrix[P], s->from, s->matrix[R].values, &l);
    TESS_TRY(launch(s, FINE, TURN, &l));
    TESS_TRY(multiply(s, CROSS, R, AP, COARSE));
    if (!s->any_dead)
        return TESS_OK;
    tess_coarsen_revive(&s->matrix[COARSE], s->dead, &l);
    return launch(s, CROSS, REVIVE, &l);
}

static tess_status compute_inside(level_numbers *s, const tess_amg_level *level,
                                  tess_matrix *coarse)
{
    TESS_TRY(upload_numbers(s, level));
    TESS_TRY(run(s, level));
    return tess_cuda_download(s->cuda, coarse->values, s->matrix[COARSE].values,
                              (size_t)tess_matrix_stored(coarse) * sizeof(double), s->cuda->stream);
}

static tess_status compute(void *state, const tess_amg_level *level, tess_matrix *coarse)
{
    level_numbers *s = state;
    TESS_TRY(tess_cuda_enter(s->cuda));
    return tess_cuda_leave_with(s->cuda, compute_inside(s, level, coarse));
}

static const void *values(void *state, tess_amg_matrix which)
{
    static const int of[AMG_MATRICES] = {
        [AMG_MATRIX_A] = COARSE, [AMG_MATRIX_P] = P, [AMG_MATRIX_R] = R};
    const level_numbers *s = state;
    return (const void *)(uintptr_t)s->matrix[of[which]].values;
}

const tess_amg_device_ops tess_cuda_amg_ops = {
    .create = create,
    .destroy = destroy,
    .compute = compute,
    .values = values,
};

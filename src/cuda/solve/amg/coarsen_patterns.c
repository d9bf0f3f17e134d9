/* The patterns of a multigrid level on the device, and room for its values. */
#include "cuda/solve/amg/coarsen_level.h"
#include "cuda/solve/amg/patterns.h"

/* A device without room is not a failure of memory: the host computes the level instead. */
static tess_status without_room(tess_status status)
{
    return status == TESS_ERR_MEMORY ? TESS_ERR_UNSUPPORTED : status;
}

tess_status tess_coarsen_put_array(tess_cuda *cuda, const void *host, int64_t count, size_t size,
                                   cu_pointer *to)
{
    const size_t bytes = (size_t)count * size;
    TESS_TRY(without_room(tess_cuda_alloc(cuda, bytes, "a multigrid level", to)));
    return host ? tess_cuda_upload(cuda, *to, host, bytes, cuda->stream) : TESS_OK;
}

tess_status tess_coarsen_put_pattern(tess_coarsen_level *s, int which, const tess_matrix *M,
                                     const tess_plan *plan)
{
    tess_coarsen_matrix *to = &s->matrix[which];
    cu_pointer *owned = s->owned + 3 * which;
    *to = (tess_coarsen_matrix){.block_rows = M->block_rows,
                                .blocks = M->blocks,
                                .longest = tess_matrix_longest_row(M),
                                .height = M->block_height,
                                .width = M->block_width};
    TESS_TRY(tess_coarsen_put_array(s->cuda, M->row_offsets, M->block_rows + 1,
                                    sizeof *M->row_offsets, &owned[0]));
    TESS_TRY(tess_coarsen_put_array(s->cuda, plan ? NULL : M->columns, M->blocks,
                                    sizeof *M->columns, &owned[1]));
    if (plan)
        TESS_TRY(without_room(tess_cuda_copy_columns(tess_cuda_plan_of(plan), owned[1])));
    to->offsets = owned[0];
    to->columns = owned[1];
    return TESS_OK;
}

/* Allocates room for values. */
tess_status tess_coarsen_put_values(tess_coarsen_level *s, int which)
{
    tess_coarsen_matrix *to = &s->matrix[which];
    TESS_TRY(tess_coarsen_put_array(s->cuda, NULL, to->blocks * to->height * to->width,
                                    sizeof(double), &s->owned[3 * which + 2]));
    to->values = s->owned[3 * which + 2];
    return TESS_OK;
}

/* Kernels count the scalars of a row in 31 bits, and have one thread block per row. */
static tess_status check_sizes(const tess_coarsen_level *s)
{
    for (int i = 0; i < COARSEN_MATRICES; i++) {
        const tess_coarsen_matrix *m = &s->matrix[i];
        if (m->longest * m->height * tess_max(m->width, m->height) > INT32_MAX ||
            m->block_rows > INT32_MAX)
            return tess_fail(s->cuda->ctx, TESS_ERR_UNSUPPORTED,
                             "a row of %lld blocks of %d x %d has more than 2^31-1 scalars",
                             (long long)m->longest, (int)m->height, (int)m->width);
    }
    return TESS_OK;
}

/* Beside the values there must be room for the plans of P, R and the coarse matrix, and half as
 * much again for the plans' padding. Without it the host computes the level, and the device needs
 * room for the plans alone. */
static tess_status check_room(const tess_coarsen_level *s)
{
    static const int with_plans[] = {COARSEN_P, COARSEN_R, COARSEN_COARSE};
    const tess_coarsen_matrix *m = s->matrix;
    double plans = 0;
    size_t available, total;
    for (int i = 0; i < 3; i++) {
        const tess_coarsen_matrix *of = &m[with_plans[i]];
        plans +=
            (double)of->blocks * (8.0 * of->height * of->width + 4) + 8.0 * (double)of->block_rows;
    }
    const double numbers =
        plans + 8.0 * (double)m[COARSEN_AP].blocks * m[COARSEN_AP].height * m[COARSEN_AP].width;
    TESS_TRY(TESS_CU(s->cuda, cuMemGetInfo(&available, &total)));
    if (numbers + 1.5 * plans > (double)available)
        return tess_fail(s->cuda->ctx, TESS_ERR_UNSUPPORTED,
                         "device '%s' has %.1f MB free, and its numbers and plans take %.1f",
                         s->cuda->name, 1e-6 * (double)available, 1e-6 * (numbers + 1.5 * plans));
    return TESS_OK;
}

/* ---- Patterns ---- */

/* Makes the pattern of a product with the sizes of `like`. Its offsets go to `offsets`, unless that
 * is NULL. */
static tess_status multiply_pattern(tess_coarsen_level *s, int left, int right, int to,
                                    const tess_matrix *like, int64_t *offsets, bool *fits)
{
    s->matrix[to] = (tess_coarsen_matrix){
        .block_rows = like->block_rows, .height = like->block_height, .width = like->block_width};
    return without_room(tess_cuda_multiply_pattern(s->cuda, &s->matrix[left], &s->matrix[right],
                                                   &s->matrix[to], s->owned + 3 * to, offsets,
                                                   fits));
}

static tess_status transpose_pattern(tess_coarsen_level *s, tess_matrix *host, bool *fits)
{
    s->matrix[COARSEN_R] = (tess_coarsen_matrix){
        .block_rows = host->block_rows, .height = host->block_height, .width = host->block_width};
    return without_room(tess_cuda_transpose_pattern(s->cuda, &s->matrix[COARSEN_P],
                                                    &s->matrix[COARSEN_R], s->owned + 3 * COARSEN_R,
                                                    &s->from, host->row_offsets, fits));
}

/* A matrix on the host, without blocks yet. */
static tess_status new_matrix(tess_ctx *ctx, int64_t rows, int64_t cols, int32_t height,
                              int32_t width, tess_matrix **out)
{
    tess_matrix *M;
    TESS_TRY(tess_matrix_head(ctx, TESS_F64, rows, cols, height, width, 0, &M));
    const tess_status status = TESS_CALLOC(ctx, M->block_rows + 1, &M->row_offsets);
    if (status != TESS_OK) {
        tess_matrix_destroy(M);
        return status;
    }
    *out = M;
    return TESS_OK;
}

static tess_status bring_columns(const tess_coarsen_level *s, int which, tess_matrix *M)
{
    TESS_TRY(tess_matrix_allocate_blocks(M, s->matrix[which].blocks));
    return tess_cuda_download(s->cuda, M->columns, s->matrix[which].columns,
                              (size_t)M->blocks * sizeof *M->columns, s->cuda->stream);
}

/* Makes the patterns of P, A P, R and the coarse matrix. The host needs all but A P, for plans and
 * the next level. *fits is false where rows are too long for the kernels. */
static tess_status patterns_here(tess_coarsen_level *s, tess_amg_level *level, tess_matrix **coarse,
                                 bool *fits)
{
    tess_ctx *ctx = s->cuda->ctx;
    const tess_matrix *M = level->A, *T = level->tentative;
    const int32_t b = M->block_height, k = T->block_width;
    TESS_TRY(new_matrix(ctx, M->rows, T->cols, b, k, &level->P));
    TESS_TRY(new_matrix(ctx, T->cols, M->rows, k, b, &level->R));
    TESS_TRY(new_matrix(ctx, T->cols, T->cols, k, k, coarse));
    TESS_TRY(multiply_pattern(s, s->filtered ? COARSEN_F : COARSEN_A, COARSEN_Q, COARSEN_P,
                              level->P, level->P->row_offsets, fits));
    if (*fits)
        TESS_TRY(multiply_pattern(s, COARSEN_A, COARSEN_P, COARSEN_AP, level->P, NULL, fits));
    if (*fits)
        TESS_TRY(tess_amg_check_fill(ctx, level, s->matrix[COARSEN_AP].blocks));
    if (*fits)
        TESS_TRY(transpose_pattern(s, level->R, fits));
    if (*fits)
        TESS_TRY(multiply_pattern(s, COARSEN_R, COARSEN_AP, COARSEN_COARSE, *coarse,
                                  (*coarse)->row_offsets, fits));
    if (!*fits)
        return TESS_OK;
    TESS_TRY(bring_columns(s, COARSEN_P, level->P));
    TESS_TRY(bring_columns(s, COARSEN_R, level->R));
    return bring_columns(s, COARSEN_COARSE, *coarse);
}

static void drop_patterns(tess_coarsen_level *s, tess_amg_level *level, tess_matrix **coarse)
{
    static const int made[] = {COARSEN_P, COARSEN_AP, COARSEN_R, COARSEN_COARSE};
    for (int i = 0; i < 4; i++)
        for (int array = 0; array < 3; array++) {
            tess_cuda_free(s->cuda, s->owned[3 * made[i] + array]);
            s->owned[3 * made[i] + array] = 0;
        }
    tess_cuda_free(s->cuda, s->from);
    s->from = 0;
    tess_matrix_destroy(level->P);
    tess_matrix_destroy(level->R);
    tess_matrix_destroy(*coarse);
    tess_matrix_destroy(level->AP);
    tess_free(s->cuda->ctx, level->R_from);
    level->P = level->R = level->AP = *coarse = NULL;
    level->R_from = NULL;
}

static tess_status patterns_on_host(tess_coarsen_level *s, tess_amg_level *level,
                                    tess_matrix **coarse)
{
    TESS_TRY(tess_amg_patterns(s->cuda->ctx, level, coarse));
    TESS_TRY(tess_coarsen_put_pattern(s, COARSEN_P, level->P, NULL));
    TESS_TRY(tess_coarsen_put_pattern(s, COARSEN_AP, level->AP, NULL));
    TESS_TRY(tess_coarsen_put_pattern(s, COARSEN_R, level->R, NULL));
    TESS_TRY(tess_coarsen_put_pattern(s, COARSEN_COARSE, *coarse, NULL));
    return tess_coarsen_put_array(s->cuda, level->R_from, level->P->blocks, sizeof *level->R_from,
                                  &s->from);
}

static tess_status patterns_inside(tess_coarsen_level *s, tess_amg_level *level,
                                   tess_matrix **coarse)
{
    const int32_t b = level->A->block_height, k = level->tentative->block_width;
    bool fits = true;
    s->filtered = level->filtered != NULL;
    TESS_TRY(tess_coarsen_load(s, FINE, b, b, k));
    TESS_TRY(tess_coarsen_load(s, CROSS, k, b, k));
    if (s->filtered) {
        TESS_TRY(tess_coarsen_put_pattern(s, COARSEN_F, level->filtered, NULL));
        TESS_TRY(tess_coarsen_put_values(s, COARSEN_F));
    }
    TESS_TRY(patterns_here(s, level, coarse, &fits));
    if (!fits) {
        drop_patterns(s, level, coarse);
        TESS_TRY(patterns_on_host(s, level, coarse));
    }
    TESS_TRY(check_sizes(s));
    TESS_TRY(check_room(s));
    for (int i = COARSEN_P; i <= COARSEN_COARSE; i++)
        TESS_TRY(tess_coarsen_put_values(s, i));
    return TESS_OK;
}

tess_status tess_coarsen_patterns(void *state, tess_amg_level *level, tess_matrix **coarse)
{
    tess_coarsen_level *s = state;
    tess_matrix *made = NULL;
    tess_status status = tess_cuda_enter(s->cuda);
    if (status == TESS_OK) {
        status = patterns_inside(s, level, &made);
        if (status != TESS_OK)
            drop_patterns(s, level, &made);
        tess_cuda_leave(s->cuda);
    }
    if (status == TESS_OK)
        *coarse = made;
    return status;
}

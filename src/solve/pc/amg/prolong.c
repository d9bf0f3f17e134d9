/* The prolongator P = (I - omega D^-1 A) Q, for the tentative prolongator Q and the diagonal blocks
 * D of A; omega is 4/3 divided by the largest eigenvalue of D^-1 A. */
#include "solve/pc/amg/amg.h"

#include "matrix/multiply/multiply.h"

/* ---- Inverses of the diagonal blocks ---- */

/* Copies block `row` of the diagonal. Rows of padding become rows of the identity. */
static void get_diagonal(const tess_matrix *A, int64_t row, double *block)
{
    const int32_t b = A->block_height;
    const int64_t k = tess_matrix_find(A, row, row);
    if (k < 0)
        memset(block, 0, (size_t)(b * b) * sizeof *block);
    else
        memcpy(block, (const double *)A->values + k * b * b, (size_t)(b * b) * sizeof *block);
    for (int64_t i = tess_max(A->rows - row * b, 0); i < b; i++)
        block[i * b + i] = 1;
}

struct invert_blocks {
    const tess_amg_level *level;
    double *scratch; /* `room` numbers per share */
    int64_t room;
};

static void invert_blocks(void *arg, tess_range rows)
{
    const struct invert_blocks *job = arg;
    const tess_matrix *A = job->level->A;
    const int32_t b = A->block_height;
    double *work = job->scratch + rows.share * job->room, pivot;
    for (int64_t i = rows.first; i < rows.last; i++) {
        double *block = job->level->inverse + i * b * b;
        get_diagonal(A, i, block);
        if (tess_dense_invert(block, b, work, &pivot) < 0)
            continue;
        get_diagonal(A, i, block);
        tess_amg_invert_dense(NULL, block, b, 0, work);
    }
}

tess_status tess_amg_invert_diagonal(tess_ctx *ctx, tess_amg_level *level)
{
    const tess_matrix *A = level->A;
    const int32_t b = A->block_height;
    const int64_t room = 2 * b * b + 2 * b;
    double *scratch;
    if (!level->inverse)
        TESS_TRY(TESS_ALLOC(ctx, A->block_rows * b * b, &level->inverse));
    TESS_TRY(TESS_ALLOC(ctx, room * ctx->threads, &scratch));
    tess_for(ctx, A->block_rows, invert_blocks, &(struct invert_blocks){level, scratch, room});
    tess_free(ctx, scratch);
    return TESS_OK;
}

/* ---- Smoothing ---- */

/* block (b x k) = -omega inverse block. */
static inline __attribute__((always_inline)) void smooth_block(const double *restrict inverse,
                                                               double omega, const int32_t b,
                                                               const int32_t k,
                                                               double *restrict block)
{
    double column[TESS_AMG_MODES];
    for (int32_t j = 0; j < k; j++) {
        for (int32_t p = 0; p < b; p++)
            column[p] = 0;
        for (int32_t q = 0; q < b; q++)
            for (int32_t p = 0; p < b; p++)
                column[p] += inverse[q * b + p] * block[j * b + q];
        for (int32_t p = 0; p < b; p++)
            block[j * b + p] = -omega * column[p];
    }
}

double tess_amg_omega(const tess_amg_level *level)
{
    return 4.0 / 3 / level->largest;
}

/* Turns the rows of A times the tentative prolongator into those of P. */
static inline __attribute__((always_inline)) void
smooth_rows(const tess_amg_level *level, tess_range rows, const int32_t b, const int32_t k)
{
    const tess_matrix *Q = level->tentative, *P = level->P;
    const double omega = tess_amg_omega(level), *from = Q->values;
    const int64_t size = (int64_t)b * k;
    double *values = P->values;
    for (int64_t i = rows.first; i < rows.last; i++) {
        for (int64_t l = P->row_offsets[i]; l < P->row_offsets[i + 1]; l++)
            smooth_block(level->inverse + i * b * b, omega, b, k, values + l * size);
        for (int64_t l = Q->row_offsets[i]; l < Q->row_offsets[i + 1]; l++) {
            const int64_t own = tess_matrix_find(P, i, Q->columns[l]);
            for (int64_t p = 0; p < size; p++)
                values[own * size + p] += from[l * size + p];
        }
    }
}

static void smooth(void *arg, tess_range rows)
{
    const tess_amg_level *level = arg;
    const int32_t b = level->P->block_height, k = level->P->block_width;
    if (b == 1 && k == 1)
        smooth_rows(level, rows, 1, 1);
    else if (b == 2)
        smooth_rows(level, rows, 2, k);
    else if (b == 3)
        smooth_rows(level, rows, 3, k);
    else if (b == 6)
        smooth_rows(level, rows, 6, k);
    else
        smooth_rows(level, rows, b, k);
}

tess_status tess_amg_prolong(tess_ctx *ctx, tess_amg_level *level)
{
    TESS_TRY(tess_multiply_values(ctx, level->filtered ? level->filtered : level->A,
                                  level->tentative, level->P));
    tess_for(ctx, level->P->block_rows, smooth, level);
    return TESS_OK;
}

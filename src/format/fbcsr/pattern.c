/* The pattern that the splits work on: what is left of the matrix. */
#include "format/fbcsr/split.h"

int64_t tess_fbcsr_lower_bound(const tess_fbcsr_pattern *P, int64_t row, int64_t column)
{
    return tess_lower_bound(P->columns, P->row_offsets[row], P->row_offsets[row + 1], column);
}

void tess_fbcsr_pattern_clear(tess_ctx *ctx, tess_fbcsr_pattern *P)
{
    if (!P->borrowed) {
        tess_free(ctx, P->row_offsets);
        tess_free(ctx, P->columns);
    }
    tess_free(ctx, P->entry);
    *P = (tess_fbcsr_pattern){.borrowed = true};
}

tess_status tess_fbcsr_pattern_remove(tess_ctx *ctx, tess_fbcsr_pattern *P,
                                      const tess_fbcsr_found *found)
{
    int64_t left = P->row_offsets[P->rows] - found->nonzeros;
    tess_fbcsr_pattern N = {.rows = P->rows, .cols = P->cols};
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, P->rows + 1, &N.row_offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, left, &N.columns));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, left, &N.entry));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t row = 0; row < P->rows; row++)
        for (int64_t k = P->row_offsets[row]; k < P->row_offsets[row + 1]; k++)
            N.row_offsets[row + 1] += found->cell[k] < 0;
    tess_counts_to_offsets(N.row_offsets, N.rows);
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (int64_t row = 0; row < P->rows; row++) {
        int64_t to = N.row_offsets[row];
        for (int64_t k = P->row_offsets[row]; k < P->row_offsets[row + 1]; k++) {
            if (found->cell[k] >= 0)
                continue;
            N.columns[to] = P->columns[k];
            N.entry[to++] = P->entry ? P->entry[k] : k;
        }
    }
    tess_fbcsr_pattern_clear(ctx, P);
    *P = N;
    return TESS_OK;
cleanup:
    tess_fbcsr_pattern_clear(ctx, &N);
    return status;
}

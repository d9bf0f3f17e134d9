/* The numbers of factors that are solved stage by stage. */
#include <string.h>

#include "solve/staged.h"

/* Blocks of A in the new order. The diagonal of the padding becomes 1. */
tess_status tess_staged_take_values(tess_staged *staged, const tess_matrix *A)
{
    tess_matrix *B = &staged->reordered;
    const int64_t size = (int64_t)staged->block * staged->block;
    const size_t bytes = (size_t)size * tess_type_size(A->type);
    TESS_TRY(tess_alloc_bytes(staged->ctx, B->blocks, bytes, &B->values));
    char *to = B->values;
    const char *from = A->values;
#pragma omp parallel for schedule(static) num_threads(staged->ctx->threads)
    for (int64_t k = 0; k < B->blocks; k++) {
        if (staged->source[k] < 0)
            memset(to + (size_t)k * bytes, 0, bytes);
        else
            memcpy(to + (size_t)k * bytes, from + (size_t)staged->source[k] * bytes, bytes);
    }
    if (staged->padding > 0) {
        const int64_t last = staged->stages.places[staged->block_rows - 1];
        const int64_t k = tess_matrix_find(B, last, last);
        for (int32_t i = staged->block - staged->padding; i < staged->block; i++) {
            const int64_t at = k * size + i * (staged->block + 1);
            if (B->type == TESS_F64)
                ((double *)B->values)[at] = 1;
            else
                ((float *)B->values)[at] = 1;
        }
    }
    return TESS_OK;
}

void tess_staged_drop_values(tess_staged *staged)
{
    tess_free(staged->ctx, staged->reordered.values);
    staged->reordered.values = NULL;
}

static void put(const tess_staged *staged, void *values, int64_t at, double value)
{
    if (staged->type == TESS_F64)
        ((double *)values)[at] = value;
    else
        ((float *)values)[at] = (float)value;
}

static double get(const tess_staged *staged, const void *values, int64_t at)
{
    return staged->type == TESS_F64 ? ((const double *)values)[at]
                                    : (double)((const float *)values)[at];
}

static void fill_plain(tess_staged *staged, const tess_factors *f, const tess_factor_values *v,
                       int64_t place)
{
    tess_split *split = &staged->plain;
    const int32_t b = staged->block;
    const int64_t size = (int64_t)b * b, q = staged->block_rows - 1 - place;
    const double *inverse = tess_factor_inverse(f, v, 0, place);
    for (int64_t i = 0; i < size; i++)
        put(staged, split->inverse, place * size + i, inverse[i]);
    for (int64_t i = split->lower.offsets[place] * size; i < split->lower.offsets[place + 1] * size;
         i++)
        put(staged, split->lower.values, i, v->lower[i]);
    for (int64_t k = split->upper.offsets[q]; k < split->upper.offsets[q + 1]; k++) {
        const double *from =
            (staged->symmetric ? v->lower : v->upper) + split->upper.source[k] * size;
        for (int32_t j = 0; j < b; j++)
            for (int32_t i = 0; i < b; i++) {
                double sum = 0; /* D^-1 U, or L^T, which is that already */
                if (staged->symmetric)
                    sum = from[i * b + j];
                else
                    for (int32_t m = 0; m < b; m++)
                        sum += inverse[m * b + i] * from[j * b + m];
                put(staged, split->upper.values, k * size + j * b + i, sum);
            }
    }
}

/* Blocks first .. last-1 of a triangle, each the transpose of its source in `from`. */
static void transpose_blocks(const tess_staged *staged, const void *from, tess_triangle *to,
                             int64_t first, int64_t last)
{
    const int32_t b = staged->block;
    const int64_t size = (int64_t)b * b;
    for (int64_t k = first; k < last; k++)
        for (int32_t j = 0; j < b; j++)
            for (int32_t i = 0; i < b; i++)
                put(staged, to->values, k * size + j * b + i,
                    get(staged, from, to->source[k] * size + i * b + j));
}

static void fill_transposed(tess_staged *staged, int64_t place)
{
    const tess_split *plain = &staged->plain;
    tess_split *split = &staged->transposed;
    const int32_t b = staged->block;
    const int64_t size = (int64_t)b * b, q = staged->block_rows - 1 - place;
    for (int32_t j = 0; j < b; j++)
        for (int32_t i = 0; i < b; i++)
            put(staged, split->inverse, place * size + j * b + i,
                get(staged, plain->inverse, place * size + i * b + j));
    transpose_blocks(staged, plain->upper.values, &split->lower, split->lower.offsets[place],
                     split->lower.offsets[place + 1]);
    transpose_blocks(staged, plain->lower.values, &split->upper, split->upper.offsets[q],
                     split->upper.offsets[q + 1]);
}

void tess_staged_fill(tess_staged *staged, const tess_factors *f, const tess_factor_values *v)
{
#pragma omp parallel for schedule(static) num_threads(staged->ctx->threads)
    for (int64_t place = 0; place < staged->block_rows; place++)
        fill_plain(staged, f, v, place);
    if (!staged->transposed.inverse)
        return;
#pragma omp parallel for schedule(static) num_threads(staged->ctx->threads)
    for (int64_t place = 0; place < staged->block_rows; place++)
        fill_transposed(staged, place);
}

double tess_staged_bytes(const tess_staged *staged)
{
    const int64_t rows = staged->block_rows;
    const double blocks =
        (double)staged->plain.lower.offsets[rows] + (double)staged->plain.upper.offsets[rows];
    const double size = (double)staged->block * staged->block;
    /* Values; a column a block; two offsets and two numbers of a row. */
    return (blocks + (double)rows) * size * (double)tess_type_size(staged->type) + 4 * blocks +
           16 * (double)rows;
}

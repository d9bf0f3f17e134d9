/* What the rows of all factorisations share: copies of A's blocks to the place of the factors, and
 * the inverse of a diagonal block. Each factorisation compiles its own copy. Numbers are in
 * double. */
#pragma once

#include "solve/pc/block_numbers.h"
#include "solve/pc/factors/factors.h"

static inline void read_block(const tess_matrix *A, int64_t k, double scale, double *to)
{
    const int64_t size = (int64_t)A->block_height * A->block_width;
    if (A->type == TESS_F64) {
        const double *from = (const double *)A->values + k * size;
        for (int64_t i = 0; i < size; i++)
            to[i] = scale * from[i];
    } else {
        const float *from = (const float *)A->values + k * size;
        for (int64_t i = 0; i < size; i++)
            to[i] = scale * (double)from[i];
    }
}

/* Rows of the padding become rows of the identity. */
static inline void pad_diagonal(const tess_matrix *A, int64_t row, double *block)
{
    const int32_t b = A->block_height;
    for (int32_t i = 0; i < b; i++)
        if (row * b + i >= A->rows)
            block[i * b + i] = 1;
}

/* Replaces a block by its symmetric part. Of an embedded complex block that is the Hermitian part.
 * A symmetric block keeps its bits. */
static inline void take_symmetric_part(double *block, int32_t b)
{
    for (int32_t j = 0; j < b; j++)
        for (int32_t i = j + 1; i < b; i++) {
            double *below = &block[j * b + i], *above = &block[i * b + j];
            if (*below != *above)
                *below = *above = 0.5 * *below + 0.5 * *above;
        }
}

/* Copies the row's blocks of A to the place of the factors, and multiplies those off the diagonal
 * by `scale`. A diagonal block that is not stored becomes 0. Unless `place` is NULL, it receives
 * the addresses of the blocks by column.
 *
 * Symmetric factors are M = L D L^T for any A: the solves with M^T are those with M. Where A is not
 * symmetric, L is its lower half's and D comes from the symmetric part of the diagonal blocks. */
static inline void load_row(const tess_factors *f, const tess_matrix *A,
                            const tess_factor_values *v, int domain, int64_t row, double scale,
                            double **place)
{
    const int64_t first = f->domain_rows[domain], last = f->domain_rows[domain + 1];
    const int64_t size = (int64_t)f->block * f->block, p = tess_factor_place(f, domain, row);
    double *lower = v->lower + f->lower_offsets[row] * size;
    double *upper = f->symmetric ? NULL : v->upper + (f->upper_offsets[p] + p) * size;
    double *diagonal = tess_factor_inverse(f, v, domain, row);
    memset(diagonal, 0, (size_t)size * sizeof *diagonal);
    if (place)
        place[row - first] = diagonal;
    for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++) {
        const int64_t column = A->columns[k];
        double *to;
        if (column < first || column >= last || (column > row && f->symmetric))
            continue;
        if (column == row) {
            to = diagonal;
        } else if (column < row) {
            to = lower;
            lower += size;
        } else {
            to = upper;
            upper += size;
        }
        read_block(A, k, column == row ? 1 : scale, to);
        if (place)
            place[column - first] = to;
    }
    pad_diagonal(A, row, diagonal);
    if (f->symmetric)
        take_symmetric_part(diagonal, f->block);
}

static inline void forget_row(const tess_factors *f, int domain, int64_t row, double **place)
{
    const int64_t first = f->domain_rows[domain], p = tess_factor_place(f, domain, row);
    for (int64_t k = f->lower_offsets[row]; k < f->lower_offsets[row + 1]; k++)
        place[f->lower_columns[k] - first] = NULL;
    for (int64_t k = f->upper_offsets[p]; !f->symmetric && k < f->upper_offsets[p + 1]; k++)
        place[f->upper_columns[k] - first] = NULL;
    place[row - first] = NULL;
}

/* Returns -1 where a symmetric block is positive definite, else the column whose pivot is not
 * positive. A copy is factored. */
static inline int32_t find_bad_pivot(const double *block, int32_t b, double *work, double *pivot)
{
    memcpy(work, block, (size_t)b * (size_t)b * sizeof *work);
    for (int32_t k = 0; k < b; k++) {
        *pivot = work[k * b + k];
        if (!(*pivot > 0) || !isfinite(*pivot))
            return k;
        for (int32_t j = k + 1; j < b; j++)
            for (int32_t i = j; i < b; i++)
                work[j * b + i] -= work[k * b + i] * work[k * b + j] / *pivot;
    }
    return -1;
}

static inline void shift_diagonal(double *block, int32_t b, double shift)
{
    for (int32_t i = 0; i < b; i++)
        block[i * b + i] *= 1 + shift;
}

/* Returns the mean size (Frobenius norm) of the blocks in a row of A. */
static inline double mean_size(const tess_matrix *A, int64_t row)
{
    const int64_t first = A->row_offsets[row], last = A->row_offsets[row + 1];
    double sum = 0;
    for (int64_t k = first; k < last; k++)
        sum += sqrt(block_squares(A, k));
    return last > first ? sum / (double)(last - first) : 0;
}

/* Ends a row: inverts its diagonal block, which must be positive definite if that is asked for.
 * Returns false where that fails. A fault that A's own block does not have comes from the blocks
 * that were dropped. */
static inline bool end_row(const tess_factors *f, const tess_matrix *A, const tess_factor_values *v,
                           int domain, int64_t row, tess_factor_work *work,
                           tess_factor_fault *fault)
{
    double *diagonal = tess_factor_inverse(f, v, domain, row), own;
    const int32_t b = f->block;
    double *copy = work->dense + (int64_t)b * b;
    if (work->replace)
        memcpy(copy, diagonal, (size_t)b * (size_t)b * sizeof *copy);
    fault->column = work->positive ? find_bad_pivot(diagonal, b, work->dense, &fault->pivot) : -1;
    if (fault->column < 0)
        fault->column = tess_dense_invert(diagonal, b, work->dense, &fault->pivot);
    if (fault->column < 0)
        return true;
    if (work->replace && invert_heavier(copy, b, mean_size(A, row), 8, work->dense, diagonal)) {
        work->replaced++;
        fault->column = -1;
        return true;
    }
    fault->row = row;
    load_row(f, A, v, domain, row, 1, NULL);
    fault->dropped = work->positive && isfinite(fault->pivot) &&
                     find_bad_pivot(diagonal, b, work->dense, &own) < 0;
    return false;
}

#include "shapes.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "ref/ref.h"

const char *test_shape_name(test_shape shape)
{
    static const char *const names[] = {"one row", "diagonal", "chain",  "arrow",
                                        "upper",   "banded",   "random", "ragged"};
    return names[shape];
}

/* Returns whether block (i, j), i != j, is there. */
static bool is_there(test_shape shape, int64_t i, int64_t j, int64_t n, uint64_t seed)
{
    const int64_t distance = i > j ? i - j : j - i;
    switch (shape) {
    case TEST_SHAPE_CHAIN:
        return distance == 1;
    case TEST_SHAPE_ARROW:
        return i == n - 1 || j == n - 1;
    case TEST_SHAPE_UPPER:
        return i == 0;
    case TEST_SHAPE_BANDED:
        return distance <= 2 || distance == 7;
    case TEST_SHAPE_RANDOM:
    case TEST_SHAPE_RAGGED:
        return tess_random_below(seed, (uint64_t)(i * n + j), n) < 1 + i % 5;
    default:
        return false;
    }
}

/* The imaginary part of entry (low, high), in row `row`. In a Hermitian matrix its mirror has the
 * negative. */
static double imaginary(const tess_matrix *A, int64_t low, int64_t high, int64_t row, uint64_t seed)
{
    if (!tess_is_complex(A->type) || low == high)
        return 0;
    const double value = tess_random_unit(seed + 2, (uint64_t)(low * A->rows + high));
    return row == low ? value : -value;
}

tess_matrix *test_shape_matrix(tess_ctx *ctx, test_shape shape, int64_t size, int32_t b,
                               bool symmetric, tess_type type, uint64_t seed)
{
    const int64_t n = shape == TEST_SHAPE_ONE ? 1 : size;
    const int64_t rows = n * b - (shape == TEST_SHAPE_RAGGED ? b / 2 : 0);
    bool *there = calloc((size_t)(n * n), sizeof *there);
    int64_t blocks = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            there[i * n + j] = i == j || is_there(shape, i, j, n, seed) ||
                               (symmetric && is_there(shape, j, i, n, seed));
            blocks += there[i * n + j];
        }
    tess_matrix *A;
    assert_int_equal(tess_matrix_allocate(ctx, type, rows, rows, b, b, blocks, &A), TESS_OK);
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            if (!there[i * n + j])
                continue;
            A->columns[k] = (int32_t)j;
            for (int64_t at = 0; at < (int64_t)b * b; at++) {
                const int64_t row = i * b + at % b, column = j * b + at / b;
                const int64_t low = symmetric && row > column ? column : row;
                const int64_t high = symmetric && row > column ? row : column;
                double value = tess_random_unit(seed + 1, (uint64_t)(low * n * b + high));
                const double divisor = (double)(i == n - 1 || j == n - 1 ? n : 8) * b;
                value /= divisor;
                if (row == column)
                    value = 1.5 + 0.2 * value;
                const bool inside = row < rows && column < rows;
                tess_put_complex(
                    A->values, type, k * b * b + at,
                    inside ? (tess_complex){value, imaginary(A, low, high, row, seed) / divisor}
                           : (tess_complex){0, 0});
            }
            k++;
        }
        A->row_offsets[i + 1] = k;
    }
    free(there);
    return A;
}

/* Row i, column j of stored block k. Complex blocks are taken as those of the embedding: a + bi is
 * the 2 x 2 block of a, b in the first column and -b, a in the second. */
static double entry(const tess_staged *staged, const void *values, int64_t k, int32_t i, int32_t j)
{
    const int64_t b = staged->block;
    if (!tess_is_complex(staged->type))
        return tess_get(values, staged->type, (k * b + j) * b + i);
    const tess_complex a =
        tess_get_complex(values, staged->type, (k * (b / 2) + j / 2) * (b / 2) + i / 2);
    return i % 2 == j % 2 ? a.re : i % 2 ? a.im : -a.im;
}

/* sum -= a triangle's row times x, or their magnitudes, in double. */
static void subtract_row(const tess_staged *staged, const tess_triangle *t, int64_t position,
                         const double *x, bool magnitudes, double *sum)
{
    const int32_t b = staged->block;
    for (int64_t k = t->offsets[position]; k < t->offsets[position + 1]; k++)
        for (int32_t j = 0; j < b; j++)
            for (int32_t i = 0; i < b; i++) {
                const double product =
                    entry(staged, t->values, k, i, j) * x[(int64_t)t->columns[k] * b + j];
                sum[i] += magnitudes ? fabs(product) : -product;
            }
}

/* Solves row after row in the order of places, with magnitudes if asked. */
static double *solve(const tess_staged *staged, const tess_split *split, const void *r,
                     bool magnitudes)
{
    const int32_t b = staged->block;
    const int64_t n = staged->block_rows, scalars = n * b - staged->padding;
    double *y = calloc((size_t)(n * b), sizeof *y), *old = calloc((size_t)b, sizeof *old);
    for (int64_t p = 0; p < n; p++) {
        for (int32_t i = 0; i < b; i++) {
            const int64_t at = (int64_t)staged->stages.rows[p] * b + i;
            const double value =
                at < scalars ? tess_get(r, tess_real_type(staged->vector_type), at) : 0;
            y[p * b + i] = magnitudes ? fabs(value) : value;
        }
        subtract_row(staged, &split->lower, p, y, magnitudes, y + p * b);
    }
    for (int64_t p = n - 1; p >= 0; p--) {
        memcpy(old, y + p * b, (size_t)b * sizeof *old);
        for (int32_t i = 0; i < b; i++) {
            double sum = 0;
            for (int32_t j = 0; j < b; j++) {
                const double d = entry(staged, split->inverse, p, i, j);
                sum += magnitudes ? fabs(d) * old[j] : d * old[j];
            }
            y[p * b + i] = sum;
        }
        subtract_row(staged, &split->upper, n - 1 - p, y, magnitudes, y + p * b);
    }
    free(old);
    return y;
}

void test_check_staged(const char *what, const tess_staged *staged, bool transpose, const void *r,
                       const void *z)
{
    const tess_split *split =
        transpose && !staged->symmetric ? &staged->transposed : &staged->plain;
    const int32_t b = staged->block;
    const int64_t n = staged->block_rows, scalars = n * b - staged->padding;
    double *exact = solve(staged, split, r, false), *size = solve(staged, split, r, true);
    int64_t longest = 0;
    for (int64_t p = 0; p < n; p++) {
        const int64_t own = split->lower.offsets[p + 1] - split->lower.offsets[p] +
                            split->upper.offsets[n - p] - split->upper.offsets[n - 1 - p];
        longest = own > longest ? own : longest;
    }
    const tess_type real = tess_real_type(staged->vector_type);
    const double epsilon = real == TESS_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    /* A row's error is that of its sum and of the rows before it: once a stage, at most. */
    const double limit = 2 * (double)(longest + 2) * b * (double)staged->stages.count * epsilon;
    for (int64_t p = 0; p < n; p++)
        for (int32_t i = 0; i < b; i++) {
            const int64_t at = (int64_t)staged->stages.rows[p] * b + i;
            if (at >= scalars)
                continue;
            const double got = tess_get(z, real, at);
            if (!(fabs(got - exact[p * b + i]) <= limit * (size[p * b + i] + 1e-30)))
                fail_msg("%s: z[%lld] = %.17g instead of %.17g", what, (long long)at, got,
                         exact[p * b + i]);
        }
    free(exact);
    free(size);
}

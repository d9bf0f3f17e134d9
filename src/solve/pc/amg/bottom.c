/* Inverses of dense matrices, singular ones included.
 *
 * A symmetric matrix is scaled to a diagonal of ones and factored with the largest pivot first,
 * until pivots are of the size of rounding errors, or as small as the caller says. With S the rows
 * that had a pivot, the result is the inverse of A_SS and, in all other rows, the inverse of the
 * diagonal (1 where that is not positive). It is symmetric and positive definite.
 */
#include "solve/pc/amg/amg.h"

#include <float.h>

static void swap(double *x, double *y)
{
    const double kept = *x;
    *x = *y;
    *y = kept;
}

/* Exchanges row and column i with row and column j > i of the lower half, and their scales and
 * original numbers. */
static void exchange(double *a, int64_t n, int64_t i, int64_t j, double *scale, double *order)
{
    for (int64_t c = 0; c < i; c++)
        swap(&a[c * n + i], &a[c * n + j]);
    for (int64_t k = i + 1; k < j; k++)
        swap(&a[i * n + k], &a[k * n + j]);
    for (int64_t r = j + 1; r < n; r++)
        swap(&a[i * n + r], &a[j * n + r]);
    swap(&a[i * n + i], &a[j * n + j]);
    swap(&scale[i], &scale[j]);
    swap(&order[i], &order[j]);
}

/* Scales a to a diagonal of ones; rows whose diagonal is not positive become 0. */
static void scale_rows(double *a, int64_t n, double *scale)
{
    for (int64_t i = 0; i < n; i++) {
        const double d = a[i * n + i];
        scale[i] = d > 0 && isfinite(d) ? 1 / sqrt(d) : 0;
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            a[j * n + i] = scale[i] > 0 && scale[j] > 0 ? a[j * n + i] * scale[i] * scale[j] : 0;
}

/* The state of an inversion. order[i]: the original number of row i. */
typedef struct inversion {
    tess_ctx *ctx; /* NULL: the calling thread does all */
    double *a, *inverse, *scale, *order;
    double least; /* no pivot as small as this is taken, of a matrix with a diagonal of ones */
    double pivot; /* the least that was taken */
    int64_t n, rank;
} inversion;

/* From this many columns on, threads save time. */
enum { LARGE = 128 };

/* Runs columns 0..count-1 on all threads, or on the calling thread where there are few. */
static void for_columns(inversion *s, int64_t count, tess_range_fn run)
{
    if (s->ctx && count >= LARGE)
        tess_for_dynamic(s->ctx, s->ctx->threads, count, 16, run, s);
    else
        run(s, (tess_range){0, count, 0});
}

/* Writes the lower Cholesky factor in place and returns the rank. The upper half is not read. One
 * thread does it, because the step of a pivot is too short to be shared. */
static int64_t factor(inversion *s)
{
    double *a = s->a;
    const int64_t n = s->n;
    const double least = fmax(s->least, 64 * (double)n * DBL_EPSILON);
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < n; i++)
            if (a[i * n + i] > a[best * n + best])
                best = i;
        if (!(a[best * n + best] > least))
            return k;
        if (best != k)
            exchange(a, n, k, best, s->scale, s->order);
        double *column = a + k * n;
        const double root = sqrt(column[k]);
        s->pivot = fmin(s->pivot, column[k]);
        for (int64_t i = k; i < n; i++)
            column[i] /= root;
        for (int64_t j = k + 1; j < n; j++) {
            const double f = column[j];
            double *to = a + j * n;
            for (int64_t i = j; i < n; i++)
                to[i] -= f * column[i];
        }
    }
    return n;
}

/* Computes columns of the inverse of the factor's leading rank x rank part. */
static void invert_columns(void *arg, tess_range range)
{
    const inversion *s = arg;
    const int64_t n = s->n, rank = s->rank;
    const double *l = s->a;
    for (int64_t j = range.first; j < range.last; j++) {
        double *x = s->inverse + j * n;
        memset(x, 0, (size_t)rank * sizeof *x);
        x[j] = 1;
        for (int64_t k = j; k < rank; k++) {
            x[k] /= l[k * n + k];
            const double f = x[k];
            for (int64_t i = k + 1; i < rank; i++)
                x[i] -= f * l[k * n + i];
        }
    }
}

/* Computes columns of A^-1 = L^-T L^-1 down to the diagonal, and their mirror, in the original
 * order. */
static void multiply_columns(void *arg, tess_range range)
{
    const inversion *s = arg;
    const int64_t n = s->n;
    for (int64_t j = range.first; j < range.last; j++) {
        for (int64_t i = 0; i <= j; i++) {
            double sum = 0;
            for (int64_t k = j; k < s->rank; k++)
                sum += s->inverse[i * n + k] * s->inverse[j * n + k];
            const int64_t at = (int64_t)s->order[i], to = (int64_t)s->order[j];
            s->a[to * n + at] = s->a[at * n + to] = sum * s->scale[i] * s->scale[j];
        }
    }
}

double tess_amg_invert_dense(tess_ctx *ctx, double *a, int64_t n, double least, double *work)
{
    inversion s = {.ctx = ctx, .a = a, .inverse = work, .least = least, .pivot = 1, .n = n};
    s.scale = work + n * n;
    s.order = s.scale + n;
    for (int64_t i = 0; i < n; i++)
        s.order[i] = (double)i;
    scale_rows(a, n, s.scale);
    s.rank = factor(&s);
    for_columns(&s, s.rank, invert_columns);
    memset(a, 0, (size_t)(n * n) * sizeof *a);
    for_columns(&s, s.rank, multiply_columns);
    for (int64_t i = s.rank; i < n; i++) {
        const int64_t at = (int64_t)s.order[i];
        a[at * n + at] = s.scale[i] > 0 ? s.scale[i] * s.scale[i] : 1;
    }
    return s.pivot;
}

/* Inverts a matrix that is not symmetric. While there is no pivot, a multiple of the identity is
 * added, ten times as much each time. `kept` has room for a copy, `work` n*n doubles. */
static void invert_any(double *a, int64_t n, double *kept, double *work)
{
    double largest = 0, pivot;
    for (int64_t i = 0; i < n * n; i++)
        largest = isfinite(a[i]) ? fmax(largest, fabs(a[i])) : largest;
    memcpy(kept, a, (size_t)(n * n) * sizeof *a);
    for (double weight = 1e-12; tess_dense_invert(a, (int32_t)n, work, &pivot) >= 0; weight *= 10) {
        memcpy(a, kept, (size_t)(n * n) * sizeof *a);
        for (int64_t i = 0; i < n; i++)
            a[i * n + i] += (largest > 0 ? largest : 1) * weight;
        if (weight > 1) { /* A is not finite, which the method reports */
            memset(a, 0, (size_t)(n * n) * sizeof *a);
            return;
        }
    }
}

/* Expands A to a dense matrix. `symmetric`: entry (i, j) becomes the mean of it and its mirror. */
static void expand(const tess_matrix *A, int64_t n, bool symmetric, double *dense)
{
    const int32_t b = A->block_height;
    memset(dense, 0, (size_t)(n * n) * sizeof *dense);
    for (int64_t row = 0; row < A->block_rows; row++)
        for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++)
            for (int32_t j = 0; j < b; j++)
                for (int32_t i = 0; i < b; i++) {
                    const double value = tess_matrix_value(A, (k * b + j) * b + i);
                    const int64_t at = row * b + i, to = (int64_t)A->columns[k] * b + j;
                    dense[to * n + at] += symmetric ? value / 2 : value;
                    if (symmetric)
                        dense[at * n + to] += value / 2;
                }
}

tess_status tess_amg_dense_pattern(tess_ctx *ctx, int64_t rows, int32_t block, tess_matrix **out)
{
    const int64_t across = tess_ceil_div(rows, block);
    tess_matrix *B;
    TESS_TRY(tess_matrix_allocate(ctx, TESS_F64, rows, rows, block, block, across * across, &B));
    for (int64_t row = 0; row < across; row++) {
        B->row_offsets[row + 1] = (row + 1) * across;
        for (int64_t column = 0; column < across; column++)
            B->columns[row * across + column] = (int32_t)column;
    }
    *out = B;
    return TESS_OK;
}

/* Fills in the values of B, whose pattern is dense, from a column-major matrix of n rows. B's
 * padding becomes 0. */
static void put_dense(const double *dense, int64_t n, tess_matrix *B)
{
    const int32_t b = B->block_height;
    double *values = B->values;
    memset(values, 0, (size_t)tess_matrix_stored(B) * sizeof *values);
    for (int64_t k = 0; k < B->blocks; k++) {
        const int64_t row = k / B->block_rows * b, column = (int64_t)B->columns[k] * b;
        const int64_t height = tess_min(b, n - row), width = tess_min(b, n - column);
        for (int64_t j = 0; j < width; j++)
            memcpy(values + (k * b + j) * b, dense + (column + j) * n + row,
                   (size_t)height * sizeof *dense);
    }
}

tess_status tess_amg_invert_bottom(tess_ctx *ctx, const tess_matrix *A, bool symmetric,
                                   double least, tess_matrix *B, double *pivot)
{
    const int64_t n = A->block_rows * A->block_height;
    double *dense = NULL;
    TESS_TRY(TESS_ALLOC(ctx, 3 * n * n + 2 * n, &dense));
    expand(A, n, symmetric, dense);
    *pivot = 1;
    if (symmetric)
        *pivot = tess_amg_invert_dense(ctx, dense, n, least, dense + n * n);
    else
        invert_any(dense, n, dense + n * n, dense + 2 * n * n);
    put_dense(dense, n, B);
    tess_free(ctx, dense);
    return TESS_OK;
}

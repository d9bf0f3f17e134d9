/* Symmetry of pattern and values, and the diagonal: every entry (i, j) looks for its mirror (j, i)
 * by bisection in the sorted columns of block row j. */
#include <math.h>

#include "matrix/matrix.h"

/* Position of block (row, column), or -1. */
static int64_t find_block(const tess_matrix *A, int64_t row, int64_t column)
{
    int64_t low = A->row_offsets[row], high = A->row_offsets[row + 1], end = high;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (A->columns[middle] < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && A->columns[low] == column ? low : -1;
}

typedef struct tally {
    int64_t off_diagonal, mirrored;  /* entries, and those whose mirror is stored */
    int64_t unequal, unopposed;      /* a_ij != a_ji, a_ij != -a_ji; an absent entry is 0 */
    int64_t diagonal, zero_diagonal; /* stored entries (i, i), and those that are 0 */
    double largest, difference;      /* max |a_ij|, max |a_ij - a_ji| */
} tally;

/* The entries of block k, block (I, J). With square blocks the mirrors lie in one block. */
static void compare_block(const tess_matrix *A, int64_t I, int64_t k, tally *T)
{
    int64_t r = A->block_height, c = A->block_width, J = A->columns[k];
    int64_t mirror = r == c ? find_block(A, J, I) : -1;
    for (int64_t q = 0; q < c && J * c + q < A->cols; q++) {
        for (int64_t p = 0; p < r && I * r + p < A->rows; p++) {
            int64_t i = I * r + p, j = J * c + q;
            double value = tess_matrix_value(A, (k * c + q) * r + p), other = 0;
            if (r != c)
                mirror = find_block(A, j / r, i / c);
            if (mirror >= 0)
                other = tess_matrix_value(A, (mirror * c + i % c) * r + j % r);
            T->unequal += !(value == other);
            T->unopposed += !(value == -other);
            T->off_diagonal += i != j;
            T->mirrored += i != j && mirror >= 0;
            T->diagonal += i == j;
            T->zero_diagonal += i == j && value == 0;
            T->largest = fmax(T->largest, fabs(value));
            if (value != other) { /* NaN among them, and infinities of different signs */
                double difference = fabs(value - other);
                T->difference = fmax(T->difference, isnan(difference) ? INFINITY : difference);
            }
        }
    }
}

/* Rectangular matrices have a diagonal, but no mirrors. */
static int64_t count_diagonal(const tess_matrix *A, int64_t *zeros)
{
    int64_t r = A->block_height, c = A->block_width, found = 0, zero = 0;
    int64_t length = A->rows < A->cols ? A->rows : A->cols;
#pragma omp parallel for reduction(+ : found, zero) num_threads(A->ctx->threads)
    for (int64_t i = 0; i < length; i++) {
        int64_t k = find_block(A, i / r, i / c);
        found += k >= 0;
        zero += k >= 0 && tess_matrix_value(A, (k * c + i % c) * r + i % r) == 0;
    }
    *zeros = zero;
    return found;
}

tess_status tess_matrix_symmetry(tess_ctx *ctx, const tess_matrix *A, tess_symmetry *out)
{
    if (!ctx || !A || !out)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_matrix_symmetry: an argument is NULL");
    int64_t length = A->rows < A->cols ? A->rows : A->cols;
    if (A->rows != A->cols) {
        tess_symmetry S = {0};
        S.missing_diagonal = length - count_diagonal(A, &S.zero_diagonal);
        *out = S;
        return TESS_OK;
    }
    int64_t off_diagonal = 0, mirrored = 0, unequal = 0, unopposed = 0, diagonal = 0, zero = 0;
    double largest = 0, difference = 0;
#pragma omp parallel for schedule(dynamic, 256) num_threads(ctx->threads) \
    reduction(+ : off_diagonal, mirrored, unequal, unopposed, diagonal, zero) \
    reduction(max : largest, difference)
    for (int64_t I = 0; I < A->block_rows; I++) {
        tally T = {0};
        for (int64_t k = A->row_offsets[I]; k < A->row_offsets[I + 1]; k++)
            compare_block(A, I, k, &T);
        off_diagonal += T.off_diagonal;
        mirrored += T.mirrored;
        unequal += T.unequal;
        unopposed += T.unopposed;
        diagonal += T.diagonal;
        zero += T.zero_diagonal;
        largest = T.largest > largest ? T.largest : largest;
        difference = T.difference > difference ? T.difference : difference;
    }
    *out = (tess_symmetry){
        .pattern = mirrored == off_diagonal,
        .symmetric = unequal == 0,
        .skew = unopposed == 0,
        .mirrored = off_diagonal > 0 ? (double)mirrored / (double)off_diagonal : 1,
        .asymmetry = !isfinite(difference) ? NAN
                     : largest > 0         ? difference / largest
                                           : 0,
        .missing_diagonal = length - diagonal,
        .zero_diagonal = zero,
    };
    return TESS_OK;
}

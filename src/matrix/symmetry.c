/* Symmetry of pattern and values, and the diagonal: for every entry (i, j) the mirror (j, i) is
 * searched by bisection in the sorted columns of block row j. */
#include "matrix/matrix.h"

typedef struct tally {
    int64_t off_diagonal, mirrored;  /* entries, and those whose mirror is stored */
    int64_t unequal, unopposed;      /* a_ij != a_ji, a_ij != -a_ji; an absent entry is 0 */
    int64_t unconjugated;            /* a_ij is not the conjugate of a_ji */
    int64_t diagonal, zero_diagonal; /* stored entries (i, i), and those that are 0 */
    double largest, difference;      /* max |a_ij|, max |a_ij - a_ji| */
} tally;

static void compare_reals(double value, double other, tally *T)
{
    T->unequal += !(value == other);
    T->unopposed += !(value == -other);
    T->unconjugated += !(value == other);
    T->largest = fmax(T->largest, fabs(value));
    if (value != other) { /* NaN among them, and infinities of different signs */
        double difference = fabs(value - other);
        T->difference = fmax(T->difference, isnan(difference) ? INFINITY : difference);
    }
}

static void compare_complex(tess_complex value, tess_complex other, tally *T)
{
    const bool equal = value.re == other.re && value.im == other.im;
    T->unequal += !equal;
    T->unopposed += !(value.re == -other.re && value.im == -other.im);
    T->unconjugated += !(value.re == other.re && value.im == -other.im);
    T->largest = fmax(T->largest, hypot(value.re, value.im));
    if (!equal) {
        double difference = hypot(value.re - other.re, value.im - other.im);
        T->difference = fmax(T->difference, isnan(difference) ? INFINITY : difference);
    }
}

/* Compares scalar `at` with its mirror, which is 0 where it is not stored (mirror = -1). */
static void compare(const tess_matrix *A, int64_t at, int64_t mirror, tally *T)
{
    if (tess_is_complex(A->type))
        compare_complex(tess_matrix_complex_value(A, at),
                        mirror >= 0 ? tess_matrix_complex_value(A, mirror) : (tess_complex){0, 0},
                        T);
    else
        compare_reals(tess_matrix_value(A, at), mirror >= 0 ? tess_matrix_value(A, mirror) : 0, T);
}

/* Compares the entries of block k, which is block (I, J). With square blocks all their mirrors lie
 * in one block. */
static void compare_block(const tess_matrix *A, int64_t I, int64_t k, tally *all)
{
    const int64_t r = A->block_height, c = A->block_width, J = A->columns[k];
    const int64_t rows = tess_min(r, A->rows - I * r), cols = tess_min(c, A->cols - J * c);
    int64_t mirror = r == c ? tess_matrix_find(A, J, I) : -1;
    tally T = *all;
    for (int64_t q = 0; q < cols; q++) {
        for (int64_t p = 0; p < rows; p++) {
            const int64_t i = I * r + p, j = J * c + q, at = (k * c + q) * r + p;
            int64_t opposite = (mirror * c + p) * r + q; /* where (j, i) is stored */
            if (r != c) {
                mirror = tess_matrix_find(A, j / r, i / c);
                opposite = (mirror * c + i % c) * r + j % r;
            }
            compare(A, at, mirror >= 0 ? opposite : -1, &T);
            T.off_diagonal += i != j;
            T.mirrored += i != j && mirror >= 0;
            T.diagonal += i == j;
            T.zero_diagonal += i == j && tess_matrix_is_zero(A, at);
        }
    }
    *all = T;
}

struct look_at_diagonal {
    const tess_matrix *A;
    int64_t found, zero;
};

static void look_at_diagonal(void *arg, tess_range range)
{
    struct look_at_diagonal *job = arg;
    const int64_t r = job->A->block_height, c = job->A->block_width;
    int64_t found = 0, zero = 0;
    for (int64_t i = range.first; i < range.last; i++) {
        int64_t k = tess_matrix_find(job->A, i / r, i / c);
        found += k >= 0;
        zero += k >= 0 && tess_matrix_is_zero(job->A, (k * c + i % c) * r + i % r);
    }
    tess_take(&job->found, found);
    tess_take(&job->zero, zero);
}

/* Counts the stored diagonal entries, and those that are 0: for rectangular matrices, which have a
 * diagonal but no mirrors. */
static int64_t count_diagonal(const tess_matrix *A, int64_t *zeros)
{
    struct look_at_diagonal job = {.A = A};
    tess_for(A->ctx, tess_min(A->rows, A->cols), look_at_diagonal, &job);
    *zeros = job.zero;
    return job.found;
}

struct compare_rows {
    const tess_matrix *A;
    tally *all;
};

static void compare_rows(void *arg, tess_range range)
{
    const struct compare_rows *job = arg;
    const tess_matrix *A = job->A;
    tally T = {0}, *all = job->all;
    for (int64_t I = range.first; I < range.last; I++)
        for (int64_t k = A->row_offsets[I]; k < A->row_offsets[I + 1]; k++)
            compare_block(A, I, k, &T);
    tess_take(&all->off_diagonal, T.off_diagonal);
    tess_take(&all->mirrored, T.mirrored);
    tess_take(&all->unequal, T.unequal);
    tess_take(&all->unopposed, T.unopposed);
    tess_take(&all->unconjugated, T.unconjugated);
    tess_take(&all->diagonal, T.diagonal);
    tess_take(&all->zero_diagonal, T.zero_diagonal);
    tess_raise_double(&all->largest, T.largest);
    tess_raise_double(&all->difference, T.difference);
}

static tally compare_all(tess_ctx *ctx, const tess_matrix *A)
{
    tally T = {0};
    tess_for_dynamic(ctx, ctx->threads, A->block_rows, 256, compare_rows,
                     &(struct compare_rows){A, &T});
    return T;
}

tess_status tess_matrix_hermitian(tess_ctx *ctx, const tess_matrix *A, int *hermitian)
{
    TESS_NEED(ctx, ctx && A && hermitian);
    *hermitian = A->rows == A->cols && compare_all(ctx, A).unconjugated == 0;
    return TESS_OK;
}

tess_status tess_matrix_symmetry(tess_ctx *ctx, const tess_matrix *A, tess_symmetry *out)
{
    TESS_NEED(ctx, ctx && A && out);
    int64_t length = tess_min(A->rows, A->cols);
    if (A->rows != A->cols) {
        tess_symmetry S = {0};
        S.missing_diagonal = length - count_diagonal(A, &S.zero_diagonal);
        *out = S;
        return TESS_OK;
    }
    const tally T = compare_all(ctx, A);
    *out = (tess_symmetry){
        .pattern = T.mirrored == T.off_diagonal,
        .symmetric = T.unequal == 0,
        .skew = T.unopposed == 0,
        .mirrored = T.off_diagonal > 0 ? (double)T.mirrored / (double)T.off_diagonal : 1,
        .asymmetry = !isfinite(T.difference) ? NAN
                     : T.largest > 0         ? T.difference / T.largest
                                             : 0,
        .missing_diagonal = length - T.diagonal,
        .zero_diagonal = T.zero_diagonal,
    };
    return TESS_OK;
}

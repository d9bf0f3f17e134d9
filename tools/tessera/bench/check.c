/* The truth about a product: ref's y, and the largest rounding error that a correct sum may have.
 *
 * |y - ref| is compared row by row with n eps (|A||x|): n is two more than the largest number of
 * terms in a sum, eps the spacing of the matrix's type. The measure does not depend on how A is
 * scaled. For complex numbers it takes the moduli; a sum of n products is then two sums of 2 n.
 */
#include <string.h>

#include "bench.h"
#include "../row_error.h"

/* Counts the terms of the longest sum: the longest row in scalars, or column for the transpose. */
static tess_status longest_sum(const tess_matrix *A, bool transpose, int64_t *longest)
{
    int64_t *in_column = NULL, most = 0;
    if (transpose)
        TESS_TRY(TESS_CALLOC(A->ctx, A->block_cols, &in_column));
    for (int64_t row = 0; row < A->block_rows; row++) {
        int64_t length = A->row_offsets[row + 1] - A->row_offsets[row];
        if (!transpose && length > most)
            most = length;
        for (int64_t k = A->row_offsets[row]; transpose && k < A->row_offsets[row + 1]; k++)
            if (++in_column[A->columns[k]] > most)
                most = in_column[A->columns[k]];
    }
    tess_free(A->ctx, in_column);
    *longest =
        most * (transpose ? A->block_height : A->block_width) * (tess_is_complex(A->type) ? 2 : 1);
    return TESS_OK;
}

/* Block rows first .. first+count-1 of A as a matrix. Its offsets still count from the start of A's
 * blocks. */
static tess_matrix rows_of(const tess_matrix *A, int64_t first, int64_t count)
{
    tess_matrix part = *A;
    int64_t end = (first + count) * A->block_height;
    part.row_offsets += first;
    part.block_rows = count;
    part.rows = tess_min(end, A->rows) - first * A->block_height;
    return part;
}

static double modulus(const void *array, tess_type type, int64_t i)
{
    if (!tess_is_complex(type))
        return fabs(tess_get(array, type, i));
    const tess_complex value = tess_get_complex(array, type, i);
    return hypot(value.re, value.im);
}

/* sums[] += |A||x| over one block row for one vector: element i of it is x[i*stride]. */
static void add_row_magnitude(const tess_matrix *A, int64_t ib, bool transpose, const void *x,
                              int64_t x_start, int64_t stride, double *sums)
{
    for (int64_t k = A->row_offsets[ib]; k < A->row_offsets[ib + 1]; k++) {
        for (int32_t j = 0; j < A->block_width; j++) {
            for (int32_t i = 0; i < A->block_height; i++) {
                int64_t row = ib * A->block_height + i;
                int64_t col = (int64_t)A->columns[k] * A->block_width + j;
                if (row >= A->rows || col >= A->cols)
                    continue;
                int64_t at = (k * A->block_width + j) * A->block_height + i;
                int64_t in = transpose ? row : col, out = transpose ? col : row;
                sums[out * stride] =
                    add_magnitude(sums[out * stride], modulus(A->values, A->type, at),
                                  modulus(x, A->type, x_start + in * stride));
            }
        }
    }
}

/* ref's y and |A||x| for the rows of y that `count` block rows of A give, for all vectors. */
static void multiply_rows(const tess_matrix *A, const tess_product *product, int64_t first,
                          int64_t count, const void *x, char *y, double *sums)
{
    tess_matrix part = rows_of(A, first, count);
    bool many = product->kind == TESS_PRODUCT_SPMM;
    bool columns = !many || product->order == TESS_ORDER_COLUMN_MAJOR;
    int64_t k = many ? product->k : 1, stride = columns ? 1 : k;
    int64_t start = first * A->block_height * stride;
    char *rows = y + start * (int64_t)tess_type_size(A->type);
    const tess_complex one = {1, 0}, zero = {0, 0};
    if (tess_is_complex(A->type))
        tess_ref_spmm_complex(&part, (int)k,
                              columns ? TESS_ORDER_COLUMN_MAJOR : TESS_ORDER_ROW_MAJOR, one, x,
                              columns ? A->cols : k, zero, rows, columns ? A->rows : k);
    else if (!many)
        tess_ref_spmv(&part, 1, x, 0, rows);
    else
        tess_ref_spmm(&part, (int)k, columns ? TESS_ORDER_COLUMN_MAJOR : TESS_ORDER_ROW_MAJOR, 1, x,
                      columns ? A->cols : k, 0, rows, columns ? A->rows : k);
    for (int64_t v = 0; v < k; v++)
        for (int64_t ib = 0; ib < count; ib++)
            add_row_magnitude(&part, ib, false, x, columns ? v * A->cols : v, stride,
                              sums + start + (columns ? v * A->rows : v));
}

struct multiply_piece {
    const tess_matrix *A;
    const tess_product *product;
    const void *x;
    void *y;
    double *sums;
};

static void multiply_piece(void *arg, tess_range rows)
{
    const struct multiply_piece *job = arg;
    multiply_rows(job->A, job->product, rows.first, rows.last - rows.first, job->x, job->y,
                  job->sums);
}

/* ref's y and |A||x|. Rows of A are independent; the transpose needs scratch for its sums. */
static tess_status multiply(const tess_matrix *A, const tess_product *product, const void *x,
                            void *y, double *sums)
{
    enum { ROWS = 16 }; /* block rows per piece */
    if (product->kind == TESS_PRODUCT_SPMV_TRANSPOSE) {
        tess_complex *scratch;
        TESS_TRY(TESS_ALLOC(A->ctx, A->cols, &scratch));
        if (tess_is_complex(A->type))
            tess_ref_spmv_complex(A, TESS_OPERATION_TRANSPOSE, (tess_complex){1, 0}, x,
                                  (tess_complex){0, 0}, y, scratch);
        else
            tess_ref_spmv_transpose(A, 1, x, 0, y, &scratch->re);
        tess_free(A->ctx, scratch);
        for (int64_t ib = 0; ib < A->block_rows; ib++)
            add_row_magnitude(A, ib, true, x, 0, 1, sums);
        return TESS_OK;
    }
    tess_for_dynamic(A->ctx, A->ctx->threads, A->block_rows, ROWS, multiply_piece,
                     &(struct multiply_piece){A, product, x, y, sums});
    return TESS_OK;
}

struct scale_magnitudes {
    bench_truth made;
    double unit;
};

static void scale_magnitudes(void *arg, tess_range range)
{
    const struct scale_magnitudes *job = arg;
    for (int64_t i = range.first; i < range.last; i++)
        job->made.magnitude[i] =
            job->unit * magnitude_in_range(job->made.magnitude[i], job->made.type);
}

tess_status bench_truth_create(const tess_matrix *A, const tess_product *product, const void *x,
                               bench_truth *truth)
{
    tess_status status;
    int64_t longest;
    bench_truth made = {.type = A->type, .ctx = A->ctx, .count = tess_product_y_size(A, product)};
    TESS_TRY_CLEAN(tess_alloc_bytes(A->ctx, made.count, tess_type_size(A->type), &made.expected));
    TESS_TRY_CLEAN(TESS_CALLOC(A->ctx, made.count, &made.magnitude));
    TESS_TRY_CLEAN(longest_sum(A, product->kind == TESS_PRODUCT_SPMV_TRANSPOSE, &longest));
    TESS_TRY_CLEAN(multiply(A, product, x, made.expected, made.magnitude));
    double unit =
        (double)(longest + 2) * (tess_real_type(A->type) == TESS_F64 ? DBL_EPSILON : FLT_EPSILON);
    tess_for(A->ctx, made.count, scale_magnitudes, &(struct scale_magnitudes){made, unit});
    *truth = made;
    return TESS_OK;
cleanup:
    bench_truth_free(A->ctx, &made);
    return status;
}

void bench_truth_free(tess_ctx *ctx, bench_truth *truth)
{
    tess_free(ctx, truth->expected);
    tess_free(ctx, truth->magnitude);
    *truth = (bench_truth){0};
}

struct compare_scalars {
    const bench_truth *truth;
    const void *y;
    double *worst;
};

static void compare_scalars(void *arg, tess_range range)
{
    const struct compare_scalars *job = arg;
    const bench_truth *truth = job->truth;
    double worst = 0;
    for (int64_t i = range.first; i < range.last; i++) {
        const tess_complex value = tess_get_complex(job->y, truth->type, i);
        const tess_complex right = tess_get_complex(truth->expected, truth->type, i);
        const double error = row_error(value, right, truth->magnitude[i]);
        worst = tess_max(error, worst);
    }
    tess_raise_double(job->worst, worst);
}

double bench_error(const bench_truth *truth, const void *y)
{
    double worst = 0;
    tess_for(truth->ctx, truth->count, compare_scalars,
             &(struct compare_scalars){truth, y, &worst});
    return worst;
}

/* Vectors of a large matrix have tens of megabytes and are swept in every turn. So all threads
 * sweep them, in pieces. */
enum { PIECE = 1 << 20 };

static size_t piece_at(size_t bytes, size_t first)
{
    return tess_min(bytes - first, (size_t)PIECE);
}

struct pieces {
    char *y;
    const char *a, *b;
    size_t bytes;
    bool *equal;
};

static void poison_pieces(void *arg, tess_range range)
{
    const struct pieces *job = arg;
    for (size_t i = (size_t)range.first; i < (size_t)range.last; i++)
        memset(job->y + i * PIECE, 0xff, piece_at(job->bytes, i * PIECE));
}

void bench_poison(tess_ctx *ctx, char *y, size_t bytes)
{
    tess_for(ctx, tess_ceil_div((int64_t)bytes, PIECE), poison_pieces,
             &(struct pieces){.y = y, .bytes = bytes});
}

static void compare_pieces(void *arg, tess_range range)
{
    const struct pieces *job = arg;
    for (size_t i = (size_t)range.first; i < (size_t)range.last; i++)
        if (memcmp(job->a + i * PIECE, job->b + i * PIECE, piece_at(job->bytes, i * PIECE)) != 0)
            tess_set_flag(job->equal, false);
}

bool bench_equal(tess_ctx *ctx, const char *a, const char *b, size_t bytes)
{
    bool equal = true;
    tess_for(ctx, tess_ceil_div((int64_t)bytes, PIECE), compare_pieces,
             &(struct pieces){.a = a, .b = b, .bytes = bytes, .equal = &equal});
    return equal;
}

/* A newly compiled kernel runs on a small matrix, the probe, and is compared with ref before it is
 * used: compilers have bugs too, and a wrong product is worse than a slow one.
 *
 * The probe has the block size, precision and raggedness of the plan's matrix, an empty row, rows
 * of different lengths and one long row, so that everything a kernel is specialised for occurs.
 */
#include <float.h>

#include "backend/permute.h"
#include "cuda/plan/variants/launch.h"
#include "ref/ref.h"

enum { SEED = 20090215, LONG_ROW = 200, SCALARS = 8192 };

/* A random scalar. Real types take its real part. */
static tess_complex random_scalar(uint64_t seed, int64_t i)
{
    return (tess_complex){tess_random_unit(seed, (uint64_t)i),
                          tess_random_unit(seed + 100, (uint64_t)i)};
}

static tess_status make_probe(tess_ctx *ctx, const tess_cuda_problem *like, tess_matrix **out)
{
    int32_t r = like->block_height, c = like->block_width;
    int64_t cols = tess_min(LONG_ROW, tess_min(like->longest_row, SCALARS / c)), long_row;
    cols = tess_max(cols, 3);
    int64_t rows = tess_min(70, 3 + SCALARS / 4 / r);
    long_row = rows / 2;

    int64_t blocks = cols;
    for (int64_t i = 0; i < rows; i++)
        blocks += i == long_row ? 0 : tess_min(i % 7, cols);
    int64_t short_rows = like->rows % r != 0, short_cols = like->cols % c != 0;
    tess_matrix *A;
    TESS_TRY(tess_matrix_allocate(ctx, like->type, rows * r - short_rows, cols * c - short_cols, r,
                                  c, blocks, &A));
    int64_t k = 0;
    for (int64_t i = 0; i < rows; i++) {
        int64_t length = i == long_row ? cols : tess_min(i % 7, cols);
        int64_t start = tess_random_below(SEED, (uint64_t)i, cols - length + 1);
        for (int64_t j = 0; j < length; j++, k++) {
            A->columns[k] = (int32_t)(start + j);
            for (int64_t at = 0; at < (int64_t)r * c; at++) {
                bool inside = i * r + at % r < A->rows && (start + j) * c + at / r < A->cols;
                tess_put_complex(A->values, A->type, k * r * c + at,
                                 inside ? random_scalar(SEED + 1, k * r * c + at)
                                        : (tess_complex){0, 0});
            }
        }
        A->row_offsets[i + 1] = k;
    }
    *out = A;
    return TESS_OK;
}

/* Host and device memory of one comparison, with room for the product's k vectors. */
typedef struct comparison {
    int64_t x_count, y_count;
    void *x, *y, *expected; /* of A's type */
    double *bound;          /* |A||x| of one vector */
    void *one;              /* one vector of x, contiguous, for the bound */
    void *moved;            /* x or y in the kernel's order */
    cu_pointer device_x, device_y, device_dot;
} comparison;

static void free_comparison(tess_cuda *cuda, comparison *t)
{
    TESS_FREE(cuda->ctx, t->x, t->y, t->expected, t->bound, t->one, t->moved);
    tess_cuda_free(cuda, t->device_x);
    tess_cuda_free(cuda, t->device_y);
    tess_cuda_free(cuda, t->device_dot);
}

static tess_status make_comparison(tess_cuda *cuda, const tess_matrix *A, int vectors,
                                   comparison *t)
{
    size_t size = tess_type_size(A->type);
    t->x_count = A->cols * vectors;
    t->y_count = A->rows * vectors;
    TESS_TRY(tess_alloc_bytes(cuda->ctx, t->x_count, size, &t->x));
    TESS_TRY(tess_alloc_bytes(cuda->ctx, t->y_count, size, &t->y));
    TESS_TRY(tess_alloc_bytes(cuda->ctx, t->y_count, size, &t->expected));
    TESS_TRY(tess_alloc_bytes(cuda->ctx, A->cols, size, &t->one));
    TESS_TRY(tess_alloc_bytes(cuda->ctx, tess_max(t->x_count, t->y_count), size, &t->moved));
    TESS_TRY(TESS_ALLOC(cuda->ctx, A->rows, &t->bound));
    TESS_TRY(tess_cuda_alloc(cuda, (size_t)t->x_count * size, "a probe", &t->device_x));
    TESS_TRY(tess_cuda_alloc(cuda, (size_t)t->y_count * size, "a probe", &t->device_y));
    TESS_TRY(tess_cuda_alloc(cuda, sizeof(double), "a probe", &t->device_dot));
    for (int64_t i = 0; i < t->x_count; i++)
        tess_put_complex(t->x, A->type, i, random_scalar(SEED + 2, i));
    return TESS_OK;
}

/* Copies a vector into the order in which the variant has it, or `back` into the matrix's order. */
static void order(const tess_cuda_problem *problem, int32_t block, int64_t count, const void *from,
                  void *to, bool back)
{
    if (problem->fields)
        tess_permute_blocks(problem->type, count, block, back, from, to);
    else
        memcpy(to, from, (size_t)count * tess_type_size(problem->type));
}

/* Computes alpha A x + beta y on the device. Before the product y is NaN where beta = 0, otherwise
 * random. */
static tess_status run_probe(tess_cuda *cuda, const tess_cuda_variant *probe, tess_complex alpha,
                             tess_complex beta, comparison *t, double *dot)
{
    const tess_matrix *A = probe->resident->matrix;
    size_t size = tess_type_size(A->type);
    cu_stream stream = cuda->stream;
    bool rows = probe->problem.row_major;
    tess_cuda_call call = {.x = t->device_x,
                           .y = t->device_y,
                           .dot = t->device_dot,
                           .alpha = alpha.re,
                           .alpha_im = alpha.im,
                           .beta = beta.re,
                           .beta_im = beta.im,
                           .ldx = rows ? probe->problem.vectors : A->cols,
                           .ldy = rows ? probe->problem.vectors : A->rows};
    for (int64_t i = 0; i < t->y_count; i++)
        tess_put_complex(t->y, A->type, i,
                         tess_complex_is_zero(beta) ? (tess_complex){NAN, NAN}
                                                    : random_scalar(SEED + 3, i));
    memcpy(t->expected, t->y, (size_t)t->y_count * size);
    order(&probe->problem, A->block_width, t->x_count, t->x, t->moved, false);
    TESS_TRY(tess_cuda_upload(cuda, t->device_x, t->moved, (size_t)t->x_count * size, stream));
    order(&probe->problem, A->block_height, t->y_count, t->y, t->moved, false);
    TESS_TRY(tess_cuda_upload(cuda, t->device_y, t->moved, (size_t)t->y_count * size, stream));
    TESS_TRY(tess_cuda_run(cuda, probe, &call, stream));
    TESS_TRY(
        TESS_CU(cuda, cuMemcpyDtoHAsync(t->moved, t->device_y, (size_t)t->y_count * size, stream)));
    TESS_TRY(TESS_CU(cuda, cuMemcpyDtoHAsync(dot, t->device_dot, sizeof *dot, stream)));
    TESS_TRY(TESS_CU(cuda, cuStreamSynchronize(stream)));
    order(&probe->problem, A->block_height, t->y_count, t->moved, t->y, true);
    return TESS_OK;
}

static void write_scalar(tess_type type, tess_complex value, char *text, size_t size)
{
    if (tess_is_complex(type))
        snprintf(text, size, "%.17g%+.17gi", value.re, value.im);
    else
        snprintf(text, size, "%.17g", value.re);
}

static tess_status wrong(tess_cuda *cuda, const tess_cuda_variant *variant, const char *what,
                         int64_t at, tess_complex value, tess_complex expected)
{
    char params[256], texts[2][64];
    tess_cuda_params_write(variant->kernel, variant->params, params, sizeof params);
    write_scalar(variant->problem.type, value, texts[0], sizeof texts[0]);
    write_scalar(variant->problem.type, expected, texts[1], sizeof texts[1]);
    tess_fail(cuda->ctx, TESS_ERR_DEVICE,
              "device '%s': kernel '%s' (%s) gives %s %lld = %s instead of %s on a probe matrix: "
              "refused",
              cuda->name, variant->kernel->name, params, what, (long long)at, texts[0], texts[1]);
    tess_log(cuda->ctx, "%s", cuda->ctx->error);
    __atomic_fetch_add(&cuda->refused, 1, __ATOMIC_RELAXED);
    return TESS_ERR_DEVICE;
}

static void conjugate_all(void *array, tess_type type, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        tess_put_complex(array, type, i, tess_conjugate(tess_get_complex(array, type, i)));
}

/* Replaces t->expected, which holds y before the product, by ref's result. ref does not conjugate
 * matrices: conj(A) x is the conjugate of A conj(x). */
static void expect(const tess_cuda_variant *probe, tess_complex alpha, tess_complex beta,
                   const comparison *t)
{
    const tess_matrix *A = probe->resident->matrix;
    const int k = probe->problem.vectors;
    const bool rows = probe->problem.row_major, conjugate = probe->problem.conjugate;
    const tess_block_order order = rows ? TESS_ORDER_ROW_MAJOR : TESS_ORDER_COLUMN_MAJOR;
    const int64_t ldx = rows ? k : A->cols, ldy = rows ? k : A->rows;
    if (!tess_is_complex(A->type)) {
        tess_ref_spmm(A, k, order, alpha.re, t->x, ldx, beta.re, t->expected, ldy);
        return;
    }
    if (conjugate) {
        conjugate_all(t->x, A->type, t->x_count);
        conjugate_all(t->expected, A->type, t->y_count);
        alpha = tess_conjugate(alpha);
        beta = tess_conjugate(beta);
    }
    tess_ref_spmm_complex(A, k, order, alpha, t->x, ldx, beta, t->expected, ldy);
    if (conjugate) {
        conjugate_all(t->x, A->type, t->x_count);
        conjugate_all(t->expected, A->type, t->y_count);
    }
}

static tess_status compare(tess_cuda *cuda, const tess_cuda_variant *probe, tess_complex alpha,
                           tess_complex beta, const comparison *t, double dot)
{
    const tess_matrix *A = probe->resident->matrix;
    int k = probe->problem.vectors;
    bool rows = probe->problem.row_major;
    double epsilon = tess_real_type(A->type) == TESS_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    double n = 8 + (double)probe->problem.longest_row * A->block_width, sum = 0, scale = 0;
    double lost = 0;    /* rounding error of sum (Kahan): the matrix may have millions of rows */
    double largest = 1; /* modulus of y before the product */
    if (tess_is_complex(A->type)) {
        n *= 2; /* the real and the imaginary part sum twice as many products */
        largest = sqrt(2);
    }
    expect(probe, alpha, beta, t);
    for (int v = 0; v < k; v++) {
        for (int64_t j = 0; j < A->cols; j++)
            tess_copy_scalar(A->type, t->one, j, t->x, rows ? j * k + v : v * A->cols + j);
        tess_ref_spmv_magnitude(A, t->one, t->bound);
        for (int64_t i = 0; i < A->rows; i++) {
            int64_t at = rows ? i * k + v : v * A->rows + i;
            tess_complex y = tess_get_complex(t->y, A->type, at);
            tess_complex want = tess_get_complex(t->expected, A->type, at);
            double limit = 2 * n * epsilon *
                           (hypot(alpha.re, alpha.im) * t->bound[i] +
                            hypot(beta.re, beta.im) * largest + 1e-30);
            /* a NaN is wrong too */
            if (!(fabs(y.re - want.re) <= limit && fabs(y.im - want.im) <= limit))
                return wrong(cuda, probe, "y", at, y, want);
            const double square = want.re * want.re - lost, next = sum + square;
            lost = next - sum - square;
            sum = next;
            scale += 2 * limit * fabs(want.re) + 2 * epsilon * want.re * want.re;
        }
    }
    if (probe->kernel->op == TESS_CUDA_SPMV_DOT && !(fabs(dot - sum) <= scale + 1e-30))
        return wrong(cuda, probe, "dot", 0, (tess_complex){dot, 0}, (tess_complex){sum, 0});
    return TESS_OK;
}

/* Makes a probe in the variant's layout. *out stays NULL where the code is specialised for sizes
 * that a small matrix cannot have. */
static tess_status place_probe(tess_cuda *cuda, const tess_cuda_variant *variant,
                               tess_cuda_variant *probe, tess_matrix **out)
{
    const tess_cuda_kernel *kernel = variant->kernel;
    char defines[TESS_CUDA_DEFINES], probe_defines[TESS_CUDA_DEFINES], layout[TESS_CUDA_LAYOUT];
    tess_matrix *A;
    TESS_TRY(make_probe(cuda->ctx, &variant->problem, &A));
    tess_cuda_describe_problem(cuda, A, &probe->problem);
    probe->problem.vectors = variant->problem.vectors;
    probe->problem.row_major = variant->problem.row_major;
    probe->problem.evict_first = variant->problem.evict_first;
    probe->problem.conjugate = variant->problem.conjugate;
    probe->problem.fields = variant->problem.fields;
    memcpy(probe->problem.shapes, variant->problem.shapes, sizeof probe->problem.shapes);
    kernel->defines(&variant->problem, variant->params, defines, sizeof defines);
    kernel->defines(&probe->problem, probe->params, probe_defines, sizeof probe_defines);
    tess_status status = TESS_OK;
    /* With one kernel per shape, a small matrix would launch few of them. */
    bool alike = !kernel->keeps_shapes && kernel->fits(&probe->problem, probe->params) &&
                 strcmp(defines, probe_defines) == 0;
    if (alike) {
        kernel->layout_name(&probe->problem, probe->params, layout, sizeof layout);
        status = tess_cuda_resident_create(cuda, A, layout, &probe->resident);
    }
    if (!alike || status != TESS_OK)
        tess_matrix_destroy(A);
    else
        *out = A;
    return status;
}

tess_status tess_cuda_verify(tess_cuda *cuda, const tess_cuda_variant *variant)
{
    /* alpha and beta of each round. Real types have no imaginary parts. */
    const double im = tess_is_complex(variant->problem.type);
    const tess_complex rounds[2][2] = {{{1, 0.25 * im}, {0, 0}}, {{-0.5, 2 * im}, {2, -im}}};
    tess_cuda_variant probe = *variant;
    tess_matrix *A = NULL;
    comparison t = {0};
    tess_status status;
    TESS_TRY_CLEAN(place_probe(cuda, variant, &probe, &A));
    if (!A && !variant->resident->matrix->values && variant->resident->matrix->blocks > 0) {
        status = tess_fail(cuda->ctx, TESS_ERR_UNSUPPORTED,
                           "no probe is like the matrix, which has no values: %s is not verified",
                           variant->kernel->name);
        goto cleanup;
    }
    if (!A) {
        tess_log(cuda->ctx, "cuda: no probe is like the matrix: %s is verified on the matrix",
                 variant->kernel->name);
        probe = *variant;
    }
    /* The probe may have a launch that the matrix does not have: the sum of cut rows. */
    TESS_TRY_CLEAN(tess_cuda_variant_functions(cuda, &probe));
    TESS_TRY_CLEAN(make_comparison(cuda, probe.resident->matrix, probe.problem.vectors, &t));
    for (int round = 0; round < 2; round++) {
        const tess_complex alpha = rounds[round][0], beta = rounds[round][1];
        double dot = 0;
        TESS_TRY_CLEAN(run_probe(cuda, &probe, alpha, beta, &t, &dot));
        TESS_TRY_CLEAN(compare(cuda, &probe, alpha, beta, &t, dot));
    }

cleanup:
    free_comparison(cuda, &t);
    if (A)
        tess_cuda_resident_destroy(cuda, probe.resident);
    tess_matrix_destroy(A);
    return status;
}

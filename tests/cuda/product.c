/* One product of a kernel variant in the emulator, on awkward matrices, against ref. */
#include "product.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "backend/permute.h"
#include "emu/emulator.h"
#include "ref/ref.h"
#include "support/support.h"

typedef struct device {
    tess_cuda_layout *layout;
    tess_cuda_call call;
    tess_cuda_problem problem;
} device;

/* Copies of exactly the right size, so that the address sanitizer sees a read too far. */
static void *upload(const void *host, size_t bytes)
{
    void *copy = NULL;
    assert_int_equal(posix_memalign(&copy, 256, bytes > 0 ? bytes : 1), 0);
    if (bytes > 0)
        memcpy(copy, host, bytes);
    return copy;
}

static void open_device(tess_ctx *ctx, const test_variant *v, const tess_matrix *A, device *d)
{
    tess_cuda_problem_of(A, &d->problem);
    d->problem.arch = v->problem.arch;
    d->problem.multiprocessors = 3;
    d->problem.shared_limit = v->problem.shared_limit;
    d->problem.vectors = v->problem.vectors;
    d->problem.row_major = v->problem.row_major;
    d->problem.conjugate = v->problem.conjugate;
    d->problem.fields = v->problem.fields;
    memcpy(d->problem.shapes, v->problem.shapes, sizeof d->problem.shapes);
    char name[TESS_CUDA_LAYOUT];
    v->kernel->layout_name(&d->problem, v->params, name, sizeof name);
    assert_int_equal(tess_cuda_layout_create(ctx, A, name, &d->layout), TESS_OK);
    for (int i = 0; i < d->layout->count; i++)
        d->call.arrays[i] =
            emu_address(upload(d->layout->arrays[i].host, d->layout->arrays[i].bytes));
    void *workspace = malloc(d->layout->workspace + 1);
    memset(workspace, 0xff, d->layout->workspace);
    d->call.workspace = emu_address(workspace);
}

static void close_device(device *d)
{
    for (int i = 0; i < d->layout->count; i++)
        free((void *)(uintptr_t)d->call.arrays[i]);
    free((void *)(uintptr_t)d->call.workspace);
    tess_cuda_layout_destroy(d->layout);
}

static void run(const test_variant *v, device *d, const char *what, uint64_t seed)
{
    tess_cuda_launch launches[TESS_CUDA_LAUNCHES];
    int count = v->kernel->launches(&d->problem, v->params, d->layout, &d->call, launches);
    assert_in_range(count, 0, TESS_CUDA_LAUNCHES);
    for (int i = 0; i < count; i++) {
        const char *wrong = emu_launch(v->name, &launches[i], seed + (uint64_t)i);
        if (wrong)
            fail_msg("%s: launch %d (%s), seed %llu: %s", what, i, launches[i].entry,
                     (unsigned long long)seed, wrong);
    }
}

/* A vector of blocks of `block` becomes one by fields where the variant wants that; `back`: the
 * other way round. */
static void arrange(const test_variant *v, int32_t block, int64_t count, bool back, void *vector)
{
    const size_t bytes = (size_t)count * tess_type_size(v->problem.type);
    if (!v->problem.fields)
        return;
    void *copy = malloc(bytes + 1);
    memcpy(copy, vector, bytes);
    tess_permute_blocks(v->problem.type, count, block, back, copy, vector);
    free(copy);
}

/* Element i of vector j of a block of vectors. */
static int64_t at(const test_variant *v, int64_t ld, int64_t i, int64_t j)
{
    return v->problem.row_major ? i * ld + j : j * ld + i;
}

/* One vector of the result with ref's. */
static void compare(const test_variant *v, const char *what, const tess_matrix *A,
                    tess_complex alpha, const void *x, tess_complex beta, const void *y0,
                    const void *y)
{
    if (!tess_is_complex(A->type)) {
        test_check_spmv(what, A, alpha.re, x, beta.re, y0, y);
        return;
    }
    const int64_t stored = tess_matrix_stored(A);
    tess_matrix B = *A;
    B.values = malloc((size_t)(stored + 1) * sizeof(tess_complex));
    for (int64_t i = 0; i < stored; i++) {
        const tess_complex value = tess_get_complex(A->values, A->type, i);
        tess_put_complex(B.values, A->type, i,
                         v->problem.conjugate ? tess_conjugate(value) : value);
    }
    test_check_spmv_complex(what, &B, alpha, x, beta, y0, y);
    free(B.values);
}

/* The whole test of one product. For SpMM every vector is checked as a product of its own. */
static void check(const test_variant *v, device *d, const tess_matrix *A, tess_complex alpha,
                  tess_complex beta, uint64_t seed, const char *what)
{
    bool spmm = v->kernel->op == TESS_CUDA_SPMM, dot = v->kernel->op == TESS_CUDA_SPMV_DOT;
    int64_t k = spmm ? v->problem.vectors : 1;
    /* Rows of X that are, and are not, multiples of 16 bytes apart. */
    d->call.ldx = !v->problem.row_major ? A->cols + 3 : seed % 2 ? k + 1 : (k + 3) / 4 * 4 + 4;
    d->call.ldy = v->problem.row_major ? k + 2 : A->rows + 1;
    int64_t x_size = !spmm                  ? A->cols
                     : v->problem.row_major ? (A->cols - 1) * d->call.ldx + k
                                            : (k - 1) * d->call.ldx + A->cols;
    int64_t y_size = !spmm                  ? A->rows
                     : v->problem.row_major ? (A->rows - 1) * d->call.ldy + k
                                            : (k - 1) * d->call.ldy + A->rows;
    size_t y_bytes = (size_t)y_size * tess_type_size(A->type);
    /* x at a multiple of 16 bytes, or of one scalar; the scalar before or behind it is no number.
     */
    char *x_all = test_vector(x_size + 1, A->type, seed);
    void *x = x_all + (seed % 3 == 0 ? tess_type_size(A->type) : 0),
         *w = test_vector(A->rows, A->type, seed + 1);
    tess_put_complex(x_all, A->type, seed % 3 == 0 ? 0 : x_size, (tess_complex){NAN, NAN});
    void *y0 = test_vector(y_size, A->type, seed + 2);
    void *y = malloc(y_bytes), *again = malloc(y_bytes);
    double result[2] = {0, 0};
    bool own = seed % 2 == 0; /* dot: y . y */
    d->call.x = emu_address(x);
    d->call.alpha = alpha.re;
    d->call.alpha_im = alpha.im;
    d->call.beta = beta.re;
    d->call.beta_im = beta.im;
    d->call.w = dot && !own ? emu_address(w) : 0;
    arrange(v, A->block_width, x_size, false, x);
    arrange(v, A->block_height, A->rows, false, w);
    for (int turn = 0; turn < 2; turn++) {
        void *out = turn == 0 ? y : again;
        memcpy(out, y0, y_bytes);
        if (tess_complex_is_zero(beta))
            for (int64_t i = 0; i < A->rows; i++)
                for (int64_t j = 0; j < k; j++)
                    tess_put_complex(out, A->type, spmm ? at(v, d->call.ldy, i, j) : i,
                                     (tess_complex){NAN, NAN});
        arrange(v, A->block_height, y_size, false, out);
        d->call.y = emu_address(out);
        d->call.dot = emu_address(&result[turn]);
        run(v, d, what, seed + 10 * (uint64_t)turn);
    }
    if (memcmp(y, again, y_bytes) != 0 || memcmp(&result[0], &result[1], sizeof *result) != 0)
        fail_msg("%s: seed %llu: another thread order gives other bits", what,
                 (unsigned long long)seed);
    arrange(v, A->block_width, x_size, true, x);
    arrange(v, A->block_height, A->rows, true, w);
    arrange(v, A->block_height, y_size, true, y);
    void *xj = malloc((size_t)(A->cols + 1) * 16), *yj = malloc((size_t)(A->rows + 1) * 16);
    void *y0j = malloc((size_t)(A->rows + 1) * 16);
    for (int64_t j = 0; j < k; j++) {
        for (int64_t i = 0; i < A->cols; i++)
            tess_copy_scalar(A->type, xj, i, x, spmm ? at(v, d->call.ldx, i, j) : i);
        for (int64_t i = 0; i < A->rows; i++) {
            int64_t from = spmm ? at(v, d->call.ldy, i, j) : i;
            tess_copy_scalar(A->type, yj, i, y, from);
            tess_copy_scalar(A->type, y0j, i, y0, from);
        }
        compare(v, what, A, alpha, xj, beta, y0j, yj);
    }
    if (dot) {
        double want = 0, scale = 0;
        for (int64_t i = 0; i < A->rows; i++) {
            double term = tess_get(y, A->type, i) * tess_get(own ? y : w, A->type, i);
            want += term;
            scale += fabs(term);
        }
        if (!(fabs(result[0] - want) <= 1e-13 * (scale + 1e-300)))
            fail_msg("%s: dot is %.17g, ref says %.17g", what, result[0], want);
    }
    free(x_all), free(w), free(y0), free(y), free(again), free(xj), free(yj), free(y0j);
}

void test_product(tess_ctx *ctx, const test_variant *v, uint64_t seed, int step)
{
    static const double factors[][2] = {{1, 0},    {-0.5, 1}, {1.25, 0.75}, {0, 1},
                                        {-0.5, 0}, {0, 0},    {1, -0.5}};
    /* Of complex types: beta is 0, 1, neither, imaginary, and 1 but for its imaginary part. */
    static const double imaginary[][2] = {{0.5, 0},  {2, 0}, {-1, 0.25}, {0, 0.5},
                                          {0.75, 1}, {1, 0}, {0, -1}};
    const double complex = tess_is_complex(v->problem.type);
    int32_t r = v->problem.block_height, c = v->problem.block_width;
    bool ragged = v->problem.cols % c != 0;
    char params[256], what[512];
    tess_cuda_params_write(v->kernel, v->params, params, sizeof params);
    for (test_pattern pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        if (pattern == TEST_RAGGED && !ragged && c > 1)
            continue;
        if ((seed + (uint64_t)pattern) % (uint64_t)step != 0)
            continue;
        int64_t size = r * c <= 25 ? 70 : r * c <= 300 ? 37 : r * c <= 5000 ? 13 : 4;
        if (pattern == TEST_DENSE_ROW && seed % 8 == 0 && strcmp(v->kernel->format, "fbcsr") == 0)
            size = 2600; /* a row of many segments */
        if (pattern == TEST_DENSE_ROW && seed % 8 == 0 && r * c <= 25 &&
            strcmp(v->kernel->format, "balanced") == 0)
            size = 700; /* of more segments than a thread block adds at a time */
        tess_matrix *A = test_matrix(ctx, pattern, size, r, c, v->problem.type, seed);
        device d = {0};
        open_device(ctx, v, A, &d);
        for (int i = 0; i < 2; i++) {
            const uint64_t which = (seed + 3 * (uint64_t)pattern + 2 * (uint64_t)i) % 7;
            const double *f = factors[which], *im = imaginary[which];
            const tess_complex alpha = {f[0], complex * im[0]}, beta = {f[1], complex * im[1]};
            snprintf(what, sizeof what, "%s %s k=%d, pattern %s, alpha %g%+gi beta %g%+gi", v->name,
                     params, v->problem.vectors, test_pattern_name(pattern), alpha.re, alpha.im,
                     beta.re, beta.im);
            check(v, &d, A, alpha, beta, seed + (uint64_t)i, what);
        }
        close_device(&d);
        tess_matrix_destroy(A);
    }
}

/* A matrix in memory of its own but for the columns: block column j of A is column j * step, and
 * the last one the last of `block_cols`. */
static tess_matrix spread(const tess_matrix *A, int64_t block_cols)
{
    const int64_t last = A->block_cols - 1, step = last > 0 ? (block_cols - 1) / last : 0;
    tess_matrix F = *A;
    F.columns = malloc((size_t)(A->blocks + 1) * sizeof *F.columns);
    F.block_cols = last * step + 1;
    F.cols = A->cols + last * (step - 1) * A->block_width;
    for (int64_t i = 0; i < A->blocks; i++)
        F.columns[i] = (int32_t)(A->columns[i] * step);
    return F;
}

bool test_far_product(tess_ctx *ctx, const test_variant *v, uint64_t seed)
{
    const size_t size = tess_type_size(v->problem.type), most = (size_t)1 << 36;
    const bool spmm = v->kernel->op == TESS_CUDA_SPMM;
    const int64_t k = spmm ? v->problem.vectors : 1, c = v->problem.block_width;
    const bool ragged = v->problem.cols % c != 0;
    tess_matrix *A = test_matrix(ctx, ragged ? TEST_RAGGED : TEST_RANDOM, 13,
                                 v->problem.block_height, (int32_t)c, v->problem.type, seed);
    const int64_t room = (int64_t)(most / size) / (c * k);
    tess_matrix F = spread(A, tess_min(room, INT32_MAX - 4096));
    void *far = MAP_FAILED;
    if (!v->problem.fields && !v->kernel->takes_shapes && A->block_cols > 1)
        far = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (far != MAP_FAILED) {
        const int64_t step = (F.block_cols - 1) / (A->block_cols - 1);
        void *x = test_vector(A->cols, A->type, seed),
             *y = malloc((size_t)(A->rows * k + 1) * size);
        device d = {0};
        open_device(ctx, v, &F, &d);
        d.call.ldx = v->problem.row_major ? k : F.cols;
        d.call.ldy = v->problem.row_major ? k : A->rows;
        for (int64_t i = 0; i < A->cols; i++)
            for (int64_t j = 0; j < k; j++)
                tess_copy_scalar(A->type, far, at(v, d.call.ldx, i / c * step * c + i % c, j), x,
                                 i);
        double dot[2];
        d.call.x = emu_address(far);
        d.call.y = emu_address(y);
        d.call.alpha = 1;
        d.call.dot = emu_address(dot);
        run(v, &d, v->name, seed);
        void *yj = malloc((size_t)(A->rows + 1) * size);
        for (int64_t j = 0; j < k; j++) {
            for (int64_t i = 0; i < A->rows; i++)
                tess_copy_scalar(A->type, yj, i, y, spmm ? at(v, d.call.ldy, i, j) : i);
            compare(v, v->name, A, (tess_complex){1, 0}, x, (tess_complex){0, 0}, NULL, yj);
        }
        free(x), free(y), free(yj);
        close_device(&d);
        munmap(far, most);
    }
    free(F.columns);
    tess_matrix_destroy(A);
    return far != MAP_FAILED;
}

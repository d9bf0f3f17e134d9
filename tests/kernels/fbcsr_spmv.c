/* Every kernel on blocks of several shapes (format fbcsr), of every ISA this machine can run,
 * against ref on the same matrix as CSR. */
#include "support/support.h"

#include <string.h>

#include "cpu/plan.h"
#include "format/fbcsr/fbcsr.h"
#include "guarded.h"
#include "ref/ref.h"

/* Shapes with a kernel of their own, and others: the general one does any. */
static const tess_shape shapes[] = {
    {"", 8, 1, 0},   {"", 16, 1, 0},  {"", 32, 1, 0},  {"", 8, 1, 1},   {"", 16, 1, 1},
    {"", 32, 1, 1},  {"", 8, 1, -1},  {"", 16, 1, -1}, {"", 32, 1, -1}, {"", 1, 8, 0},
    {"", 1, 16, 0},  {"", 1, 32, 0},  {"", 2, 2, 0},   {"", 3, 3, 0},   {"", 4, 4, 0},
    {"", 64, 1, 1},  {"", 64, 1, -1}, {"", 64, 1, 0},  {"", 2, 4, 0},   {"", 4, 2, 0},
    {"", 3, 6, 0},   {"", 6, 3, 0},   {"", 4, 8, 0},   {"", 8, 4, 0},   {"", 2, 8, 0},
    {"", 8, 2, 0},   {"", 5, 5, 0},   {"", 6, 6, 0},   {"", 8, 8, 0},   {"", 16, 16, 0},
    {"", 32, 32, 0}, {"", 1, 5, 0},   {"", 1, 37, 0},  {"", 7, 1, 0},   {"", 33, 1, 1},
    {"", 19, 1, -1}, {"", 3, 7, 0},   {"", 20, 6, 0},  {"", 4, 3, 1},   {"", 5, 2, -1},
    {"", 32, 4, 1},  {"", 1, 1, 0},   {"", 9, 2, 2},   {"", 40, 33, 0}, {"", 65, 1, 0},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* ---- A matrix made of blocks at random places, and the same as CSR ---- */

typedef struct planted {
    tess_fbcsr *F;
    tess_matrix *A;
} planted;

/* A dense picture of who owns an entry: -1 nobody. */
static bool place(int *owner, int64_t rows, int64_t cols, const tess_shape *shape, int64_t row,
                  int64_t col, int block)
{
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < shape->height; i++)
            for (int64_t k = 0; k < shape->width; k++) {
                int64_t r = row + i, c = col + shape->shift * i + k;
                if (r < 0 || r >= rows || c < 0 || c >= cols ||
                    (pass == 0 && owner[r * cols + c] >= 0))
                    return false;
                if (pass == 1)
                    owner[r * cols + c] = block;
            }
    return true;
}

static int by_place(const void *a, const void *b)
{
    const int64_t *p = a, *q = b;
    return p[0] != q[0] ? (p[0] > q[0]) - (p[0] < q[0]) : (p[1] > q[1]) - (p[1] < q[1]);
}

/* One split: up to `wanted` blocks where there is room. Every seventh place of a block stays
 * empty. */
static void plant(tess_ctx *ctx, tess_fbcsr_split *split, const tess_shape *shape, int *owner,
                  double *dense, int64_t rows, int64_t cols, tess_type type, int wanted,
                  uint64_t seed)
{
    int64_t size = (int64_t)shape->height * shape->width;
    int64_t(*at)[2] = malloc((size_t)(wanted + 1) * sizeof *at);
    *split = (tess_fbcsr_split){.shape = *shape};
    for (int n = 0; n < wanted; n++) {
        int64_t row = tess_random_below(seed, (uint64_t)n, rows);
        int64_t col = tess_random_below(seed + 1, (uint64_t)n, cols);
        if (n % 3 == 1 && split->blocks > 0) /* in the row of the previous block: a run */
            row = at[split->blocks - 1][0];
        if (n < 2) /* in the corners */
            row = n == 0 ? 0 : rows - shape->height, col = n == 0 ? 0 : cols - shape->width;
        if (row >= 0 && place(owner, rows, cols, shape, row, col, n)) {
            at[split->blocks][0] = row;
            at[split->blocks++][1] = col;
        }
    }
    qsort(at, (size_t)split->blocks, sizeof *at, by_place);
    assert_int_equal(TESS_ALLOC(ctx, split->blocks, &split->rows), TESS_OK);
    assert_int_equal(TESS_ALLOC(ctx, split->blocks, &split->cols), TESS_OK);
    assert_int_equal(
        tess_calloc_bytes(ctx, split->blocks * size, tess_type_size(type), &split->values),
        TESS_OK);
    for (int64_t b = 0; b < split->blocks; b++) {
        split->rows[b] = (int32_t)at[b][0];
        split->cols[b] = (int32_t)at[b][1];
        for (int64_t e = 0; e < size; e++) {
            int64_t i = e % shape->height, k = e / shape->height;
            double value = tess_random_unit(seed + 2, (uint64_t)(b * size + e));
            if (e % 7 == 3)
                continue;
            tess_put(split->values, type, b * size + e, value);
            split->nonzeros++;
            dense[(at[b][0] + i) * cols + at[b][1] + shape->shift * i + k] =
                tess_get(split->values, type, b * size + e);
        }
    }
    free(at);
}

/* The matrix as CSR: every non-zero of the dense array. */
static tess_matrix *from_dense(tess_ctx *ctx, const double *dense, int64_t rows, int64_t cols,
                               tess_type type)
{
    tess_matrix *A = NULL;
    int64_t count = 0, k = 0;
    for (int64_t i = 0; i < rows * cols; i++)
        count += dense[i] != 0;
    assert_int_equal(tess_matrix_allocate(ctx, type, rows, cols, 1, 1, count, &A), TESS_OK);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++)
            if (dense[i * cols + j] != 0) {
                A->columns[k] = (int32_t)j;
                tess_put(A->values, type, k++, dense[i * cols + j]);
            }
        A->row_offsets[i + 1] = k;
    }
    return A;
}

/* `count` splits of shapes from `first` on, and noise for the remainder. */
static planted make(tess_ctx *ctx, int64_t rows, int64_t cols, tess_type type, int first, int count,
                    int wanted, bool noise, uint64_t seed)
{
    planted p = {0};
    int *owner = malloc((size_t)(rows * cols + 1) * sizeof *owner);
    double *dense = calloc((size_t)(rows * cols + 1), sizeof *dense);
    double *rest = calloc((size_t)(rows * cols + 1), sizeof *rest);
    memset(owner, 0xff, (size_t)(rows * cols) * sizeof *owner);
    assert_int_equal(TESS_CALLOC(ctx, 1, &p.F), TESS_OK);
    assert_int_equal(TESS_CALLOC(ctx, count + 1, &p.F->split), TESS_OK);
    p.F->ctx = ctx;
    p.F->type = type;
    p.F->rows = rows;
    p.F->cols = cols;
    p.F->splits = count;
    for (int i = 0; i < count; i++)
        plant(ctx, &p.F->split[i], &shapes[(first + i) % SHAPES], owner, dense, rows, cols, type,
              wanted, seed + 10 * (uint64_t)i);
    for (int64_t n = 0; noise && n < 3 * rows; n++) {
        int64_t at = tess_random_below(seed + 7, (uint64_t)n, rows * cols);
        if (owner[at] < 0)
            dense[at] = rest[at] = (float)tess_random_unit(seed + 8, (uint64_t)n);
    }
    p.F->rest = from_dense(ctx, rest, rows, cols, type);
    p.A = from_dense(ctx, dense, rows, cols, type);
    p.F->nonzeros = p.A->blocks;
    free(owner), free(dense), free(rest);
    return p;
}

/* ---- Checks ---- */

static void check(tess_device *device, planted p, tess_cpu_isa isa, const char *what)
{
    static const double factors[][2] = {{1, 0}, {1, 1}, {-0.5, -0.5}, {0, 1}, {2, 0}, {0, 0}};
    const tess_matrix *A = p.A;
    size_t scalar = tess_type_size(A->type), y_bytes = (size_t)A->rows * scalar;
    void *x = test_vector(A->cols, A->type, 1), *y0 = test_vector(A->rows, A->type, 2);
    guarded gx = guarded_copy(x, (size_t)A->cols * scalar), gy = guarded_copy(y0, y_bytes);
    tess_cpu_fbcsr *state = NULL;
    const tess_cpu_kernel *rest = tess_cpu_best(device, TESS_CPU_BSR_SPMV, p.F->rest);
    assert_int_equal(tess_cpu_fbcsr_create(device, p.F, isa, rest, &state), TESS_OK);
    /* The values end where the memory does. */
    guarded values[TESS_FBCSR_SPLITS];
    void *own[TESS_FBCSR_SPLITS];
    for (int i = 0; i < p.F->splits; i++) {
        tess_fbcsr_split *split = &p.F->split[i];
        own[i] = split->values;
        values[i] = guarded_copy(
            own[i], (size_t)(split->blocks * split->shape.height * split->shape.width) * scalar);
        split->values = values[i].data;
    }
    for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++) {
        memcpy(gy.data, y0, y_bytes);
        if (factors[f][1] == 0)
            memset(gy.data, 0xff, y_bytes); /* NaN in both precisions */
        tess_cpu_fbcsr_spmv(state, factors[f][0], gx.data, factors[f][1], gy.data);
        test_check_spmv(what, A, factors[f][0], x, factors[f][1], y0, gy.data);
    }
    for (int i = 0; i < p.F->splits; i++) {
        p.F->split[i].values = own[i];
        guarded_free(values[i]);
    }
    tess_cpu_fbcsr_destroy(state);
    tess_matrix_destroy(p.A);
    guarded_free(gx);
    guarded_free(gy);
    free(x);
    free(y0);
}

static void every_kernel_agrees_with_ref_on_every_shape(void **state)
{
    static const int64_t sizes[][2] = {{40, 50},   {130, 70}, {67, 200},
                                       {2200, 41}, {1, 60},   {90, 3}};
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:3");
    int run = 0;
    for (int isa = 0; isa < TESS_CPU_ISAS; isa++) {
        if (!test_isa_runs(device, TESS_CPU_FBCSR_SPMV, (tess_cpu_isa)isa))
            continue;
        for (int s = 0; s < SHAPES; s++) {
            for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
                for (int type = 0; type < 2; type++) {
                    char what[160];
                    uint64_t seed = (uint64_t)(100 * s) + n;
                    snprintf(what, sizeof what, "%s %d x %d shift %d, %lld x %lld seed %llu",
                             tess_cpu_isa_name((tess_cpu_isa)isa), shapes[s].height,
                             shapes[s].width, shapes[s].shift, (long long)sizes[n][0],
                             (long long)sizes[n][1], (unsigned long long)seed);
                    planted p =
                        make(ctx, sizes[n][0], sizes[n][1], type ? TESS_F32 : TESS_F64, s,
                             1 + (int)n % 3, sizes[n][0] > 1000 ? 300 : 20, n % 2 == 0, seed);
                    check(device, p, (tess_cpu_isa)isa, what);
                    run++;
                }
            }
        }
    }
    assert_true(run >= 2 * 6 * SHAPES);
    tess_device_close(device);
}

/* No split, no remainder, neither. */
static void a_matrix_without_blocks_or_without_rest_is_right(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "cpu:2");
    const tess_cpu_device *cpu = device->state;
    check(device, make(ctx, 70, 50, TESS_F64, 0, 0, 0, true, 1), cpu->isa, "no split");
    check(device, make(ctx, 70, 50, TESS_F64, 0, 0, 0, false, 1), cpu->isa, "nothing");
    check(device, make(ctx, 0, 50, TESS_F64, 0, 0, 0, false, 1), cpu->isa, "no rows");
    check(device, make(ctx, 70, 0, TESS_F64, 0, 0, 0, false, 1), cpu->isa, "no columns");
    tess_device_close(device);
}

/* Several chunks and shares, with blocks across their ends. */
static void bits_do_not_depend_on_threads_or_run(void **state)
{
    static const int threads[] = {1, 2, 3, 5, 8};
    tess_ctx *ctx = test_ctx(state);
    void *first = malloc(9000 * sizeof(double)), *y = malloc(9000 * sizeof(double));
    for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
        tess_device *device = test_threads(ctx, threads[t]);
        const tess_cpu_device *cpu = device->state;
        planted p = make(ctx, 9000, 100, TESS_F64, 4, 4, 3000, true, 3);
        void *x = test_vector(p.A->cols, TESS_F64, 5);
        const tess_cpu_kernel *rest = tess_cpu_best(device, TESS_CPU_BSR_SPMV, p.F->rest);
        tess_cpu_fbcsr *fbcsr = NULL;
        assert_int_equal(tess_cpu_fbcsr_create(device, p.F, cpu->isa, rest, &fbcsr), TESS_OK);
        assert_true(fbcsr->chunks >= 4);
        assert_true(fbcsr->shares >= (threads[t] < 4 ? threads[t] : 4));
        for (int run = 0; run < 2; run++) {
            tess_cpu_fbcsr_spmv(fbcsr, 1.5, x, 0, y);
            if (t == 0 && run == 0)
                memcpy(first, y, 9000 * sizeof(double));
            test_check_spmv(tess_device_description(device), p.A, 1.5, x, 0, NULL, y);
            if (memcmp(first, y, 9000 * sizeof(double)) != 0)
                fail_msg("%s, run %d: not the bits of the first run",
                         tess_device_description(device), run);
        }
        tess_cpu_fbcsr_destroy(fbcsr);
        tess_matrix_destroy(p.A);
        tess_device_close(device);
        free(x);
    }
    free(first);
    free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_agrees_with_ref_on_every_shape),
        cmocka_unit_test(a_matrix_without_blocks_or_without_rest_is_right),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_run),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

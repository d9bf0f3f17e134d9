/* The kernels of triangular preconditioners in the emulator, on awkward patterns: any thread order
 * gives the same bits, and those are the solution. */
#include <math.h>
#include <string.h>

#include "emu/emulator.h"
#include "backend/backend.h"
#include "shapes.h"
#include "triangular_variants.h"

enum { MOST = 256, MULTIPROCESSORS = 3 };

/* A triangle in memory of exactly the right size. */
typedef struct copy {
    tess_cuda_triangle *triangle;
    void *arrays[TRIANGLE_ARRAYS];
} copy;

static copy make_copy(const tess_staged *staged, const tess_split *split, bool up,
                      const tess_triangle_tuning *tuning)
{
    copy c;
    assert_int_equal(tess_cuda_triangle_create(staged, split, up, tuning, &c.triangle), TESS_OK);
    for (int i = 0; i < TRIANGLE_ARRAYS; i++) {
        const size_t bytes = tess_cuda_triangle_bytes(c.triangle, i);
        const void *host = tess_cuda_triangle_array(c.triangle, i);
        assert_int_equal(posix_memalign(&c.arrays[i], 256, bytes + (bytes == 0)), 0);
        if (host && bytes > 0)
            memcpy(c.arrays[i], host, bytes);
    }
    tess_cuda_triangle_fill(c.triangle, staged, split, c.arrays[TRIANGLE_VALUES],
                            c.arrays[TRIANGLE_INVERSE]);
    return c;
}

static void free_copy(copy *c)
{
    for (int i = 0; i < TRIANGLE_ARRAYS; i++)
        free(c->arrays[i]);
    tess_cuda_triangle_destroy(c->triangle);
}

static void run_sweep(const test_triangular *v, const tess_triangle_tuning *tuning, const copy *c,
                      tess_triangle_call *call, uint64_t seed, const char *what)
{
    for (int i = 0; i < TRIANGLE_ARRAYS; i++)
        call->arrays[i] = emu_address(c->arrays[i]);
    for (int64_t i = 0; i < c->triangle->segments; i++) {
        tess_cuda_launch launch;
        tess_triangle_launch(c->triangle, tuning, i, call, MULTIPROCESSORS, &launch);
        const char *wrong = emu_launch(v->name, &launch, seed + (uint64_t)i);
        if (wrong)
            fail_msg("%s: launch %lld (%s), seed %llu: %s", what, (long long)i, launch.entry,
                     (unsigned long long)seed, wrong);
    }
}

/* Rows of the matrix. */
static int64_t scalars_of(const tess_staged *staged)
{
    return (staged->block_rows * staged->block - staged->padding) /
           (staged->block / tess_staged_height(staged));
}

static void apply(const test_triangular *v, const tess_triangle_tuning *tuning,
                  const tess_staged *staged, const copy *down, const copy *up, const void *r,
                  void *z, uint64_t seed, const char *what)
{
    const int64_t scalars = scalars_of(staged);
    const size_t bytes = (size_t)(staged->block_rows * v->block) * tess_type_size(v->vector_type);
    const size_t tickets = (size_t)(staged->stages.count + 1) * sizeof(int32_t);
    void *first = malloc(bytes + 1), *second = malloc(bytes + 1), *drawn = malloc(2 * tickets);
    memset(first, 0xff, bytes);
    memset(second, 0xff, bytes);
    memset(drawn, 0xff, 2 * tickets);
    tess_triangle_call call = {.in = emu_address(r),
                               .out = emu_address(first),
                               .tickets = emu_address(drawn),
                               .scalars = scalars};
    run_sweep(v, tuning, down, &call, seed, what);
    call.in = emu_address(first);
    call.out = emu_address(second);
    call.z = emu_address(z);
    call.tickets = emu_address((char *)drawn + tickets);
    run_sweep(v, tuning, up, &call, seed + 1000, what);
    free(first), free(second), free(drawn);
}

/* M^-1 r and M^-T r with sweeps cut in launches in one way, in two thread orders. */
static void check(const test_triangular *v, const tess_staged *staged, int64_t wide, uint64_t seed,
                  const char *what)
{
    tess_triangle_tuning tuning = v->tuning;
    tuning.wide = wide;
    const int64_t scalars = scalars_of(staged);
    const size_t bytes = (size_t)scalars * tess_type_size(v->vector_type);
    for (int transpose = 0; transpose < 2; transpose++) {
        const tess_split *split =
            transpose && !staged->symmetric ? &staged->transposed : &staged->plain;
        copy down = make_copy(staged, split, false, &tuning);
        copy up = make_copy(staged, split, true, &tuning);
        void *r = test_vector(scalars, v->vector_type, seed);
        void *z = malloc(bytes), *again = malloc(bytes);
        apply(v, &tuning, staged, &down, &up, r, z, seed, what);
        test_check_staged(what, staged, transpose, r, z);
        apply(v, &tuning, staged, &down, &up, r, again, seed + 77, what);
        if (memcmp(z, again, bytes) != 0)
            fail_msg("%s: another thread order gives other bits", what);
        memcpy(again, r, bytes); /* in place */
        apply(v, &tuning, staged, &down, &up, again, again, seed + 78, what);
        assert_memory_equal(z, again, bytes);
        free(r), free(z), free(again);
        free_copy(&down);
        free_copy(&up);
    }
}

/* A matrix of a shape with a preconditioner. */
typedef struct factored {
    tess_matrix *A;
    tess_device *device;
    tess_plan *plan;
    tess_pc pc;
} factored;

static void factor(tess_ctx *ctx, const test_triangular *v, test_shape shape,
                   const tess_pc_ops *kind, int schedule, uint64_t seed, factored *f)
{
    const int64_t size = v->block <= 3 ? 150 : v->block <= 8 ? 60 : v->block <= 40 ? 20 : 3;
    const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE};
    const tess_pc_options options = {.ops = kind,
                                     .single = tess_real_type(v->type) == TESS_F32,
                                     .schedule = schedule,
                                     .transpose = true,
                                     .omega = 1};
    f->A = test_shape_matrix(ctx, shape, size, v->block, kind->symmetric, v->vector_type, seed);
    f->device = test_device(ctx, "cpu");
    assert_int_equal(tess_plan_create(ctx, f->A, f->device, &quick, &f->plan), TESS_OK);
    if (tess_pc_set_up(f->plan, &options, &f->pc) != TESS_OK)
        fail_msg("%s", tess_ctx_error(ctx));
}

static void free_factored(factored *f)
{
    tess_pc_tear_down(&f->pc);
    tess_plan_destroy(f->plan);
    tess_device_close(f->device);
    tess_matrix_destroy(f->A);
}

static void check_shape(tess_ctx *ctx, const test_triangular *v, test_shape shape,
                        const tess_pc_ops *kind, int schedule, uint64_t seed)
{
    factored f;
    factor(ctx, v, shape, kind, schedule, seed, &f);
    const int64_t wides[] = {0, 40 * v->block, INT64_MAX};
    for (int w = 0; w < 3; w++) {
        char what[256];
        snprintf(what, sizeof what, "%s, %s, %s, %s, launches by %lld", v->name,
                 test_shape_name(shape), kind->name, tess_pc_schedule_names[schedule],
                 (long long)wides[w]);
        check(v, tess_pc_staged(&f.pc), wides[w], seed, what);
    }
    free_factored(&f);
}

static void triangular_kernels_agree_with_a_solve_row_by_row(void **state)
{
    static const tess_pc_ops *const kinds[] = {&tess_pc_ilu0, &tess_pc_ic0, &tess_pc_ssor};
    static test_triangular variants[MOST];
    const int count = test_triangular_variants(variants, MOST);
    int ran = 0;
    assert_in_range(count, 1, MOST);
    for (int i = 0; i < count; i++) {
        if (!emu_has(variants[i].name))
            continue;
        for (test_shape shape = 0; shape < TEST_SHAPES; shape++) {
            if (!test_takes((uint64_t)(i / 2 + (int)shape)))
                continue;
            check_shape(test_ctx(state), &variants[i], shape, kinds[(i + (int)shape) % 3],
                        (i + (int)shape) % 2 ? TESS_PC_LEVELS : TESS_PC_COLOURS,
                        (uint64_t)(100 * i + (int)shape));
        }
        ran++;
    }
    print_message("%d of %d variants\n", ran, count);
    assert_true(ran >= count / EMU_STEP);
}

/* In r the rows of the first stage, which is a launch of its own, are NaNs with all bits set. The
 * stages after it share a launch and wait for them. */
static void check_ones(tess_ctx *ctx, const test_triangular *v)
{
    factored f;
    factor(ctx, v, TEST_SHAPE_RANDOM, &tess_pc_ilu0, TESS_PC_COLOURS, 7, &f);
    const tess_staged *staged = tess_pc_staged(&f.pc);
    const size_t size = tess_type_size(v->vector_type), block = (size_t)v->block * size;
    const int64_t first = staged->stages.offsets[1];
    tess_triangle_tuning tuning = v->tuning;
    tuning.wide = first * v->block;
    copy down = make_copy(staged, &staged->plain, false, &tuning);
    copy up = make_copy(staged, &staged->plain, true, &tuning);
    assert_true(down.triangle->segments > 1 && !down.triangle->segment[0].waiting &&
                down.triangle->segment[1].waiting);
    char *r = test_vector(scalars_of(staged), v->vector_type, 3);
    char *z = calloc((size_t)scalars_of(staged), size);
    for (int64_t i = 0; i < first; i++)
        memset(r + (size_t)staged->stages.rows[i] * block, 0xff, block);
    apply(v, &tuning, staged, &down, &up, r, z, 11, v->name);
    for (int64_t i = 0; i < first; i++)
        assert_true(
            isnan(tess_get_complex(z, v->vector_type, staged->stages.rows[i] * v->block).re));
    free(r), free(z);
    free_copy(&down);
    free_copy(&up);
    free_factored(&f);
}

static void a_nan_of_ones_is_handed_to_the_next_launch(void **state)
{
    static test_triangular variants[MOST];
    const int count = test_triangular_variants(variants, MOST);
    int ran = 0;
    for (int i = 0; i < count; i++)
        if (variants[i].block <= 3 && emu_has(variants[i].name)) {
            check_ones(test_ctx(state), &variants[i]);
            ran++;
        }
    assert_true(ran > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(triangular_kernels_agree_with_a_solve_row_by_row),
        cmocka_unit_test(a_nan_of_ones_is_handed_to_the_next_launch),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

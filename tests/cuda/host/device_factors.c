/* On a real GPU: triangular preconditioners by levels and colours on awkward patterns against a
 * solve row by row, twice with the same bits, in graphs, and with new values. Skipped where there
 * is no GPU.
 *
 *     test_cuda_device_factors [N/M]     the N-th of M parts of the list
 *
 * Under compute-sanitizer each variant has one shape, and matrices are small. */
#include <string.h>

#include "cuda/solve/triangles/factors.h"
#include "shapes.h"
#include "triangular_variants.h"

enum { MOST = 256 };

static tess_device *device;
static int part = 1, parts = 1;

static void ok(void **state, tess_status status, const char *what)
{
    if (status != TESS_OK)
        fail_msg("%s: %s: %s", what, tess_status_name(status), tess_ctx_error(test_ctx(state)));
}

/* A preconditioner of a matrix, here and on the device. */
typedef struct subject {
    tess_matrix *A;
    tess_plan *plan;
    tess_pc pc;
    tess_cuda_factors *factors;
    void *r, *z, *again, *device_r, *device_z;
    size_t bytes;
} subject;

static void open_subject(void **state, tess_matrix *A, const tess_pc_options *options,
                         const tess_triangle_tuning *tuning, const char *what, subject *s)
{
    tess_cuda *cuda = tess_cuda_of(device);
    *s = (subject){.A = A, .bytes = (size_t)A->rows * tess_type_size(A->type)};
    const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE};
    ok(state, tess_plan_create(test_ctx(state), A, device, &quick, &s->plan), what);
    ok(state, tess_pc_set_up(s->plan, options, &s->pc), what);
    ok(state, tess_cuda_enter(cuda), what);
    ok(state, tess_cuda_factors_create_tuned(cuda, &s->pc, tuning, cuda->stream, &s->factors),
       what);
    s->r = test_vector(A->rows, A->type, 5);
    s->z = malloc(s->bytes);
    s->again = malloc(s->bytes);
    ok(state, tess_device_alloc(device, s->bytes, &s->device_r), what);
    ok(state, tess_device_alloc(device, s->bytes, &s->device_z), what);
    ok(state, tess_device_copy_to(device, s->device_r, s->r, s->bytes), what);
}

static void close_subject(subject *s)
{
    tess_cuda_factors_destroy(s->factors);
    tess_cuda_leave(tess_cuda_of(device));
    tess_device_free(device, s->device_r);
    tess_device_free(device, s->device_z);
    free(s->r), free(s->z), free(s->again);
    tess_pc_tear_down(&s->pc);
    tess_plan_destroy(s->plan);
    tess_matrix_destroy(s->A);
}

static void apply(void **state, subject *s, bool transpose, void *z, const char *what)
{
    tess_cuda *cuda = tess_cuda_of(device);
    memset(z, 0xff, s->bytes);
    ok(state, tess_device_copy_to(device, s->device_z, z, s->bytes), what);
    ok(state,
       tess_cuda_factors_apply(s->factors, transpose, tess_cuda_address(s->device_r),
                               tess_cuda_address(s->device_z), cuda->stream),
       what);
    ok(state, TESS_CU(cuda, cuStreamSynchronize(cuda->stream)), what);
    ok(state, tess_device_copy_from(device, z, s->device_z, s->bytes), what);
}

static void check(void **state, subject *s, const char *what)
{
    for (int transpose = 0; transpose < 2; transpose++) {
        apply(state, s, transpose, s->z, what);
        test_check_staged(what, tess_pc_staged(&s->pc), transpose, s->r, s->z);
        apply(state, s, transpose, s->again, what);
        if (memcmp(s->z, s->again, s->bytes) != 0)
            fail_msg("%s: two runs differ", what);
    }
}

static void solves_match_a_solve_row_by_row(void **state)
{
    static const tess_pc_ops *const kinds[] = {&tess_pc_ilu0, &tess_pc_ic0, &tess_pc_ssor};
    static test_triangular variants[MOST];
    const int count = test_triangular_variants(variants, MOST);
    int solves = 0;
    for (int i = part - 1; i < count; i += parts) {
        const test_triangular *v = &variants[i];
        const int64_t most = v->block <= 3 ? 900 : v->block <= 8 ? 300 : v->block <= 40 ? 60 : 3;
        const int64_t size = test_slowed() ? tess_ceil_div(most, 6) : most;
        for (test_shape shape = 0; shape < TEST_SHAPES; shape++) {
            if (test_slowed() && shape != (test_shape)(i / parts % TEST_SHAPES))
                continue;
            const int64_t wides[] = {0, 100 * v->block, INT64_MAX};
            const int number = i + (int)shape;
            const tess_pc_ops *kind = kinds[number % 3];
            const tess_pc_options options = {.ops = kind,
                                             .single = tess_real_type(v->type) == TESS_F32,
                                             .schedule =
                                                 number % 2 ? TESS_PC_LEVELS : TESS_PC_COLOURS,
                                             .transpose = true,
                                             .omega = 1};
            tess_triangle_tuning tuning = v->tuning;
            tuning.wide = wides[number % 3];
            subject s;
            open_subject(state,
                         test_shape_matrix(test_ctx(state), shape, size, v->block, kind->symmetric,
                                           v->vector_type, (uint64_t)number),
                         &options, &tuning, v->name, &s);
            char what[256];
            snprintf(what, sizeof what, "%.63s, %s, %s, %s, wide %lld", v->name,
                     test_shape_name(shape), kind->name, tess_pc_schedule_names[options.schedule],
                     (long long)tuning.wide);
            check(state, &s, what);
            close_subject(&s);
            solves++;
        }
    }
    print_message("%d preconditioners\n", solves);
}

/* A grid large enough for thousands of tiles, whole and in single precision. */
static void a_large_grid_is_solved(void **state)
{
    for (int schedule = TESS_PC_LEVELS; schedule <= TESS_PC_COLOURS; schedule++)
        for (int single = 0; single < 2; single++)
            for (int joined = 0; joined < 2; joined++) {
                const char *input = test_slowed() ? "elasticity:n=5" : "elasticity:n=24";
                tess_matrix *A;
                ok(state, tess_matrix_generate(test_ctx(state), input, &A, NULL), "A");
                const tess_pc_options options = {.ops = &tess_pc_ilu0,
                                                 .single = single,
                                                 .schedule = schedule,
                                                 .transpose = true,
                                                 .omega = 1};
                tess_triangle_tuning tuning = tess_triangle_guess(TESS_F64, 3, 1000);
                tuning.wide = joined ? INT64_MAX : tuning.wide;
                subject s;
                open_subject(state, A, &options, &tuning, "grid", &s);
                check(state, &s, "grid");
                close_subject(&s);
            }
}

static void solves_run_in_graphs_and_follow_new_values(void **state)
{
    tess_cuda *cuda = tess_cuda_of(device);
    const tess_pc_options options = {
        .ops = &tess_pc_ilu0, .schedule = TESS_PC_LEVELS, .transpose = true, .omega = 1};
    const tess_triangle_tuning tuning = tess_triangle_guess(TESS_F64, 4, 1000);
    cu_stream stream;
    cu_graph graph;
    cu_graph_exec exec;
    subject s;
    open_subject(state,
                 test_shape_matrix(test_ctx(state), TEST_SHAPE_BANDED, 500, 4, false, TESS_F64, 3),
                 &options, &tuning, "graph", &s);
    ok(state, TESS_CU(cuda, cuStreamCreate(&stream, 1)), "stream");
    ok(state, TESS_CU(cuda, cuStreamBeginCapture(stream, 0)), "begin");
    ok(state,
       tess_cuda_factors_apply(s.factors, false, tess_cuda_address(s.device_r),
                               tess_cuda_address(s.device_z), stream),
       "captured");
    ok(state, TESS_CU(cuda, cuStreamEndCapture(stream, &graph)), "end");
    ok(state, TESS_CU(cuda, cuGraphInstantiate(&exec, graph, 0)), "instantiate");
    double *values = s.A->values;
    for (int round = 0; round < 3; round++) {
        for (int64_t i = 0; i < tess_matrix_stored(s.A); i++)
            values[i] *= 1 + 0.01 * round;
        ok(state, tess_pc_update_values(s.plan, &s.pc), "update");
        ok(state, tess_cuda_factors_update(s.factors, stream), "update");
        memset(s.z, 0xff, s.bytes);
        ok(state, tess_device_copy_to(device, s.device_z, s.z, s.bytes), "poison");
        ok(state, TESS_CU(cuda, cuGraphLaunch(exec, stream)), "replay");
        ok(state, TESS_CU(cuda, cuStreamSynchronize(stream)), "wait");
        ok(state, tess_device_copy_from(device, s.z, s.device_z, s.bytes), "copy");
        test_check_staged("replayed", tess_pc_staged(&s.pc), false, s.r, s.z);
    }
    (void)cuda->driver.cuGraphExecDestroy(exec);
    (void)cuda->driver.cuGraphDestroy(graph);
    (void)cuda->driver.cuStreamDestroy(stream);
    close_subject(&s);
}

/* A NaN must arrive as one, and must not be waited for. */
static void a_nan_passes_through(void **state)
{
    const tess_pc_options options = {.ops = &tess_pc_ilu0, .schedule = TESS_PC_LEVELS, .omega = 1};
    tess_triangle_tuning tuning = tess_triangle_guess(TESS_F64, 1, 1000);
    tuning.wide = INT64_MAX;
    subject s;
    open_subject(state,
                 test_shape_matrix(test_ctx(state), TEST_SHAPE_CHAIN, 500, 1, false, TESS_F64, 3),
                 &options, &tuning, "NaN", &s);
    memset((double *)s.r + 7, 0xff, sizeof(double));
    ok(state, tess_device_copy_to(device, s.device_r, s.r, s.bytes), "copy");
    apply(state, &s, false, s.z, "NaN");
    for (int64_t i = 0; i < s.A->rows; i++)
        assert_true(((double *)s.z)[i] != ((double *)s.z)[i]);
    close_subject(&s);
}

static int start(void **state)
{
    if (test_setup(state) != 0)
        return -1;
    if (tess_device_open(test_ctx(state), "cuda", &device) != TESS_OK) {
        printf("skipped: %s\n", tess_ctx_error(test_ctx(state)));
        exit(77);
    }
    return 0;
}

static int finish(void **state)
{
    tess_device_close(device);
    return test_teardown(state);
}

int main(int argc, char **argv)
{
    if (argc > 1 && (sscanf(argv[1], "%d/%d", &part, &parts) != 2 || part < 1 || part > parts)) {
        fprintf(stderr, "usage: test_cuda_device_factors [N/M], not '%s'\n", argv[1]);
        return 2;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves_match_a_solve_row_by_row),
        cmocka_unit_test(a_large_grid_is_solved),
        cmocka_unit_test(solves_run_in_graphs_and_follow_new_values),
        cmocka_unit_test(a_nan_passes_through),
    };
    return cmocka_run_group_tests(tests, start, finish);
}

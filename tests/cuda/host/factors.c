/* Triangular preconditioners on the fake device: what the host does around the kernels. */
#include "session.h"

#include "cuda/solve/triangles/factors.h"
#include "shapes.h"

typedef struct subject {
    tess_device *device;
    tess_plan *plan;
    tess_pc pc;
    tess_cuda_factors *factors;
} subject;

static tess_pc_options options_of(const tess_pc_ops *ops, int schedule)
{
    return (tess_pc_options){.ops = ops, .schedule = schedule, .transpose = true, .omega = 1};
}

static void open_subject(void **state, const tess_matrix *A, const tess_pc_options *options,
                         int64_t wide, subject *s)
{
    s->device = open_device(state);
    s->plan = make_plan(state, A, s->device, NULL);
    ok(state, tess_pc_set_up(s->plan, options, &s->pc));
    tess_cuda *cuda = tess_cuda_of(s->device);
    tess_triangle_tuning tuning = tess_triangle_guess(TESS_F64, A->block_height, 0);
    tuning.wide = wide;
    ok(state, tess_cuda_enter(cuda));
    ok(state, tess_cuda_factors_create_tuned(cuda, &s->pc, &tuning, cuda->stream, &s->factors));
}

static void close_subject(subject *s)
{
    tess_cuda_factors_destroy(s->factors);
    tess_cuda_leave(tess_cuda_of(s->device));
    tess_pc_tear_down(&s->pc);
    tess_plan_destroy(s->plan);
    tess_device_close(s->device);
}

/* z = M^-1 r with vectors that are "on the device": the fake's memory is the heap. */
static void apply(void **state, subject *s, bool transpose, const void *r, void *z)
{
    ok(state, tess_cuda_factors_apply(s->factors, transpose, tess_cuda_address(r),
                                      tess_cuda_address(z), tess_cuda_of(s->device)->stream));
}

static void applications_are_solves(void **state)
{
    static const tess_pc_ops *const kinds[] = {&tess_pc_ilu0, &tess_pc_ic0, &tess_pc_ssor};
    static const int32_t sizes[] = {1, 3, 4};
    for (int number = 0; number < 24; number++) {
        const test_shape shape = (test_shape)(number % TEST_SHAPES);
        const tess_pc_ops *kind = kinds[number % 3];
        const int32_t b = sizes[number / 2 % 3];
        const tess_type type = number % 5 == 4 ? TESS_F32 : TESS_F64;
        tess_pc_options options = options_of(kind, number % 2 ? TESS_PC_LEVELS : TESS_PC_COLOURS);
        options.single = number % 5 == 3;
        tess_matrix *A = test_shape_matrix(test_ctx(state), shape, 40, b, kind->symmetric, type,
                                           (uint64_t)number);
        void *r = test_vector(A->rows, type, 1), *z = test_vector(A->rows, type, 2);
        subject s;
        open_subject(state, A, &options, number % 4 == 0 ? 0 : INT64_MAX, &s);
        const int64_t allocations = fake->allocations, waits = fake->waits;
        for (int transpose = 0; transpose < 2; transpose++) {
            apply(state, &s, transpose, r, z);
            test_check_staged(test_shape_name(shape), tess_pc_staged(&s.pc), transpose, r, z);
        }
        assert_int_equal(fake->allocations, allocations);
        assert_int_equal(fake->waits, waits);
        close_subject(&s);
        free(r), free(z);
        tess_matrix_destroy(A);
    }
}

static void an_update_moves_numbers_and_allocates_nothing_there(void **state)
{
    tess_matrix *A =
        test_shape_matrix(test_ctx(state), TEST_SHAPE_BANDED, 50, 2, false, TESS_F64, 3);
    double *r = test_vector(A->rows, TESS_F64, 1), *z = test_vector(A->rows, TESS_F64, 2);
    const tess_pc_options options = options_of(&tess_pc_ilu0, TESS_PC_LEVELS);
    subject s;
    open_subject(state, A, &options, INT64_MAX, &s);
    const int64_t allocations = fake->allocations, compiled = fake->compiled;
    for (int64_t i = 0; i < tess_matrix_stored(A); i++)
        ((double *)A->values)[i] *= 2;
    ok(state, tess_pc_update_values(s.plan, &s.pc));
    ok(state, tess_cuda_factors_update(s.factors, tess_cuda_of(s.device)->stream));
    assert_int_equal(fake->allocations, allocations);
    assert_int_equal(fake->compiled, compiled);
    for (int transpose = 0; transpose < 2; transpose++) {
        apply(state, &s, transpose, r, z);
        test_check_staged("updated", tess_pc_staged(&s.pc), transpose, r, z);
    }
    close_subject(&s);
    free(r), free(z);
    tess_matrix_destroy(A);
}

/* A captured application is replayed with the numbers of the last update. */
static void applications_can_be_captured(void **state)
{
    tess_matrix *A =
        test_shape_matrix(test_ctx(state), TEST_SHAPE_BANDED, 30, 3, false, TESS_F64, 3);
    double *r = test_vector(A->rows, TESS_F64, 1), *z = test_vector(A->rows, TESS_F64, 2);
    const tess_pc_options options = options_of(&tess_pc_ilu0, TESS_PC_COLOURS);
    subject s;
    open_subject(state, A, &options, 0, &s); /* one launch per stage: nothing to be set before */
    tess_cuda *cuda = tess_cuda_of(s.device);
    cu_graph graph;
    cu_graph_exec exec;
    ok(state, TESS_CU(cuda, cuStreamBeginCapture(cuda->stream, CU_CAPTURE_THREAD_LOCAL)));
    apply(state, &s, false, r, z);
    ok(state, TESS_CU(cuda, cuStreamEndCapture(cuda->stream, &graph)));
    ok(state, TESS_CU(cuda, cuGraphInstantiate(&exec, graph, 0)));
    ok(state, TESS_CU(cuda, cuGraphLaunch(exec, cuda->stream)));
    test_check_staged("replayed", tess_pc_staged(&s.pc), false, r, z);
    (void)cuda->driver.cuGraphExecDestroy(exec);
    (void)cuda->driver.cuGraphDestroy(graph);
    close_subject(&s);
    free(r), free(z);
    tess_matrix_destroy(A);
}

static void what_cannot_be_is_said(void **state)
{
    tess_matrix *A = test_shape_matrix(test_ctx(state), TEST_SHAPE_CHAIN, 9, 2, true, TESS_F64, 3);
    tess_device *device = open_device(state);
    tess_plan *plan = make_plan(state, A, device, NULL);
    tess_pc_options options = options_of(&tess_pc_ilu0, TESS_PC_DOMAINS);
    tess_pc pc;
    assert_int_equal(tess_pc_set_up(plan, &options, &pc), TESS_ERR_UNSUPPORTED);
    assert_text(state, "a GPU takes levels or colours");
    tess_plan_destroy(plan);
    tess_device_close(device);
    options = options_of(&tess_pc_ilu0, TESS_PC_AUTO);
    options.transpose = false;
    subject s;
    open_subject(state, A, &options, 0, &s);
    assert_int_equal(s.pc.options.schedule, TESS_PC_COLOURS);
    double r[18] = {0};
    assert_int_equal(tess_cuda_factors_apply(s.factors, true, tess_cuda_address(r),
                                             tess_cuda_address(r), tess_cuda_of(s.device)->stream),
                     TESS_ERR_INTERNAL);
    assert_text(state, "without its transpose");
    close_subject(&s);
    tess_matrix_destroy(A);
}

/* Create, update and apply once; for the sweep of failures. */
static tess_status whole_life(void **state, tess_device *device, const tess_pc *pc, void *r)
{
    (void)state;
    tess_cuda *cuda = tess_cuda_of(device);
    tess_cuda_factors *factors = NULL;
    TESS_TRY(tess_cuda_enter(cuda));
    tess_status status = tess_cuda_factors_create(cuda, pc, cuda->stream, &factors);
    if (status == TESS_OK)
        status = tess_cuda_factors_update(factors, cuda->stream);
    if (status == TESS_OK)
        status = tess_cuda_factors_apply(factors, true, tess_cuda_address(r), tess_cuda_address(r),
                                         cuda->stream);
    tess_cuda_factors_destroy(factors);
    tess_cuda_leave(cuda);
    return status;
}

static void every_failure_is_reported_and_nothing_leaks(void **state)
{
    tess_matrix *A =
        test_shape_matrix(test_ctx(state), TEST_SHAPE_BANDED, 20, 2, false, TESS_F64, 3);
    double *r = test_vector(A->rows, TESS_F64, 1);
    const tess_pc_options options = options_of(&tess_pc_ilu0, TESS_PC_LEVELS);
    tess_device *device = open_device(state);
    tess_plan *plan = make_plan(state, A, device, NULL);
    tess_pc pc;
    ok(state, tess_pc_set_up(plan, &options, &pc));
    for (int host = 0; host < 2; host++) {
        const int64_t alive = fake->alive, used = fake->memory_used, live = test_live(state);
        tess_status status;
        int64_t n = 0;
        bool reached;
        do {
            fake->fail_with = 719;
            fake->fail_at = host ? -1 : n;
            test_fail_allocation(state, host ? n : -1);
            status = whole_life(state, device, &pc, r);
            reached = host ? status != TESS_OK : fake->fail_at < 0;
            fake->fail_at = -1;
            test_fail_allocation(state, -1);
            assert_int_equal(fake->alive, alive);
            assert_int_equal(fake->memory_used, used);
            assert_int_equal(test_live(state), live);
            if (status != TESS_OK)
                assert_int_equal(status, host ? TESS_ERR_MEMORY : TESS_ERR_DEVICE);
            n++;
        } while (reached && n < 1000);
        assert_int_equal(status, TESS_OK);
        assert_true(n > 10);
    }
    tess_pc_tear_down(&pc);
    tess_plan_destroy(plan);
    tess_device_close(device);
    free(r);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(applications_are_solves),
        TEST(an_update_moves_numbers_and_allocates_nothing_there),
        TEST(applications_can_be_captured),
        TEST(what_cannot_be_is_said),
        TEST(every_failure_is_reported_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, start, finish);
}

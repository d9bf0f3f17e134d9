/* loop.cu in the emulator: from the same start, iterations of one launch leave the vectors and
 * scalars that the CPU's steps leave. */
#include <math.h>
#include <string.h>

#include "emu/emulator.h"
#include "complex_problems.h"
#include "passes.h"
#include "ref/ref.h"
#include "solve/solve.h"

void loops_run_iterations_as_the_cpu_does(void **state);
void what_is_between_products_is_as_on_the_cpu(void **state);

enum { LOOPS = TEST_LOOPS, GRID = TEST_LOOP_GRID, ITERATIONS = 4, PARTS = 5 };

/* A copy of exactly the right size, for the address sanitizer. */
static void *copy_of(const void *from, size_t bytes)
{
    void *copy = malloc(bytes > 0 ? bytes : 1);
    memcpy(copy, from, bytes);
    return copy;
}

/* The emulated device's arrays. */
typedef struct arrays {
    tess_loop_call call;
    char *vectors;
    double *slots, *ring, *partial;
    double control[TESS_CONTROL];
    tess_loop_layout layout;
    unsigned meeting[2];
    void *owned[4];
} arrays;

static void point_to_vectors(const tess_pass_kernel *numbers, const arrays *d, size_t stride,
                             tess_loop_call *call)
{
    for (int i = 0; i < numbers->vectors; i++)
        call->common.vector[i] = emu_address(d->vectors + (size_t)numbers->vector[i] * stride);
}

static void open_arrays(arrays *d, const test_loop *loop, tess_solver *solver)
{
    tess_space *space = &solver->space;
    const tess_matrix *A = solver->plan->matrix;
    const size_t partial = 2 * (size_t)loop->code.numbers.dots * GRID * sizeof(double);
    const size_t size = tess_type_size(A->type), stride = (size_t)space->stride * size;
    const size_t slots = (size_t)tess_space_slot_reals(space);
    *d = (arrays){.vectors = calloc((size_t)space->vectors, stride),
                  .slots = calloc(slots, sizeof(double)),
                  .ring = calloc(slots * ITERATIONS, sizeof(double)),
                  .partial = malloc(partial)};
    for (int v = 0; v < space->vectors; v++)
        assert_int_equal(space->ops->download(space, v, 0, d->vectors + (size_t)v * stride),
                         TESS_OK);
    assert_int_equal(space->ops->read_slots(space, 0, d->slots), TESS_OK);
    d->control[TESS_CONTROL_LIMIT] = ITERATIONS;
    d->control[TESS_CONTROL_ENOUGH] = -1;
    d->control[TESS_CONTROL_TOO_MUCH] = HUGE_VAL;
    d->owned[0] = copy_of(A->row_offsets, (size_t)(A->block_rows + 1) * 8);
    d->owned[1] = copy_of(A->values, (size_t)tess_matrix_stored(A) * size);
    const tess_diagonal *diagonal = solver->pc.ops->diagonal ? solver->pc.state : NULL;
    d->owned[2] = copy_of(diagonal ? diagonal->blocks : d->slots,
                          diagonal ? diagonal->bytes : sizeof(double));
    d->owned[3] = copy_of(loop->programme, (size_t)loop->programme_count * sizeof(int));
    bool fits;
    assert_int_equal(
        tess_loop_lay_out(space->ctx, A, &loop->code, GRID, INT32_MAX, &d->layout, &fits), TESS_OK);
    assert_true(fits);
    d->call = (tess_loop_call){
        .common.finish = {.slots = emu_address(d->slots),
                          .control = emu_address(d->control),
                          .ring = emu_address(d->ring),
                          .slot_count = (int64_t)slots,
                          .guard = TESS_GUARD_NONE,
                          .programme = emu_address(d->owned[3]),
                          .ints = loop->programme_count},
        .common.rows = A->rows,
        .common.diagonal = emu_address(d->owned[2]),
        .offsets = emu_address(d->owned[0]),
        .values = emu_address(d->owned[1]),
        .first = emu_address(d->layout.first),
        .sources = emu_address(d->layout.sources),
        .source_first = emu_address(d->layout.source_first),
        .places = emu_address(d->layout.places),
        .span = d->layout.span,
        .shared = d->layout.shared,
        .partial = emu_address(d->partial),
        .meeting = emu_address(d->meeting),
        .grid = GRID,
    };
    point_to_vectors(&loop->code.numbers, d, stride, &d->call);
}

static void close_arrays(tess_ctx *ctx, arrays *d)
{
    tess_loop_layout_free(ctx, &d->layout);
    free(d->vectors), free(d->slots), free(d->ring), free(d->partial);
    for (int i = 0; i < 4; i++)
        free(d->owned[i]);
}

static void check_numbers(const test_loop *loop, const char *what, int which, tess_type type,
                          const void *got, const void *want, int64_t count)
{
    const tess_type real = tess_real_type(type);
    const double epsilon = real == TESS_F64 ? 1e-9 : 2e-3;
    for (int64_t i = 0; i < tess_reals(type, count); i++) {
        const double a = tess_get(got, real, i), b = tess_get(want, real, i);
        if (!(fabs(a - b) <= epsilon * (1 + fabs(b))))
            fail_msg("%s (%s, block %d): %s %d, number %lld: %.17g, the CPU has %.17g\n%s",
                     loop->name, loop->method, (int)loop->block, what, which, (long long)i, a, b,
                     loop->code.defines);
    }
}

/* A product as a device leaves it: y, and the parts of w . y. */
static void multiply(tess_plan *plan, const tess_step *step, arrays *d, size_t stride,
                     double parts[PARTS])
{
    const tess_matrix *A = plan->matrix;
    char *x = d->vectors + (size_t)step->x * stride, *y = d->vectors + (size_t)step->y * stride;
    assert_int_equal(tess_spmv(plan, 1, x, 0, y), TESS_OK);
    memset(parts, 0, PARTS * sizeof *parts);
    for (int64_t i = 0; !tess_is_complex(A->type) && step->slot >= 0 && i < A->rows; i++)
        parts[i % PARTS] +=
            tess_get(d->vectors + (size_t)step->w * stride, A->type, i) * tess_get(y, A->type, i);
}

/* Iterations with products by the host and all else in launches of between.cu. */
static void run_betweens(const test_loop *loop, int which, tess_solver *solver, arrays *d,
                         uint64_t seed)
{
    const tess_method *method = solver->options.method;
    const size_t stride = (size_t)solver->space.stride * tess_type_size(loop->type);
    tess_unit_list list = {.steps = solver->loop, .imaginary = tess_cuda_imaginary(&solver->space)};
    double parts[PARTS];
    assert_int_equal(tess_units_build(&list, loop->fused, true, method->stops, method->stop_count),
                     TESS_OK);
    for (int i = 0; i < ITERATIONS; i++) {
        int k = 0;
        for (int64_t u = 0; u < list.count;) {
            const tess_between *between = &loop->between[k];
            if (k == loop->betweens || between->first != u) {
                assert_int_equal(list.units[u].kind, TESS_UNIT_APPLY);
                multiply(solver->plan, list.units[u++].step, d, stride, parts);
                continue;
            }
            char name[32];
            snprintf(name, sizeof name, "between_%d_%d", which, k++);
            tess_loop_call call = d->call;
            call.common.finish.guard = list.units[u].guard;
            call.product_sums = loop->fused ? emu_address(parts) : 0;
            call.product_count = loop->fused ? PARTS : 0;
            point_to_vectors(&between->code.numbers, d, stride, &call);
            tess_cuda_launch launch;
            tess_between_launch(&between->code, &call, &launch);
            const char *wrong = emu_launch(name, &launch, seed + (uint64_t)i);
            if (wrong)
                fail_msg("%s (%s): %s", name, loop->method, wrong);
            assert_true(d->meeting[0] == 0 && d->meeting[1] == 0);
            u += between->count;
        }
    }
    tess_units_free(&list);
}

static void run_loop(const test_loop *loop, arrays *d, uint64_t seed)
{
    tess_cuda_launch launch;
    tess_loop_launch(&loop->code, &d->call, &launch);
    const char *wrong = emu_launch(loop->name, &launch, seed);
    if (wrong)
        fail_msg("%s (%s): %s", loop->name, loop->method, wrong);
}

/* Whether a vector never reaches memory. */
static bool passes_by(const test_loop *loop, int vector)
{
    for (int k = 0; k < loop->betweens; k++) {
        const tess_loop_code *code = &loop->between[k].code;
        for (int i = 0; i < code->numbers.vectors; i++)
            if (code->numbers.vector[i] == vector && !((code->loads | code->stores) >> i & 1))
                return true;
    }
    return false;
}

static void check(tess_ctx *ctx, const test_loop *loop, int between, bool ragged, uint64_t seed)
{
    const bool complex = tess_is_complex(loop->type),
               single = tess_real_type(loop->type) == TESS_F32;
    tess_matrix *A =
        complex
            ? complex_matrix(ctx, TEST_LOOP_ROWS * loop->block, loop->block, true, loop->type, seed)
            : problem_matrix(ctx, TEST_LOOP_ROWS, loop->block, true, loop->type, seed);
    if (ragged)
        A->rows--, A->cols--; /* the last row and column become padding */
    char spec[96];
    snprintf(spec, sizeof spec, "%s:pc=%s%s,tol=0", loop->method, loop->pc->name,
             loop->held != loop->type ? ",pc_type=f32" : "");
    tess_plan *plan;
    tess_solver *solver;
    tess_device *device = test_device(ctx, "ref");
    assert_int_equal(tess_plan_create(ctx, A, device, NULL, &plan), TESS_OK);
    assert_int_equal(tess_solver_create(plan, spec, &solver), TESS_OK);
    void *b = test_vector(A->rows, A->type, seed);
    tess_space *space = &solver->space;
    const int system = 0;
    assert_int_equal(space->ops->upload(space, TESS_V_B, 0, b), TESS_OK);
    assert_int_equal(space->ops->run(space, &solver->start, &system, 1), TESS_OK);
    arrays d;
    open_arrays(&d, loop, solver);
    if (between >= 0)
        run_betweens(loop, between, solver, &d, seed);
    else
        run_loop(loop, &d, seed);
    assert_true(d.control[TESS_CONTROL_COUNT] == ITERATIONS && d.control[0] == 1);
    const int64_t slot_reals = tess_space_slot_reals(space);
    double *slots = malloc((size_t)slot_reals * sizeof *slots);
    const size_t stride = (size_t)space->stride * tess_type_size(A->type);
    for (int i = 0; i < ITERATIONS; i++) {
        assert_int_equal(space->ops->run(space, &solver->loop[0], &system, 1), TESS_OK);
        assert_int_equal(space->ops->read_slots(space, 0, slots), TESS_OK);
        check_numbers(loop, "slots after iteration", i, TESS_F64, d.ring + i * slot_reals, slots,
                      single ? 0 : slot_reals);
    }
    for (int v = 0; v < space->vectors; v++) {
        if (between >= 0 && passes_by(loop, v))
            continue;
        void *want = malloc(stride);
        assert_int_equal(space->ops->download(space, v, 0, want), TESS_OK);
        check_numbers(loop, "vector", v, A->type, d.vectors + (size_t)v * stride, want, A->rows);
        free(want);
    }
    free(slots);
    free(b);
    close_arrays(ctx, &d);
    tess_solver_destroy(solver);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

void loops_run_iterations_as_the_cpu_does(void **state)
{
    static test_loop loops[LOOPS];
    const int count = test_loops(loops, LOOPS);
    assert_in_range(count, 10, LOOPS);
    for (int i = 0; i < count; i += EMU_STEP) {
        assert_true(emu_has(loops[i].name));
        check(test_ctx(state), &loops[i], -1, false, (uint64_t)i + 1);
        if (loops[i].block > 1)
            check(test_ctx(state), &loops[i], -1, true, (uint64_t)i + 1);
    }
}

void what_is_between_products_is_as_on_the_cpu(void **state)
{
    static test_loop loops[LOOPS];
    const int count = test_loops(loops, LOOPS);
    int ran = 0;
    for (int i = 0; i < count; i += EMU_STEP) {
        if (loops[i].betweens == 0)
            continue;
        check(test_ctx(state), &loops[i], i, loops[i].block > 1 && i % 2 == 0, (uint64_t)i + 1);
        ran++;
    }
    assert_in_range(ran, 1 + 9 / EMU_STEP, LOOPS);
}

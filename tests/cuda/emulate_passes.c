/* Every pass and its scalars in the emulator against the CPU's space: any thread order gives the
 * same bits, stopped systems are left alone, iterations end when they should. */
#include <math.h>
#include <string.h>

#include "emu/emulator.h"
#include "passes.h"
#include "solve/space/pass.h"
#include "ref/ref.h"
#include "support/support.h"

/* emulate_loops.c */
void loops_run_iterations_as_the_cpu_does(void **state);
void what_is_between_products_is_as_on_the_cpu(void **state);

enum { MOST = 512, VECTORS = 64, SLOTS = 2 * TEST_SLOTS };

/* Vectors and slots of one system, twice: for the emulator and for the CPU. */
typedef struct bench {
    int64_t rows, stride;
    tess_type type;
    void *data[2];
    double slots[2][SLOTS];
    double control[TESS_CONTROL];
    double ring[4 * SLOTS];
    double partial[2 * TESS_PASS_DOTS * 8];
    uint64_t ticket;
    void *diagonal;
} bench;

static void *vector(const bench *b, int which, int v)
{
    return (char *)b->data[which] + (size_t)(v * b->stride) * tess_type_size(b->type);
}

static void fill(bench *b, const test_pass *pass, int64_t rows, uint64_t seed)
{
    const int32_t block = pass->diagonal.block > 0 ? pass->diagonal.block : 1;
    *b = (bench){.rows = rows, .type = pass->type};
    b->stride = (rows + block - 1) / block * block;
    const size_t size = tess_type_size(b->type);
    b->data[0] = test_vector(VECTORS * b->stride, b->type, seed);
    for (int v = 0; v < VECTORS; v++) /* padding is 0 */
        memset((char *)vector(b, 0, v) + (size_t)rows * size, 0, (size_t)(b->stride - rows) * size);
    b->data[1] = malloc(VECTORS * (size_t)b->stride * size);
    memcpy(b->data[1], b->data[0], VECTORS * (size_t)b->stride * size);
    for (int i = 0; i < SLOTS; i++)
        b->slots[0][i] = b->slots[1][i] = tess_random_unit(seed + 1, (uint64_t)i) + 0.5;
    b->diagonal = test_vector(b->stride * block, pass->diagonal.type, seed + 2);
    for (int64_t j = b->stride - block; j < b->stride; j++) /* padding is the identity */
        for (int64_t i = 0; i < block; i++) {
            const int64_t row = b->stride - block + i;
            if (row >= rows || j >= rows)
                tess_put_complex(b->diagonal, pass->diagonal.type, j * block + i,
                                 (tess_complex){row == j, 0});
        }
}

static void empty(bench *b)
{
    free(b->data[0]), free(b->data[1]), free(b->diagonal);
}

static const char *run(const test_pass *pass, bench *b, const int *programme, int64_t guard,
                       int blocks, uint64_t seed)
{
    tess_pass_call call = {
        .common.finish = {.slots = emu_address(b->slots[0]),
                          .control = emu_address(b->control),
                          .ring = emu_address(b->ring),
                          .slot_count = SLOTS,
                          .guard = guard,
                          .programme = emu_address(programme),
                          .ints = 3 + 4 * programme[0] + 3 * programme[1]},
        .common.diagonal = emu_address(b->diagonal),
        .common.rows = b->rows,
        .partial = emu_address(b->partial),
        .ticket = emu_address(&b->ticket),
        .blocks = blocks,
    };
    for (int i = 0; i < pass->kernel.vectors; i++)
        call.common.vector[i] = emu_address(vector(b, 0, pass->kernel.vector[i]));
    tess_cuda_launch launch;
    tess_pass_launch(&pass->kernel, &call, &launch);
    return emu_launch(pass->name, &launch, seed);
}

static tess_pass_fn pass_of(tess_type type)
{
    return type == TESS_F64   ? tess_pass_f64
           : type == TESS_F32 ? tess_pass_f32
           : type == TESS_C64 ? tess_pass_c64
                              : tess_pass_c32;
}

/* The same updates by the CPU's pass, in one chunk. */
static void run_cpu(const test_pass *pass, bench *b)
{
    tess_cpu_update updates[TEST_PASS_UPDATES];
    double sums[TEST_PASS_UPDATES], imaginary_sums[TEST_PASS_UPDATES];
    tess_diagonal diagonal = pass->diagonal;
    diagonal.blocks = b->diagonal;
    for (int64_t i = 0; i < pass->updates; i++) {
        const tess_update *update = &pass->update[i];
        updates[i] = (tess_cpu_update){.kind = update->kind,
                                       .terms = update->terms,
                                       .diagonal = &diagonal,
                                       .transpose = update->transpose,
                                       .dot = update->dot,
                                       .sum = &sums[i],
                                       .imaginary_sum = &imaginary_sums[i]};
        const bool reversed = update->dot == TESS_DOT_REVERSED;
        updates[i].x = vector(b, 1, reversed ? update->y : update->x);
        updates[i].y = vector(b, 1, reversed ? update->x : update->y);
        updates[i].x_factor = update->factor;
        for (int t = 0; t < update->terms; t++) {
            updates[i].in[t] = vector(b, 1, update->term[t].vector);
            const int slot = update->term[t].slot;
            updates[i].factor[t] = update->term[t].factor * (slot < 0 ? 1 : b->slots[1][slot]);
            updates[i].imaginary[t] =
                update->term[t].factor * (slot < 0 ? 0 : b->slots[1][TEST_SLOTS + slot]);
        }
        updates[i].out = vector(b, 1, update->out);
    }
    pass_of(pass->type)(updates, pass->updates, 0, 0, b->rows);
    for (int64_t i = 0; i < pass->updates; i++) {
        if (pass->update[i].kind != TESS_UPDATE_DOT)
            continue;
        b->slots[1][pass->update[i].slot] = sums[i];
        if (tess_is_complex(pass->type))
            b->slots[1][TEST_SLOTS + pass->update[i].slot] = imaginary_sums[i];
    }
}

static void compare(const test_pass *pass, const bench *b)
{
    const tess_type real = tess_real_type(pass->type);
    const double epsilon = real == TESS_F64 ? 1e-13 : 1e-4;
    const double scale = pass->diagonal.block > 0 ? pass->diagonal.block : 1;
    const int64_t stride = tess_reals(b->type, b->stride);
    for (int64_t i = 0; i < VECTORS * stride; i++) {
        const double got = tess_get(b->data[0], real, i);
        const double want = tess_get(b->data[1], real, i);
        if (!(fabs(got - want) <= epsilon * scale * (1 + fabs(want))))
            fail_msg("%s (%s), %lld rows: vector %lld, real %lld: %.17g, the CPU has %.17g\n%s",
                     pass->name, pass->what, (long long)b->rows, (long long)(i / stride),
                     (long long)(i % stride), got, want, pass->defines);
    }
    for (int i = 0; i < SLOTS; i++)
        if (!(fabs(b->slots[0][i] - b->slots[1][i]) <=
              10 * epsilon * scale * (double)(b->rows + 1)))
            fail_msg("%s (%s), %lld rows: slot %d: %.17g, the CPU has %.17g\n%s", pass->name,
                     pass->what, (long long)b->rows, i, b->slots[0][i], b->slots[1][i],
                     pass->defines);
}

static void check(const test_pass *pass, int64_t rows, int blocks, uint64_t seed)
{
    static const int nothing[3] = {0};
    bench b, again;
    fill(&b, pass, rows, seed);
    fill(&again, pass, rows, seed);
    const char *wrong = run(pass, &b, nothing, TESS_GUARD_NONE, blocks, seed);
    if (!wrong)
        wrong = run(pass, &again, nothing, TESS_GUARD_STOPPED, blocks, seed + 77);
    if (wrong)
        fail_msg("%s (%s): %s", pass->name, pass->what, wrong);
    assert_memory_equal(b.data[0], again.data[0],
                        VECTORS * (size_t)b.stride * tess_type_size(b.type));
    assert_memory_equal(b.slots[0], again.slots[0], sizeof b.slots[0]);
    assert_int_equal(b.ticket, 0);
    run_cpu(pass, &b);
    compare(pass, &b);
    empty(&b);
    empty(&again);
}

static void every_pass_agrees_with_the_cpu(void **state)
{
    (void)state;
    static test_pass passes[MOST];
    const int count = test_passes(passes, MOST);
    int ran = 0;
    assert_in_range(count, 50, MOST);
    for (int i = 0; i < count; i++) {
        if (!emu_has(passes[i].name))
            continue;
        const int64_t block = passes[i].diagonal.block > 0 ? passes[i].diagonal.block : 1;
        check(&passes[i], 7 * block - block / 2, 4, (uint64_t)i);
        check(&passes[i], 1100, 3, (uint64_t)i + 1); /* several tiles per thread block */
        ran++;
    }
    print_message("%d of %d passes\n", ran, count);
    assert_true(ran >= count / EMU_STEP);
}

/* One pass with two dots, for the tests of scalars. */
static const test_pass *some_pass(tess_type type)
{
    static test_pass passes[MOST];
    const int count = test_passes(passes, MOST);
    for (int i = 0; i < count; i++)
        if (passes[i].kernel.dots == 2 && passes[i].type == type && emu_has(passes[i].name))
            return &passes[i];
    fail_msg("no pass with two dots");
    return NULL;
}

static void stopped_systems_are_left_alone(void **state)
{
    (void)state;
    static const int nothing[3] = {0};
    const test_pass *pass = some_pass(TESS_F64);
    bench b;
    fill(&b, pass, 100, 5);
    b.control[TESS_GUARD_STOPPED] = 1;
    assert_null(run(pass, &b, nothing, TESS_GUARD_STOPPED, 3, 1));
    assert_memory_equal(b.data[0], b.data[1], VECTORS * (size_t)b.stride * 8);
    assert_memory_equal(b.slots[0], b.slots[1], sizeof b.slots[0]);
    assert_true(b.control[TESS_GUARD_PAST] == 1);
    assert_null(run(pass, &b, nothing, TESS_GUARD_PAST, 3, 1));
    assert_memory_equal(b.data[0], b.data[1], VECTORS * (size_t)b.stride * 8);
    empty(&b);
}

/* A programme of all operations gives the host's values in slots 20.., and stops when the host
 * does. */
static void scalars_and_stops_are_those_of_the_host(void **state)
{
    (void)state;
    const test_pass *pass = some_pass(TESS_F64);
    int programme[3 + 7 * 4 + 3 * 3] = {7, 3, 1};
    for (int op = 0; op < 7; op++)
        memcpy(programme + 3 + 4 * op, (int[]){op, 20 + op, 30, 31}, 4 * sizeof(int));
    const int stops[9] = {TESS_STOP_NOT_POSITIVE, 32, 0, TESS_STOP_ZERO, 33, 0,
                          TESS_STOP_SMALL,        34, 35};
    memcpy(programme + 3 + 7 * 4, stops, sizeof stops);
    static const struct {
        double a, b, positive, nonzero, small, enough;
        int64_t limit;
        bool stops;
    } cases[] = {{3, 4, 1, 1, 1, -1, 9, false},    {3, -4, 1, 1, 1, -1, 9, false},
                 {3, 0, -1, 1, 1, -1, 9, true},    {3, 1, 0, 1, 1, -1, 9, true},
                 {3, 1, 1, 0, 1, -1, 9, true},     {3, 1, 1, NAN, 1, -1, 9, true},
                 {3, 1, 1, 1, 1e-40, -1, 9, true}, {3, 1, 1, 1, 1, 1e30, 9, true},
                 {3, 1, 1, 1, 1, -1, 1, true},     {INFINITY, 1, NAN, 1, 1, -1, 9, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double a = cases[i].a, d = cases[i].b;
        bench b;
        fill(&b, pass, 100, 6);
        b.slots[0][30] = a;
        b.slots[0][31] = d;
        b.slots[0][32] = cases[i].positive;
        b.slots[0][33] = cases[i].nonzero;
        b.slots[0][34] = cases[i].small;
        b.slots[0][35] = 1;
        b.control[TESS_CONTROL_LIMIT] = (double)cases[i].limit;
        b.control[TESS_CONTROL_ENOUGH] = cases[i].enough;
        b.control[TESS_CONTROL_TOO_MUCH] = HUGE_VAL;
        b.control[TESS_CONTROL_TOO_MUCH + 1] = 1;
        assert_null(run(pass, &b, programme, TESS_GUARD_STOPPED, 3, i));
        const double quotient = isfinite(a / d) ? a / d : 0;
        const double want[7] = {quotient, d > 0 ? quotient : 0, a * d, a + d, a - d, sqrt(a), a};
        for (int op = 0; op < 7; op++)
            assert_true(b.slots[0][20 + op] == want[op]);
        assert_true(b.control[TESS_CONTROL_COUNT] == 1);
        assert_int_equal(b.control[TESS_GUARD_STOPPED] != 0, cases[i].stops);
        assert_true(b.control[TESS_GUARD_PAST] == 0);
        assert_memory_equal(b.ring, b.slots[0], sizeof b.slots[0]);
        empty(&b);
    }
}

/* An operation of complex slots, as the host's space computes it. */
static tess_complex expected(int op, bool conjugate, tess_complex a, tess_complex b)
{
    if (conjugate)
        b = tess_conjugate(b);
    const tess_complex quotient = tess_complex_quotient(a, b);
    const bool finite = isfinite(quotient.re) && isfinite(quotient.im);
    switch (op) {
    case TESS_OP_DIV:
        return finite ? quotient : (tess_complex){0, 0};
    case TESS_OP_DIV_POSITIVE:
        return finite && b.re > 0 ? quotient : (tess_complex){0, 0};
    case TESS_OP_MUL:
        return tess_complex_product(a, b);
    case TESS_OP_ADD:
        return tess_complex_sum(a, b);
    case TESS_OP_SUB:
        return (tess_complex){a.re - b.re, a.im - b.im};
    case TESS_OP_SQRT:
        return (tess_complex){sqrt(a.re), 0};
    default:
        return conjugate ? tess_conjugate(a) : a;
    }
}

static bool is_close(double got, double want)
{
    return fabs(got - want) <= 4e-16 * fabs(want);
}

/* The same of complex slots: all operations, plain and conjugated, and a divisor that is unusable
 * only where both its parts are 0 or one is not finite. */
static void complex_scalars_and_stops_are_those_of_the_host(void **state)
{
    (void)state;
    const test_pass *pass = some_pass(TESS_C64);
    int programme[3 + 14 * 4 + 3] = {14, 1, 1};
    for (int op = 0; op < 14; op++)
        memcpy(programme + 3 + 4 * op,
               (int[]){op % 7 + (op < 7 ? 0 : TESS_OP_CONJUGATED), 20 + op, 40, 41},
               4 * sizeof(int));
    memcpy(programme + 3 + 14 * 4, (int[]){TESS_STOP_ZERO, 42, 0}, 3 * sizeof(int));
    static const struct {
        tess_complex a, b, divisor;
        bool stops;
    } cases[] = {{{3, 1}, {4, -2}, {1, 0}, false},
                 {{3, 1}, {-1, 7}, {0, 1e-300}, false},
                 {{2, -5}, {0, 3}, {0, 0}, true},
                 {{2, -5}, {8, 0}, {0, NAN}, true},
                 {{1, 2}, {0, 0}, {INFINITY, 0}, true},
                 {{1e200, 3e200}, {2e-200, 1e-200}, {1, 1}, false},
                 {{4, 0}, {1e-300, 1e-300}, {-1, 0}, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tess_complex operands[3] = {cases[i].a, cases[i].b, cases[i].divisor};
        bench b;
        fill(&b, pass, 100, 6);
        for (int k = 0; k < 3; k++) {
            b.slots[0][40 + k] = operands[k].re;
            b.slots[0][TEST_SLOTS + 40 + k] = operands[k].im;
        }
        b.control[TESS_CONTROL_LIMIT] = 9;
        b.control[TESS_CONTROL_ENOUGH] = -1;
        b.control[TESS_CONTROL_TOO_MUCH] = HUGE_VAL;
        assert_null(run(pass, &b, programme, TESS_GUARD_STOPPED, 3, i));
        for (int op = 0; op < 14; op++) {
            const tess_complex want = expected(op % 7, op >= 7, operands[0], operands[1]);
            const double re = b.slots[0][20 + op], im = b.slots[0][TEST_SLOTS + 20 + op];
            if (!is_close(re, want.re) || !is_close(im, want.im))
                fail_msg("case %d, operation %d: %g%+gi, the host has %g%+gi", (int)i, op, re, im,
                         want.re, want.im);
        }
        assert_int_equal(b.control[TESS_GUARD_STOPPED] != 0, cases[i].stops);
        assert_memory_equal(b.ring, b.slots[0], sizeof b.slots[0]);
        empty(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pass_agrees_with_the_cpu),
        cmocka_unit_test(stopped_systems_are_left_alone),
        cmocka_unit_test(scalars_and_stops_are_those_of_the_host),
        cmocka_unit_test(complex_scalars_and_stops_are_those_of_the_host),
        cmocka_unit_test(loops_run_iterations_as_the_cpu_does),
        cmocka_unit_test(what_is_between_products_is_as_on_the_cpu),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

/* halo.cu and sums.cu in the emulator against plain loops: sizes drawn at random, the same bits in
 * any order of threads. */
#include <math.h>
#include <string.h>

#include "cuda/kernels/support.h"
#include "cuda/solve/units/pass.h"
#include "emu/emulator.h"
#include "support/support.h"

enum { THREADS = 64, PARTS = 5, SLOTS = 20 };

/* Some block rows of vectors, in no order, and a buffer of as many. */
typedef struct rows {
    tess_type type;
    int64_t block, length, listed, vectors, row_step, vector_step, scalars;
    int64_t *list;
    void *vector, *buffer, *w;
} rows;

static rows draw(uint64_t seed, bool one)
{
    rows r = {.type = seed % 2 ? TESS_F64 : TESS_F32,
              .block = 1 + tess_random_below(seed, 0, 7),
              .length = 1 + tess_random_below(seed, 1, 300),
              .vectors = one ? 1 : 1 + tess_random_below(seed, 2, 4)};
    const int64_t block_rows = tess_ceil_div(r.length, r.block);
    const bool by_rows = seed % 3 == 0 && !one;
    r.row_step = by_rows ? r.vectors + 1 : 1;
    r.vector_step = by_rows ? 1 : r.length + 2;
    r.list = malloc((size_t)block_rows * sizeof *r.list);
    for (int64_t i = block_rows - 1; i >= 0; i--)
        if (tess_random_below(seed, (uint64_t)(10 + i), 3) > 0 || i == block_rows - 1)
            r.list[r.listed++] = i;
    if (seed % 7 == 0)
        r.listed = 0;
    r.scalars = r.listed * r.block * r.vectors;
    const int64_t all = (r.length + 2) * (r.vectors + 1);
    r.vector = test_vector(all, r.type, seed + 1);
    r.w = test_vector(all, r.type, seed + 2);
    r.buffer = test_vector(r.scalars + 1, r.type, seed + 3);
    return r;
}

static void drop(rows *r)
{
    free(r->list), free(r->vector), free(r->buffer), free(r->w);
}

/* Where scalar i of the buffer is in the vectors; -1: in the padding. */
static int64_t place(const rows *r, int64_t i)
{
    const int64_t v = i % r->vectors, at = i / r->vectors;
    const int64_t row = r->list[at / r->block] * r->block + at % r->block;
    return row < r->length ? row * r->row_step + v * r->vector_step : -1;
}

static tess_cuda_launch *start(tess_cuda_launch *launch, const char *entry, const rows *r)
{
    tess_cuda_launch_start(launch, entry, tess_max(1, tess_ceil_div(r->scalars, THREADS)), THREADS);
    TESS_CUDA_POINTERS(launch, emu_address(r->list), emu_address(r->vector),
                       emu_address(r->buffer));
    TESS_CUDA_INTEGERS(launch, r->scalars, r->length, r->block, r->vectors, r->row_step,
                       r->vector_step);
    return launch;
}

static void run(const char *variant, const tess_cuda_launch *launch, uint64_t seed)
{
    const char *wrong = emu_launch(variant, launch, seed);
    if (wrong)
        fail_msg("%s of %s, seed %d: %s", launch->entry, variant, (int)seed, wrong);
}

static const char *variant_of(tess_type type)
{
    return type == TESS_F64 ? "halo_0" : "halo_1";
}

static void rows_are_packed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        rows r = draw(seed, false);
        tess_cuda_launch launch;
        run(variant_of(r.type), start(&launch, "pack_rows", &r), seed);
        for (int64_t i = 0; i < r.scalars; i++) {
            const int64_t from = place(&r, i);
            assert_true(tess_get(r.buffer, r.type, i) ==
                        (from < 0 ? 0 : tess_get(r.vector, r.type, from)));
        }
        drop(&r);
    }
}

static void rows_are_added(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        rows r = draw(seed, false), want = draw(seed, false);
        tess_cuda_launch launch;
        for (int64_t i = 0; i < r.scalars; i++)
            if (place(&r, i) >= 0)
                tess_put(want.vector, r.type, place(&r, i),
                         tess_get(r.vector, r.type, place(&r, i)) + tess_get(r.buffer, r.type, i));
        run(variant_of(r.type), start(&launch, "add_rows", &r), seed);
        assert_memory_equal(r.vector, want.vector,
                            (size_t)((r.length + 2) * (r.vectors + 1)) * tess_type_size(r.type));
        drop(&r);
        drop(&want);
    }
}

/* A product left partial sums of w . y. Rows are added to y, and w . (added rows) to the sums. */
static void rows_are_added_with_a_dot_product(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const int64_t parts = tess_random_below(seed, 5, 200);
        double *left = test_vector(parts + 1, TESS_F64, seed + 9), sums[64], mail[2];
        double want = 0, large = 1;
        uint64_t ticket = 0;
        for (int64_t i = 0; i < parts; i++)
            want += left[i], large += fabs(left[i]);
        for (int again = 0; again < 2; again++) {
            rows r = draw(seed, true);
            tess_cuda_launch launch;
            for (int64_t i = 0; i < r.scalars && again == 0; i++)
                if (place(&r, i) >= 0) {
                    const double term =
                        tess_get(r.w, r.type, place(&r, i)) * tess_get(r.buffer, r.type, i);
                    want += term, large += fabs(term);
                }
            start(&launch, "add_rows_dot", &r);
            TESS_CUDA_POINTERS(&launch, emu_address(r.w), emu_address(left));
            TESS_CUDA_INTEGERS(&launch, parts);
            TESS_CUDA_POINTERS(&launch, emu_address(sums), emu_address(&mail[again]),
                               emu_address(&ticket));
            run(variant_of(r.type), &launch, seed + 100 * (uint64_t)again);
            drop(&r);
        }
        if (!(fabs(mail[0] - want) <= 1e-14 * large) || mail[0] != mail[1] || (uint32_t)ticket != 0)
            fail_msg("seed %d: %.17g and %.17g, not %.17g", (int)seed, mail[0], mail[1], want);
        free(left);
    }
}

/* The parts' sums are added in order, then two slots are multiplied. A stopped system stays as it
 * is. */
static void sums_of_parts_are_added_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const int64_t parts = 1 + tess_random_below(seed, 0, PARTS),
                      dots = 1 + tess_random_below(seed, 1, TESS_PASS_DOTS);
        const bool stopped = seed % 5 == 0;
        double *mails[PARTS], slots[SLOTS], before[SLOTS], control[8] = {stopped}, ring[SLOTS];
        const double *table[PARTS];
        int64_t slot[TESS_PASS_DOTS] = {0};
        const int programme[] = {1, 0, 0, 2 /* MUL */, SLOTS - 1, 0, 1};
        for (int i = 0; i < SLOTS; i++)
            slots[i] = before[i] = tess_random_unit(seed, (uint64_t)i);
        for (int r = 0; r < PARTS; r++)
            table[r] = mails[r] = test_vector(TESS_PASS_DOTS, TESS_F64, seed + (uint64_t)r);
        for (int64_t k = 0; k < dots; k++)
            slot[k] = 2 * k;
        const tess_finish_call call = {.slots = emu_address(slots),
                                       .control = emu_address(control),
                                       .ring = emu_address(ring),
                                       .slot_count = SLOTS,
                                       .guard = 0,
                                       .programme = emu_address(programme),
                                       .ints = 7};
        tess_cuda_launch launch;
        tess_cuda_launch_start(&launch, "add_sums", 1, THREADS);
        tess_finish_arguments(&call, &launch);
        TESS_CUDA_POINTERS(&launch, emu_address(table));
        TESS_CUDA_INTEGERS(&launch, parts, dots);
        tess_cuda_add_args(&launch, slot, TESS_PASS_DOTS);
        run("sums_0", &launch, seed);
        for (int64_t k = 0; k < dots && !stopped; k++) {
            double sum = 0;
            for (int64_t r = 0; r < parts; r++)
                sum += mails[r][k];
            before[2 * k] = sum;
        }
        if (!stopped)
            before[SLOTS - 1] = before[0] * before[1];
        assert_memory_equal(slots, before, sizeof slots);
        for (int r = 0; r < PARTS; r++)
            free(mails[r]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_packed),
        cmocka_unit_test(rows_are_added),
        cmocka_unit_test(rows_are_added_with_a_dot_product),
        cmocka_unit_test(sums_of_parts_are_added_in_order),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

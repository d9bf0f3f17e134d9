/* The costs of candidates on a GPU that the model gets: the bytes that sliced storage moves, the
 * time in which long rows leave the memory idle, and how often rows wait. The device is a profile:
 * nothing runs. */
#include <math.h>
#include <string.h>

#include "cuda/plan/plan.h"
#include "format/sliced.h"
#include "plan/model/model.h"
#include "support/support.h"

/* The next number of a series, 0 to bound - 1. */
typedef struct draw {
    uint64_t seed, next;
} draw;

static int64_t below(draw *d, int64_t bound)
{
    return tess_random_below(d->seed, d->next++, bound);
}

/* ---- Bytes that sliced storage moves ---- */

/* Rows of `least` to `longest` blocks. */
static tess_matrix *draw_rows(tess_ctx *ctx, uint64_t seed, int64_t rows, int32_t b, tess_type type,
                              int32_t least, int32_t longest)
{
    draw d = {.seed = seed};
    int64_t blocks = 0;
    int32_t *lengths = malloc((size_t)rows * sizeof *lengths);
    tess_matrix *A;
    assert_non_null(lengths);
    for (int64_t i = 0; i < rows; i++)
        blocks += lengths[i] = least + (int32_t)below(&d, longest - least + 1);
    assert_int_equal(tess_matrix_allocate(ctx, type, rows * b, longest * b, b, b, blocks, &A),
                     TESS_OK);
    for (int64_t i = 0, k = 0; i < rows; i++) {
        for (int32_t j = 0; j < lengths[i]; j++)
            A->columns[k++] = j;
        A->row_offsets[i + 1] = k;
    }
    memset(A->values, 0, (size_t)tess_matrix_stored(A) * tess_type_size(type));
    free(lengths);
    return A;
}

/* Transactions of 64 bytes that lanes make in the value array, as sliced.cu does. */
static int64_t transactions_of(const tess_sliced *S)
{
    const int64_t C = S->options.height, V = S->options.vector, bh = S->block_height;
    const int64_t vector = V * (int64_t)tess_type_size(S->type);
    const int64_t vectors = (int64_t)S->group * S->width / V;
    const int64_t bytes = tess_sliced_stored(S) * (int64_t)tess_type_size(S->type);
    unsigned char *touched = calloc((size_t)(bytes / 64 + 1), 1);
    int64_t count = 0;
    assert_non_null(touched);
    for (int64_t line = 0; line < S->slices * C; line++) {
        const int64_t s = line / C, groups = tess_ceil_div(S->lengths[line], S->group);
        for (int64_t g = 0; g < groups; g++)
            for (int64_t j = 0; j < vectors; j++)
                for (int64_t r = 0; r < bh; r++) {
                    const int64_t at =
                        ((S->offsets[s] + g) * vectors + j) * C * bh + line % C * bh + r;
                    for (int64_t byte = at * vector; byte < (at + 1) * vector; byte += 4)
                        touched[byte / 64] = 1;
                }
    }
    for (int64_t i = 0; i <= bytes / 64; i++)
        count += touched[i];
    free(touched);
    return count;
}

static void padding_counts_where_a_transaction_holds_some_of_a_longer_row(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    int64_t shared = 0;
    for (uint64_t seed = 1; seed <= test_draws(200); seed++) {
        draw d = {.seed = seed};
        static const int32_t heights[] = {16, 32, 64}, vectors[] = {1, 2, 4};
        const tess_type type = below(&d, 2) ? TESS_F32 : TESS_F64;
        const int32_t b = 1 + (int32_t)below(&d, 24);
        const tess_sliced_options options = {.height = heights[below(&d, 3)],
                                             .window = 1,
                                             .vector = vectors[below(&d, type == TESS_F32 ? 3 : 2)],
                                             .panels = 1};
        tess_matrix *A =
            draw_rows(ctx, seed, 1 + below(&d, 150), b, type, 0, 1 + (int32_t)below(&d, 12));
        tess_sliced *S;
        double stored, moved;
        char name[TESS_CUDA_LAYOUT];
        assert_int_equal(tess_sliced_create(ctx, A, &options, &S), TESS_OK);
        snprintf(name, sizeof name, "sliced:C=%d,sigma=1,lambda=0,V=%d", (int)options.height,
                 (int)options.vector);
        assert_int_equal(tess_cuda_layout_bytes(ctx, A, name, &stored, &moved), TESS_OK);
        const double value = (double)tess_type_size(type), scalars = (double)b * b;
        const double read = 64.0 * (double)transactions_of(S) / (value * scalars); /* blocks */
        const double expected = read * (4 + value * scalars) + 4.0 * (double)A->block_rows +
                                value * (double)(A->rows + A->cols);
        if (fabs(moved - expected) > 1e-9 * expected)
            fail_msg("seed %llu, %s, b=%d, %s: %.1f bytes, not %.1f", (unsigned long long)seed,
                     name, (int)b, tess_type_name(type), moved, expected);
        assert_true(moved <= stored + value * (double)(A->rows + A->cols) + 0.5);
        shared += read > (double)A->blocks;
        tess_sliced_destroy(S);
        tess_matrix_destroy(A);
    }
    assert_true(shared > 0);
}

/* Blocks whose rows are whole transactions move no padding, however uneven the rows are. */
static void rows_of_whole_transactions_move_no_padding(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = draw_rows(ctx, 7, 500, 16, TESS_F64, 0, 20);
    double stored, moved, exact = tess_matrix_spmv_bytes(A);
    assert_int_equal(tess_cuda_layout_bytes(ctx, A, "sliced:C=32", &stored, &moved), TESS_OK);
    assert_true(stored > 1.5 * exact);
    assert_true(fabs(moved - exact) < 0.01 * exact);
    /* Sorted and cut, rows move the same bytes, and the sums of segments. */
    assert_int_equal(
        tess_cuda_layout_bytes(ctx, A, "sliced:C=32,sigma=4096,lambda=8", &stored, &moved),
        TESS_OK);
    assert_true(moved > exact && moved < 1.1 * exact);
    tess_matrix_destroy(A);
}

/* ---- Time in which the memory waits ---- */

enum { ROWS = 3000 };
static const double speed = 4.8e12, latency = 0.7e-6;

/* The time in which the memory waits, computed step by step for every row. */
static double waited(const tess_matrix *A, const tess_cuda_flight *flight)
{
    const double rows = (double)A->block_rows, mean = (double)A->blocks / rows;
    const double block = 4 + 8.0 * A->block_height * A->block_width;
    const double share = fmin(flight->lines / rows, 1);
    double seconds = 0, even = 0;
    for (double t = 0;; t += flight->blocks) {
        double alive = 0, blocks = 0;
        for (int64_t i = 0; i < A->block_rows; i++) {
            const double left = (double)(A->row_offsets[i + 1] - A->row_offsets[i]) - t;
            alive += left > 0;
            blocks += fmax(fmin(left, flight->blocks), 0);
        }
        if (alive == 0)
            break;
        seconds += fmin(share * alive, 1) * fmax(latency - share * blocks * block / speed, 0);
        const double here = fmax(fmin(mean - t, flight->blocks), 0) * rows;
        if (t < mean)
            even += fmax(latency - share * here * block / speed, 0);
    }
    return fmax(seconds - even, 0);
}

static double idle_of(void **state, const tess_matrix *A, const tess_cuda_flight *flight)
{
    double seconds = -1;
    assert_int_equal(tess_cuda_idle(test_ctx(state), A, flight, speed, &seconds), TESS_OK);
    return seconds;
}

static void idle_time_is_that_of_the_steps_of_every_row(void **state)
{
    int64_t some = 0;
    for (uint64_t seed = 1; seed <= test_draws(60); seed++) {
        draw d = {.seed = seed};
        const int32_t b = 1 + (int32_t)below(&d, 5);
        tess_matrix *A = draw_rows(test_ctx(state), seed, 1 + below(&d, ROWS), b, TESS_F64, 0,
                                   1 + (int32_t)below(&d, 60));
        const tess_cuda_flight flight = {.blocks = 0.25 * (double)(1 + below(&d, 32)),
                                         .lines = 1 + (double)below(&d, 2 * ROWS)};
        const double expected = A->blocks > 0 ? waited(A, &flight) : 0;
        const double seconds = idle_of(state, A, &flight);
        if (fabs(seconds - expected) > 1e-12)
            fail_msg("seed %llu: %g s, not %g", (unsigned long long)seed, seconds, expected);
        some += seconds > 0;
        tess_matrix_destroy(A);
    }
    assert_true(some > 0);
}

static void only_long_rows_at_the_end_leave_the_memory_idle(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *even = draw_rows(ctx, 4, ROWS, 8, TESS_F64, 30, 30),
                *A = draw_rows(ctx, 3, ROWS, 8, TESS_F64, 0, 60);
    tess_cuda_flight flight = {.blocks = 2, .lines = ROWS};
    const double alone = idle_of(state, A, &flight);
    assert_true(alone > 0);
    flight.blocks = 8; /* more loads in flight: fewer steps that wait */
    assert_true(idle_of(state, A, &flight) < alone);
    flight = (tess_cuda_flight){.blocks = 2, .lines = ROWS, .split = 30}; /* long rows are cut */
    assert_true(idle_of(state, A, &flight) < alone);
    flight = (tess_cuda_flight){.blocks = 2, .lines = ROWS / 4, .sorted = true};
    assert_true(idle_of(state, A, &flight) == 0);
    flight.lines = ROWS; /* all run at once: their order does not matter */
    assert_true(idle_of(state, A, &flight) == alone);
    assert_true(idle_of(state, A, &(tess_cuda_flight){0}) == 0);
    flight = (tess_cuda_flight){.blocks = 2, .lines = ROWS};
    assert_true(idle_of(state, even, &flight) == 0);
    test_sweep sweep = test_sweep_begin(state);
    tess_status status;
    double seconds;
    do
        status = tess_cuda_idle(ctx, A, &flight, speed, &seconds);
    while (test_sweep_goes_on(&sweep, status));
    tess_matrix_destroy(even);
    tess_matrix_destroy(A);
}

/* The share of a row's waits that the candidate of sliced storage reports. */
static double waits_of(void **state, int64_t rows, int32_t length)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "profile:h200");
    const tess_product product = {.kind = TESS_PRODUCT_SPMV, .effort = TESS_EFFORT_ESTIMATE};
    tess_matrix *A = draw_rows(ctx, 9, rows, 1, TESS_F64, length, length);
    tess_candidates list = {0};
    double waits = 0;
    assert_int_equal(tess_cuda_candidates(device, A, &product, &list), TESS_OK);
    assert_int_equal(tess_cuda_costs(device, A, &list), TESS_OK);
    for (int64_t i = 0; i < list.count; i++) {
        const bool sliced = strcmp(list.items[i].kernel, "sliced") == 0;
        assert_true(list.items[i].waits > 0 && list.items[i].waits <= 1);
        assert_true(sliced || list.items[i].waits == 1);
        waits = sliced ? list.items[i].waits : waits;
    }
    tess_candidates_free(ctx, &list);
    tess_matrix_destroy(A);
    tess_device_close(device);
    return waits;
}

static void threads_that_share_a_row_wait_less(void **state)
{
    assert_true(waits_of(state, 400000, 7) == 1);
    assert_true(waits_of(state, 500, 400) < 0.3);
}

/* A candidate's idle time reaches the model: rows of two lengths are expected to take longer. */
static void candidates_of_uneven_rows_have_idle_time(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "profile:h200");
    const tess_product product = {.kind = TESS_PRODUCT_SPMV, .effort = TESS_EFFORT_ESTIMATE};
    tess_matrix *A = draw_rows(ctx, 5, ROWS, 8, TESS_F64, 0, 60);
    tess_candidates list = {0};
    int64_t priced = 0;
    assert_int_equal(tess_cuda_candidates(device, A, &product, &list), TESS_OK);
    assert_int_equal(tess_cuda_costs(device, A, &list), TESS_OK);
    for (int64_t i = 0; i < list.count; i++) {
        const tess_cuda_kernel *kernel = tess_cuda_kernel_find(list.items[i].kernel);
        assert_true((list.items[i].idle > 0) == (kernel->flight != NULL));
        priced += list.items[i].idle > 0;
    }
    assert_true(priced > 0);
    tess_candidates_free(ctx, &list);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

/* Beyond the sizes of a calibration, steps grow as the bytes do. row_per_thread of 24 x 24 blocks
 * has long steps: it had been expected to take 1.65 times as long for twice the bytes. */
static void twice_the_bytes_take_twice_as_long(void **state)
{
    tess_device *device = test_device(test_ctx(state), "profile:h200");
    const tess_model *model = tess_device_performance(device);
    double seconds[2];
    assert_non_null(model);
    for (int i = 0; i < 2; i++) {
        const double bytes = (i + 1) * TESS_CACHE_MOST * model->cache_bytes;
        const tess_model_load load = {.name = "row_per_thread",
                                      .block = 24,
                                      .type = TESS_F64,
                                      .bytes = bytes,
                                      .block_rows = bytes / (24 * 24 * 24 * 8),
                                      .length = 24,
                                      .working = bytes};
        seconds[i] = tess_model_seconds(model, &load, false);
    }
    assert_true(seconds[1] > 1.9 * seconds[0]);
    assert_true(seconds[1] < 2 * seconds[0]);
    tess_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_counts_where_a_transaction_holds_some_of_a_longer_row),
        cmocka_unit_test(rows_of_whole_transactions_move_no_padding),
        cmocka_unit_test(idle_time_is_that_of_the_steps_of_every_row),
        cmocka_unit_test(only_long_rows_at_the_end_leave_the_memory_idle),
        cmocka_unit_test(candidates_of_uneven_rows_have_idle_time),
        cmocka_unit_test(threads_that_share_a_row_wait_less),
        cmocka_unit_test(twice_the_bytes_take_twice_as_long),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

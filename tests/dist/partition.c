/* A matrix dealt out by every partition. The caller sees only his own numbering. */
#include "support/counted.h"
#include "support/support.h"
#include "support/thread_comm.h"

#include <string.h>

enum { MOST = 5 };

typedef struct dealing {
    test_team *team;
    const tess_matrix *A;
    const char *partition;
    const void *x;
    void *y;              /* A x, collected */
    void *twice;          /* 2 A x, by new values */
    int64_t *rows[MOST];  /* of each part, as it says; freed by the test */
    int64_t counts[MOST]; /* rows */
    int64_t halo[MOST];   /* block columns */
    tess_status status[MOST];
    char error[MOST][1024];
    int64_t allocation_fails; /* part 0's; -1: none */
} dealing;

/* Gives a dealt part new values: the blocks of its rows in A's order, twice as large as A's. */
static tess_status double_values(const dealing *d, tess_plan *plan, const int64_t *rows,
                                 int64_t count)
{
    const tess_matrix *A = d->A;
    const int64_t b = A->block_height, scalars = b * b;
    void *twice = malloc((size_t)(A->blocks * scalars + 1) * tess_type_size(A->type));
    int64_t at = 0;
    for (int64_t i = 0; i < count; i += b)
        for (int64_t k = A->row_offsets[rows[i] / b] * scalars;
             k < A->row_offsets[rows[i] / b + 1] * scalars; k++)
            tess_put(twice, A->type, at++, 2 * tess_matrix_value(A, k));
    const tess_status status = tess_plan_update_values(plan, twice);
    free(twice);
    return status;
}

/* y = A x by parts, then 2 A x with new values: x is dealt out, y collected. */
static tess_status multiply(dealing *d, int rank, tess_device *device, tess_part *part)
{
    tess_part_info info;
    tess_plan *plan;
    tess_status status = tess_part_get_info(part, sizeof info, &info);
    const size_t scalar = tess_type_size(info.type);
    d->counts[rank] = info.rows;
    d->halo[rank] = info.halo_rows / info.block;
    d->rows[rank] = malloc((size_t)(info.rows + 1) * sizeof *d->rows[rank]);
    if (status == TESS_OK)
        status = tess_part_get_rows(part, d->rows[rank]);
    if (status == TESS_OK)
        status = tess_plan_create_part(part, device, NULL, &plan);
    if (status != TESS_OK)
        return status;
    void *x = malloc((size_t)(info.rows + 1) * scalar),
         *y = malloc((size_t)(info.rows + 1) * scalar);
    status = tess_part_deal_vector(part, rank == 0 ? d->x : NULL, x);
    if (status == TESS_OK)
        status = tess_spmv(plan, 1, x, 0, y);
    if (status == TESS_OK)
        status = tess_part_collect_vector(part, y, rank == 0 ? d->y : NULL);
    if (status == TESS_OK)
        status = double_values(d, plan, d->rows[rank], info.rows);
    if (status == TESS_OK)
        status = tess_spmv(plan, 1, x, 0, y);
    if (status == TESS_OK)
        status = tess_part_collect_vector(part, y, rank == 0 ? d->twice : NULL);
    for (int64_t i = 0; status == TESS_OK && i < info.rows; i++)
        if (tess_get(x, info.type, i) != tess_get(d->x, info.type, d->rows[rank][i]))
            status = TESS_ERR_INTERNAL; /* tess_part_get_rows names another row */
    free(x);
    free(y);
    tess_plan_destroy(plan);
    return status;
}

static void one_part(int rank, void *user)
{
    dealing *d = user;
    counted memory;
    const tess_comm comm = test_team_comm(d->team, rank);
    tess_ctx *ctx = counted_ctx(&memory);
    tess_device *device;
    tess_part *part;
    if (tess_device_open(ctx, "cpu:1", &device) != TESS_OK)
        abort();
    memory.fails_in = rank == 0 ? d->allocation_fails : -1;
    d->status[rank] = tess_part_deal_by(ctx, &comm, rank == 0 ? d->A : NULL, d->partition, &part);
    if (d->status[rank] == TESS_OK) {
        d->status[rank] = multiply(d, rank, device, part);
        tess_part_destroy(part);
    }
    memory.fails_in = -1;
    snprintf(d->error[rank], sizeof d->error[rank], "%s", tess_ctx_error(ctx));
    tess_device_close(device);
    counted_end(ctx, &memory, rank);
}

static tess_status run(dealing *d, int size)
{
    d->team = test_team_create(size);
    test_team_run(d->team, one_part, d);
    test_team_destroy(d->team);
    for (int r = 1; r < size; r++)
        assert_int_equal(d->status[r], d->status[0]);
    return d->status[0];
}

static void free_rows(dealing *d)
{
    for (int r = 0; r < MOST; r++) {
        free(d->rows[r]);
        d->rows[r] = NULL;
    }
}

/* Checks that every row is on one part, and that each part's halo is the partition's. */
static void check_rows(tess_ctx *ctx, const dealing *d, int size, const char *what)
{
    bool *there = calloc((size_t)d->A->rows + 1, 1);
    int64_t all = 0;
    tess_partition *p;
    assert_int_equal(tess_partition_create(ctx, d->A, size, d->partition, &p), TESS_OK);
    for (int r = 0; r < size; r++) {
        assert_int_equal(d->halo[r], p->parts[r].halo);
        assert_int_equal(d->counts[r], p->parts[r].rows);
        for (int64_t i = 0; i < d->counts[r]; i++) {
            const int64_t row = d->rows[r][i];
            if (row < 0 || row >= d->A->rows || there[row] ||
                p->owner[row / d->A->block_height] != r)
                fail_msg("%s: part %d has row %lld", what, r, (long long)row);
            there[row] = true;
            all++;
        }
    }
    assert_int_equal(all, d->A->rows);
    tess_partition_destroy(p);
    free(there);
}

static void every_partition_multiplies_as_the_whole_does(void **state)
{
    static const test_pattern patterns[] = {TEST_BANDED, TEST_RANDOM,   TEST_DENSE_ROW, TEST_RAGGED,
                                            TEST_SKEWED, TEST_DIAGONAL, TEST_EMPTY};
    tess_ctx *ctx = test_ctx(state);
    for (int kind = 0; tess_partition_name(kind); kind++) {
        for (uint64_t seed = 0; seed < test_draws(28); seed++) {
            const int32_t b = 1 + (int32_t)tess_random_below(seed, 0, 6);
            tess_matrix *A =
                test_matrix(ctx, patterns[seed % 7], 1 + tess_random_below(seed, 1, 40), b, b,
                            seed % 3 == 0 ? TESS_F32 : TESS_F64, seed);
            const int size = 1 + (int)(seed % MOST);
            if (A->rows != A->cols) {
                tess_matrix_destroy(A);
                continue;
            }
            void *x = test_vector(A->rows, A->type, seed), *y = test_vector(A->rows, A->type, 1);
            void *twice = test_vector(A->rows, A->type, 2);
            dealing d = {.A = A,
                         .partition = tess_partition_name(kind),
                         .x = x,
                         .y = y,
                         .twice = twice,
                         .allocation_fails = -1};
            char what[64];
            snprintf(what, sizeof what, "%s, seed %llu, %d parts", d.partition,
                     (unsigned long long)seed, size);
            const tess_status status = run(&d, size);
            if (status == TESS_OK) {
                test_check_spmv(what, A, 1, x, 0, NULL, y);
                test_check_spmv(what, A, 2, x, 0, NULL, twice);
                check_rows(ctx, &d, size, what);
            } else if (status != TESS_ERR_UNSUPPORTED || !strstr(d.error[0], "is not here")) {
                fail_msg("%s: %s", what, d.error[0]);
            }
            free_rows(&d);
            free(x), free(y), free(twice);
            tess_matrix_destroy(A);
        }
    }
}

static void a_partition_that_fails_fails_everywhere(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 30, 2, 2, TESS_F64, 1);
    dealing d = {.A = A, .partition = "circle", .allocation_fails = -1};
    assert_int_equal(run(&d, 3), TESS_ERR_OPTION);
    for (int r = 0; r < 3; r++)
        assert_non_null(strstr(d.error[r], "part 0 of 3: unknown partition 'circle'"));
    tess_matrix_destroy(A);
}

static void memory_missing_on_part_0_fails_all(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 30, 2, 2, TESS_F64, 1);
    void *x = test_vector(A->rows, A->type, 1), *y = test_vector(A->rows, A->type, 2);
    int64_t failures = 0;
    for (;; failures = test_next_failure(failures)) {
        dealing d = {.A = A,
                     .partition = "cyclic",
                     .x = x,
                     .y = y,
                     .twice = y,
                     .allocation_fails = failures};
        const tess_status status = run(&d, 3);
        free_rows(&d);
        if (status == TESS_OK)
            break;
        assert_int_equal(status, TESS_ERR_MEMORY);
        for (int r = 0; r < 3; r++)
            assert_non_null(strstr(d.error[r], "part 0 of 3"));
    }
    assert_true(failures > 20);
    free(x), free(y);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_partition_multiplies_as_the_whole_does),
        cmocka_unit_test(a_partition_that_fails_fails_everywhere),
        cmocka_unit_test(memory_missing_on_part_0_fails_all),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

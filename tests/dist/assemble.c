/* Assembly by parts against assembly of the whole: blocks of other parts' rows, new values, faults.
 *
 * Elements are drawn at random. A random part computes each of them, whichever part owns its rows.
 */
#include "support/counted.h"
#include "support/support.h"
#include "support/thread_comm.h"

#include <string.h>

enum { MOST = 5, NODES = 3, ELEMENTS = 60 };

/* One problem: elements of NODES block rows each, negative ones left out. */
typedef struct elements {
    tess_type type;
    int32_t block;
    int64_t block_rows, rows; /* of the whole */
    int size;
    int64_t firsts[MOST + 1];
    int by[ELEMENTS]; /* the part that computes it */
    int64_t nodes[ELEMENTS][NODES];
    void *values[2][ELEMENTS]; /* of each time step */
    tess_block_order order;
} elements;

static elements draw(uint64_t seed, int size)
{
    elements e = {.type = seed % 4 == 0 ? TESS_F32 : TESS_F64,
                  .block = 1 + (int32_t)tess_random_below(seed, 0, 4),
                  .block_rows = 1 + tess_random_below(seed, 1, 30),
                  .size = size,
                  .order = seed % 2 ? TESS_ORDER_ROW_MAJOR : TESS_ORDER_COLUMN_MAJOR};
    e.rows = e.block_rows * e.block - (seed % 3 == 0 ? tess_random_below(seed, 2, e.block) : 0);
    for (int r = 1; r < size; r++) /* growing, empty parts included */
        e.firsts[r] = e.firsts[r - 1] +
                      tess_random_below(seed, 10 + (uint64_t)r, e.block_rows - e.firsts[r - 1] + 1);
    e.firsts[size] = e.block_rows;
    for (int n = 0; n < ELEMENTS; n++) {
        const uint64_t at = 100 + 10 * (uint64_t)n;
        e.by[n] = (int)tess_random_below(seed, at, size);
        for (int i = 0; i < NODES; i++)
            e.nodes[n][i] = tess_random_below(seed, at + 1 + (uint64_t)i, e.block_rows + 1) - 1;
        for (int step = 0; step < 2; step++)
            e.values[step][n] = test_vector((int64_t)NODES * NODES * e.block * e.block, e.type,
                                            seed * 1000 + at + (uint64_t)step);
    }
    return e;
}

static void free_elements(elements *e)
{
    for (int n = 0; n < ELEMENTS; n++)
        for (int step = 0; step < 2; step++)
            free(e->values[step][n]);
}

/* The whole matrix, its sums in the order of parts. */
static tess_matrix *assemble_whole(tess_ctx *ctx, const elements *e, int step)
{
    tess_builder *builder;
    tess_matrix *A;
    assert_int_equal(
        tess_builder_create(ctx, e->type, e->rows, e->rows, e->block, e->block, e->size, &builder),
        TESS_OK);
    for (int n = 0; n < ELEMENTS; n++)
        assert_int_equal(tess_inserter_add_element(tess_builder_inserter(builder, e->by[n]), NODES,
                                                   e->nodes[n], NODES, NULL, e->values[step][n],
                                                   e->order),
                         TESS_OK);
    assert_int_equal(tess_builder_finish(builder, &A), TESS_OK);
    tess_builder_destroy(builder);
    return A;
}

typedef struct assembly {
    const elements *e;
    test_team *team;
    const void *x;
    void *y[2];  /* of each time step */
    int culprit; /* this part adds a bad element in step `bad_step`; -1: none */
    int bad_step;
    int64_t bad_row, bad_column;
    int fails_at; /* the part whose allocations fail from `allocation` on; -1: none */
    int64_t allocation;
    tess_status status[MOST];
    char error[MOST][1024];
} assembly;

static int64_t first_row(const elements *e, int rank)
{
    return tess_min(e->firsts[rank] * e->block, e->rows);
}

/* Adds the part's elements of one time step. Failures are returned by finish. */
static void add_elements(const assembly *a, int rank, int step, tess_part_builder *builder)
{
    const elements *e = a->e;
    for (int n = 0; n < ELEMENTS; n++)
        if (e->by[n] == rank)
            (void)tess_part_builder_add(builder, NODES, e->nodes[n], NODES, NULL,
                                        e->values[step][n], e->order);
    if (a->culprit == rank && a->bad_step == step)
        (void)tess_part_builder_add(builder, 1, &a->bad_row, 1, &a->bad_column, e->values[0][0],
                                    e->order);
}

static tess_status both_steps(assembly *a, int rank, tess_device *device,
                              tess_part_builder *builder)
{
    const size_t at = (size_t)first_row(a->e, rank) * tess_type_size(a->e->type);
    const char *x = (const char *)a->x + at;
    tess_part *part;
    tess_plan *plan;
    add_elements(a, rank, 0, builder);
    tess_status status = tess_part_builder_finish(builder, &part);
    if (status != TESS_OK)
        return status;
    status = tess_plan_create_part(part, device, NULL, &plan);
    if (status == TESS_OK) {
        status = tess_spmv(plan, 1, x, 0, (char *)a->y[0] + at);
        add_elements(a, rank, 1, builder);
        if (status == TESS_OK)
            status = tess_part_builder_update(builder, plan);
        if (status == TESS_OK)
            status = tess_spmv(plan, 1, x, 0, (char *)a->y[1] + at);
        tess_plan_destroy(plan);
    }
    tess_part_destroy(part);
    return status;
}

static void one_part(int rank, void *user)
{
    assembly *a = user;
    const elements *e = a->e;
    const tess_comm comm = test_team_comm(a->team, rank);
    counted memory;
    tess_ctx *ctx = counted_ctx(&memory);
    tess_device *device;
    tess_part_builder *builder;
    if (tess_device_open(ctx, "cpu:1", &device) != TESS_OK)
        abort();
    if (rank == a->fails_at)
        memory.fails_in = a->allocation;
    a->status[rank] = tess_part_builder_create(
        ctx, &comm, e->type, first_row(e, rank + 1) - first_row(e, rank), e->block, &builder);
    if (a->status[rank] == TESS_OK) {
        a->status[rank] = both_steps(a, rank, device, builder);
        tess_part_builder_destroy(builder);
    }
    memory.fails_in = -1;
    snprintf(a->error[rank], sizeof a->error[rank], "%s", tess_ctx_error(ctx));
    tess_device_close(device);
    counted_end(ctx, &memory, rank);
}

static tess_status run(assembly *a)
{
    a->team = test_team_create(a->e->size);
    test_team_run(a->team, one_part, a);
    test_team_destroy(a->team);
    for (int r = 1; r < a->e->size; r++)
        assert_int_equal(a->status[r], a->status[0]);
    return a->status[0];
}

static void parts_assemble_what_the_whole_has(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 0; seed < test_draws(60); seed++) {
        elements e = draw(seed, 1 + (int)(seed % MOST));
        void *x = test_vector(e.rows, e.type, seed);
        assembly a = {.e = &e, .x = x, .culprit = -1, .fails_at = -1};
        for (int step = 0; step < 2; step++)
            a.y[step] = test_vector(e.rows, e.type, 1);
        if (run(&a) != TESS_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, a.error[0]);
        for (int step = 0; step < 2; step++) {
            char what[64];
            tess_matrix *A = assemble_whole(ctx, &e, step);
            snprintf(what, sizeof what, "seed %llu, %d parts, step %d", (unsigned long long)seed,
                     e.size, step);
            test_check_spmv(what, A, 1, x, 0, NULL, a.y[step]);
            tess_matrix_destroy(A);
            free(a.y[step]);
        }
        free(x);
        free_elements(&e);
    }
}

/* Faults: block row 30 of at most 30, a negative column, a block that the first step did not have.
 * On every part the message names the part and the block. */
static void a_bad_block_of_one_part_fails_all(void **state)
{
    (void)state;
    for (uint64_t seed = 100; seed < 100 + test_draws(20); seed++) {
        elements e = draw(seed, 3);
        void *x = test_vector(e.rows, e.type, seed), *y = test_vector(e.rows, e.type, seed);
        char name[64];
        assembly a = {.e = &e,
                      .x = x,
                      .y = {y, y},
                      .culprit = (int)(seed % 3),
                      .bad_row = seed % 2 ? e.block_rows : 0,
                      .bad_column = seed % 2 ? 0 : e.block_rows + 7,
                      .fails_at = -1};
        assert_int_equal(run(&a), TESS_ERR_ARGUMENT);
        snprintf(name, sizeof name, "part %d of 3: block %s %lld is outside", a.culprit,
                 seed % 2 ? "row" : "column",
                 (long long)(seed % 2 ? e.block_rows : e.block_rows + 7));
        for (int r = 0; r < 3; r++)
            assert_non_null(strstr(a.error[r], name));
        free(x), free(y);
        free_elements(&e);
    }
}

static void a_block_outside_the_pattern_fails_all(void **state)
{
    (void)state;
    elements e = draw(7, 3);
    e.block_rows = 40; /* row 39 belongs to the last part and no element */
    e.rows = e.block_rows * e.block;
    e.firsts[3] = e.block_rows;
    void *x = test_vector(e.rows, e.type, 1), *y = test_vector(e.rows, e.type, 2);
    assembly a = {.e = &e,
                  .x = x,
                  .y = {y, y},
                  .culprit = 0,
                  .bad_step = 1,
                  .bad_row = 39,
                  .bad_column = 39,
                  .fails_at = -1};
    assert_int_equal(run(&a), TESS_ERR_PATTERN);
    for (int r = 0; r < 3; r++)
        assert_non_null(strstr(a.error[r], "part 2 of 3: block (39, 39) is outside the pattern"));
    free(x), free(y);
    free_elements(&e);
}

static void memory_missing_on_one_part_fails_all(void **state)
{
    (void)state;
    elements e = draw(5, 3);
    void *x = test_vector(e.rows, e.type, 1), *y = test_vector(e.rows, e.type, 2);
    int64_t failures = 0;
    int part = 0;
    for (;; part = (part + 1) % 3, failures = test_next_failure(failures)) {
        assembly a = {
            .e = &e, .x = x, .y = {y, y}, .culprit = -1, .fails_at = part, .allocation = failures};
        const tess_status status = run(&a);
        if (status == TESS_OK)
            break;
        char name[32];
        snprintf(name, sizeof name, "part %d of 3", part);
        assert_int_equal(status, TESS_ERR_MEMORY);
        for (int r = 0; r < 3; r++)
            assert_non_null(strstr(a.error[r], name));
    }
    assert_true(failures > 30);
    free(x), free(y);
    free_elements(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_assemble_what_the_whole_has),
        cmocka_unit_test(a_bad_block_of_one_part_fails_all),
        cmocka_unit_test(a_block_outside_the_pattern_fails_all),
        cmocka_unit_test(memory_missing_on_one_part_fails_all),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

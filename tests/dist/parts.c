/* Parts against the whole: products, values, faults, on partitions drawn at random. */
#include "dealt.h"
#include "matrices.h"

#include <math.h>
#include <string.h>

/* ---- Products ---- */

static tess_status products(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    (void)part;
    const size_t scalar = tess_type_size(d->A->type);
    const int64_t first = dealt_row(d, rank);
    const char *x = (const char *)d->x + (size_t)first * scalar;
    char *y = (char *)d->y + (size_t)first * scalar;
    if (d->k == -1)
        return tess_spmv_transpose(plan, d->alpha, x, d->beta, y);
    if (d->k == 0)
        return tess_spmv_dot(plan, d->alpha, x, d->beta, y, x, &d->dot[rank]);
    if (d->k == 1)
        return tess_spmv(plan, d->alpha, x, d->beta, y);
    const bool columns = d->order == TESS_ORDER_COLUMN_MAJOR;
    const int64_t ld = columns ? d->A->rows : d->k;
    if (!columns) {
        x = (const char *)d->x + (size_t)(first * d->k) * scalar;
        y = (char *)d->y + (size_t)(first * d->k) * scalar;
    }
    return tess_spmm(plan, d->k, d->order, d->alpha, x, ld, d->beta, y, ld);
}

static void parts_multiply_as_the_whole_does(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 0; seed < 60; seed++) {
        tess_matrix *A = dealt_draw(ctx, seed), *T;
        assert_int_equal(tess_matrix_transpose(ctx, A, &T), TESS_OK);
        dealt d = dealt_open(A, 1 + (int)(seed % 5), seed);
        const size_t bytes = (size_t)A->rows * tess_type_size(A->type);
        void *x = test_vector(A->rows, A->type, seed + 1), *y0 = test_vector(A->rows, A->type, 7);
        void *y = malloc(bytes + 1), *again = malloc(bytes + 1);
        char what[64];
        snprintf(what, sizeof what, "seed %llu, %d parts", (unsigned long long)seed, d.size);
        d.body = products;
        d.x = x;
        d.y = y;
        d.alpha = 1.5;
        d.beta = seed % 3 == 0 ? 0 : -0.5;
        for (d.k = -1; d.k <= 1; d.k++) {
            memcpy(y, y0, bytes);
            dealt_run(&d);
            dealt_ok(&d, seed);
            test_check_spmv(what, d.k == -1 ? T : A, d.alpha, x, d.beta, y0, y);
        }
        for (int r = 1; r < d.size; r++)
            assert_true(d.dot[r] == d.dot[0]);
        /* The same bits again. */
        d.k = 1;
        d.y = again;
        memcpy(again, y0, bytes);
        dealt_run(&d);
        assert_memory_equal(y, again, bytes);
        test_team_destroy(d.team);
        free(x), free(y0), free(y), free(again);
        tess_matrix_destroy(A);
        tess_matrix_destroy(T);
    }
}

static void several_vectors_are_as_one_after_the_other(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 200; seed < 230; seed++) {
        tess_matrix *A = dealt_draw(ctx, seed);
        dealt d = dealt_open(A, 1 + (int)(seed % 4), seed);
        const int k = 2 + (int)(seed % 4);
        const int64_t n = A->rows;
        const size_t scalar = tess_type_size(A->type);
        void *x = test_vector(n * k, A->type, seed), *y = test_vector(n * k, A->type, 3);
        void *xv = malloc((size_t)n * scalar + 1), *yv = malloc((size_t)n * scalar + 1);
        d.body = products;
        d.k = k;
        d.order = seed % 2 ? TESS_ORDER_COLUMN_MAJOR : TESS_ORDER_ROW_MAJOR;
        d.x = x;
        d.y = y;
        dealt_run(&d);
        dealt_ok(&d, seed);
        for (int v = 0; v < k; v++) {
            for (int64_t i = 0; i < n; i++) {
                const int64_t at = d.order == TESS_ORDER_COLUMN_MAJOR ? v * n + i : i * k + v;
                tess_copy_scalar(A->type, xv, i, x, at);
                tess_copy_scalar(A->type, yv, i, y, at);
            }
            test_check_spmv("vector of several", A, 1, xv, 0, NULL, yv);
        }
        test_team_destroy(d.team);
        free(x), free(y), free(xv), free(yv);
        tess_matrix_destroy(A);
    }
}

/* ---- New values ---- */

static tess_status update_and_multiply(dealt *d, int rank, tess_part *part, tess_plan *plan)
{
    const tess_matrix *A = d->A;
    const int64_t at = A->row_offsets[d->firsts[rank]];
    const int64_t scalars =
        (A->row_offsets[d->firsts[rank + 1]] - at) * A->block_height * A->block_width;
    void *twice = malloc((size_t)(scalars + 1) * tess_type_size(A->type));
    for (int64_t i = 0; i < scalars; i++)
        tess_put(twice, A->type, i,
                 2 * tess_matrix_value(A, at * A->block_height * A->block_width + i));
    tess_status status = tess_plan_update_values(plan, twice);
    free(twice); /* the plan has its own copy */
    return status == TESS_OK ? products(d, rank, part, plan) : status;
}

static void new_values_are_multiplied(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 400; seed < 430; seed++) {
        tess_matrix *A = dealt_draw(ctx, seed);
        dealt d = dealt_open(A, 1 + (int)(seed % 4), seed);
        void *x = test_vector(A->rows, A->type, seed), *y = test_vector(A->rows, A->type, 1);
        d.body = update_and_multiply;
        d.k = 1;
        d.x = x;
        d.y = y;
        dealt_run(&d);
        dealt_ok(&d, seed);
        test_check_spmv("twice the values", A, 2, x, 0, NULL, y);
        test_team_destroy(d.team);
        free(x), free(y);
        tess_matrix_destroy(A);
    }
}

/* ---- Dealing out what part 0 has ---- */

static tess_status there_and_back(dealt *d, int rank, tess_part *unused, tess_plan *plan)
{
    (void)unused, (void)plan;
    tess_ctx *ctx;
    tess_part *part;
    const tess_comm comm = test_team_comm(d->team, rank);
    if (tess_ctx_create(NULL, &ctx) != TESS_OK)
        return TESS_ERR_MEMORY;
    tess_status status = tess_part_deal(ctx, &comm, rank == 0 ? d->A : NULL, &part);
    if (status == TESS_OK) {
        tess_part_info info;
        tess_part_get_info(part, sizeof info, &info);
        d->info[rank] = info;
        void *mine = malloc((size_t)(info.rows + 1) * tess_type_size(info.type));
        status = tess_part_deal_vector(part, rank == 0 ? d->x : NULL, mine);
        for (int64_t i = 0; i < info.rows; i++)
            tess_put(mine, info.type, i, -tess_get(mine, info.type, i));
        if (status == TESS_OK)
            status = tess_part_collect_vector(part, mine, rank == 0 ? d->y : NULL);
        free(mine);
        tess_part_destroy(part);
    }
    tess_ctx_destroy(ctx);
    return status;
}

static void a_matrix_and_vectors_are_dealt_out_and_collected(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 500; seed < 530; seed++) {
        tess_matrix *A = dealt_draw(ctx, seed);
        dealt d = dealt_open(A, 1 + (int)(seed % 5), seed);
        void *x = test_vector(A->rows, A->type, seed), *y = test_vector(A->rows, A->type, 1);
        d.body = there_and_back;
        d.x = x;
        d.y = y;
        dealt_run(&d);
        dealt_ok(&d, seed);
        int64_t blocks = 0;
        for (int r = 0; r < d.size; r++)
            blocks += d.info[r].blocks;
        assert_int_equal(blocks, A->blocks);
        for (int64_t i = 0; i < A->rows; i++)
            assert_true(tess_get(y, A->type, i) == -tess_get(x, A->type, i));
        test_team_destroy(d.team);
        free(x), free(y);
        tess_matrix_destroy(A);
    }
}

/* ---- Faults ---- */

/* All parts return the same status, and name the part that failed. */
static void check_agreed(const dealt *d, tess_status expected, int culprit)
{
    char name[32];
    snprintf(name, sizeof name, "part %d of %d", culprit, d->size);
    for (int r = 0; r < d->size; r++) {
        assert_int_equal(d->status[r], expected);
        assert_non_null(strstr(d->error[r], name));
    }
}

static void memory_missing_on_one_part_fails_all(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 30, 2, 2, TESS_F64, 1);
    void *x = test_vector(A->rows, A->type, 1), *y = test_vector(A->rows, A->type, 2);
    int failures = 0;
    for (int64_t n = 0;; n++) {
        dealt d = dealt_open(A, 3, 5);
        const int culprit = (int)(n % 3);
        d.body = products;
        d.k = 1;
        d.x = x;
        d.y = y;
        d.allocation_fails[culprit] = n;
        dealt_run(&d);
        test_team_destroy(d.team);
        if (d.status[0] == TESS_OK) {
            dealt_ok(&d, (uint64_t)n);
            break;
        }
        failures++;
        check_agreed(&d, TESS_ERR_MEMORY, culprit);
    }
    assert_true(failures > 10);
    free(x), free(y);
    tess_matrix_destroy(A);
}

typedef struct mistaken {
    test_team *team;
    tess_part_view views[3];
    tess_status status[3];
    char error[3][1024];
} mistaken;

static void create_mistaken(int rank, void *user)
{
    mistaken *m = user;
    tess_ctx *ctx;
    tess_part *part;
    const tess_comm comm = test_team_comm(m->team, rank);
    if (tess_ctx_create(NULL, &ctx) != TESS_OK)
        abort();
    m->status[rank] = tess_part_create(ctx, &comm, &m->views[rank], &part);
    snprintf(m->error[rank], sizeof m->error[rank], "%s", tess_ctx_error(ctx));
    if (m->status[rank] == TESS_OK)
        tess_part_destroy(part);
    tess_ctx_destroy(ctx);
}

/* Three parts of two rows each, one of which is then spoilt. */
static void check_mistake(int rank, const tess_part_view *spoilt, tess_status expected,
                          const char *words)
{
    static const int64_t offsets[] = {0, 1, 2}, columns[] = {0, 5};
    static const double values[] = {1, 2};
    mistaken m = {.team = test_team_create(3)};
    for (int r = 0; r < 3; r++)
        m.views[r] =
            (tess_part_view){TESS_F64, 2, 1, TESS_ORDER_COLUMN_MAJOR, offsets, columns, values};
    m.views[rank] = *spoilt;
    test_team_run(m.team, create_mistaken, &m);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(m.status[r], expected);
        assert_non_null(strstr(m.error[r], words));
    }
    test_team_destroy(m.team);
}

static void a_mistake_of_one_part_is_named_by_all(void **state)
{
    (void)state;
    static const int64_t offsets[] = {0, 1, 2}, falling[] = {0, 2, 1}, from_one[] = {1, 2, 3};
    static const int64_t columns[] = {0, 5}, beyond[] = {0, 6}, below[] = {0, -1};
    static const double values[] = {1, 2, 3};
    const tess_part_view good = {TESS_F64, 2, 1, TESS_ORDER_COLUMN_MAJOR, offsets, columns, values};
    tess_part_view v = good;
    check_mistake(1, &v, TESS_OK, "");
    v.columns = beyond;
    check_mistake(1, &v, TESS_ERR_MATRIX, "part 1 of 3: block row 1, position 1: block column 6");
    v.columns = below;
    check_mistake(2, &v, TESS_ERR_MATRIX, "part 2 of 3: block row 1, position 1: block column -1");
    v = good;
    v.row_offsets = falling;
    check_mistake(0, &v, TESS_ERR_MATRIX, "part 0 of 3: row_offsets[2] = 1");
    v.row_offsets = from_one;
    check_mistake(0, &v, TESS_ERR_MATRIX, "part 0 of 3: row_offsets[0] = 1");
    v = good;
    v.block = 0;
    check_mistake(1, &v, TESS_ERR_ARGUMENT, "part 1 of 3");
    v.block = 2;
    v.rows = 1;
    check_mistake(1, &v, TESS_ERR_ARGUMENT, "part 1 has blocks of 2 x 2");
    v = good;
    v.type = TESS_F32;
    check_mistake(2, &v, TESS_ERR_ARGUMENT, "part 2 has blocks of 1 x 1 in f32");
    v = good;
    v.values = NULL;
    check_mistake(2, &v, TESS_ERR_ARGUMENT, "part 2 of 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_multiply_as_the_whole_does),
        cmocka_unit_test(several_vectors_are_as_one_after_the_other),
        cmocka_unit_test(new_values_are_multiplied),
        cmocka_unit_test(a_matrix_and_vectors_are_dealt_out_and_collected),
        cmocka_unit_test(memory_missing_on_one_part_fails_all),
        cmocka_unit_test(a_mistake_of_one_part_is_named_by_all),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

/* Parts against the whole: dealing out, mistakes of one part, on partitions drawn at random. */
#include "dealt.h"
#include "matrices.h"

#include <math.h>
#include <string.h>

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
    for (uint64_t seed = 500; seed < 500 + test_draws(30); seed++) {
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
    static const int64_t far[] = {0, INT32_MAX, 2}, there_and_back[] = {0, 2, 0};
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
    /* No column is read that the last offset does not count. */
    v.row_offsets = far;
    check_mistake(1, &v, TESS_ERR_MATRIX, "part 1 of 3: row_offsets[2] = 2");
    v.row_offsets = there_and_back;
    v.columns = NULL;
    check_mistake(2, &v, TESS_ERR_MATRIX, "part 2 of 3: row_offsets[2] = 0");
    v = good;
    v.row_offsets = from_one;
    check_mistake(0, &v, TESS_ERR_MATRIX, "part 0 of 3: row_offsets[0] = 1");
    v = good;
    v.block = 0;
    v.row_offsets = &offsets[2]; /* how many there are is not known without the block size */
    check_mistake(1, &v, TESS_ERR_ARGUMENT, "part 1 of 3: tess_part_create: a block of 0");
    v = good;
    v.order = (tess_block_order)5;
    check_mistake(2, &v, TESS_ERR_ARGUMENT, "part 2 of 3: order 5 is neither");
    v = good;
    v.block = 2;
    v.rows = 1;
    check_mistake(1, &v, TESS_ERR_ARGUMENT, "part 1 has blocks of 2 x 2");
    v = good;
    v.type = TESS_F32;
    check_mistake(2, &v, TESS_ERR_ARGUMENT, "part 2 has blocks of 1 x 1 in f32");
    for (int type = TESS_C64; type <= TESS_C32; type++) {
        v.type = (tess_type)type;
        check_mistake(1, &v, TESS_ERR_UNSUPPORTED, "part 1 of 3: tess_part_create");
    }
    v = good;
    v.values = NULL;
    check_mistake(2, &v, TESS_ERR_ARGUMENT, "part 2 of 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_and_vectors_are_dealt_out_and_collected),
        cmocka_unit_test(a_mistake_of_one_part_is_named_by_all),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

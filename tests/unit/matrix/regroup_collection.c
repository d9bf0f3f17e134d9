/* Real matrices with natural blocks, in a numbering by fields and in a random one: the blocks are
 * found again. */
#include "unit/matrix/hidden.h"
#include "support/collection.h"

#include "matrix/detect/regroup.h"

/* Square real matrices of the collection whose natural block divides them, dense ones aside. */
static const struct {
    const char *file;
    int32_t block;
    tess_zeros zeros; /* stored zeros; without them rows of a node differ */
} matrices[] = {
    {"raefsky1", 2, TESS_ZEROS_KEEP},
    {"bcsstk16", 3, TESS_ZEROS_KEEP},
    {"trilinos_stru2d", 2, TESS_ZEROS_KEEP},
    {"bcsstk12", 3, TESS_ZEROS_KEEP},
    {"muelu_Hmat_near", 3, TESS_ZEROS_KEEP},
    {"muelu_Hmat_kernel", 3, TESS_ZEROS_KEEP},
    {"nos3", 2, TESS_ZEROS_KEEP},
    {"teko_F_small", 2, TESS_ZEROS_KEEP},
    {"hypre_beam_hex_dof459", 3, TESS_ZEROS_KEEP},
    {"hypre_beam_hex_dof459", 3, TESS_ZEROS_DROP},
    {"steam2", 4, TESS_ZEROS_KEEP},
    {"steam1", 3, TESS_ZEROS_KEEP},
    {"bcsstk28", 2, TESS_ZEROS_KEEP},
};

static tess_matrix *read(tess_ctx *ctx, const char *file, tess_zeros zeros)
{
    char path[4096];
    tess_matrix *stored, *A;
    snprintf(path, sizeof path, "%s/%s.mtx.gz", getenv("TESSERA_MATRICES"), file);
    if (tess_matrix_read(ctx, path, &stored) != TESS_OK)
        fail_msg("%s", tess_ctx_error(ctx));
    assert_int_equal(tess_matrix_to_csr(ctx, stored, zeros, &A), TESS_OK);
    tess_matrix_destroy(stored);
    return A;
}

/* Returns whether natural blocks would pay with the permutation that finds them. In short rows they
 * do not. */
static bool pays(const tess_matrix *A, int32_t b, int64_t blocks)
{
    const double rows = (double)A->rows, csr = 12 * (double)A->blocks + 20 * rows;
    return (8.0 * b * b + 4) * (double)blocks + (56 + 4.0 / b) * rows < 0.95 * csr;
}

/* A plan that permutes inside multiplies with the scrambled matrix. */
static void check_plan(tess_ctx *ctx, const tess_matrix *hidden, const char *file)
{
    const tess_plan_options on = {.effort = TESS_EFFORT_ESTIMATE, .regroup = TESS_REGROUP_ON};
    tess_device *device = test_device(ctx, "cpu:2");
    tess_plan *plan;
    if (tess_plan_create(ctx, hidden, device, &on, &plan) != TESS_OK)
        fail_msg("%s: %s", file, tess_ctx_error(ctx));
    void *x = test_vector(hidden->cols, hidden->type, 1),
         *y = test_vector(hidden->rows, hidden->type, 2);
    assert_int_equal(tess_spmv(plan, 1, x, 0, y), TESS_OK);
    test_check_spmv(file, hidden, 1, x, 0, NULL, y);
    free(x), free(y);
    tess_plan_destroy(plan);
    tess_device_close(device);
}

/* Returns whether the blocks found, of any size, are at most the natural ones over 0.95. Numbered
 * by fields, a product moves no more than natural blocks do. */
static bool found_again(tess_ctx *ctx, const tess_matrix *A, const char *file, int32_t b,
                        const int64_t *perm, bool list)
{
    const char *how = list ? "chance" : "fields";
    tess_matrix *hidden = hide(ctx, A, perm);
    tess_regrouping *R;
    assert_int_equal(tess_detect_regrouping(ctx, hidden, NULL, &R), TESS_OK);
    const int64_t blocks = natural_blocks(ctx, A, b);
    const double natural = (double)blocks * (8.0 * b * b + 4);
    const double found = (double)R->blocks * (8.0 * R->block * R->block + 4);
    const bool nothing = R->block == 1 && !pays(A, b, blocks);
    print_message(
        "%-22s %d x %d by %-7s %d x %d, %5.1f %% full, %.3f of the natural bytes; %.3f of "
        "the groups\n",
        file, (int)b, (int)b, how, (int)R->block, (int)R->block, 100 * R->density, found / natural,
        R->block > 1 ? groups_found(R, perm, A->rows) : 0);
    const double most = tess_regrouped_price(A, b, (double)blocks, list);
    if (!list && R->block > 1 && R->bytes > most)
        fail_msg("%s: %.0f bytes: %s; fields would move %.0f", file, R->bytes, R->reason, most);
    if (R->block > 1)
        check_plan(ctx, hidden, file);
    tess_regrouping_destroy(R);
    tess_matrix_destroy(hidden);
    return nothing || found <= natural / 0.95;
}

static void natural_blocks_are_found_again(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    int missed = 0;
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        tess_matrix *A = read(ctx, matrices[i].file, matrices[i].zeros);
        const int32_t b = matrices[i].block;
        assert_true(A->rows % b == 0);
        int64_t *fields = by_fields(A->rows, b), *chance = by_chance(A->rows, i + 1);
        missed += !found_again(ctx, A, matrices[i].file, b, fields, false);
        missed += !found_again(ctx, A, matrices[i].file, b, chance, true);
        free(fields), free(chance);
        tess_matrix_destroy(A);
    }
    assert_int_equal(missed, 0);
}

int main(void)
{
    if (!test_has_collection())
        return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {cmocka_unit_test(natural_blocks_are_found_again)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

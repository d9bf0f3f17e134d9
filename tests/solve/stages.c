/* Solves by levels and colours are those of one row after the other, with the same bits for any
 * number of threads. */
#include <math.h>
#include <string.h>

#include "problems.h"
#include "ref/ref.h"
#include "shapes.h"

static const int32_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 16};
static const tess_pc_ops *const kinds[] = {&tess_pc_ilu0, &tess_pc_ic0, &tess_pc_ssor};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- Solves ---- */

static tess_plan *open_plan(const tess_matrix *A, tess_device *device)
{
    const tess_plan_options quick = {.effort = TESS_EFFORT_ESTIMATE};
    tess_plan *plan;
    assert_int_equal(tess_plan_create(device->ctx, A, device, &quick, &plan), TESS_OK);
    return plan;
}

/* M^-1 r or M^-T r with vectors of whole blocks. */
static void *apply(const tess_pc *pc, bool transpose, const void *r, int64_t scalars)
{
    void *z = calloc((size_t)scalars, 8);
    pc->ops->apply(pc, transpose, r, z);
    return z;
}

static void check_solves(void **state, const tess_matrix *A, const tess_pc_options *options,
                         const char *what)
{
    const int64_t scalars = A->block_rows * A->block_height;
    void *r = test_vector(scalars, A->type, 3), *first[2] = {NULL, NULL};
    for (int64_t i = A->rows; i < scalars; i++)
        tess_put(r, A->type, i, 0);
    for (int threads = 1; threads <= 4; threads++) {
        tess_device *device = test_threads(test_ctx(state), threads);
        tess_plan *plan = open_plan(A, device);
        tess_pc pc;
        if (tess_pc_set_up(plan, options, &pc) != TESS_OK)
            fail_msg("%s: %s", what, tess_ctx_error(test_ctx(state)));
        for (int transpose = 0; transpose < 2; transpose++) {
            void *z = apply(&pc, transpose, r, scalars);
            test_check_staged(what, tess_pc_staged(&pc), transpose, r, z);
            if (threads == 1)
                first[transpose] = z;
            else if (memcmp(z, first[transpose], (size_t)A->rows * tess_type_size(A->type)) != 0)
                fail_msg("%s: %d threads give other bits than one", what, threads);
            if (threads > 1)
                free(z);
        }
        tess_pc_tear_down(&pc);
        tess_plan_destroy(plan);
        tess_device_close(device);
    }
    free(r), free(first[0]), free(first[1]);
}

static void solves_are_those_of_one_row_after_the_other(void **state)
{
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (test_shape shape = 0; shape < TEST_SHAPES; shape++) {
            const int number = (int)s + (int)shape;
            if (!test_takes(s + (uint64_t)shape / 2))
                continue;
            const tess_pc_ops *kind = kinds[number % 3];
            const bool f32 = number % 4 == 3;
            const tess_pc_options options = {.ops = kind,
                                             .single = number % 4 == 2,
                                             .schedule =
                                                 number % 2 ? TESS_PC_LEVELS : TESS_PC_COLOURS,
                                             .transpose = true,
                                             .omega = 1.1};
            char what[128];
            snprintf(what, sizeof what, "%s by %s, %s, blocks of %d", kind->name,
                     tess_pc_schedule_names[options.schedule], test_shape_name(shape),
                     (int)sizes[s]);
            tess_matrix *A =
                test_shape_matrix(test_ctx(state), shape, sizes[s] < 5 ? 90 : 30, sizes[s],
                                  kind->symmetric, f32 ? TESS_F32 : TESS_F64, 40 + s);
            check_solves(state, A, &options, what);
            tess_matrix_destroy(A);
        }
}

/* Stages that threads share, and so many that they meet at many barriers. */
static void large_stages_are_shared_with_the_same_bits(void **state)
{
    static const char *const inputs[] = {"elasticity:n=9", "cdr:n=12,b=4"};
    for (size_t i = 0; i < COUNT(inputs); i++)
        for (int schedule = TESS_PC_LEVELS; schedule <= TESS_PC_COLOURS; schedule++) {
            tess_matrix *A;
            assert_int_equal(tess_matrix_generate(test_ctx(state), inputs[i], &A, NULL), TESS_OK);
            const tess_pc_options options = {
                .ops = &tess_pc_ilu0, .schedule = schedule, .transpose = true, .omega = 1};
            check_solves(state, A, &options, inputs[i]);
            tess_matrix_destroy(A);
        }
}

/* Levels only say which rows may be done at once: M is that of the natural order, as with
 * domains=1. */
static void levels_change_nothing_but_the_schedule(void **state)
{
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (int k = 0; k < 3; k++)
            for (test_shape shape = 0; shape < TEST_SHAPES; shape++) {
                if (!test_takes(s + (uint64_t)k + (uint64_t)shape))
                    continue;
                tess_matrix *A = test_shape_matrix(test_ctx(state), shape, 25, sizes[s],
                                                   kinds[k]->symmetric, TESS_F64, 5 + s);
                const int64_t scalars = A->block_rows * A->block_height;
                double *r = test_vector(scalars, TESS_F64, 1);
                for (int64_t i = A->rows; i < scalars; i++)
                    r[i] = 0;
                tess_device *device = test_device(test_ctx(state), "cpu:2");
                tess_plan *plan = open_plan(A, device);
                tess_pc_options options = {.ops = kinds[k],
                                           .schedule = TESS_PC_DOMAINS,
                                           .domains = 1,
                                           .transpose = true,
                                           .omega = 1.2};
                tess_pc natural, levels;
                assert_int_equal(tess_pc_set_up(plan, &options, &natural), TESS_OK);
                options.schedule = TESS_PC_LEVELS;
                assert_int_equal(tess_pc_set_up(plan, &options, &levels), TESS_OK);
                for (int transpose = 0; transpose < 2; transpose++) {
                    double *a = apply(&natural, transpose, r, scalars);
                    double *b = apply(&levels, transpose, r, scalars);
                    if (!(distance(b, a, A->rows) < 1e-12))
                        fail_msg("%s, %s, blocks of %d: differ by %g", kinds[k]->name,
                                 test_shape_name(shape), (int)sizes[s], distance(b, a, A->rows));
                    free(a), free(b);
                }
                tess_pc_tear_down(&natural);
                tess_pc_tear_down(&levels);
                tess_plan_destroy(plan);
                tess_device_close(device);
                tess_matrix_destroy(A);
                free(r);
            }
}

/* Nothing couples two domains, whatever solves them. */
static void domains_are_kept_apart_by_levels_and_colours(void **state)
{
    tess_matrix *A =
        test_shape_matrix(test_ctx(state), TEST_SHAPE_BANDED, 40, 3, false, TESS_F64, 3);
    const int64_t scalars = A->block_rows * A->block_height;
    double *r = calloc((size_t)scalars, sizeof *r);
    r[0] = 1; /* the first domain's alone */
    tess_device *device = test_device(test_ctx(state), "cpu");
    tess_plan *plan = open_plan(A, device);
    for (int schedule = TESS_PC_DOMAINS; schedule <= TESS_PC_COLOURS; schedule++) {
        const tess_pc_options options = {
            .ops = &tess_pc_ilu0, .schedule = schedule, .domains = 4, .omega = 1};
        tess_pc pc;
        assert_int_equal(tess_pc_set_up(plan, &options, &pc), TESS_OK);
        double *z = apply(&pc, false, r, scalars);
        assert_true(z[0] != 0);
        for (int64_t i = scalars / 3; i < scalars; i++)
            assert_true(z[i] == 0);
        free(z);
        tess_pc_tear_down(&pc);
    }
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    free(r);
}

static void an_update_takes_new_values_in_the_same_places(void **state)
{
    for (int schedule = TESS_PC_LEVELS; schedule <= TESS_PC_COLOURS; schedule++)
        for (int k = 0; k < 3; k++) {
            tess_matrix *A = test_shape_matrix(test_ctx(state), TEST_SHAPE_RAGGED, 40, 3,
                                               kinds[k]->symmetric, TESS_F64, 3);
            const int64_t scalars = A->block_rows * A->block_height;
            double *r = test_vector(scalars, TESS_F64, 1), *values = A->values;
            for (int64_t i = A->rows; i < scalars; i++)
                r[i] = 0;
            tess_device *device = test_device(test_ctx(state), "cpu:2");
            tess_plan *plan = open_plan(A, device);
            const tess_pc_options options = {
                .ops = kinds[k], .schedule = schedule, .transpose = true, .omega = 1};
            tess_pc old, fresh;
            assert_int_equal(tess_pc_set_up(plan, &options, &old), TESS_OK);
            const tess_staged *staged = tess_pc_staged(&old);
            const void *columns = staged->plain.upper.columns,
                       *numbers = staged->plain.upper.values;
            for (int64_t i = 0; i < tess_matrix_stored(A); i++)
                values[i] *= 1.5;
            assert_int_equal(tess_pc_update_values(plan, &old), TESS_OK);
            assert_int_equal(tess_pc_set_up(plan, &options, &fresh), TESS_OK);
            assert_ptr_equal(tess_pc_staged(&old), staged);
            assert_ptr_equal(staged->plain.upper.columns, columns);
            assert_ptr_equal(staged->plain.upper.values, numbers);
            for (int transpose = 0; transpose < 2; transpose++) {
                double *a = apply(&old, transpose, r, scalars);
                double *b = apply(&fresh, transpose, r, scalars);
                assert_memory_equal(a, b, (size_t)A->rows * sizeof *a);
                free(a), free(b);
            }
            tess_pc_tear_down(&old);
            tess_pc_tear_down(&fresh);
            tess_plan_destroy(plan);
            tess_device_close(device);
            tess_matrix_destroy(A);
            free(r);
        }
}

/* ---- Messages ---- */

static void a_singular_block_is_named_by_its_row_in_the_matrix(void **state)
{
    tess_matrix *A = test_shape_matrix(test_ctx(state), TEST_SHAPE_CHAIN, 30, 2, true, TESS_F64, 3);
    const int64_t k = tess_matrix_find(A, 17, 17);
    /* Row 17 alone, and 0 there: whatever the order, its pivot is 0. */
    for (int64_t row = 16; row <= 18; row++)
        for (int64_t j = A->row_offsets[row]; j < A->row_offsets[row + 1]; j++)
            if ((row == 17) != (A->columns[j] == 17) || j == k)
                memset((double *)A->values + j * 4, 0, 4 * sizeof(double));
    tess_device *device = test_device(test_ctx(state), "cpu");
    tess_plan *plan = open_plan(A, device);
    for (int schedule = TESS_PC_DOMAINS; schedule <= TESS_PC_COLOURS; schedule++)
        for (int i = 0; i < 3; i++) {
            const tess_pc_options options = {.ops = kinds[i], .schedule = schedule, .omega = 1};
            tess_pc pc;
            assert_int_equal(tess_pc_set_up(plan, &options, &pc), TESS_ERR_MATRIX);
            if (!strstr(tess_ctx_error(test_ctx(state)), "block row 17 (rows 34..35)"))
                fail_msg("%s", tess_ctx_error(test_ctx(state)));
        }
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

static void schedules_are_known_by_name(void **state)
{
    tess_matrix *A = test_shape_matrix(test_ctx(state), TEST_SHAPE_CHAIN, 9, 1, true, TESS_F64, 3);
    tess_device *device = test_device(test_ctx(state), "cpu");
    tess_plan *plan = open_plan(A, device);
    tess_solver *solver;
    assert_int_equal(tess_solver_create(plan, "cg:pc=ic0,schedule=colourful", &solver),
                     TESS_ERR_OPTION);
    assert_non_null(strstr(tess_ctx_error(test_ctx(state)), "colours"));
    assert_int_equal(tess_solver_create(plan, "cg:pc=ic0,scedule=levels", &solver),
                     TESS_ERR_OPTION);
    assert_non_null(strstr(tess_ctx_error(test_ctx(state)), "schedule"));
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

static void every_allocation_may_fail(void **state)
{
    tess_matrix *A =
        test_shape_matrix(test_ctx(state), TEST_SHAPE_BANDED, 12, 2, false, TESS_F64, 3);
    tess_device *device = test_device(test_ctx(state), "cpu");
    tess_plan *plan = open_plan(A, device);
    for (int schedule = TESS_PC_LEVELS; schedule <= TESS_PC_COLOURS; schedule++) {
        const tess_pc_options options = {
            .ops = &tess_pc_ilu0, .schedule = schedule, .transpose = true, .omega = 1};
        const int64_t before = test_live(state);
        tess_pc pc;
        tess_status status;
        int64_t n = 0;
        do {
            test_fail_allocation(state, n++);
            status = tess_pc_set_up(plan, &options, &pc);
            if (status != TESS_OK) {
                assert_int_equal(status, TESS_ERR_MEMORY);
                assert_int_equal(test_live(state), before);
            }
        } while (status != TESS_OK);
        assert_true(n > 20);
        test_fail_allocation(state, -1);
        tess_pc_tear_down(&pc);
        assert_int_equal(test_live(state), before);
    }
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solves_are_those_of_one_row_after_the_other),
        cmocka_unit_test(large_stages_are_shared_with_the_same_bits),
        cmocka_unit_test(levels_change_nothing_but_the_schedule),
        cmocka_unit_test(domains_are_kept_apart_by_levels_and_colours),
        cmocka_unit_test(an_update_takes_new_values_in_the_same_places),
        cmocka_unit_test(a_singular_block_is_named_by_its_row_in_the_matrix),
        cmocka_unit_test(schedules_are_known_by_name),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

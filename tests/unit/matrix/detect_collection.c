/* Detection over the whole collection gives what the index says of every matrix. It also gives
 * paper 004's Table 5, for the matrices that are in the collection or can be generated. */
#include "support/collection.h"
#include "support/support.h"

#include <math.h>
#include <string.h>

typedef struct found {
    int64_t rows, entries, row_max;
    double row_avg, density[9]; /* [b], b = 2..8 */
    int natural;
} found;

static void measure(tess_ctx *ctx, const tess_matrix *A, found *F)
{
    tess_statistics statistics;
    tess_detection *D;
    assert_int_equal(tess_matrix_statistics(ctx, A, &statistics), TESS_OK);
    if (tess_detect(ctx, A, NULL, &D) != TESS_OK)
        fail_msg("%s", tess_ctx_error(ctx));
    F->rows = A->rows;
    F->entries = D->entries;
    F->row_max = statistics.row_max;
    F->row_avg = statistics.row_avg;
    assert_true(statistics.stored == D->entries);
    for (int b = 1; b <= 8; b++) {
        assert_true(D->candidates[b - 1].rows == b && D->candidates[b - 1].cols == b);
        F->density[b] = D->candidates[b - 1].density;
    }
    F->natural = D->natural_block;
    tess_detection_destroy(D);
}

static tess_matrix *read(tess_ctx *ctx, const char *file)
{
    char path[4096];
    tess_matrix *A;
    snprintf(path, sizeof path, "%s/%s.mtx.gz", getenv("TESSERA_MATRICES"), file);
    if (tess_matrix_read(ctx, path, &A) != TESS_OK)
        fail_msg("%s", tess_ctx_error(ctx));
    return A;
}

/* The index rounds to three decimals (row avg: two). */
static void check_line(tess_ctx *ctx, const char *line)
{
    char file[128], symmetry[16], field[16];
    long long entries, row_max;
    double avg, d[9];
    int nat = 0;
    assert_int_equal(sscanf(line,
                            "%127[^,],%*[^,],%*d,%*d,%lld,%*d,%15[^,],%15[^,],%*[^,],%lld,%lf,%lf,"
                            "%lf,%lf,%lf,%lf,%lf,%lf,%n",
                            file, &entries, symmetry, field, &row_max, &avg, &d[2], &d[3], &d[4],
                            &d[5], &d[6], &d[7], &d[8], &nat),
                     13);
    tess_matrix *A = read(ctx, file);
    found F;
    measure(ctx, A, &F);
    if (F.entries != entries || F.row_max != row_max || !(fabs(F.row_avg - avg) <= 0.005 + 1e-9))
        fail_msg("%s: %lld entries, row max %lld, avg %.3f; the index says %lld, %lld, %.2f", file,
                 (long long)F.entries, (long long)F.row_max, F.row_avg, entries, row_max, avg);
    for (int b = 2; b <= 8; b++)
        if (!(fabs(F.density[b] - d[b]) <= 0.0005 + 1e-9))
            fail_msg("%s: d%d = %.5f, the index says %.3f", file, b, F.density[b], d[b]);
    /* bcsstk02 is dense; the index did not look at all sizes up to 32. */
    int natural = line[nat] == ',' ? 1 : atoi(line + nat);
    if (F.natural != natural && strcmp(file, "bcsstk02") != 0)
        fail_msg("%s: natural block %d, the index says %d", file, F.natural, natural);

    tess_symmetry S;
    assert_int_equal(tess_matrix_symmetry(ctx, A, &S), TESS_OK);
    const char *kind = A->rows != A->cols    ? "rect"
                       : S.asymmetry < 1e-12 ? "sym" /* the index allows for rounding */
                       : S.pattern           ? "struct-sym"
                                             : "unsym";
    if (strcmp(kind, symmetry) != 0)
        fail_msg("%s: %s, the index says %s", file, kind, symmetry);
    tess_matrix_destroy(A);
}

static void detection_reproduces_the_index(void **state)
{
    char path[4096], line[1024];
    snprintf(path, sizeof path, "%s/index.csv", getenv("TESSERA_MATRICES"));
    FILE *index = fopen(path, "r");
    assert_non_null(index);
    assert_non_null(fgets(line, sizeof line, index)); /* names of the columns */
    while (fgets(line, sizeof line, index))
        check_line(test_ctx(state), line);
    fclose(index);
}

/* The paper truncates its decimals. */
static bool truncates_to(double value, double printed)
{
    return value >= printed - 1e-9 && value < printed + 0.01;
}

static void detection_reproduces_table_5_of_paper_004(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const struct {
        const char *input; /* a generator or a file of the collection */
        int64_t dim, nz, max;
        double d2, d4, d8;
    } table[] = {
        {"trefethen:n=20", 20, 158, 9, 0.65, 0.47, 0.27},
        {"trefethen:n=150", 150, 2040, 15, 0.58, 0.34, 0.21},
        {"trefethen:n=200", 200, 2890, 16, 0.57, 0.34, 0.21},
        {"trefethen:n=2000", 2000, 41906, 22, 0.55, 0.30, 0.17},
        {"trefethen:n=20000,skip=1", 19999, 554435, 29, 0.53, 0.29, 0.15},
        {"trefethen:n=20000", 20000, 554466, 29, 0.53, 0.29, 0.15},
        {"msc00726", 726, 34518, 88, 0.55, 0.38, 0.26},
        {"plbuckle", 1282, 30644, 44, 0.54, 0.36, 0.27},
        {"msc01440", 1440, 46270, 45, 0.62, 0.42, 0.24},
        {"nasa2146", 2146, 72250, 36, 0.76, 0.60, 0.44},
        {"nasa4704_pat", 4704, 104756, 42, 0.53, 0.33, 0.22},
        {"crystm01", 4875, 105339, 27, 0.32, 0.22, 0.14},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const char *input = table[i].input;
        tess_matrix *A;
        if (strchr(input, ':'))
            assert_int_equal(tess_matrix_generate(ctx, input, &A, NULL), TESS_OK);
        else
            A = read(ctx, input);
        found F;
        measure(ctx, A, &F);
        tess_matrix_destroy(A);
        if (F.rows != table[i].dim || F.entries != table[i].nz || F.row_max != table[i].max)
            fail_msg("%s: dim %lld, nz %lld, max %lld; the paper says %lld, %lld, %lld", input,
                     (long long)F.rows, (long long)F.entries, (long long)F.row_max,
                     (long long)table[i].dim, (long long)table[i].nz, (long long)table[i].max);
        if (!truncates_to(F.density[2], table[i].d2) || !truncates_to(F.density[4], table[i].d4) ||
            !truncates_to(F.density[8], table[i].d8))
            fail_msg("%s: d2 %.4f, d4 %.4f, d8 %.4f; the paper says %.2f, %.2f, %.2f", input,
                     F.density[2], F.density[4], F.density[8], table[i].d2, table[i].d4,
                     table[i].d8);
    }
}

int main(void)
{
    if (!test_has_collection())
        return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detection_reproduces_the_index),
        cmocka_unit_test(detection_reproduces_table_5_of_paper_004),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

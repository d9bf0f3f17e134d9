/* Every matrix of the collection has the rows, columns and entries that its index says. */
#include "support/collection.h"
#include "support/support.h"

#include <string.h>

enum { LINE = 1024 };

static void collection_agrees_with_its_index(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    const char *folder = getenv("TESSERA_MATRICES");
    char path[4096], line[LINE], file[128], tag[16], symmetry[16], field[16];
    snprintf(path, sizeof path, "%s/index.csv", folder);
    FILE *index = fopen(path, "r");
    assert_non_null(index);
    assert_non_null(fgets(line, sizeof line, index)); /* names of the columns */
    int matrices = 0;
    while (fgets(line, sizeof line, index)) {
        long long rows, cols, nonzeros, zeros;
        assert_int_equal(sscanf(line, "%127[^,],%15[^,],%lld,%lld,%lld,%lld,%15[^,],%15[^,]", file,
                                tag, &rows, &cols, &nonzeros, &zeros, symmetry, field),
                         8);
        snprintf(path, sizeof path, "%s/%s.mtx.gz", folder, file);
        tess_matrix *A = NULL;
        tess_status status = tess_matrix_read(ctx, path, &A);
        matrices++;
        if (status != TESS_OK)
            fail_msg("%s", tess_ctx_error(ctx));
        tess_matrix_view view;
        tess_matrix_get_view(A, &view);
        assert_int_equal(view.type, strcmp(field, "complex") == 0 ? TESS_C64 : TESS_F64);
        int64_t stored_zeros = 0;
        for (int64_t k = 0; k < view.blocks; k++)
            stored_zeros += tess_matrix_is_zero(A, k);
        if (view.rows != rows || view.cols != cols || view.blocks != nonzeros ||
            stored_zeros != zeros)
            fail_msg("%s: %lld x %lld, %lld entries and %lld zeros, but the index says %lld x "
                     "%lld, %lld and %lld",
                     file, (long long)view.rows, (long long)view.cols, (long long)view.blocks,
                     (long long)stored_zeros, rows, cols, nonzeros, zeros);
        assert_int_equal(tess_matrix_validate(ctx, &view, true), TESS_OK);
        tess_matrix_destroy(A);
    }
    fclose(index);
    assert_true(matrices > 100);
}

int main(void)
{
    if (!test_has_collection())
        return TEST_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collection_agrees_with_its_index),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

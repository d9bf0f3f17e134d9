/* The fbcsr format: every entry in one place, blocks inside the matrix and full enough, the inverse
 * exact, planted blocks found. */
#include <string.h>

#include "format/fbcsr.h"
#include "support/support.h"

static const char *const lists[] = {
    "row:3@0.6",
    "column:4@0.5",
    "diagonal:3@0.9",
    "antidiagonal:3@0.6",
    "2x2@0.7",
    "3x2@0.8,2x3@0.8,1x2@1",
    "4x3+1@0.4",
    "3x2-1@0.5",
    "5x1+2@0.4",
    "2x2@0,row:4@0",
    "square:4@0.7,3x3@0.7,diagonal:8@0.5,antidiagonal:4@0.5,row:4@0.7,column:4@0.7",
    "square,row,column,diagonal,antidiagonal",
    "2x2@1,2x1@1",
    "row:256@0.01,column:256@0.01",
};
enum { LISTS = sizeof lists / sizeof *lists };

static tess_fbcsr_options parsed(tess_ctx *ctx, const char *text)
{
    tess_fbcsr_options options;
    if (tess_fbcsr_options_parse(ctx, text, &options) != TESS_OK)
        fail_msg("%s: %s", text, tess_ctx_error(ctx));
    return options;
}

static tess_fbcsr *made(tess_ctx *ctx, const tess_matrix *A, const char *text)
{
    tess_fbcsr_options options = parsed(ctx, text);
    tess_fbcsr *F;
    if (tess_fbcsr_create(ctx, A, &options, &F) != TESS_OK)
        fail_msg("%s: %s", text, tess_ctx_error(ctx));
    return F;
}

/* Every block inside the matrix, sorted, with at least the least entries of its own, as the map
 * says; every entry in one place. */
static void check_rules(const char *what, const tess_fbcsr *F, const tess_fbcsr_options *options)
{
    int64_t total = 0, base = 0;
    uint8_t *used;
    for (int s = 0; s < F->splits; s++)
        total += F->split[s].blocks * tess_fbcsr_cells(&F->split[s].shape);
    used = calloc((size_t)(total + F->rest->blocks) + 1, 1);
    for (int64_t i = 0; i < F->nonzeros; i++) {
        if (F->map[i] < 0 || F->map[i] >= total + F->rest->blocks || used[F->map[i]])
            fail_msg("%s: entry %lld is at %lld, outside or shared", what, (long long)i,
                     (long long)F->map[i]);
        used[F->map[i]] = 1;
    }
    for (int s = 0, o = 0; s < F->splits; s++, o++) {
        const tess_fbcsr_split *split = &F->split[s];
        const tess_fbcsr_shape *S = &split->shape;
        while (strcmp(options->shape[o].name, S->name) != 0)
            o++;
        double fill =
            options->threshold[o] < 0 ? tess_fbcsr_break_even(S, F->type) : options->threshold[o];
        int64_t cells = tess_fbcsr_cells(S), in_split = 0;
        assert_true(split->blocks > 0);
        for (int64_t b = 0; b < split->blocks; b++) {
            int64_t row = split->rows[b], col = split->cols[b], entries = 0;
            int64_t last = col + (int64_t)S->shift * (S->height - 1);
            if (row < 0 || row + S->height > F->rows || col < 0 || col + S->width > F->cols ||
                last < 0 || last + S->width > F->cols)
                fail_msg("%s: %s block at (%lld, %lld) is outside", what, S->name, (long long)row,
                         (long long)col);
            if (b > 0 && (split->rows[b - 1] > row ||
                          (split->rows[b - 1] == row && split->cols[b - 1] >= col)))
                fail_msg("%s: %s block at (%lld, %lld) is not in order", what, S->name,
                         (long long)row, (long long)col);
            for (int64_t c = 0; c < cells; c++) {
                int64_t at = b * cells + c;
                entries += used[base + at];
                double value = F->type == TESS_F64 ? ((double *)split->values)[at]
                                                   : (double)((float *)split->values)[at];
                if (!used[base + at] && value != 0)
                    fail_msg("%s: padding of a %s block holds %g", what, S->name, value);
            }
            if ((double)entries < fill * (double)cells - 1e-6 || entries < 1)
                fail_msg("%s: %s block at (%lld, %lld) has %lld entries, less than %g", what,
                         S->name, (long long)row, (long long)col, (long long)entries,
                         fill * (double)cells);
            in_split += entries;
        }
        assert_int_equal(in_split, split->nonzeros);
        base += split->blocks * cells;
    }
    free(used);
}

static void inverse_gives_the_matrix_back(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++) {
        for (int size = 0; size < 3; size++) {
            int32_t r = size == 0 ? 1 : 3, c = size == 0 ? 1 : 2;
            tess_type type = size == 1 ? TESS_F32 : TESS_F64;
            tess_matrix *A = test_matrix(ctx, (test_pattern)pattern, 40, r, c, type, 7), *csr;
            assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_KEEP_ZEROS, &csr), TESS_OK);
            for (int i = 0; i < LISTS; i++) {
                char what[128];
                snprintf(what, sizeof what, "%s %dx%d %s", test_pattern_name((test_pattern)pattern),
                         (int)r, (int)c, lists[i]);
                tess_fbcsr_options options = parsed(ctx, lists[i]);
                tess_fbcsr *F = made(ctx, A, lists[i]);
                tess_matrix *B;
                check_rules(what, F, &options);
                test_check_valid(what, F->rest);
                assert_int_equal(tess_fbcsr_to_csr(ctx, F, &B), TESS_OK);
                test_check_identical(what, csr, B);
                tess_matrix_destroy(B);
                tess_fbcsr_destroy(F);
            }
            tess_matrix_destroy(csr);
            tess_matrix_destroy(A);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverse_gives_the_matrix_back),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

/* slices.cu in the emulator against the host's conversion, for slices, windows, cut rows, vectors
 * and panels drawn at random. */
#include <string.h>

#include "emu/emulator.h"
#include "format/sliced.h"
#include "support/support.h"

static void sliced_values_and_columns_are_gathered(void **state)
{
    tess_ctx *ctx = test_ctx(state);
    for (uint64_t seed = 1; seed <= 100; seed++) {
        static const struct {
            tess_type type;
            const char *there, *back; /* NULL: not tried */
        } kinds[] = {{TESS_F64, "slices_0", "slices_2"},
                     {TESS_F32, "slices_1", NULL},
                     {TESS_C64, "slices_3", "slices_5"},
                     {TESS_C32, "slices_4", NULL}};
        const tess_type type = kinds[seed % 4].type;
        const char *there = kinds[seed % 4].there, *back_again = kinds[seed % 4].back;
        const int32_t r = 1 + (int32_t)tess_random_below(seed, 0, 6);
        const int32_t c =
            (seed % 3 ? 1 : TESS_SLICED_WIDE) + (int32_t)tess_random_below(seed, 1, 6);
        tess_matrix *A = test_matrix(ctx, TEST_RANDOM, 70, r, c, type, seed);
        char name[TESS_CUDA_LAYOUT];
        snprintf(name, sizeof name, "sliced:C=%d,sigma=%d,lambda=%d,V=%d,panels=%d",
                 1 + (int)tess_random_below(seed, 2, 40), (int)tess_random_below(seed, 3, 64),
                 (int)tess_random_below(seed, 4, 4), 1 << (int)tess_random_below(seed, 5, 3),
                 1 + (int)tess_random_below(seed, 6, 3));
        tess_cuda_layout *layout;
        assert_int_equal(tess_cuda_layout_create(ctx, A, name, &layout), TESS_OK);
        uint64_t arrays[TESS_CUDA_ARRAYS];
        for (int i = 0; i < layout->count; i++)
            arrays[i] = emu_address(layout->arrays[i].host);
        const size_t bytes = layout->arrays[layout->values].bytes;
        void *values = malloc(bytes);
        memset(values, 255, bytes);
        arrays[layout->values] = emu_address(values);
        int64_t count;
        tess_cuda_launch launch;
        const int64_t *starts = layout->kind->starts(layout, &count);
        layout->kind->gather(layout, arrays, emu_address(starts), emu_address(A->values), &launch);
        const char *wrong = emu_launch(there, &launch, seed);
        if (wrong || memcmp(values, layout->arrays[layout->values].host, bytes) != 0)
            fail_msg("%s of %d x %d, seed %d: %s", name, (int)r, (int)c, (int)seed,
                     wrong ? wrong : "other values than the host's");
        if (back_again) { /* to where nothing is yet */
            const size_t own = (size_t)tess_matrix_stored(A) * tess_type_size(type);
            void *back = malloc(own);
            memset(back, 255, own);
            layout->kind->gather(layout, arrays, emu_address(starts), emu_address(back), &launch);
            assert_null(emu_launch(back_again, &launch, seed + 1));
            assert_memory_equal(back, A->values, own);
            free(back);
        }
        int32_t *columns = malloc((size_t)A->blocks * sizeof *columns);
        memset(columns, 255, (size_t)A->blocks * sizeof *columns);
        layout->kind->gather_columns(layout, arrays, emu_address(starts), emu_address(columns),
                                     &launch);
        assert_null(emu_launch(there, &launch, seed + 2));
        assert_memory_equal(columns, A->columns, (size_t)A->blocks * sizeof *columns);
        free(columns);
        free(values);
        tess_cuda_layout_destroy(layout);
        tess_matrix_destroy(A);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sliced_values_and_columns_are_gathered)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

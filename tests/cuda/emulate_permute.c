/* permute.cu in the emulator against the host's passes, for orders, numbers of vectors and strides
 * drawn at random. */
#include <string.h>

#include "backend/permute.h"
#include "emu/emulator.h"
#include "permutes.h"
#include "support/support.h"

enum { THREADS = 64 };

/* Both get the same arrays; what lies between vectors stays as it is in both. */
static void check(tess_ctx *ctx, int variant, uint64_t seed)
{
    const test_permute *t = &test_permutes[variant];
    const tess_type type = t->size == 8 ? TESS_F64 : TESS_F32;
    const int fields = t->fields > 0 ? t->fields : 1, k = 1 + (int)tess_random_below(seed, 0, 4);
    const int64_t rows = fields * (1 + tess_random_below(seed, 1, 200));
    const bool from_columns = tess_random_below(seed, 2, 2),
               to_columns = tess_random_below(seed, 3, 2);
    const int64_t from_ld = (from_columns ? rows : k) + 1, to_ld = (to_columns ? rows : k) + 2;
    const int64_t room = (rows + 2) * (k + 3);
    int32_t *source = malloc((size_t)rows * sizeof *source);
    for (int64_t i = 0; i < rows; i++)
        source[i] =
            (int32_t)((i * 7 + 3) % rows); /* not a permutation where 7 divides: no matter */
    void *from = test_vector(room, type, 1), *to = test_vector(room, type, 2);
    void *want = test_vector(room, type, 2);
    const tess_permute pass = {.type = type,
                               .rows = rows,
                               .vectors = k,
                               .source = source,
                               .fields = t->fields,
                               .to_fields = t->to_fields,
                               .from = from,
                               .from_row = from_columns ? 1 : from_ld,
                               .from_vector = from_columns ? from_ld : 1,
                               .to = want,
                               .to_row = to_columns ? 1 : to_ld,
                               .to_vector = to_columns ? to_ld : 1,
                               .beta = t->add ? 0.5 : 0};
    tess_permute_host(ctx, 2, &pass);
    const int64_t nodes = rows / fields;
    tess_cuda_launch launch = {.entry = "permute",
                               .grid = {(unsigned)tess_ceil_div(nodes, THREADS), 1, 1},
                               .block = {THREADS, 1, 1},
                               .slots = 10};
    const int64_t integers[] = {nodes,         k, pass.from_row, pass.from_vector, pass.to_row,
                                pass.to_vector};
    launch.args[0].pointer = emu_address(source);
    launch.args[1].pointer = emu_address(from);
    launch.args[2].pointer = emu_address(to);
    for (int i = 0; i < 6; i++)
        launch.args[3 + i].integer = integers[i];
    launch.args[9].number = pass.beta;
    char name[32];
    snprintf(name, sizeof name, "permute_%d", variant);
    const char *wrong = emu_launch(name, &launch, seed);
    if (wrong || memcmp(to, want, (size_t)room * tess_type_size(type)) != 0)
        fail_msg("%s, seed %llu: %s", name, (unsigned long long)seed,
                 wrong ? wrong : "other numbers than the host's");
    free(source), free(from), free(to), free(want);
}

static void vectors_are_permuted_as_by_the_host(void **state)
{
    for (int variant = 0; variant < test_permute_count; variant++)
        for (uint64_t seed = 1; seed <= 12; seed++)
            check(test_ctx(state), variant, seed);
}

/* The host's passes: to(i) = from(source(i)). By fields they do what the list of rows does. */
static void check_fields(tess_ctx *ctx, tess_type type, int fields, int64_t length, bool to_fields)
{
    const int64_t rows = fields * length;
    int32_t *source = malloc((size_t)rows * sizeof *source);
    for (int64_t i = 0; i < rows; i++)
        source[i] = (int32_t)(to_fields ? i % length * fields + i / length
                                        : i % fields * length + i / fields);
    void *from = test_vector(rows, type, 1), *to = test_vector(rows, type, 2);
    void *want = test_vector(rows, type, 3);
    tess_permute pass = {.type = type,
                         .rows = rows,
                         .vectors = 1,
                         .source = source,
                         .from = from,
                         .from_row = 1,
                         .to = want,
                         .to_row = 1};
    tess_permute_host(ctx, 2, &pass);
    pass.fields = fields;
    pass.to_fields = to_fields;
    pass.to = to;
    tess_permute_host(ctx, 2, &pass);
    for (int64_t i = 0; i < rows; i++)
        if (tess_get(want, type, i) != tess_get(from, type, source[i]) ||
            tess_get(to, type, i) != tess_get(want, type, i))
            fail_msg("%s, %d fields of %lld, to_fields %d: row %lld is %g, not %g",
                     tess_type_name(type), fields, (long long)length, to_fields, (long long)i,
                     tess_get(to, type, i), tess_get(from, type, source[i]));
    free(source), free(from), free(to), free(want);
}

static void fields_are_the_list_of_their_rows(void **state)
{
    static const int64_t lengths[] = {1, 7, 255, 256, 257, 5003};
    for (int fields = 2; fields <= 12; fields++)
        for (int i = 0; i < 6; i++)
            for (int way = 0; way < 4; way++)
                check_fields(test_ctx(state), way / 2 ? TESS_F32 : TESS_F64, fields, lengths[i],
                             way % 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(vectors_are_permuted_as_by_the_host),
                                       cmocka_unit_test(fields_are_the_list_of_their_rows)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

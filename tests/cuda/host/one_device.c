/* What the plans of one device share. */
#include "cuda/driver/module.h"
#include "session.h"

/* Every entry is asked for twice, and is the same both times. Sources have several entries, and are
 * compiled for several thread blocks. */
static void a_device_keeps_any_number_of_functions(void **state)
{
    static const struct {
        const char *source, *entries[12];
    } modules[] = {
        {"groups.cu",
         {"couple", "turn", "admit", "claim", "cover", "release", "join", "rest", "settle",
          "number", "list"}},
        {"lanczos.cu", {"begin", "advance", "product", "multiply", "follow"}},
        {"strength.cu", {"scale", "norms", "drop"}},
    };
    static const char *const defines[] = {"-DTHREADS=32", "-DTHREADS=64", "-DTHREADS=128",
                                          "-DTHREADS=256"};
    enum { MODULES = sizeof modules / sizeof *modules, DEFINES = 4, MOST = 100 };
    tess_device *device = open_device(state);
    tess_cuda *cuda = tess_cuda_of(device);
    cu_function first[MOST] = {NULL}, again;
    int asked = 0;
    ok(state, tess_cuda_enter(cuda));
    for (int turn = 0; turn < 2; turn++) {
        int at = 0;
        for (int m = 0; m < MODULES; m++)
            for (int d = 0; d < DEFINES; d++)
                for (const char *const *entry = modules[m].entries; *entry; entry++, at++) {
                    ok(state,
                       tess_cuda_helper(cuda, modules[m].source, defines[d], *entry, &again));
                    assert_true(turn == 0 || again == first[at]);
                    first[at] = again;
                }
        asked = at;
    }
    assert_in_range(asked, 70, MOST);
    for (int i = 0; i < asked; i++)
        for (int k = 0; k < i; k++)
            assert_true(first[i] != first[k]);
    tess_cuda_leave(cuda);
    tess_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_device_keeps_any_number_of_functions),
    };
    return cmocka_run_group_tests(tests, start, finish);
}

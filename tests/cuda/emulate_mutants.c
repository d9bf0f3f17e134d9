/* The comparison of tests/cuda/product.h fails every mutant and passes every kernel as it is. Each
 * runs in a process of its own, `test_cuda_mutants NUMBER`: a failed test, the address sanitizer
 * and a crash all end it with a status other than 0. */
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/emulator.h"
#include "mutants.h"
#include "product.h"
#include "support/support.h"

static int number = -1; /* of the mutant to run; -1: all, in children */

static void one_mutant(void **state)
{
    test_variant variant;
    assert_true(test_mutant_variant(test_ctx(state), &test_mutants[number], &variant));
    assert_true(emu_has(variant.name));
    for (uint64_t seed = 6; seed <= 8; seed++) /* 8: with rows of many segments */
        test_product(test_ctx(state), &variant, seed, 1);
}

/* Whether the mutant passes. */
static bool passes(int mutant)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        char text[16];
        int nowhere = open("/dev/null", O_WRONLY);
        snprintf(text, sizeof text, "%d", mutant);
        if (nowhere < 0 || dup2(nowhere, 1) < 0 || dup2(nowhere, 2) < 0)
            _exit(0);
        execl("/proc/self/exe", "mutants", text, (char *)NULL);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void mutants_are_caught_and_nothing_else(void **state)
{
    (void)state;
    int wrong = 0;
    for (int i = 0; i < test_mutant_count; i++) {
        bool intact = !*test_mutants[i].script;
        if (passes(i) == intact)
            continue;
        print_message("%s: %s\n", test_mutants[i].name,
                      intact ? "a kernel as it is fails" : "nobody noticed");
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

/* A kernel that is added without a mutant is named here. */
static void every_source_has_a_mutant(void **state)
{
    (void)state;
    for (int k = 0; k < tess_cuda_kernel_count; k++) {
        bool found = false;
        for (int i = 0; i < test_mutant_count; i++)
            found |= *test_mutants[i].script &&
                     strcmp(tess_cuda_kernel_find(test_mutants[i].kernel)->source,
                            tess_cuda_kernels[k]->source) == 0;
        if (!found)
            fail_msg("%s has no mutant", tess_cuda_kernels[k]->source);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest one[] = {cmocka_unit_test(one_mutant)};
    const struct CMUnitTest all[] = {cmocka_unit_test(every_source_has_a_mutant),
                                     cmocka_unit_test(mutants_are_caught_and_nothing_else)};
    number = argc > 1 ? atoi(argv[1]) : -1;
    return number >= 0 ? cmocka_run_group_tests(one, test_setup, test_teardown)
                       : cmocka_run_group_tests(all, test_setup, test_teardown);
}

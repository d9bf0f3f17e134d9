/* Every end of a solve that is not a solution says what to try, in words that the command takes. */
#include <string.h>

#include "support/support.h"
#include "advice.h"

/* Returns whether `name` is in the list whose names name_of gives by number. */
static bool listed(const char *name, const char *(*name_of)(int))
{
    for (int i = 0; name_of(i); i++)
        if (strcmp(name_of(i), name) == 0)
            return true;
    return false;
}

/* Checks the word behind each `flag` in the text: name_of's list has it. */
static void check_names(const char *text, const char *flag, const char *(*name_of)(int))
{
    for (const char *at = text; (at = strstr(at, flag)) != NULL;) {
        char name[32] = "";
        at += strlen(flag);
        sscanf(at, " %31[a-z0-9_]", name);
        if (!listed(name, name_of) && strcmp(name, "auto") != 0) /* it looks for a method */
            fail_msg("'%s': there is no %s %s", text, flag, name);
    }
}

static void every_reason_has_its_advice(void **state)
{
    int reasons = 0;
    (void)state;
    while (strcmp(tess_reason_name((tess_reason)reasons), "UNKNOWN") != 0)
        reasons++;
    for (int i = 0; i < 4 * reasons; i++) {
        const tess_reason reason = (tess_reason)(i / 4);
        const bool complex = i / 2 % 2;
        const char *advice = solve_advice(reason, i % 2, complex);
        if (reason == TESS_REASON_CONVERGED || reason == TESS_REASON_ZERO_RHS) {
            assert_null(advice);
            continue;
        }
        if (!advice || (!strstr(advice, "try") && !strstr(advice, "look")))
            fail_msg("%s: '%s'", tess_reason_name(reason), advice ? advice : "nothing");
        check_names(advice, "--method", tess_solve_method_name);
        check_names(advice, "--pc", tess_solve_pc_name);
        if (i % 2 && (strstr(advice, "--pc ilut") || strstr(advice, "scale=match")) &&
            !strstr(advice, "--method"))
            fail_msg("%s: '%s' is not symmetric", tess_reason_name(reason), advice);
        if (complex && strstr(advice, "--options"))
            fail_msg("%s: '%s' is not for complex matrices", tess_reason_name(reason), advice);
    }
    assert_true(reasons >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_reason_has_its_advice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

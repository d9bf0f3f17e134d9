/* Options strings against a table with every kind of key. */
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const methods[] = {"cg", "gmres", NULL};
    int64_t n = 0;
    double tol = 0;
    int fast = 0, method = 0;
    char name[8] = "";
    const tess_option table[] = {
        {.key = "n", .kind = TESS_OPTION_INT, .target = &n, .min = 1, .max = 100},
        {.key = "tol", .kind = TESS_OPTION_DOUBLE, .target = &tol, .min = 0, .max = 1},
        {.key = "fast", .kind = TESS_OPTION_BOOL, .target = &fast},
        {.key = "method", .kind = TESS_OPTION_CHOICE, .target = &method, .choices = methods},
        {.key = "name", .kind = TESS_OPTION_TEXT, .target = name, .size = sizeof name},
    };
    tess_ctx *ctx = fuzz_begin();
    char *text = malloc(size + 1);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    tess_status status = tess_options_parse(ctx, "fuzz", text, table, 5);
    fuzz_check(ctx, status);
    if (status == TESS_OK && (n < 0 || n > 100 || tol < 0 || tol > 1 || method > 1))
        abort();
    free(text);
    fuzz_end(ctx);
    return 0;
}

/* print_mutants: "name", "source", "defines" and "script" of every mutant, a line each, for the
 * build. */
#include <stdio.h>

#include "mutants.h"

int main(void)
{
    tess_ctx *ctx;
    if (tess_ctx_create(NULL, &ctx) != TESS_OK)
        return 1;
    for (int i = 0; i < test_mutant_count; i++) {
        test_variant variant;
        char defines[TESS_CUDA_DEFINES];
        if (!test_mutant_variant(ctx, &test_mutants[i], &variant)) {
            fprintf(stderr, "%s: no such variant: %s\n", test_mutants[i].name, tess_ctx_error(ctx));
            return 1;
        }
        variant.kernel->defines(&variant.problem, variant.params, defines, sizeof defines);
        printf("%s\n%s\n%s\n%s\n", variant.name, variant.kernel->source, defines,
               test_mutants[i].script);
    }
    tess_ctx_destroy(ctx);
    return 0;
}

/* print_variants SOURCE [STEP]: "name defines..." for every STEP-th variant of kernels in that
 * device source, one a line, for the build. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "variants.h"

int main(int argc, char **argv)
{
    static test_variant variants[1024];
    int step = argc > 2 ? atoi(argv[2]) : 1;
    for (int k = 0; argc > 1 && k < tess_cuda_kernel_count; k++) {
        if (strcmp(tess_cuda_kernels[k]->source, argv[1]) != 0)
            continue;
        int count = test_variants(tess_cuda_kernels[k], variants, 1024);
        for (int i = 0; i < count && i < 1024; i += step) {
            char text[TESS_CUDA_DEFINES];
            variants[i].kernel->defines(&variants[i].problem, variants[i].params, text,
                                        sizeof text);
            printf("%s %s\n", variants[i].name, text);
        }
    }
    return 0;
}

/* print_variants SOURCE [STEP]: "name defines..." for every STEP-th variant of kernels in that
 * device source, one per line, for the build. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coarsen_shapes.h"
#include "cuda/solve/amg/bottom.h"
#include "cuda/solve/amg/groups.h"
#include "cuda/solve/amg/lanczos.h"
#include "cuda/solve/amg/patterns.h"
#include "cuda/solve/amg/strength.h"
#include "cuda/solve/amg/tentative.h"
#include "permutes.h"
#include "triangular_variants.h"
#include "passes.h"
#include "variants.h"

/* triangular.cu is no product and has a list of its own. */
static void print_triangular(int step)
{
    static test_triangular variants[256];
    const int count = test_triangular_variants(variants, 256);
    for (int i = 0; i < count && i < 256; i += step)
        printf("%s %s\n", variants[i].name, variants[i].defines);
}

/* The two modules of a level. */
static void print_coarsen(const test_coarsen_shape *shape)
{
    const int32_t b = shape->block, k = shape->modes;
    char defines[TESS_CUDA_DEFINES];
    tess_coarsen_defines(b, b, k, defines, sizeof defines);
    printf("coarsen_%d_%d_fine %s\n", (int)b, (int)k, defines);
    tess_coarsen_defines(k, b, k, defines, sizeof defines);
    printf("coarsen_%d_%d_cross %s\n", (int)b, (int)k, defines);
}

int main(int argc, char **argv)
{
    static test_variant variants[1024];
    static test_pass passes[512];
    int step = argc > 2 ? atoi(argv[2]) : 1;
    if (argc > 1 && strcmp(argv[1], "triangular.cu") == 0)
        print_triangular(step);
    if (argc > 1 && strcmp(argv[1], "pass.cu") == 0) {
        const int count = test_passes(passes, 512);
        for (int i = 0; i < count && i < 512; i += step)
            printf("%s %s\n", passes[i].name, passes[i].defines);
    }
    if (argc > 1 && strcmp(argv[1], "loop.cu") == 0) {
        static test_loop loops[TEST_LOOPS];
        const int count = test_loops(loops, TEST_LOOPS);
        for (int i = 0; i < count && i < TEST_LOOPS; i += step)
            printf("%s %s\n", loops[i].name, loops[i].code.defines);
    }
    if (argc > 1 && strcmp(argv[1], "between.cu") == 0) {
        static test_loop loops[TEST_LOOPS];
        const int count = test_loops(loops, TEST_LOOPS);
        for (int i = 0; i < count && i < TEST_LOOPS; i += step)
            for (int k = 0; k < loops[i].betweens; k++)
                printf("between_%d_%d %s\n", i, k, loops[i].between[k].code.defines);
    }
    if (argc > 1 && strcmp(argv[1], "cg.cu") == 0)
        printf("cg_0 -DREAL=8 -DTHREADS=256\n"
               "load_1 -DREAL=8 -DTHREADS=256 -DVECTORS=1\n"
               "load_2 -DREAL=8 -DTHREADS=256 -DVECTORS=2\n"
               "load_4 -DREAL=8 -DTHREADS=256 -DVECTORS=4\n"
               "load_8 -DREAL=8 -DTHREADS=256 -DVECTORS=8\n");
    if (argc > 1 && strcmp(argv[1], "finish.cu") == 0)
        printf("finish_0 -DTHREADS=512\nfinish_1 -DTHREADS=512 -DCOMPLEX=1\n");
    if (argc > 1 && strcmp(argv[1], "rescale.cu") == 0)
        printf("rescale_0 -DFROM=8 -DTO=4 -DDIVIDE=1 -DTHREADS=256\n"
               "rescale_1 -DFROM=4 -DTO=8 -DDIVIDE=0 -DTHREADS=256\n");
    if (argc > 1 && strcmp(argv[1], "halo.cu") == 0)
        printf("halo_0 -DREAL=8 -DTHREADS=64\nhalo_1 -DREAL=4 -DTHREADS=64\n");
    if (argc > 1 && strcmp(argv[1], "shuffle.cu") == 0)
        printf("shuffle_0 -DREAL=8 -DTHREADS=64\nshuffle_1 -DREAL=4 -DTHREADS=64\n");
    if (argc > 1 && strcmp(argv[1], "sums.cu") == 0)
        printf("sums_0 -DTHREADS=64 -DPARTS=64 -DDOTS=8\n");
    if (argc > 1 && strcmp(argv[1], "coarsen.cu") == 0)
        for (int i = 0; i < test_coarsen_count; i += step)
            print_coarsen(&test_coarsen[i]);
    if (argc > 1 && strcmp(argv[1], "bottom.cu") == 0) {
        char defines[64];
        tess_bottom_defines(defines, sizeof defines);
        printf("bottom_0 %s\n", defines);
    }
    if (argc > 1 && strcmp(argv[1], "groups.cu") == 0)
        printf("groups_0 -DTHREADS=%d\n", TESS_GROUPS_THREADS);
    if (argc > 1 && strcmp(argv[1], "inverse.cu") == 0)
        printf("inverse_0 -DTHREADS=%d\n", TESS_COARSEN_FLAT);
    if (argc > 1 && strcmp(argv[1], "lanczos.cu") == 0)
        printf("lanczos_0 -DTHREADS=%d\n", TESS_LANCZOS_THREADS);
    if (argc > 1 && strcmp(argv[1], "patterns.cu") == 0)
        printf("patterns_0 -DTHREADS=%d -DEACH=%d\n", TESS_PATTERNS_THREADS, TESS_PATTERNS_EACH);
    if (argc > 1 && strcmp(argv[1], "tentative.cu") == 0)
        printf("tentative_0 -DTHREADS=%d\n", TESS_TENTATIVE_THREADS);
    if (argc > 1 && strcmp(argv[1], "strength.cu") == 0)
        printf("strength_0 -DTHREADS=%d\n", TESS_STRENGTH_THREADS);
    if (argc > 1 && strcmp(argv[1], "convert.cu") == 0)
        printf("convert_0 -DFROM=8 -DTO=4 -DADD=0 -DTHREADS=64\n"
               "convert_1 -DFROM=4 -DTO=8 -DADD=1 -DTHREADS=64\n");
    for (int i = 0; argc > 1 && strcmp(argv[1], "permute.cu") == 0 && i < test_permute_count; i++)
        printf("permute_%d %s\n", i, test_permutes[i].defines);
    if (argc > 1 && strcmp(argv[1], "slices.cu") == 0)
        printf("slices_0 -DREAL=8 -DTHREADS=256 -DBACK=0\n"
               "slices_1 -DREAL=4 -DTHREADS=256 -DBACK=0\n"
               "slices_2 -DREAL=8 -DTHREADS=256 -DBACK=1\n"
               "slices_3 -DREAL=8 -DCOMPLEX=1 -DTHREADS=256 -DBACK=0\n"
               "slices_4 -DREAL=4 -DCOMPLEX=1 -DTHREADS=256 -DBACK=0\n"
               "slices_5 -DREAL=8 -DCOMPLEX=1 -DTHREADS=256 -DBACK=1\n");
    if (argc > 1 && strcmp(argv[1], "update.cu") == 0)
        printf("update_0 -DREAL=8 -DINDEX=4 -DTHREADS=32 -DEACH=8\n"
               "update_1 -DREAL=4 -DINDEX=8 -DTHREADS=32 -DEACH=8\n"
               "update_2 -DREAL=8 -DCOMPLEX=1 -DINDEX=4 -DTHREADS=32 -DEACH=8\n");
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

/* Conversion of a matrix to fbcsr and back: seconds, and what was extracted. Checks the inverse.
 *
 *     tessera_bench_fbcsr [INPUT [SHAPES]]      default gen:stencil27:n=36,b=3 (10.7 million
 *                                               non-zeros), auto
 */
#include <string.h>

#include "../program.h"
#include "support/inverse.h"

enum { ROUNDS = 3 };

static bool same(const tess_matrix *A, const tess_matrix *B)
{
    return A->blocks == B->blocks &&
           memcmp(A->row_offsets, B->row_offsets, (size_t)(A->rows + 1) * 8) == 0 &&
           memcmp(A->columns, B->columns, (size_t)A->blocks * 4) == 0 &&
           memcmp(A->values, B->values, (size_t)A->blocks * tess_type_size(A->type)) == 0;
}

static void print_splits(const tess_fbcsr *F)
{
    double csr =
        (double)(F->rows + 1) * 4 + (double)F->nonzeros * (4 + (double)tess_type_size(F->type));
    for (int s = 0; s < F->splits; s++) {
        const tess_fbcsr_split *split = &F->split[s];
        printf("%-16s %9lld blocks  %5.1f %% of the non-zeros  fill %.3f\n", split->shape.name,
               (long long)split->blocks, 100 * (double)split->nonzeros / (double)F->nonzeros,
               (double)split->nonzeros / (double)(split->blocks * tess_shape_cells(&split->shape)));
    }
    printf("%-16s %9lld non-zeros\n", "rest", (long long)F->rest->blocks);
    printf("bytes            %.3f of CSR's %.1f MB\n", (double)tess_fbcsr_bytes(F) / csr,
           csr / 1e6);
}

int main(int argc, char **argv)
{
    tess_ctx *ctx;
    tess_matrix *A, *csr;
    tess_fbcsr_options options;
    double best = 1e30, back = 1e30, update = 1e30;
    const char *input = argc > 1 ? argv[1] : "gen:stencil27:n=36,b=3";
    check(NULL, tess_ctx_create(NULL, &ctx));
    check(ctx, tess_shape_list_parse(ctx, argc > 2 ? argv[2] : "auto", &options));
    check(ctx, tess_matrix_input(ctx, input, &A));
    check(ctx, tess_matrix_to_csr(ctx, A, TESS_ZEROS_KEEP, &csr));
    tess_matrix_destroy(A);
    printf("%s: %lld x %lld, %lld non-zeros, %d threads, best of %d\n", input, (long long)csr->rows,
           (long long)csr->cols, (long long)csr->blocks, tess_ctx_threads(ctx), ROUNDS);
    for (int round = 0; round < ROUNDS; round++) {
        tess_fbcsr *F;
        tess_fbcsr_sources *sources;
        tess_matrix *B;
        double t0 = tess_seconds();
        check(ctx, tess_fbcsr_create(ctx, csr, &options, &F));
        check(ctx, tess_fbcsr_sources_create(F, &sources));
        double t1 = tess_seconds();
        tess_cpu_update_fbcsr(F, sources, csr->values);
        double t2 = tess_seconds();
        check(ctx, test_fbcsr_to_csr(ctx, F, &B));
        double t3 = tess_seconds();
        if (!same(csr, B)) {
            fprintf(stderr, "tessera_bench_fbcsr: the inverse differs\n");
            return 1;
        }
        best = tess_min(t1 - t0, best);
        update = tess_min(t2 - t1, update);
        back = tess_min(t3 - t2, back);
        if (round == 0)
            print_splits(F);
        tess_matrix_destroy(B);
        tess_fbcsr_sources_destroy(sources);
        tess_fbcsr_destroy(F);
    }
    printf("create           %8.1f ms\nupdate           %8.1f ms\nto_csr           %8.1f ms\n",
           1e3 * best, 1e3 * update, 1e3 * back);
    tess_matrix_destroy(csr);
    tess_ctx_destroy(ctx);
    return 0;
}

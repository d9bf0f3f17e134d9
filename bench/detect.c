/* Time of tess_detect and of tess_matrix_symmetry on INPUT expanded to CSR: the least of RUNS.
 *
 *     tessera_bench_detect gen:stencil27:n=36,b=3 [RUNS]
 *
 * Times are also printed in products y = A x of the reference backend, measured in the same run.
 */
#include "program.h"

static double product(tess_ctx *ctx, const tess_matrix *A, int runs)
{
    tess_device *device;
    tess_plan *plan;
    double *x = calloc((size_t)A->cols, sizeof *x), *y = calloc((size_t)A->rows, sizeof *y);
    double best = 1e9;
    check(ctx, tess_device_open(ctx, "ref", &device));
    check(ctx, tess_plan_create(ctx, A, device, NULL, &plan));
    for (int run = 0; run < runs; run++) {
        double start = tess_seconds();
        check(ctx, tess_spmv(plan, 1.0, x, 0.0, y));
        double seconds = tess_seconds() - start;
        best = tess_min(seconds, best);
    }
    tess_plan_destroy(plan);
    tess_device_close(device);
    free(x);
    free(y);
    return best;
}

int main(int argc, char **argv)
{
    const char *input = argc > 1 ? argv[1] : "gen:stencil27:n=36,b=3";
    int runs = argc > 2 ? atoi(argv[2]) : 3;
    tess_ctx *ctx;
    tess_matrix *blocks, *A;
    check(NULL, tess_ctx_create(NULL, &ctx));
    double start = tess_seconds();
    check(ctx, tess_matrix_input(ctx, input, &blocks));
    double made = tess_seconds() - start, detected = 1e9, mirrored = 1e9;
    check(ctx, tess_matrix_to_csr(ctx, blocks, TESS_ZEROS_KEEP, &A));
    tess_matrix_destroy(blocks);
    tess_detection *D = NULL;
    for (int run = 0; run < runs; run++) {
        tess_detection_destroy(D);
        start = tess_seconds();
        check(ctx, tess_detect(ctx, A, NULL, &D));
        double seconds = tess_seconds() - start;
        detected = tess_min(seconds, detected);

        tess_symmetry symmetry;
        start = tess_seconds();
        check(ctx, tess_matrix_symmetry(ctx, A, &symmetry));
        seconds = tess_seconds() - start;
        mirrored = tess_min(seconds, mirrored);
    }
    double spmv = product(ctx, A, runs);
    printf("%s: %lld entries, %d threads\n", input, (long long)A->blocks, tess_ctx_threads(ctx));
    printf(
        "input %.3f s, detect %.3f s (%lld candidates), symmetry %.3f s, reference SpMV %.4f s\n",
        made, detected, (long long)D->count, mirrored, spmv);
    printf("detect = %.0f SpMV, symmetry = %.1f SpMV; %s\n", detected / spmv, mirrored / spmv,
           D->reason);
    tess_detection_destroy(D);
    tess_matrix_destroy(A);
    tess_ctx_destroy(ctx);
    return 0;
}

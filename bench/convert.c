/* Conversions of a 27-point matrix (CSR to BSR with b = 3, back, update, transpose) beside the
 * reference SpMV, interleaved in one run; medians. Prints how many SpMVs a conversion costs.
 *
 *     tessera_bench_convert [n]      n^3 points, (3n-2)^3 blocks; the default, n = 36, has 10.7
 *                                    million non-zeros
 */
#include "program.h"

enum { ROUNDS = 9 };

enum { TO_BLOCKS, UPDATE, TO_CSR, TRANSPOSE, SPMV_CSR, SPMV_BSR, CASES };
static const char *const names[CASES] = {"to_blocks b=3", "update b=3",   "to_csr",
                                         "transpose b=3", "ref spmv CSR", "ref spmv BSR"};

/* One run of a case, in seconds. `csr` and `bsr` are the same matrix. */
static double run(tess_ctx *ctx, int which, const tess_matrix *csr, tess_matrix *bsr,
                  const double *x, double *y)
{
    tess_matrix *result = NULL;
    double start = tess_seconds();
    if (which == TO_BLOCKS)
        check(ctx, tess_matrix_to_blocks(ctx, csr, &(tess_blocking){3, 3}, &result));
    else if (which == UPDATE)
        check(ctx, tess_matrix_update(ctx, bsr, csr));
    else if (which == TO_CSR)
        check(ctx, tess_matrix_to_csr(ctx, bsr, TESS_ZEROS_KEEP, &result));
    else if (which == TRANSPOSE)
        check(ctx, tess_matrix_transpose(ctx, bsr, &result));
    else
        tess_ref_spmv(which == SPMV_CSR ? csr : bsr, 1, x, 0, y);
    double seconds = tess_seconds() - start;
    tess_matrix_destroy(result);
    return seconds;
}

int main(int argc, char **argv)
{
    tess_ctx *ctx;
    tess_matrix *bsr, *csr;
    char spec[64];
    snprintf(spec, sizeof spec, "stencil27:n=%d,b=3", argc > 1 ? atoi(argv[1]) : 36);
    check(NULL, tess_ctx_create(NULL, &ctx));
    check(ctx, tess_matrix_generate(ctx, spec, &bsr, NULL));
    check(ctx, tess_matrix_to_csr(ctx, bsr, TESS_ZEROS_KEEP, &csr));
    double *x, *y;
    check(ctx, TESS_CALLOC(ctx, csr->cols, &x));
    check(ctx, TESS_CALLOC(ctx, csr->rows, &y));

    double seconds[CASES][ROUNDS];
    for (int round = -1; round < ROUNDS; round++) /* the first is not counted */
        for (int which = 0; which < CASES; which++)
            seconds[which][tess_max(0, round)] = run(ctx, which, csr, bsr, x, y);

    printf("%s: %lld x %lld, %lld non-zeros, %d threads, medians of %d rounds\n", spec,
           (long long)csr->rows, (long long)csr->cols, (long long)csr->blocks,
           tess_ctx_threads(ctx), ROUNDS);
    const double spmv = tess_median(seconds[SPMV_CSR], ROUNDS);
    const double blocked = tess_median(seconds[SPMV_BSR], ROUNDS);
    for (int which = 0; which < CASES; which++) {
        double time = tess_median(seconds[which], ROUNDS);
        printf("%-14s %8.2f ms  = %5.2f ref SpMVs of the CSR, %5.2f of the BSR\n", names[which],
               1e3 * time, time / spmv, time / blocked);
    }
    tess_free(ctx, x);
    tess_free(ctx, y);
    tess_matrix_destroy(csr);
    tess_matrix_destroy(bsr);
    tess_ctx_destroy(ctx);
    return 0;
}

/* Reads a matrix, finds its blocks, chooses a kernel and solves A x = b with b = A times ones.
 * Usage: solve [INPUT [DEVICE]]. INPUT is a file or a generated problem. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

int main(int argc, char **argv)
{
    const char *input = argc > 1 ? argv[1] : "gen:elasticity:n=8";
    tess_ctx *ctx = NULL;
    tess_matrix *entries = NULL, *A = NULL;
    tess_device *device = NULL;
    tess_plan *plan = NULL;
    if (tess_ctx_create(NULL, &ctx) != TESS_OK)
        return 1;
    if (tess_matrix_input(ctx, input, &entries) != TESS_OK ||       /* A.mtx.gz, or gen:... */
        tess_matrix_to_blocks(ctx, entries, NULL, &A) != TESS_OK || /* detects the block size */
        tess_device_open_for(ctx, argc > 2 ? argv[2] : "cpu", A, &device) != TESS_OK ||
        tess_plan_create(ctx, A, device, NULL, &plan) != TESS_OK) { /* chooses a kernel */
        fprintf(stderr, "%s\n", tess_ctx_error(ctx));
        return 1;
    }
    puts(tess_plan_explain(plan));

    tess_matrix_view view;
    tess_matrix_get_view(A, &view);
    double *x = malloc((size_t)view.cols * sizeof *x), *b = malloc((size_t)view.rows * sizeof *b);
    if (!x || !b || view.type != TESS_F64)
        return 1;
    for (int64_t i = 0; i < view.cols; i++)
        x[i] = 1;
    tess_status status = tess_spmv(plan, 1.0, x, 0.0, b); /* b = A x */
    for (int64_t i = 0; i < view.cols; i++)
        x[i] = 0; /* the initial guess */
    tess_result result;
    if (status == TESS_OK)
        status = tess_solve(plan, NULL, b, x, &result); /* NULL: the solver is found by trying */
    if (status != TESS_OK)
        fprintf(stderr, "%s\n", tess_ctx_error(ctx));
    else
        printf("%s: %s\n", tess_reason_name(result.reason), result.text);

    free(x);
    free(b);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    tess_matrix_destroy(entries);
    tess_ctx_destroy(ctx);
    return status == TESS_OK && result.reason == TESS_REASON_CONVERGED ? 0 : 1;
}

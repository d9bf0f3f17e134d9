/* Y = A X for eight vectors at once: the matrix is read once in place of eight times. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tessera/tessera.h>

enum { K = 8 };

static double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Together into Y, then one vector after the other into y; *difference: the largest there is. */
static tess_status compare(tess_plan *plan, int64_t n, const double *X, double *Y, double *x,
                           double *y, double *difference)
{
    /* Row-major: element i of vector j is X[i * K + j]. The first call prepares its kernel. */
    tess_status status = tess_spmm(plan, K, TESS_ORDER_ROW_MAJOR, 1.0, X, K, 0.0, Y, K);
    const double start = now();
    if (status == TESS_OK)
        status = tess_spmm(plan, K, TESS_ORDER_ROW_MAJOR, 1.0, X, K, 0.0, Y, K);
    const double together = now() - start;
    double apart = 0;
    for (int j = 0; j < K && status == TESS_OK; j++) {
        for (int64_t i = 0; i < n; i++)
            x[i] = X[i * K + j];
        const double begin = now();
        status = tess_spmv(plan, 1.0, x, 0.0, y);
        apart += now() - begin;
        for (int64_t i = 0; i < n; i++)
            *difference = fmax(*difference, fabs(y[i] - Y[i * K + j]));
    }
    printf("%d vectors: %.3f ms together, %.3f ms one after the other\n", K, 1e3 * together,
           1e3 * apart);
    return status;
}

int main(void)
{
    tess_ctx *ctx = NULL;
    tess_matrix *A = NULL;
    tess_device *device = NULL;
    tess_plan *plan = NULL;
    if (tess_ctx_create(NULL, &ctx) != TESS_OK)
        return 1;
    if (tess_matrix_generate(ctx, "stencil27:n=20,b=3", &A, NULL) != TESS_OK ||
        tess_device_open(ctx, "cpu", &device) != TESS_OK ||
        tess_plan_create(ctx, A, device, NULL, &plan) != TESS_OK) {
        fprintf(stderr, "spmm: %s\n", tess_ctx_error(ctx));
        return 1;
    }
    tess_matrix_view view;
    tess_matrix_get_view(A, &view);
    const size_t n = (size_t)view.rows;
    double *X = malloc(K * n * sizeof *X), *Y = malloc(K * n * sizeof *Y);
    double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y), difference = 0;
    if (!X || !Y || !x || !y)
        return 1;
    for (size_t i = 0; i < K * n; i++)
        X[i] = sin((double)i);
    const tess_status status = compare(plan, view.rows, X, Y, x, y, &difference);
    if (status == TESS_OK)
        printf("largest difference %.1e\n", difference);
    else
        fprintf(stderr, "spmm: %s\n", tess_ctx_error(ctx));
    free(X);
    free(Y);
    free(x);
    free(y);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    tess_ctx_destroy(ctx);
    return status == TESS_OK && difference < 1e-10 ? 0 : 1;
}

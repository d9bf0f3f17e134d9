/* y = A x for a 4 x 4 matrix of two dense 2 x 2 blocks. Build: cc spmv.c $(pkg-config --cflags
 * --libs tessera) */
#include <stdio.h>
#include <tessera/tessera.h>

int main(void)
{
    const int64_t row_offsets[] = {0, 1, 2};
    const int32_t columns[] = {0, 1};
    const double values[] = {2, 1, 1, 2, 4, 0, 0, 4}; /* column-major blocks */
    const double x[] = {1, 2, 3, 4};
    double y[4];
    tess_matrix_view view = {.rows = 4,
                             .cols = 4,
                             .block_height = 2,
                             .block_width = 2,
                             .row_offsets = row_offsets,
                             .columns = columns,
                             .values = values};
    tess_ctx *ctx = NULL;
    tess_matrix *A = NULL;
    tess_device *device = NULL;
    tess_plan *plan = NULL;
    int ok = tess_ctx_create(NULL, &ctx) == TESS_OK &&
             tess_matrix_from_bsr(ctx, &view, TESS_ORDER_COLUMN_MAJOR, TESS_OWNERSHIP_BORROW, &A) ==
                 TESS_OK &&
             tess_device_open(ctx, "ref", &device) == TESS_OK &&
             tess_plan_create(ctx, A, device, NULL, &plan) == TESS_OK &&
             tess_spmv(plan, 1.0, x, 0.0, y) == TESS_OK;
    if (ok)
        printf("y = %g %g %g %g\n", y[0], y[1], y[2], y[3]);
    else
        fprintf(stderr, "spmv: %s\n", tess_ctx_error(ctx));
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    tess_ctx_destroy(ctx);
    return ok ? 0 : 1;
}

/* What would this machine, or several like it, do with a problem? Nothing is run. */
#include <stdio.h>

#include <tessera/tessera.h>

int main(void)
{
    tess_ctx *ctx;
    tess_matrix *A;
    tess_device *device;
    tess_prediction *p;
    tess_predict_options options = {.devices = 4, .link_bandwidth = 100e9};
    if (tess_ctx_create(NULL, &ctx) != TESS_OK)
        return 1;
    if (tess_matrix_generate(ctx, "stencil27:n=24,b=4", &A, NULL) != TESS_OK ||
        tess_device_open_for(ctx, "cpu", A, &device) != TESS_OK ||
        tess_predict(ctx, A, device, &options, &p) != TESS_OK) {
        fprintf(stderr, "%s\n", tess_ctx_error(ctx));
        return 1;
    }
    printf("measured on %s%s\n", p->model, p->stand_in ? ", which stands in" : "");
    printf("fastest: %s, %.3g ms per product\n", p->kernels[0].kernel, 1e3 * p->kernels[0].seconds);
    for (int64_t i = 0; i < p->solve_count; i++)
        printf("%d device%s: %.3g ms per iteration of CG\n", p->solves[i].devices,
               p->solves[i].devices == 1 ? "" : "s", 1e3 * p->solves[i].iteration);
    tess_prediction_destroy(p);
    tess_device_close(device);
    tess_matrix_destroy(A);
    tess_ctx_destroy(ctx);
    return 0;
}

/* Products on a GPU in a stream of the caller's: copies and products are put into the stream, and
 * the host waits once. Without a GPU the same program multiplies on the CPU, and says so.
 *
 * A CUDA program has the runtime's cudaStreamCreate and cudaMemcpyAsync. This one takes the
 * driver's functions from libcuda at run time, so that it is built without CUDA. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

typedef struct gpu {
    int (*retain)(void **context, int device);
    int (*make_current)(void *context);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_wait)(void *stream);
    int (*stream_destroy)(void *stream);
    int (*to_device)(unsigned long long to, const void *from, size_t bytes, void *stream);
    int (*to_host)(void *to, unsigned long long from, size_t bytes, void *stream);
    void *stream;
} gpu;

/* A function's address as what it is: ISO C has no cast for it. */
static int find(void *library, const char *name, void *function)
{
    *(void **)function = dlsym(library, name);
    return *(void **)function != NULL;
}

/* The device is open: the driver is initialised and its primary context exists. */
static int open_stream(gpu *g)
{
    void *context, *library = dlopen("libcuda.so.1", RTLD_NOW);
    return library && find(library, "cuDevicePrimaryCtxRetain", &g->retain) &&
           find(library, "cuCtxSetCurrent", &g->make_current) &&
           find(library, "cuStreamCreate", &g->stream_create) &&
           find(library, "cuStreamSynchronize", &g->stream_wait) &&
           find(library, "cuStreamDestroy_v2", &g->stream_destroy) &&
           find(library, "cuMemcpyHtoDAsync_v2", &g->to_device) &&
           find(library, "cuMemcpyDtoHAsync_v2", &g->to_host) && g->retain(&context, 0) == 0 &&
           g->make_current(context) == 0 && g->stream_create(&g->stream, 1) == 0;
}

/* y = A (A x), all in one stream. */
static tess_status twice_in_stream(gpu *g, tess_device *device, tess_plan *plan, size_t bytes,
                                   const double *x, double *y)
{
    void *a = NULL, *b = NULL;
    tess_status status = tess_device_alloc(device, bytes, &a);
    if (status == TESS_OK)
        status = tess_device_alloc(device, bytes, &b);
    if (status == TESS_OK)
        status = tess_plan_set_stream(plan, g->stream);
    if (status == TESS_OK && g->to_device((unsigned long long)a, x, bytes, g->stream) != 0)
        status = TESS_ERR_DEVICE;
    if (status == TESS_OK)
        status = tess_spmv(plan, 1.0, a, 0.0, b); /* returns at once */
    if (status == TESS_OK)
        status = tess_spmv(plan, 1.0, b, 0.0, a); /* after the first: it is the same stream */
    if (status == TESS_OK && (g->to_host(y, (unsigned long long)a, bytes, g->stream) != 0 ||
                              g->stream_wait(g->stream) != 0))
        status = TESS_ERR_DEVICE;
    tess_plan_set_stream(plan, NULL);
    tess_device_free(device, a);
    tess_device_free(device, b);
    return status;
}

int main(void)
{
    tess_ctx *ctx = NULL;
    tess_matrix *A = NULL;
    tess_device *device = NULL;
    tess_plan *plan = NULL;
    gpu g = {0};
    if (tess_ctx_create(NULL, &ctx) != TESS_OK)
        return 1;
    const int on_gpu = tess_device_open(ctx, "cuda", &device) == TESS_OK;
    if (!on_gpu)
        printf("no GPU here (%s): on the CPU, without a stream\n", tess_ctx_error(ctx));
    if ((!on_gpu && tess_device_open(ctx, "cpu", &device) != TESS_OK) ||
        tess_matrix_generate(ctx, "stencil27:n=20,b=4", &A, NULL) != TESS_OK ||
        tess_plan_create(ctx, A, device, NULL, &plan) != TESS_OK || (on_gpu && !open_stream(&g))) {
        fprintf(stderr, "gpu_stream: %s\n", tess_ctx_error(ctx));
        return 1;
    }
    tess_matrix_view view;
    tess_matrix_get_view(A, &view);
    const size_t n = (size_t)view.rows, bytes = n * sizeof(double);
    double *x = malloc(bytes), *y = malloc(bytes), *expected = malloc(bytes), worst = 0, scale = 0;
    if (!x || !y || !expected)
        return 1;
    for (size_t i = 0; i < n; i++)
        x[i] = sin((double)i);
    /* Vectors in host memory: the products are complete when they return. */
    tess_status status = tess_spmv(plan, 1.0, x, 0.0, y);
    if (status == TESS_OK)
        status = tess_spmv(plan, 1.0, y, 0.0, expected);
    if (status == TESS_OK && on_gpu)
        status = twice_in_stream(&g, device, plan, bytes, x, y);
    for (size_t i = 0; i < n && status == TESS_OK && on_gpu; i++) {
        worst = fmax(worst, fabs(y[i] - expected[i]));
        scale = fmax(scale, fabs(expected[i]));
    }
    if (status == TESS_OK)
        printf("%s: %s, difference %.1e\n", tess_device_description(device),
               on_gpu ? "two products in the caller's stream" : "two products", worst);
    else
        fprintf(stderr, "gpu_stream: %s\n", tess_ctx_error(ctx));
    free(x);
    free(y);
    free(expected);
    tess_plan_destroy(plan);
    if (g.stream)
        g.stream_destroy(g.stream);
    tess_device_close(device);
    tess_matrix_destroy(A);
    tess_ctx_destroy(ctx);
    return status == TESS_OK && worst <= 1e-12 * scale ? 0 : 1;
}

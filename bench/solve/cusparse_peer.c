/* CG with cuSPARSE and cuBLAS: see cusparse_peer.h. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cusparse_peer.h"

enum { PRODUCTS = 20 };
enum { POINTER_MODE_DEVICE = 1 };

typedef struct cublas_opaque *cublas_handle;

#define CUBLAS_FUNCTIONS(X)                                                                    \
    X(cublasCreate_v2, (cublas_handle * handle))                                               \
    X(cublasDestroy_v2, (cublas_handle handle))                                                \
    X(cublasSetStream_v2, (cublas_handle handle, cu_stream stream))                            \
    X(cublasSetPointerMode_v2, (cublas_handle handle, int mode))                               \
    X(cublasDdot_v2, (cublas_handle handle, int n, cu_pointer x, int dx, cu_pointer y, int dy, \
                      cu_pointer result))                                                      \
    X(cublasDaxpy_v2,                                                                          \
      (cublas_handle handle, int n, cu_pointer a, cu_pointer x, int dx, cu_pointer y, int dy)) \
    X(cublasDscal_v2, (cublas_handle handle, int n, cu_pointer a, cu_pointer x, int dx))

static const char kernels[] =
    "extern \"C\" __global__ void step(double *s)\n" /* alpha = rz / pq, and its negative */
    "{ s[2] = s[0] / s[1]; s[3] = -s[2]; }\n"
    "extern \"C\" __global__ void turn(double *s)\n" /* beta = rz' / rz */
    "{ s[5] = s[4] / s[0]; s[0] = s[4]; }\n"
    "extern \"C\" __global__ void scale(const double *d, const double *r, double *z, int n)\n"
    "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) z[i] = d[i] * r[i]; }\n";

/* Scalars in device memory, as the kernels above number them. */
enum { RZ, PQ, ALPHA, MINUS_ALPHA, RZ_NEW, BETA, ONE, MINUS_ONE, RR, SCALARS };
enum { B, D, X, R, Z, P, Q, VECTORS };

typedef struct cublas_api {
#define X(name, arguments) int(*name) arguments;
    CUBLAS_FUNCTIONS(X)
#undef X
} cublas_api;

struct peer {
    tess_ctx *ctx;
    tess_cuda *cuda;
    cublas_api api;
    cublas_handle blas;
    cu_module module;
    cu_function step, turn, scale;
    cusparse_product *product;
    int n;
    cu_pointer scalars, vector[VECTORS];
    double *host; /* pinned: what a stopping test reads */
};

void peer_fail(const char *what, const char *why)
{
    fprintf(stderr, "tessera_bench_cusparse_cg: %s: %s\n", what, why);
    exit(1);
}

void peer_check(tess_ctx *ctx, tess_status status)
{
    if (status != TESS_OK)
        peer_fail(tess_status_name(status), tess_ctx_error(ctx));
}

#define CU(p, call) peer_check((p)->ctx, TESS_CU((p)->cuda, call))

static void blas(int status, const char *call)
{
    char number[32];
    snprintf(number, sizeof number, "cuBLAS error %d", status);
    if (status != 0)
        peer_fail(call, number);
}
#define BLAS(p, call) blas((p)->api.call, #call)

static void load_cublas(cublas_api *api)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so", NULL};
    char tried[512];
    void *library = tess_cuda_open_library("TESSERA_CUBLAS", names, "cublas", tried, sizeof tried);
    if (!library)
        peer_fail("no cuBLAS on this machine", tried);
#define X(name, arguments)                          \
    {                                               \
        void *symbol = dlsym(library, #name);       \
        if (!symbol)                                \
            peer_fail("libcublas has no", #name);   \
        memcpy(&api->name, &symbol, sizeof symbol); \
    }
    CUBLAS_FUNCTIONS(X)
#undef X
}

static void load_kernels(peer *p)
{
    tess_nvrtc nvrtc;
    nvrtc_program program;
    char architecture[64];
    size_t bytes = 0;
    peer_check(p->ctx, tess_nvrtc_load(p->ctx, &nvrtc));
    snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d", p->cuda->sm);
    const char *const option = architecture;
    if (nvrtc.nvrtcCreateProgram(&program, kernels, "cg.cu", 0, NULL, NULL) != 0 ||
        nvrtc.nvrtcCompileProgram(program, 1, &option) != 0 ||
        nvrtc.nvrtcGetCUBINSize(program, &bytes) != 0)
        peer_fail("the peer's kernels", "NVRTC does not compile them");
    char *image = malloc(bytes);
    if (!image || nvrtc.nvrtcGetCUBIN(program, image) != 0)
        peer_fail("the peer's kernels", "no machine code");
    CU(p, cuModuleLoadData(&p->module, image));
    CU(p, cuModuleGetFunction(&p->step, p->module, "step"));
    CU(p, cuModuleGetFunction(&p->turn, p->module, "turn"));
    CU(p, cuModuleGetFunction(&p->scale, p->module, "scale"));
    nvrtc.nvrtcDestroyProgram(&program);
    free(image);
}

static void upload(peer *p, cu_pointer to, const double *from, int64_t count)
{
    peer_check(p->ctx,
               tess_cuda_upload(p->cuda, to, from, (size_t)count * sizeof *from, p->cuda->stream));
    CU(p, cuStreamSynchronize(p->cuda->stream));
}

peer *peer_open(tess_cuda *cuda, const tess_matrix *A, const double *b)
{
    peer *p = calloc(1, sizeof *p);
    if (!p)
        peer_fail("the peer", "out of memory");
    p->ctx = cuda->ctx;
    p->cuda = cuda;
    const size_t bytes = (size_t)A->rows * sizeof(double);
    const double scalars[SCALARS] = {[ONE] = 1, [MINUS_ONE] = -1};
    p->n = (int)A->rows;
    load_cublas(&p->api);
    load_kernels(p);
    BLAS(p, cublasCreate_v2(&p->blas));
    BLAS(p, cublasSetStream_v2(p->blas, p->cuda->stream));
    BLAS(p, cublasSetPointerMode_v2(p->blas, POINTER_MODE_DEVICE));
    CU(p, cuMemAllocHost((void **)&p->host, sizeof *p->host));
    peer_check(p->ctx, tess_cuda_alloc(p->cuda, sizeof scalars, "scalars", &p->scalars));
    upload(p, p->scalars, scalars, SCALARS);
    for (int v = 0; v < VECTORS; v++)
        peer_check(p->ctx, tess_cuda_alloc(p->cuda, bytes, "vectors", &p->vector[v]));
    double *inverse = malloc(bytes);
    if (!inverse)
        peer_fail("the diagonal", "out of memory");
    for (int64_t row = 0; row < A->rows; row++) {
        const int64_t h = A->block_height, in = row % h;
        for (int64_t k = A->row_offsets[row / h]; k < A->row_offsets[row / h + 1]; k++)
            if (A->columns[k] == row / h)
                inverse[row] = 1 / tess_matrix_value(A, (k * h + in) * h + in);
    }
    upload(p, p->vector[D], inverse, A->rows);
    upload(p, p->vector[B], b, A->rows);
    free(inverse);
    return p;
}

void peer_close(peer *p)
{
    for (int v = 0; v < VECTORS; v++)
        tess_cuda_free(p->cuda, p->vector[v]);
    tess_cuda_free(p->cuda, p->scalars);
    CU(p, cuMemFreeHost(p->host));
    CU(p, cuModuleUnload(p->module));
    BLAS(p, cublasDestroy_v2(p->blas));
    free(p);
}

static cu_pointer scalar(const peer *p, int i)
{
    return p->scalars + (cu_pointer)i * sizeof(double);
}

static void dot(peer *p, int x, int y, int result)
{
    BLAS(p, cublasDdot_v2(p->blas, p->n, p->vector[x], 1, p->vector[y], 1, scalar(p, result)));
}

static void axpy(peer *p, int a, int x, int y)
{
    BLAS(p, cublasDaxpy_v2(p->blas, p->n, scalar(p, a), p->vector[x], 1, p->vector[y], 1));
}

static void one_thread(peer *p, cu_function function)
{
    void *arguments[] = {&p->scalars};
    CU(p, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, p->cuda->stream, arguments, NULL));
}

static void precondition(peer *p)
{
    void *arguments[] = {&p->vector[D], &p->vector[R], &p->vector[Z], &p->n};
    CU(p, cuLaunchKernel(p->scale, (unsigned)(p->n + 255) / 256, 1, 1, 256, 1, 1, 0,
                         p->cuda->stream, arguments, NULL));
}

static void multiply(peer *p, int x, int y)
{
    peer_check(p->ctx,
               cusparse_multiply(p->product, 1, p->vector[x], 0, p->vector[y], p->cuda->stream));
}

/* x = 0, r = b, z = D^-1 r, p = z. */
static void start(peer *p)
{
    const size_t bytes = (size_t)p->n * sizeof(double);
    CU(p, cuMemsetD8Async(p->vector[X], 0, bytes, p->cuda->stream));
    CU(p, cuMemcpyDtoDAsync(p->vector[R], p->vector[B], bytes, p->cuda->stream));
    precondition(p);
    CU(p, cuMemcpyDtoDAsync(p->vector[P], p->vector[Z], bytes, p->cuda->stream));
    dot(p, R, Z, RZ);
}

static void iterate(peer *p)
{
    multiply(p, P, Q);
    dot(p, P, Q, PQ);
    one_thread(p, p->step);
    axpy(p, ALPHA, P, X);
    axpy(p, MINUS_ALPHA, Q, R);
    precondition(p);
    dot(p, R, Z, RZ_NEW);
    one_thread(p, p->turn);
    BLAS(p, cublasDscal_v2(p->blas, p->n, scalar(p, BETA), p->vector[P], 1));
    axpy(p, ONE, Z, P);
}

static double read_back(peer *p, int which)
{
    CU(p, cuMemcpyDtoHAsync(p->host, scalar(p, which), sizeof *p->host, p->cuda->stream));
    CU(p, cuStreamSynchronize(p->cuda->stream));
    return *p->host;
}

cu_graph_exec peer_capture(peer *p)
{
    cu_graph graph;
    cu_graph_exec replayable;
    iterate(p); /* a capture must not contain what the libraries allocate at a first call */
    CU(p, cuStreamSynchronize(p->cuda->stream));
    CU(p, cuStreamBeginCapture(p->cuda->stream, CU_CAPTURE_THREAD_LOCAL));
    for (int i = 0; i < PEER_REPLAYED; i++)
        iterate(p);
    CU(p, cuStreamEndCapture(p->cuda->stream, &graph));
    CU(p, cuGraphInstantiate(&replayable, graph, 0));
    CU(p, cuGraphDestroy(graph));
    return replayable;
}

double peer_run(peer *p, cu_graph_exec graph, int iterations)
{
    start(p);
    CU(p, cuStreamSynchronize(p->cuda->stream));
    const double begun = tess_seconds();
    for (int i = 0; i < iterations; i += graph ? PEER_REPLAYED : 1) {
        if (graph)
            CU(p, cuGraphLaunch(graph, p->cuda->stream));
        else
            iterate(p);
        read_back(p, RZ);
    }
    return tess_seconds() - begun;
}

double peer_rz(const peer *p)
{
    return *p->host;
}

double peer_true_residual(peer *p)
{
    multiply(p, X, Q);
    CU(p, cuMemcpyDtoDAsync(p->vector[R], p->vector[B], (size_t)p->n * sizeof(double),
                            p->cuda->stream));
    axpy(p, MINUS_ONE, Q, R);
    dot(p, R, R, RR);
    return sqrt(read_back(p, RR));
}

void peer_use(peer *p, cusparse_product *product)
{
    p->product = product;
}

double peer_product_seconds(peer *p)
{
    double seconds[PRODUCTS];
    for (int i = -3; i < PRODUCTS; i++) {
        const double begun = tess_seconds();
        multiply(p, B, Q);
        CU(p, cuStreamSynchronize(p->cuda->stream));
        seconds[i < 0 ? 0 : i] = tess_seconds() - begun;
    }
    return tess_median(seconds, PRODUCTS);
}

#include "cublas.h"

#include <dlfcn.h>
#include <string.h>

#include "dense.h"

typedef struct cublas_opaque *cublas_handle;

#define GEMV_ARGUMENTS                                                                         \
    (cublas_handle handle, int transpose, int rows, int cols, const void *alpha, cu_pointer A, \
     int lda, cu_pointer x, int dx, const void *beta, cu_pointer y, int dy)

struct cublas_gemv {
    tess_cuda *cuda;
    tess_type type;
    int64_t rows, cols;
    cublas_handle handle;
    int(*gemv) GEMV_ARGUMENTS;
    int (*destroy)(cublas_handle handle);
    cu_pointer A, x, y;
};

static tess_status load(cublas_gemv *peer)
{
    static const char *const names[] = {"libcublas.so.12", "libcublas.so", "libcublas.so.13",
                                        "libcublas.so.11", NULL};
    char tried[512];
    tess_ctx *ctx = peer->cuda->ctx;
    void *library = tess_cuda_open_library("TESSERA_CUBLAS", names, "cublas", tried, sizeof tried);
    if (!library)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED, "no cuBLAS on this machine");
    int (*create)(cublas_handle *);
    int (*set_stream)(cublas_handle, cu_stream);
    void *found[] = {dlsym(library, "cublasCreate_v2"), dlsym(library, "cublasSetStream_v2"),
                     dlsym(library, "cublasDestroy_v2"),
                     dlsym(library, peer->type == TESS_F64 ? "cublasDgemv_v2" : "cublasSgemv_v2")};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        if (!found[i])
            return tess_fail(ctx, TESS_ERR_UNSUPPORTED, "cuBLAS lacks a function");
    memcpy(&create, &found[0], sizeof create);
    memcpy(&set_stream, &found[1], sizeof set_stream);
    memcpy(&peer->destroy, &found[2], sizeof peer->destroy);
    memcpy(&peer->gemv, &found[3], sizeof peer->gemv);
    if (create(&peer->handle) != 0 || set_stream(peer->handle, peer->cuda->stream) != 0)
        return tess_fail(ctx, TESS_ERR_DEVICE, "cuBLAS does not start");
    return TESS_OK;
}

static tess_status fill(cublas_gemv *peer, const tess_matrix *A)
{
    tess_cuda *cuda = peer->cuda;
    const size_t size = tess_type_size(A->type), bytes = size * (size_t)(A->rows * A->cols);
    TESS_TRY(load(peer));
    TESS_TRY(tess_cuda_alloc(cuda, bytes, "cuBLAS's matrix", &peer->A));
    TESS_TRY(tess_cuda_alloc(cuda, size * (size_t)A->cols, "x", &peer->x));
    TESS_TRY(tess_cuda_alloc(cuda, size * (size_t)A->rows, "y", &peer->y));
    void *dense;
    TESS_TRY(dense_values(A, &dense));
    tess_status status = tess_cuda_upload(cuda, peer->A, dense, bytes, cuda->stream);
    if (status == TESS_OK)
        status = TESS_CU(cuda, cuStreamSynchronize(cuda->stream));
    tess_free(A->ctx, dense);
    return status;
}

tess_status cublas_open(tess_cuda *cuda, const tess_matrix *A, cublas_gemv **out)
{
    cublas_gemv *peer;
    TESS_TRY(TESS_ALLOC(cuda->ctx, 1, &peer));
    *peer = (cublas_gemv){.cuda = cuda, .type = A->type, .rows = A->rows, .cols = A->cols};
    tess_status status = tess_cuda_enter(cuda);
    if (status == TESS_OK) {
        status = fill(peer, A);
        tess_cuda_leave(cuda);
    }
    if (status != TESS_OK) {
        cublas_close(peer);
        return status;
    }
    *out = peer;
    return TESS_OK;
}

void cublas_close(cublas_gemv *peer)
{
    if (!peer)
        return;
    if (tess_cuda_enter(peer->cuda) == TESS_OK) {
        if (peer->handle)
            (void)peer->destroy(peer->handle);
        tess_cuda_free(peer->cuda, peer->A);
        tess_cuda_free(peer->cuda, peer->x);
        tess_cuda_free(peer->cuda, peer->y);
        tess_cuda_leave(peer->cuda);
    }
    tess_free(peer->cuda->ctx, peer);
}

static tess_status launch_once(void *user)
{
    const cublas_gemv *peer = user;
    const double one64 = 1, zero64 = 0;
    const float one32 = 1, zero32 = 0;
    const bool wide = peer->type == TESS_F64;
    const int status =
        peer->gemv(peer->handle, 0, (int)peer->rows, (int)peer->cols,
                   wide ? (const void *)&one64 : (const void *)&one32, peer->A, (int)peer->rows,
                   peer->x, 1, wide ? (const void *)&zero64 : (const void *)&zero32, peer->y, 1);
    return status == 0 ? TESS_OK : tess_fail(peer->cuda->ctx, TESS_ERR_DEVICE, "gemv: %d", status);
}

tess_status cublas_time(cublas_gemv *peer, const void *x, void *y, int reps, double *seconds)
{
    tess_cuda *cuda = peer->cuda;
    const size_t size = tess_type_size(peer->type), y_bytes = size * (size_t)peer->rows;
    tess_status status;
    TESS_TRY(tess_cuda_enter(cuda));
    TESS_TRY_CLEAN(tess_cuda_upload(cuda, peer->x, x, size * (size_t)peer->cols, cuda->stream));
    TESS_TRY_CLEAN(TESS_CU(cuda, cuMemsetD8Async(peer->y, 0xff, y_bytes, cuda->stream)));
    TESS_TRY_CLEAN(
        tess_cuda_time_launches(cuda, cuda->stream, launch_once, peer, true, reps, seconds));
    TESS_TRY_CLEAN(tess_cuda_download(cuda, y, peer->y, y_bytes, cuda->stream));
cleanup:
    tess_cuda_leave(cuda);
    return status;
}

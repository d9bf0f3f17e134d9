/* cuSPARSE as a peer in benchmarks: every way it offers to multiply a BSR matrix by a vector,
 * loaded from the machine with dlopen and run in the same process, on the same matrix and vectors.
 *
 *   cusparse_bsrmv_col, _row   legacy bsrmv, blocks column- or row-major
 *   cusparse_bsr_col, _row     generic SpMV on BSR
 *   cusparse_csr_alg1, _alg2   generic SpMV on the same matrix as CSR, preprocessed
 *   cusparse_sell              generic SpMV on it as sliced ELL
 */
#include "cusparse.h"

#include <stdio.h>
#include <string.h>

#include "cusparse_api.h"

typedef struct path {
    const char *name;
    bool csr, legacy, row_major;
    int algorithm; /* ALG_SELL1: sliced ELL, made from CSR */
} path;

static const path paths[] = {
    {"cusparse_bsrmv_col", false, true, false, 0},
    {"cusparse_bsrmv_row", false, true, true, 0},
    {"cusparse_bsr_col", false, false, false, ALG_BSR1},
    {"cusparse_bsr_row", false, false, true, ALG_BSR1},
    {"cusparse_csr_alg1", true, false, false, ALG_CSR1},
    {"cusparse_csr_alg2", true, false, false, ALG_CSR2},
    {"cusparse_sell", true, false, false, ALG_SELL1},
};
enum { PATHS = sizeof paths / sizeof paths[0] };

/* A matrix in device memory as one or several paths read it. */
struct cusparse_matrix {
    cusparse_matrix **list; /* of shared matrices, this one included; NULL: it is not shared */
    cusparse_matrix *next;
    const tess_matrix *of;
    bool csr, row_major, sell;
    int users;
    int64_t blocks, stored; /* CSR: entries; sliced ELL: those with padding */
    bool wide;              /* 64-bit offsets */
    cu_pointer offsets, columns, values;
};

struct cusparse_product {
    tess_cuda *cuda;
    cusparse_api api;
    const path *path;
    tess_type type;
    cusparse_matrix *matrix;
    cu_pointer buffer;
    cusparse_object handle, description, A, x, y;
};

static tess_status check(const cusparse_product *peer, int status, const char *call)
{
    if (status == 0)
        return TESS_OK;
    return tess_fail(peer->cuda->ctx, TESS_ERR_DEVICE, "%s: %.*s: %s", peer->path->name,
                     (int)strcspn(call, "("), call, peer->api.cusparseGetErrorString(status));
}
#define CHECK(peer, call) check((peer), (peer)->api.call, #call)

/* BSR needs square blocks without a ragged edge (it has no notion of one) and 32-bit offsets. Only
 * cuSPARSE's real products are called here. */
static bool applies(const path *way, const tess_matrix *A)
{
    int32_t b = A->block_height;
    if (tess_is_complex(A->type))
        return false;
    if (way->csr)
        return A->rows > 0 && A->cols > 0 && A->cols <= INT32_MAX;
    return b > 1 && b == A->block_width && A->rows % b == 0 && A->cols % b == 0 && A->rows > 0 &&
           A->cols > 0 && A->blocks <= INT32_MAX && A->block_rows < INT32_MAX;
}

bool cusparse_version(char *text, size_t size)
{
    cusparse_api api;
    int version[3] = {0};
    if (!cusparse_load(&api))
        return false;
    for (int i = 0; i < 3; i++)
        (void)api.cusparseGetProperty(i, &version[i]);
    snprintf(text, size, "%d.%d.%d", version[0], version[1], version[2]);
    return true;
}

const char *cusparse_path(int index, const tess_matrix *A, bool *takes)
{
    *takes = index < PATHS && applies(&paths[index], A);
    return index < PATHS ? paths[index].name : NULL;
}

static tess_status to_device(tess_cuda *cuda, const void *host, size_t bytes, cu_stream stream,
                             cu_pointer *out)
{
    TESS_TRY(tess_cuda_alloc(cuda, bytes, "cuSPARSE's matrix", out));
    TESS_TRY(tess_cuda_upload(cuda, *out, host, bytes, stream));
    return TESS_CU(cuda, cuStreamSynchronize(stream));
}

static tess_status upload_offsets(tess_cuda *cuda, cusparse_matrix *M, const tess_matrix *A,
                                  cu_stream stream)
{
    int64_t count = A->block_rows + 1;
    if (M->wide)
        return to_device(cuda, A->row_offsets, (size_t)count * 8, stream, &M->offsets);
    int32_t *narrow;
    TESS_TRY(TESS_ALLOC(cuda->ctx, count, &narrow));
    for (int64_t i = 0; i < count; i++)
        narrow[i] = (int32_t)A->row_offsets[i];
    tess_status status = to_device(cuda, narrow, (size_t)count * 4, stream, &M->offsets);
    tess_free(cuda->ctx, narrow);
    return status;
}

static tess_status upload_values(tess_cuda *cuda, cusparse_matrix *M, const tess_matrix *A,
                                 cu_stream stream)
{
    size_t size = tess_type_size(A->type), bytes = size * (size_t)tess_matrix_stored(A);
    if (!M->row_major)
        return to_device(cuda, A->values, bytes, stream, &M->values);
    void *rows;
    TESS_TRY(tess_alloc_bytes(cuda->ctx, tess_matrix_stored(A), size, &rows));
    cusparse_to_rows(A, rows);
    tess_status status = to_device(cuda, rows, bytes, stream, &M->values);
    tess_free(cuda->ctx, rows);
    return status;
}

static tess_status upload_sell(tess_cuda *cuda, cusparse_matrix *M, const tess_matrix *csr,
                               cu_stream stream)
{
    sell_arrays S;
    TESS_TRY(cusparse_to_sell(cuda->ctx, csr, &S));
    const size_t stored = (size_t)(M->stored = S.stored);
    tess_status status =
        to_device(cuda, S.offsets, (size_t)(S.slices + 1) * 4, stream, &M->offsets);
    if (status == TESS_OK)
        status = to_device(cuda, S.columns, stored * 4, stream, &M->columns);
    if (status == TESS_OK)
        status = to_device(cuda, S.values, stored * tess_type_size(csr->type), stream, &M->values);
    sell_free(cuda->ctx, &S);
    return status;
}

/* Uploads the arrays of A, which is CSR where M is. */
static tess_status upload(tess_cuda *cuda, cusparse_matrix *M, const tess_matrix *A,
                          cu_stream stream)
{
    M->blocks = A->blocks;
    if (M->sell)
        return upload_sell(cuda, M, A, stream);
    M->wide = A->blocks > INT32_MAX;
    TESS_TRY(upload_offsets(cuda, M, A, stream));
    TESS_TRY(to_device(cuda, A->columns, (size_t)A->blocks * 4, stream, &M->columns));
    return upload_values(cuda, M, A, stream);
}

static void let_matrix_go(tess_cuda *cuda, cusparse_matrix *M)
{
    if (!M || --M->users > 0)
        return;
    cusparse_matrix **at = M->list;
    while (at && *at && *at != M)
        at = &(*at)->next;
    if (at && *at)
        *at = M->next;
    tess_cuda_free(cuda, M->offsets);
    tess_cuda_free(cuda, M->columns);
    tess_cuda_free(cuda, M->values);
    tess_free(cuda->ctx, M);
}

/* A's arrays for the path: those of a path in the list that reads the same arrays, or new ones. */
static tess_status need_matrix(tess_cuda *cuda, const path *way, const tess_matrix *A,
                               cusparse_matrix **shared, cu_stream stream, cusparse_matrix **out)
{
    cusparse_matrix *M = shared ? *shared : NULL;
    const bool sell = way->algorithm == ALG_SELL1;
    while (M &&
           (M->of != A || M->csr != way->csr || M->row_major != way->row_major || M->sell != sell))
        M = M->next;
    *out = M;
    if (M) {
        M->users++;
        return TESS_OK;
    }
    TESS_TRY(TESS_ALLOC(cuda->ctx, 1, &M));
    *M = (cusparse_matrix){
        .of = A, .csr = way->csr, .row_major = way->row_major, .sell = sell, .users = 1};
    tess_matrix *csr = NULL;
    tess_status status =
        way->csr ? tess_matrix_to_csr(cuda->ctx, A, TESS_ZEROS_KEEP, &csr) : TESS_OK;
    if (status == TESS_OK)
        status = upload(cuda, M, csr ? csr : A, stream);
    tess_matrix_destroy(csr);
    if (status != TESS_OK) {
        let_matrix_go(cuda, M);
        return status;
    }
    if (shared) {
        M->list = shared;
        M->next = *shared;
        *shared = M;
    }
    *out = M;
    return TESS_OK;
}

static tess_status describe(cusparse_product *peer)
{
    const cusparse_matrix *M = peer->matrix;
    const tess_matrix *A = M->of;
    void *offsets = (void *)(uintptr_t)M->offsets, *columns = (void *)(uintptr_t)M->columns,
         *values = (void *)(uintptr_t)M->values;
    int real = peer->type == TESS_F64 ? REAL_64 : REAL_32;
    if (peer->path->legacy)
        return CHECK(peer, cusparseCreateMatDescr(&peer->description));
    if (M->sell)
        TESS_TRY(CHECK(peer, cusparseCreateSlicedEll(&peer->A, A->rows, A->cols, M->blocks,
                                                     M->stored, SELL_SLICE, offsets, columns,
                                                     values, INDEX_32, INDEX_32, 0, real)));
    else if (peer->path->csr)
        TESS_TRY(CHECK(peer, cusparseCreateCsr(&peer->A, A->rows, A->cols, M->blocks, offsets,
                                               columns, values, M->wide ? INDEX_64 : INDEX_32,
                                               INDEX_32, 0, real)));
    else
        TESS_TRY(CHECK(peer, cusparseCreateBsr(&peer->A, A->block_rows, A->block_cols, M->blocks,
                                               A->block_height, A->block_width, offsets, columns,
                                               values, INDEX_32, INDEX_32, 0, real,
                                               M->row_major ? ORDER_ROW : ORDER_COLUMN)));
    /* Before the first product any address but NULL is accepted. */
    TESS_TRY(CHECK(peer, cusparseCreateDnVec(&peer->x, A->cols, values, real)));
    return CHECK(peer, cusparseCreateDnVec(&peer->y, A->rows, values, real));
}

static tess_status allocate_buffer(cusparse_product *peer)
{
    double one64 = 1, zero64 = 0;
    float one32 = 1, zero32 = 0;
    bool wide = peer->type == TESS_F64;
    const void *one = wide ? (void *)&one64 : (void *)&one32;
    const void *zero = wide ? (void *)&zero64 : (void *)&zero32;
    int real = wide ? REAL_64 : REAL_32;
    size_t bytes = 0;
    TESS_TRY(CHECK(peer, cusparseSpMV_bufferSize(peer->handle, 0, one, peer->A, peer->x, zero,
                                                 peer->y, real, peer->path->algorithm, &bytes)));
    TESS_TRY(tess_cuda_alloc(peer->cuda, bytes, "cuSPARSE's buffer", &peer->buffer));
    if (!peer->path->csr || peer->matrix->sell)
        return TESS_OK;
    return CHECK(peer, cusparseSpMV_preprocess(peer->handle, 0, one, peer->A, peer->x, zero,
                                               peer->y, real, peer->path->algorithm,
                                               (void *)(uintptr_t)peer->buffer));
}

static tess_status fill(cusparse_product *peer, const tess_matrix *A, cusparse_matrix **shared,
                        cu_stream stream)
{
    TESS_TRY(CHECK(peer, cusparseCreate(&peer->handle)));
    TESS_TRY(CHECK(peer, cusparseSetStream(peer->handle, stream)));
    TESS_TRY(need_matrix(peer->cuda, peer->path, A, shared, stream, &peer->matrix));
    TESS_TRY(describe(peer));
    return peer->path->legacy ? TESS_OK : allocate_buffer(peer);
}

tess_status cusparse_open(tess_cuda *cuda, const tess_matrix *A, const char *kernel,
                          cusparse_matrix **shared, cu_stream stream, cusparse_product **out)
{
    const path *way = NULL;
    for (int i = 0; i < PATHS; i++)
        if (strcmp(paths[i].name, kernel) == 0)
            way = &paths[i];
    if (!way)
        return tess_fail(cuda->ctx, TESS_ERR_ARGUMENT, "no peer '%s'", kernel);
    if (!applies(way, A))
        return tess_fail(cuda->ctx, TESS_ERR_UNSUPPORTED, "%s does not take this matrix", kernel);
    cusparse_product *peer;
    TESS_TRY(TESS_ALLOC(cuda->ctx, 1, &peer));
    *peer = (cusparse_product){.cuda = cuda, .path = way, .type = A->type};
    tess_status status =
        cusparse_load(&peer->api)
            ? fill(peer, A, shared, stream)
            : tess_fail(cuda->ctx, TESS_ERR_DEVICE, "%s: no cuSPARSE on this machine", kernel);
    if (status != TESS_OK) {
        cusparse_close(peer);
        return status;
    }
    *out = peer;
    return TESS_OK;
}

tess_status cusparse_multiply(cusparse_product *peer, double alpha, cu_pointer x, double beta,
                              cu_pointer y, cu_stream stream)
{
    bool wide = peer->type == TESS_F64;
    float alpha32 = (float)alpha, beta32 = (float)beta;
    const void *a = wide ? (void *)&alpha : (void *)&alpha32;
    const void *b = wide ? (void *)&beta : (void *)&beta32;
    void *vector_x = (void *)(uintptr_t)x, *vector_y = (void *)(uintptr_t)y;
    TESS_TRY(CHECK(peer, cusparseSetStream(peer->handle, stream)));
    if (peer->path->legacy) {
        const cusparse_matrix *M = peer->matrix;
        int direction = M->row_major ? DIRECTION_ROW : DIRECTION_COLUMN;
        const void *values = (void *)(uintptr_t)M->values;
        const int *offsets = (void *)(uintptr_t)M->offsets;
        const int *columns = (void *)(uintptr_t)M->columns;
        int status = (wide ? peer->api.cusparseDbsrmv : peer->api.cusparseSbsrmv)(
            peer->handle, direction, 0, (int)M->of->block_rows, (int)M->of->block_cols,
            (int)M->blocks, a, peer->description, values, offsets, columns, M->of->block_height,
            vector_x, b, vector_y);
        return check(peer, status, "cusparse bsrmv");
    }
    TESS_TRY(CHECK(peer, cusparseDnVecSetValues(peer->x, vector_x)));
    TESS_TRY(CHECK(peer, cusparseDnVecSetValues(peer->y, vector_y)));
    return CHECK(peer, cusparseSpMV(peer->handle, 0, a, peer->A, peer->x, b, peer->y,
                                    wide ? REAL_64 : REAL_32, peer->path->algorithm,
                                    (void *)(uintptr_t)peer->buffer));
}

void cusparse_close(cusparse_product *peer)
{
    if (!peer)
        return;
    if (peer->x)
        (void)peer->api.cusparseDestroyDnVec(peer->x);
    if (peer->y)
        (void)peer->api.cusparseDestroyDnVec(peer->y);
    if (peer->A)
        (void)peer->api.cusparseDestroySpMat(peer->A);
    if (peer->description)
        (void)peer->api.cusparseDestroyMatDescr(peer->description);
    if (peer->handle)
        (void)peer->api.cusparseDestroy(peer->handle);
    let_matrix_go(peer->cuda, peer->matrix);
    tess_cuda_free(peer->cuda, peer->buffer);
    tess_free(peer->cuda->ctx, peer);
}

/* ---- Timing ---- */

typedef struct launch {
    cusparse_product *peer;
    cu_pointer x, y;
    cu_stream stream;
} launch;

static tess_status launch_once(void *user)
{
    const launch *l = user;
    return cusparse_multiply(l->peer, 1, l->x, 0, l->y, l->stream);
}

tess_status cusparse_time(cusparse_product *peer, const void *x, void *y, int reps, double *seconds)
{
    const tess_matrix *A = peer->matrix->of;
    tess_cuda *cuda = peer->cuda;
    const size_t size = tess_type_size(peer->type), y_bytes = size * (size_t)A->rows;
    launch l = {.peer = peer, .stream = cuda->stream};
    tess_status status;
    TESS_TRY(tess_cuda_enter(cuda));
    TESS_TRY_CLEAN(tess_cuda_alloc(cuda, size * (size_t)A->cols, "x", &l.x));
    TESS_TRY_CLEAN(tess_cuda_alloc(cuda, y_bytes, "y", &l.y));
    TESS_TRY_CLEAN(tess_cuda_upload(cuda, l.x, x, size * (size_t)A->cols, l.stream));
    /* A NaN in y shows a row that no thread has written. */
    TESS_TRY_CLEAN(TESS_CU(cuda, cuMemsetD8Async(l.y, 0xff, y_bytes, l.stream)));
    TESS_TRY_CLEAN(tess_cuda_time_launches(cuda, l.stream, launch_once, &l, true, reps, seconds));
    TESS_TRY_CLEAN(tess_cuda_download(cuda, y, l.y, y_bytes, l.stream));
cleanup:
    tess_cuda_free(cuda, l.x);
    tess_cuda_free(cuda, l.y);
    tess_cuda_leave(cuda);
    return status;
}

/* cuSPARSE's functions and constants as the benchmarks use them, loaded from the machine with
 * dlopen: nothing of CUDA is needed to build this. */
#ifndef BENCH_CUSPARSE_API_H
#define BENCH_CUSPARSE_API_H

#include "../internal.h"

typedef struct cusparse_opaque *cusparse_object; /* handle, descriptor: all opaque pointers */

enum {
    DIRECTION_ROW = 0,
    DIRECTION_COLUMN = 1,
    ORDER_COLUMN = 1,
    ORDER_ROW = 2,
    INDEX_32 = 2,
    INDEX_64 = 3,
    ALG_CSR1 = 2,
    ALG_CSR2 = 3,
    ALG_SELL1 = 5,
    ALG_BSR1 = 6,
    REAL_32 = 0,
    REAL_64 = 1,
};

#define SPMV_ARGUMENTS                                                                        \
    (cusparse_object handle, int operation, const void *alpha, cusparse_object A,             \
     cusparse_object x, const void *beta, cusparse_object y, int compute_type, int algorithm, \
     void *buffer)
#define BSRMV_ARGUMENTS                                                                    \
    (cusparse_object handle, int direction, int operation, int block_rows, int block_cols, \
     int blocks, const void *alpha, cusparse_object description, const void *values,       \
     const int *offsets, const int *columns, int size, const void *x, const void *beta, void *y)

#define CUSPARSE_FUNCTIONS(X)                                                                      \
    X(cusparseCreate, (cusparse_object * handle))                                                  \
    X(cusparseDestroy, (cusparse_object handle))                                                   \
    X(cusparseSetStream, (cusparse_object handle, cu_stream stream))                               \
    X(cusparseCreateMatDescr, (cusparse_object * description))                                     \
    X(cusparseDestroyMatDescr, (cusparse_object description))                                      \
    X(cusparseDbsrmv, BSRMV_ARGUMENTS)                                                             \
    X(cusparseSbsrmv, BSRMV_ARGUMENTS)                                                             \
    X(cusparseCreateBsr,                                                                           \
      (cusparse_object * A, int64_t block_rows, int64_t block_cols, int64_t blocks,                \
       int64_t height, int64_t width, void *offsets, void *columns, void *values, int offset_type, \
       int column_type, int base, int value_type, int order))                                      \
    X(cusparseCreateCsr,                                                                           \
      (cusparse_object * A, int64_t rows, int64_t cols, int64_t entries, void *offsets,            \
       void *columns, void *values, int offset_type, int column_type, int base, int value_type))   \
    X(cusparseCreateSlicedEll,                                                                     \
      (cusparse_object * A, int64_t rows, int64_t cols, int64_t entries, int64_t stored,           \
       int64_t slice, void *offsets, void *columns, void *values, int offset_type,                 \
       int column_type, int base, int value_type))                                                 \
    X(cusparseDestroySpMat, (cusparse_object A))                                                   \
    X(cusparseCreateDnVec, (cusparse_object * x, int64_t size, void *values, int value_type))      \
    X(cusparseDnVecSetValues, (cusparse_object x, void *values))                                   \
    X(cusparseDestroyDnVec, (cusparse_object x))                                                   \
    X(cusparseSpMV_bufferSize,                                                                     \
      (cusparse_object handle, int operation, const void *alpha, cusparse_object A,                \
       cusparse_object x, const void *beta, cusparse_object y, int compute_type, int algorithm,    \
       size_t *bytes))                                                                             \
    X(cusparseSpMV_preprocess, SPMV_ARGUMENTS)                                                     \
    X(cusparseSpMV, SPMV_ARGUMENTS)

typedef struct cusparse_api {
#define X(name, arguments) int(*name) arguments;
    CUSPARSE_FUNCTIONS(X)
#undef X
    const char *(*cusparseGetErrorString)(int status);
    int (*cusparseGetProperty)(int part, int *value); /* 0, 1, 2: the version's numbers */
} cusparse_api;

/* TESSERA_CUSPARSE, else the library that the system or a CUDA installation has. false: there is
 * none, or it lacks one of the functions. */
bool cusparse_load(cusparse_api *api);

/* cusparse_arrays.c: values with row-major blocks, and a matrix of 1 x 1 blocks as sliced ELL. */
void cusparse_to_rows(const tess_matrix *A, void *to);
enum { SELL_SLICE = 32 };
typedef struct sell_arrays {
    int64_t slices, stored; /* stored: with padding */
    int32_t *offsets, *columns;
    void *values;
} sell_arrays;
tess_status cusparse_to_sell(tess_ctx *ctx, const tess_matrix *csr, sell_arrays *out);
void sell_free(tess_ctx *ctx, sell_arrays *S);

#endif

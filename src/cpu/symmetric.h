/* Products with a symmetric matrix stored by half; symmetric.c has the picture. */
#pragma once

#include "cpu/work.h"
#include "backend/backend.h"
#include "format/symmetric_lanes.h"

typedef struct tess_cpu_half {
    tess_ctx *ctx;
    const tess_matrix *whole; /* the plan's matrix */
    const tess_cpu_kernel *kernel;
    tess_matrix *upper;              /* format/symmetric.h; with lanes, made at the first SpMM */
    tess_symmetric_mirrors *mirrors; /* for new values */
    tess_symmetric_lanes *lanes;     /* NULL unless the kernel has lanes */
    void *rings;                     /* with lanes: one per share */
    int64_t ring_rows;
    size_t ring_bytes;
    int shares;
    tess_cpu_chunk *chunks; /* dealt out in groups of the kernel's streams */
    int64_t chunk_count;
    void *windows;
    void *padded_x, *padded_y; /* only when the last block row is ragged */

    /* symmetric_spmm.c, made at the first product that needs them. */
    const tess_cpu_kernel *spmm_kernel;
    int spmm_vectors; /* for which the next three have room */
    void *spmm_windows, *spmm_x, *spmm_y;

    struct tess_cpu_half_fields *fields; /* symmetric_fields.c, made at its first product */
} tess_cpu_half;

/* Fails with TESS_ERR_MATRIX when A is not symmetric. A must stay where it is. */
tess_status tess_cpu_half_create(const tess_device *device, const tess_matrix *A,
                                 const tess_cpu_kernel *kernel, const tess_cpu_kernel *spmm_kernel,
                                 bool reproducible, tess_cpu_half **out);
void tess_cpu_half_destroy(tess_cpu_half *half);
/* The matrix has new values. Fails with TESS_ERR_MATRIX when they are not symmetric: only
 * tess_cpu_half_destroy is allowed then. */
tess_status tess_cpu_half_update_values(tess_cpu_half *half);
/* The stored bytes that a product with one vector reads. */
int64_t tess_cpu_half_bytes(const tess_cpu_half *half);
/* How a kernel with `streams` streams would cut A. offsets[i] .. offsets[i+1]-1 are the blocks of
 * row i on and above the diagonal. */
typedef struct tess_cpu_half_cut {
    int64_t window_rows; /* block rows of all windows */
    tess_cpu_lockstep lockstep;
} tess_cpu_half_cut;
tess_cpu_half_cut tess_cpu_half_cut_of(const tess_matrix *A, const int64_t *offsets, int threads,
                                       int streams);
void tess_cpu_half_spmv(tess_cpu_half *half, double alpha, const void *x, double beta, void *y);

/* What the kernel is given for y = alpha A x + beta y, whole block rows. */
tess_cpu_symmetric_args tess_cpu_half_args(const tess_cpu_half *half, double alpha, const void *x,
                                           double beta, void *y);
/* Does all chunks, then adds their windows to y. The second function only adds. */
void tess_cpu_half_run(const tess_cpu_half *half, const tess_cpu_symmetric_args *args);
void tess_cpu_half_add_windows(const tess_cpu_half *half, const tess_cpu_symmetric_args *args);

/* symmetric_fields.c: the product with x and y by fields (fields.h), of a matrix of whole blocks */
tess_status tess_cpu_half_fields_open(tess_cpu_half *half);
void tess_cpu_half_fields_spmv(tess_cpu_half *half, double alpha, const void *x, double beta,
                               void *y);
int64_t tess_cpu_half_fields_bytes(const tess_cpu_half *half); /* that it keeps */
void tess_cpu_half_free_fields(tess_cpu_half *half);

/* symmetric_spmm.c */
tess_status tess_cpu_half_spmm(tess_cpu_half *half, int k, tess_block_order order, double alpha,
                               const void *X, int64_t ldx, double beta, void *Y, int64_t ldy);
void tess_cpu_half_free_spmm(tess_cpu_half *half);
/* Makes half->upper unless it exists. */
tess_status tess_cpu_half_make_upper(tess_cpu_half *half);

/* Lanczos' method on the device: launches of lanczos.cu as data. */
#pragma once

#include "cuda/solve/amg/coarsen.h"
#include "solve/pc/amg/device.h"

enum { TESS_LANCZOS_THREADS = 256, TESS_LANCZOS_SUMS = 1024 }; /* the most partial sums */

/* Addresses in device memory. r[0] is the present r; the two take turns. */
typedef struct tess_lanczos_vectors {
    uint64_t inverse, r[2], z, p, q, partial;
    int64_t count, rows; /* scalars with padding, without */
    int32_t block;
} tess_lanczos_vectors;

void tess_lanczos_begin(const tess_lanczos_vectors *v, tess_cuda_launch *launch);
/* r[1] and z from r[0] and q; returns the number of partial sums. */
int tess_lanczos_advance(const tess_lanczos_vectors *v, double alpha, tess_cuda_launch *launch);
/* q = A p. */
void tess_lanczos_product(const tess_lanczos_vectors *v, const tess_coarsen_matrix *A,
                          tess_cuda_launch *launch);
/* p.q; returns the number of partial sums. */
int tess_lanczos_multiply(const tess_lanczos_vectors *v, tess_cuda_launch *launch);
void tess_lanczos_follow(const tess_lanczos_vectors *v, double beta, tess_cuda_launch *launch);

extern const tess_lanczos_ops tess_cuda_lanczos_ops;
tess_status tess_cuda_open_vectors(tess_plan *plan, const tess_amg_level *level, tess_spmv_fn spmv,
                                   void **out);
void tess_cuda_close_vectors(void *vectors);

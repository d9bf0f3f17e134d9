/* Launches of coarsen.cu, which computes the values of multigrid levels. Plain C, no device is
 * needed. */
#pragma once

#include "cuda/kernels/support.h"

/* BSR arrays in device memory. */
typedef struct tess_coarsen_matrix {
    uint64_t offsets, columns, values;
    int64_t block_rows, blocks, longest; /* longest: blocks of the longest row */
    int32_t height, width;
} tess_coarsen_matrix;

enum { TESS_COARSEN_FLAT = 256 }; /* threads per thread block, each with its own scalars or rows */
enum { TESS_COARSEN_COLUMNS = 16 }; /* blocks of a row of C that multiply takes at a time */

/* The defines for products of HEIGHT x INNER with INNER x WIDTH blocks. */
void tess_coarsen_defines(int32_t height, int32_t inner, int32_t width, char *text, size_t size);

/* C = A B. */
void tess_coarsen_multiply(const tess_coarsen_matrix *A, const tess_coarsen_matrix *B,
                           const tess_coarsen_matrix *C, tess_cuda_launch *launch);
/* F: A without its weak blocks, which are those that F's pattern lacks. They are added to the
 * diagonal (tess_amg_filter_values). `modes`: of a matrix of scalars; otherwise 0. */
void tess_coarsen_filter(const tess_coarsen_matrix *A, const tess_coarsen_matrix *F, uint64_t modes,
                         tess_cuda_launch *launch);
/* P = Q - omega D^-1 P, where P's values are A Q before. */
void tess_coarsen_smooth(const tess_coarsen_matrix *P, const tess_coarsen_matrix *Q,
                         uint64_t inverse, double omega, tess_cuda_launch *launch);
/* R = P': block `from[i]` of P transposed is block i of R. */
void tess_coarsen_turn(const tess_coarsen_matrix *P, uint64_t from, uint64_t values,
                       tess_cuda_launch *launch);
/* Gives rows of the coarse matrix R A P that are 0 but for rounding a diagonal (tess_amg_revive).
 */
void tess_coarsen_revive(const tess_coarsen_matrix *coarse, uint64_t dead,
                         const tess_coarsen_matrix *R, const tess_coarsen_matrix *Q,
                         const tess_coarsen_matrix *A, tess_cuda_launch *launch);
/* Inverts the diagonal blocks. `rows`: scalar rows without padding; `work`: as many scalars as
 * `inverse`; `singular`: a count of 32 bits. */
void tess_coarsen_invert(const tess_coarsen_matrix *A, int64_t rows, uint64_t work,
                         uint64_t inverse, uint64_t singular, tess_cuda_launch *launch);

/* The padding of layouts that store several rows side by side. */
#pragma once

#include "cuda/kernels/layout.h"

/* How rows are cut and put side by side. */
typedef struct tess_cuda_arrangement {
    int64_t split;  /* longest segment of a row, in blocks; 0: rows are not cut */
    int64_t window; /* rows sorted together by falling length; 0 or 1: none */
    int64_t height; /* rows side by side, each stored as long as the longest */
    int64_t step;   /* stored lengths are multiples of this */
    int64_t bytes;  /* of a row that lie together, beside those of the next row; 0: whatever is
                       stored is read, the padding too */
} tess_cuda_arrangement;

/* The bytes of a memory transaction. Padding behind a row's end is read where it shares a
 * transaction with a longer row. */
enum { TESS_CUDA_TRANSACTION = 64 };

/* Sets pad->blocks, pad->read and pad->rows. */
tess_status tess_cuda_pad_rows(tess_ctx *ctx, const tess_matrix *A,
                               const tess_cuda_arrangement *how, tess_cuda_padding *pad);

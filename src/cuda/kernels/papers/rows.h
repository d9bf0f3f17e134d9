/* The host's half of rows.cuh: what the descriptors of kernels on BSR and `balanced` share. */
#pragma once

#include "cuda/kernels/support.h"

/* Values of lambda, the longest segment in blocks; the paper's are 16 and 32. */
#define TESS_CUDA_LAMBDA         \
    {                            \
        "lambda", {8, 16, 32}, 3 \
    }

/* Line numbers fit 31 bits, and lambda (0: no segments) cuts something. */
bool tess_cuda_rows_fit(const tess_cuda_problem *problem, int lambda);

/* Mean blocks per row, rounded down. */
int64_t tess_cuda_rows_mean(const tess_cuda_problem *problem);

/* Whether rows differ so much in length that cutting them may pay. */
bool tess_cuda_rows_uneven(const tess_cuda_problem *problem);

/* About twice the mean row, so that only long rows are cut. */
int tess_cuda_rows_lambda(const tess_cuda_problem *problem);

/* "-DREAL=8 -DBH=3 -DBW=3 -DRAGGED=0 -DBALANCED=0 -DHINT=1"; returns the length. */
size_t tess_cuda_rows_defines(const tess_cuda_problem *problem, bool balanced, char *text,
                              size_t size);

/* "bsr", or "balanced:lambda=16" when lambda is not 0. */
void tess_cuda_rows_layout_name(int lambda, char *text, size_t size);

/* The product by `entry`, every thread block taking `lines_each` lines (or `blocks_each` thread
 * blocks one line), and for a balanced layout the reduction. Returns the number of launches. */
int tess_cuda_rows_launches(const tess_cuda_problem *problem, const tess_cuda_layout *layout,
                            const tess_cuda_call *call, const char *entry, int64_t lines_each,
                            int64_t blocks_each, int threads, tess_cuda_launch *out);

/* cuBLAS's gemv as a peer for dense matrices, in our process and context, timed as our products
 * are. Loaded from the machine with dlopen: nothing of CUDA is needed to build this. */
#ifndef BENCH_CUBLAS_H
#define BENCH_CUBLAS_H

#include "../internal.h"

typedef struct cublas_gemv cublas_gemv;

/* `A` must store every block. TESS_ERR_UNSUPPORTED: it does not, or there is no cuBLAS. */
tess_status cublas_open(tess_cuda *cuda, const tess_matrix *A, cublas_gemv **out);
void cublas_close(cublas_gemv *peer); /* NULL is fine */

/* y = A x, `reps` times with arrays of the host. */
tess_status cublas_time(cublas_gemv *peer, const void *x, void *y, int reps, double *seconds);

#endif

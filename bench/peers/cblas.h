/* The host's BLAS as a peer for dense matrices: gemv of OpenBLAS, or of the library that
 * TESSERA_CBLAS names. Loaded with dlopen: nothing of it is needed to build this. */
#ifndef BENCH_CBLAS_H
#define BENCH_CBLAS_H

#include "../internal.h"

typedef struct cblas_gemv cblas_gemv;

/* TESS_ERR_UNSUPPORTED: `A` is not dense, or there is no such library. */
tess_status cblas_open(const tess_matrix *A, cblas_gemv **out);
void cblas_close(cblas_gemv *peer); /* NULL is fine */
const char *cblas_version(const cblas_gemv *peer);

/* y = A x, `reps` times, timed as tess_product_time times plans of the host. */
tess_status cblas_time(cblas_gemv *peer, const void *x, void *y, int reps, double *seconds);

#endif

/* A matrix that stores every block as BLAS has it: the same for cuBLAS and the host's BLAS. */
#ifndef BENCH_DENSE_H
#define BENCH_DENSE_H

#include "../internal.h"

/* Column-major values, to be freed with tess_free. TESS_ERR_UNSUPPORTED: blocks are missing, or
 * BLAS's integers are too short. */
tess_status dense_values(const tess_matrix *A, void **out);

#endif

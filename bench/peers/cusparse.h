/* cuSPARSE as a peer: its ways to multiply a matrix by a vector, in our process and context.
 *
 * The adapters of other libraries are processes of their own. This one is not: a device that two
 * processes share changes between their contexts, and a product of microseconds is only timed well
 * behind the gate that our own products wait at (tess_cuda_time_launches).
 */
#ifndef BENCH_CUSPARSE_H
#define BENCH_CUSPARSE_H

#include "../internal.h"

/* A way to multiply one matrix. */
typedef struct cusparse_product cusparse_product;
/* A list of matrices in device memory, empty (NULL) at first. Products that read the same arrays
 * share one copy. A matrix must not change while it is in the list. */
typedef struct cusparse_matrix cusparse_matrix;

/* "12.5.4"; false: no cuSPARSE on this machine. */
bool cusparse_version(char *text, size_t size);
/* The name of path i, NULL behind the last one; and whether a path takes A. */
const char *cusparse_path(int index, const tess_matrix *A, bool *takes);

/* Both inside tess_cuda_enter. shared NULL: the product has a copy of its own. */
tess_status cusparse_open(tess_cuda *cuda, const tess_matrix *A, const char *name,
                          cusparse_matrix **shared, cu_stream stream, cusparse_product **out);
void cusparse_close(cusparse_product *peer);

/* y = alpha A x + beta y, both in device memory. Does not wait. */
tess_status cusparse_multiply(cusparse_product *peer, double alpha, cu_pointer x, double beta,
                              cu_pointer y, cu_stream stream);
/* Times y = A x `reps` times with vectors of the host, as tess_product_time times plans. */
tess_status cusparse_time(cusparse_product *peer, const void *x, void *y, int reps,
                          double *seconds);

#endif

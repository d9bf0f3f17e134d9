/* Jacobi-preconditioned CG as a user writes it with cuSPARSE and cuBLAS; both are looked for on the
 * machine at run time.
 *
 * SpMV by cuSPARSE, dots and axpys by cuBLAS with scalars in device memory, two kernels of one
 * thread for the divisions and one for z = D^-1 r. Whatever fails ends the program with a sentence.
 */
#ifndef BENCH_CUSPARSE_PEER_H
#define BENCH_CUSPARSE_PEER_H

#include "../peers/cusparse.h"

/* Iterations captured in one graph. */
enum { PEER_REPLAYED = 10 };

typedef struct peer peer;

void peer_fail(const char *what, const char *why);
void peer_check(tess_ctx *ctx, tess_status status);

/* Inside tess_cuda_enter. f64, square blocks. */
peer *peer_open(tess_cuda *cuda, const tess_matrix *A, const double *b);
void peer_close(peer *p);

/* From now on p multiplies this way. */
void peer_use(peer *p, cusparse_product *product);
/* The median time of a product. */
double peer_product_seconds(peer *p);
cu_graph_exec peer_capture(peer *p);

/* Seconds of so many iterations from x = 0: `graph` replayed, r.z read after each replay, or
 * (graph NULL) launched call by call, r.z read after every iteration, as a stopping test does. */
double peer_run(peer *p, cu_graph_exec graph, int iterations);
/* r.z of the last run, as last read back. */
double peer_rz(const peer *p);
/* |b - A x| of the last run, recomputed. */
double peer_true_residual(peer *p);

#endif

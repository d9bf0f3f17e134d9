/* Jacobi-preconditioned CG as a user writes it with cuSPARSE and cuBLAS; both are looked for on the
 * machine at run time.
 *
 * cuSPARSE computes products. cuBLAS computes dot products and axpys, with scalars in device
 * memory. Two kernels of one thread do the divisions, another kernel z = D^-1 r. A failure ends the
 * program with a message.
 */
#ifndef BENCH_CUSPARSE_PEER_H
#define BENCH_CUSPARSE_PEER_H

#include "../peers/cusparse.h"

/* Iterations captured in one graph. */
enum { PEER_REPLAYED = 10 };

typedef struct peer peer;

void peer_fail(const char *what, const char *why);
void peer_check(tess_ctx *ctx, tess_status status);

/* For an f64 matrix with square blocks. Inside tess_cuda_enter. */
peer *peer_open(tess_cuda *cuda, const tess_matrix *A, const double *b);
void peer_close(peer *p);

/* Makes p multiply by that product. */
void peer_use(peer *p, cusparse_product *product);
/* The median time of a product. */
double peer_product_seconds(peer *p);
cu_graph_exec peer_capture(peer *p);

/* Seconds of `iterations` iterations from x = 0. `graph` is replayed, and r.z read after each
 * replay. graph NULL: calls are launched one by one, and r.z is read after every iteration, as a
 * stopping test does. */
double peer_run(peer *p, cu_graph_exec graph, int iterations);
/* r.z as the last run read it last. */
double peer_rz(const peer *p);
/* |b - A x| of the last run, recomputed. */
double peer_true_residual(peer *p);

#endif

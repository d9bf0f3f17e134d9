/* Conjugate gradients as paper 004 writes them (Algorithm 1), on one device: the five kernels of
 * src/cuda/kernels/papers/cg.cu, reductions whose results the host reads, and the paper's stopping
 * rule. What launches is given, so that the benchmark runs it on a GPU and a test in the emulator.
 */
#ifndef BENCH_PAPERS_CG_H
#define BENCH_PAPERS_CG_H

#include "../internal.h"

enum { CG_THREADS = 256, CG_A_MULTIPROCESSOR = 8 }; /* threads, thread blocks that fill one */

/* Vectors in device memory, in the order of cg.cu's arguments. */
enum { CG_B, CG_C, CG_U, CG_X, CG_R, CG_W, CG_V, CG_P, CG_T, CG_S, CG_VECTORS };

typedef struct cg_machine {
    void *user;
    uint64_t vector[CG_VECTORS], sums; /* `blocks` doubles */
    int64_t n, blocks;                 /* thread blocks of the fixed grid */
    tess_status (*launch)(void *user, tess_cuda_launch *launch);
    tess_status (*multiply)(void *user, uint64_t x, uint64_t y); /* y = A x */
    tess_status (*read)(void *user, uint64_t from, double *value);
} cg_machine;

/* A launch of "cg1" ... "cg5", "red", "red_end" or "load". */
void cg_launch(const cg_machine *m, const char *entry, double factor, tess_cuda_launch *out);

/* Stops when r.M^-1 r and r.r are both below `tolerance`, when |v| is not above it (line 10 of the
 * paper's Algorithm 1, whose `<` must be `>`), or after `most` iterations. b, c and the first x are
 * in their vectors. */
tess_status cg_solve(const cg_machine *m, double tolerance, int64_t most, int64_t *iterations,
                     double *rr);

#endif

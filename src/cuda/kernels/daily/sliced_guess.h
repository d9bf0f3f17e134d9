/* What sliced.c and sliced_guess.c share: the parameters, in the order of their table. */
#pragma once

#include "cuda/kernels/daily/sliced.h"

enum { C, SIGMA, LAMBDA, PANELS, V, XV, DEPTH, TPR, THREADS, HINT, COUNT };

extern const tess_cuda_param tess_sliced_params[COUNT];

bool tess_sliced_panels_worth(const tess_cuda_problem *problem);
bool tess_sliced_gathers_worth(const tess_cuda_problem *problem);
/* Whether blocks are wider than TESS_SLICED_WIDE. They are read in pieces, so that registers do not
 * grow with the block. */
bool tess_sliced_is_wide(const tess_cuda_problem *problem);
/* P: blocks per group. */
int tess_sliced_blocks(const tess_cuda_problem *problem, const int *p);
/* The blocks of a row that its threads take at a time. Of more than four threads, groups of four
 * share a block's columns, so that each thread has several loads in flight, and the blocks are
 * dealt to the groups. */
int tess_sliced_dealt(const int *p);
/* Loads that a thread has in flight of a wide block: its columns in pieces of equal size. 0: blocks
 * are not wide. */
int tess_sliced_wide_loads(const tess_cuda_problem *problem, const int *p);
bool tess_sliced_fits(const tess_cuda_problem *problem, const int *p);

/* P: the threads that run at once on the device: whole thread blocks, as many as 65 536 registers
 * and 2048 threads per multiprocessor allow. */
int64_t tess_sliced_at_once(const tess_cuda_problem *problem, const int *p);
/* P: how often thread blocks fill the device one after the other. */
double tess_sliced_rounds(const tess_cuda_problem *problem, const int *p);
/* Whether the threads of a row of mean length wait for loads `times` times or more. */
bool tess_sliced_waits(const tess_cuda_problem *problem, const int *p, double times);
/* P: how long the longest line takes, relative to reading the matrix; 0: it fits the cache. */
double tess_sliced_alone(const tess_cuda_problem *problem, const int *p);
/* The rounds that count as one: a tenth more where the longest row is a quarter longer than the
 * mean one. The thread blocks of short rows then end so early that the tenth hardly ends later. */
double tess_sliced_one_round(const tess_cuda_problem *problem);

void tess_sliced_guess(const tess_cuda_problem *problem, int *p);
/* As in tess_cuda_kernel. */
void tess_sliced_flight(const tess_cuda_problem *problem, const int *p, tess_cuda_flight *out);

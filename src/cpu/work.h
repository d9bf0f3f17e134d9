/* The division of a matrix's rows among threads; work.c has the picture. */
#pragma once

#include "cpu/kernel.h"
#include "matrix/matrix.h"

/* The most queues of jobs for whichever thread comes first. A queue is for one share or several. */
enum { TESS_CPU_QUEUES = 64 };

/* One call of a kernel: whole rows, or pieces of a long row (bounds are then piece numbers). */
typedef struct tess_cpu_job {
    int64_t bounds[TESS_CPU_STREAMS + 1];
    int64_t long_row; /* index in long_rows, -1 for whole rows */
} tess_cpu_job;

/* A row cut into pieces of nearly equal size: blocks offsets[i] .. offsets[i+1]-1 are piece i, and
 * its sum goes to sums + (first_sum + i) * r. */
typedef struct tess_cpu_long_row {
    int64_t row;
    int64_t pieces;
    int64_t first_offset; /* of pieces + 1 in piece_offsets */
    int64_t first_sum;
} tess_cpu_long_row;

/* The division of a matrix's rows among `shares` threads. Long rows are cut. What is long, where it
 * is cut and every order of summation depend on the matrix alone, so that the result is bitwise the
 * same for any number of threads. */
typedef struct tess_cpu_work {
    tess_ctx *ctx;
    int shares, streams;
    tess_cpu_job *jobs;
    int64_t *first_job; /* shares + 1: the jobs of each share */
    int64_t job_count;  /* those from first_job[shares] on are for whoever comes first, in queues */
    int queues;
    int64_t first_tail[TESS_CPU_QUEUES + 1]; /* the jobs of each queue */
    tess_cpu_long_row *long_rows;
    int64_t long_count;
    int64_t *piece_offsets;
    int64_t pieces;
} tess_cpu_work;

tess_status tess_cpu_work_create(tess_ctx *ctx, const tess_matrix *A, int shares, int streams,
                                 tess_cpu_work *work);
void tess_cpu_work_destroy(tess_cpu_work *work);

/* How many jobs of each queue are taken in one product; starts from zeros. */
typedef struct tess_cpu_turns {
    int64_t taken[TESS_CPU_QUEUES];
} tess_cpu_turns;

/* Blocks that one stream of a thread does alone, although the streams walk their rows in
 * lockstep. */
typedef struct tess_cpu_lockstep {
    int64_t alone; /* blocks that one does alone, as its row is longer than another's */
    int64_t left;  /* blocks of the rows that are left when another stream has ended */
} tess_cpu_lockstep;
/* Adds the blocks that streams do alone in the rows bounds[0] .. bounds[streams]-1. The second
 * function returns the sum over all jobs. */
void tess_cpu_count_lockstep(const int64_t *row_offsets, const int64_t *bounds, int streams,
                             tess_cpu_lockstep *count);
tess_cpu_lockstep tess_cpu_work_lockstep(const tess_cpu_work *work, const int64_t *row_offsets);

/* The next job for whichever thread comes first: from the tail of its share if one is left,
 * otherwise from another's; -1 after the last. */
int64_t tess_cpu_work_next(const tess_cpu_work *work, int share, tess_cpu_turns *turns);
/* A product by threads: run(product, i, share) for every job i, then finish(product, i) for every
 * long row i. */
typedef void (*tess_cpu_job_fn)(const void *product, int64_t i, int share);
typedef void (*tess_cpu_row_fn)(const void *product, int64_t i);
void tess_cpu_work_run(const tess_cpu_work *work, tess_cpu_job_fn run, tess_cpu_row_fn finish,
                       const void *product);
/* Cuts a job of whole rows into `count` of nearly equal bytes. */
void tess_cpu_work_cut(const tess_matrix *A, const tess_cpu_job *job, int streams, int64_t count,
                       tess_cpu_job *pieces);
/* The bytes of a share's tail, and the bytes of the next job when `left` bytes of a tail are
 * left. */
int64_t tess_cpu_tail(int64_t share, int shares);
int64_t tess_cpu_next_piece(int64_t left);

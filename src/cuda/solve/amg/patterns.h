/* Patterns of multigrid levels on the device: launches of patterns.cu as data, and the patterns of
 * a product and a transpose made by them. */
#pragma once

#include "cuda/driver/device.h"
#include "cuda/solve/amg/coarsen.h"

enum { TESS_PATTERNS_THREADS = 64, TESS_PATTERNS_EACH = 16 };

/* ---- patterns_launch.c ---- */

typedef enum tess_patterns_pass { TESS_PATTERNS_COUNT, TESS_PATTERNS_LIST } tess_patterns_pass;

/* Counts or lists the blocks in the rows of C = A B, at most `most` in each. `lengths` has one
 * number per row. */
void tess_patterns_multiply(tess_patterns_pass pass, const tess_coarsen_matrix *A,
                            const tess_coarsen_matrix *B, const tess_coarsen_matrix *C,
                            uint64_t lengths, int64_t most, tess_cuda_launch *launch);
/* `sums` per thread block, of 64 bits. "measure" writes three: the sum, the largest and the
 * smallest of its lengths. "place" reads one: the sum of all lengths before them. */
void tess_patterns_offsets(const char *entry, uint64_t lengths, int64_t count, uint64_t sums,
                           tess_cuda_launch *launch);
/* "tally" or "scatter": the blocks of P by columns. */
void tess_patterns_transpose(const char *entry, const tess_coarsen_matrix *P, uint64_t places,
                             uint64_t rows, uint64_t numbers, tess_cuda_launch *launch);
void tess_patterns_order(const tess_coarsen_matrix *R, uint64_t rows, uint64_t numbers,
                         uint64_t from, tess_cuda_launch *launch);

/* ---- patterns.c: inside enter/leave, in the library's stream ---- */

/* Replaces each of `count` lengths of 64 bits by the sum of all lengths up to and including it.
 * Where a length is negative, *longest is -1 and the lengths stay. */
tess_status tess_cuda_sum_lengths(tess_cuda *cuda, uint64_t lengths, int64_t count, int64_t *total,
                                  int64_t *longest);

/* Makes the pattern of C = A B, whose sizes are set. `owned` are the arrays of C, the caller's also
 * where this fails. `offsets` (block rows + 1) are C's on the host; NULL: they are not needed
 * there. *fits is false, and C without columns, where a row is too long for the kernels. */
tess_status tess_cuda_multiply_pattern(tess_cuda *cuda, const tess_coarsen_matrix *A,
                                       const tess_coarsen_matrix *B, tess_coarsen_matrix *C,
                                       uint64_t owned[2], int64_t *offsets, bool *fits);
/* Makes the pattern of R = P' likewise. `from`: the number of each block of R among the blocks of
 * P. */
tess_status tess_cuda_transpose_pattern(tess_cuda *cuda, const tess_coarsen_matrix *P,
                                        tess_coarsen_matrix *R, uint64_t owned[2], uint64_t *from,
                                        int64_t *offsets, bool *fits);

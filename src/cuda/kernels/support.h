/* For the kernels' descriptors: filling in a launch, and the order of each layout's arrays. */
#pragma once

#include "cuda/kernels/table.h"
#include "format/fbcsr/fbcsr.h"
#include "format/sliced.h"

/* bsr: A's own arrays. */
extern const tess_cuda_layout_kind tess_cuda_layout_bsr;
enum { BSR_OFFSETS, BSR_COLUMNS, BSR_VALUES };

/* stream: the same, and the first block row that begins in each tile of blocks (32 bits). */
enum { STREAM_TILE_ROWS = BSR_VALUES + 1 };
enum { STREAM_TILES };
enum { STREAM_SHARES_MAX = 4096 }; /* thread blocks: bounds the workspace */

/* balanced: src/format/balanced.h; BSR_OFFSETS holds the segments' offsets. The workspace holds the
 * segments' sums, block_height scalars each. */
enum { BALANCED_SEGMENT_PTR = BSR_VALUES + 1, BALANCED_LONG_ROWS };
enum { BALANCED_SEGMENTS, BALANCED_LONG_COUNT };

/* sliced: src/format/sliced.h; layout->format is the tess_sliced, whose panels a product is
 * launched by. SLICED_DOT_AT: byte offset in the workspace of a dot product's partial sums, one
 * double per thread block of the last panel. The segments' slots come before them. */
enum {
    SLICED_OFFSETS,
    SLICED_LENGTHS,
    SLICED_TARGETS,
    SLICED_COLUMNS,
    SLICED_VALUES,
    SLICED_CUT_ROW,
    SLICED_CUT_SLOTS
};
enum { SLICED_DOT_AT };
enum { TESS_SLICED_ROWS = 16 }; /* the least scalar rows per thread block */

/* swept: src/format/swept.h; layout->format is the tess_swept. The workspace holds the slots of
 * segments. */
enum {
    SWEPT_CHUNK_LINE,
    SWEPT_FIRST_STEP,
    SWEPT_WORDS,
    SWEPT_VALUES,
    SWEPT_CUT_ROW,
    SWEPT_CUT_SLOTS
};

/* by_length: bsr, and its block rows by falling length. */
enum { BY_LENGTH_TARGETS = BSR_VALUES + 1 };

/* interleaved: src/format/interleaved.h. */
enum { INTERLEAVED_OFFSETS, INTERLEAVED_TARGETS, INTERLEAVED_COLUMNS, INTERLEAVED_VALUES };
enum { INTERLEAVED_GROUPS };

/* fbcsr: layout->format is a tess_fbcsr_slices. Arrays about cut rows have the same numbers as in
 * sliced. */
enum {
    FBCSR_HEADS,
    FBCSR_LENGTHS,
    FBCSR_PIECES,
    FBCSR_COLUMNS,
    FBCSR_VALUES,
    FBCSR_CUT_ROW,
    FBCSR_CUT_SLOTS,
    FBCSR_TARGETS
};

/* The shapes of a problem's list. */
tess_fbcsr_options tess_cuda_shapes_of(const tess_cuda_problem *problem);

/* The macros of scalar.cuh, "-DREAL=8": what every defines text begins with. */
void tess_cuda_scalar_defines(tess_type type, bool conjugate, char *text, size_t size);

enum { TESS_CUDA_GATHER = 256 }; /* threads of a layout's gather */

/* Appends an array. */
void tess_cuda_layout_add(tess_cuda_layout *layout, const void *host, int64_t count, size_t size);

/* A launch without arguments, of a one-dimensional grid. A grid of more than 32 bits becomes
 * UINT32_MAX, which tess_cuda_launch_check refuses. */
static inline tess_cuda_launch *tess_cuda_launch_start(tess_cuda_launch *launch, const char *entry,
                                                       int64_t grid, int block)
{
    *launch = (tess_cuda_launch){.entry = entry,
                                 .grid = {(unsigned)tess_min(grid, UINT32_MAX), 1, 1},
                                 .block = {(unsigned)block, 1, 1}};
    return launch;
}

/* Appends arguments of 8 bytes each. */
static inline void tess_cuda_add_args(tess_cuda_launch *launch, const void *args, size_t count)
{
    memcpy(launch->args + launch->slots, args, count * sizeof *launch->args);
    launch->slots += (int)count;
}

#define TESS_CUDA_ADD(launch, type, ...)                      \
    tess_cuda_add_args((launch), (const type[]){__VA_ARGS__}, \
                       sizeof((const type[]){__VA_ARGS__}) / sizeof(type))
#define TESS_CUDA_POINTERS(launch, ...) TESS_CUDA_ADD(launch, uint64_t, __VA_ARGS__)
#define TESS_CUDA_INTEGERS(launch, ...) TESS_CUDA_ADD(launch, int64_t, __VA_ARGS__)
#define TESS_CUDA_NUMBERS(launch, ...) TESS_CUDA_ADD(launch, double, __VA_ARGS__)

/* The launch of dot_sum.cuh: adds the partial sums at dot_part. */
static inline void tess_cuda_launch_dot_sum(const tess_cuda_call *call, uint64_t dot_part,
                                            int64_t parts, tess_cuda_launch *out)
{
    tess_cuda_launch *run = tess_cuda_launch_start(out, "dot_sum", 1, 1024);
    run->adds_sums = true;
    TESS_CUDA_POINTERS(run, dot_part);
    TESS_CUDA_INTEGERS(run, parts);
    TESS_CUDA_POINTERS(run, call->dot);
}

/* Appends alpha and beta, in the width that scalar.cuh's `factor` has for the problem's type. */
static inline void tess_cuda_add_factors(tess_cuda_launch *launch, const tess_cuda_problem *problem,
                                         const tess_cuda_call *call)
{
    if (tess_is_complex(problem->type))
        TESS_CUDA_NUMBERS(launch, call->alpha, call->alpha_im, call->beta, call->beta_im);
    else
        TESS_CUDA_NUMBERS(launch, call->alpha, call->beta);
}

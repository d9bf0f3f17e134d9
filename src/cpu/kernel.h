/* What a kernel is: its arguments, its descriptor, the tables of all of them.
 *
 * The isa/ files see this header and nothing else of the project: they take long to compile, and
 * should be recompiled only when a kernel changes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most ranges of rows that a thread walks in lockstep. */
#define TESS_CPU_STREAMS 4

/* Ascending within a processor family: TESSERA_ISA caps the choice. */
typedef enum tess_cpu_isa {
    TESS_CPU_SCALAR,
    TESS_CPU_NEON,
    TESS_CPU_SVE,
    TESS_CPU_AVX2,
    TESS_CPU_AVX512,
    TESS_CPU_ISAS
} tess_cpu_isa;

/* What a SpMV kernel reads and writes. A scalar of a complex kernel is a pair of reals. Rows are
 * block rows; y[row*r ...] is written for each row that the kernel is given. For pieces of a long
 * row, row_offsets are the bounds of the pieces, and y their sums. */
typedef struct tess_cpu_spmv_args {
    const int64_t *row_offsets;
    const int32_t *columns;
    const void *values;
    const void *x; /* block_cols * c scalars: padded when the matrix is ragged */
    void *y;
    double alpha, beta;
    int32_t block_height, block_width;
    bool short_rows; /* of the whole matrix: 1 x 1 blocks are then summed in another order */

    /* Of complex kernels: the imaginary parts of the factors, and whether it is conj(A) x. */
    bool conjugate;
    double alpha_im, beta_im;
} tess_cpu_spmv_args;

/* Does rows bounds[0] .. bounds[streams]-1: stream s goes from bounds[s] to bounds[s+1]-1. */
typedef void (*tess_cpu_spmv_fn)(const tess_cpu_spmv_args *args, const int64_t *bounds);

/* What a SpMM kernel reads and writes: as for SpMV, with `vectors` vectors. Scalar i of vector v is
 * x[i*x_row + v], the vectors side by side, and y[i*y_row + v*y_vector]. */
typedef struct tess_cpu_spmm_args {
    const int64_t *row_offsets;
    const int32_t *columns;
    const void *values;
    const void *x; /* block_cols * c rows */
    void *y;
    int64_t x_row, y_row, y_vector;
    int64_t vectors;
    double alpha, beta;
    int32_t block_height, block_width;
    double alpha_im, beta_im; /* of complex kernels */
} tess_cpu_spmm_args;

/* Does rows first .. last-1. */
typedef void (*tess_cpu_spmm_fn)(const tess_cpu_spmm_args *args, int64_t first, int64_t last);

/* What a kernel on symmetric storage reads and writes: the blocks on and above the diagonal, row by
 * row (format/symmetric.h) or, for a kernel with lanes, group by group (format/symmetric_lanes.h).
 */
typedef struct tess_cpu_symmetric_args {
    const int64_t *row_offsets; /* or the groups' */
    const int32_t *columns;
    const void *values;
    const void *x; /* whole block rows, as y */
    void *y;
    double alpha, beta;
    int64_t block_rows;
    int32_t block_size;

    /* With lanes: */
    const void *more_values; /* values[1], as `values` is values[0] */
    void *ring;              /* the calling thread's: 2 b vectors of lanes for each of its rows */
    int64_t ring_rows;       /* a power of two, no less than the storage's span + lanes */
    bool by_fields;          /* scalar q of row i of x and y is element q block_rows + i */
} tess_cpu_symmetric_args;

/* Rows first .. last-1, which one thread does alone. Contributions to rows before `last` go to y,
 * which starts from beta y. Those to rows last .. end-1 go to the window, which starts from 0. With
 * lanes, `first` is a multiple of them.
 *
 * A kernel for one vector that goes row by row can do a chunk in several calls. A call does the
 * rows first .. stop-1. Rows before `ready` have their start from an earlier one. */
typedef struct tess_cpu_chunk {
    int64_t first, last, end;
    void *window;
    int64_t stop, ready;
} tess_cpu_chunk;

/* `streams` chunks, in lockstep. */
typedef void (*tess_cpu_symmetric_fn)(const tess_cpu_symmetric_args *args,
                                      const tess_cpu_chunk *chunks);

/* The same for several vectors, side by side: scalar i of vector v is x[i*x_row + v] and
 * y[i*y_row + v]; a window has `vectors` scalars for each scalar row. */
typedef struct tess_cpu_symmetric_spmm_args {
    const int64_t *row_offsets;
    const int32_t *columns;
    const void *values;
    const void *x; /* whole block rows, as y */
    void *y;
    int64_t x_row, y_row, vectors;
    double alpha, beta;
    int32_t block_size;
} tess_cpu_symmetric_spmm_args;

typedef void (*tess_cpu_symmetric_spmm_fn)(const tess_cpu_symmetric_spmm_args *args,
                                           const tess_cpu_chunk *chunk);

/* What a kernel on the blocks of one shape (format/fbcsr/fbcsr.h) reads and adds to y. */
typedef struct tess_cpu_fbcsr_args {
    const int32_t *rows, *cols; /* where each block's first row begins */
    const void *values;
    const void *x;
    void *y;
    double alpha;
    int32_t height, width, shift;
} tess_cpu_fbcsr_args;

/* Blocks begin .. end-1, of which only what lies in rows first .. last-1 counts. */
typedef struct tess_cpu_fbcsr_piece {
    int64_t begin, end;
    int64_t first, last;
} tess_cpu_fbcsr_piece;

/* `count` pieces, at most TESS_CPU_STREAMS, in lockstep. */
typedef void (*tess_cpu_fbcsr_fn)(const tess_cpu_fbcsr_args *args,
                                  const tess_cpu_fbcsr_piece *pieces, int count);

typedef enum tess_cpu_family {
    TESS_CPU_BSR_SPMV,
    TESS_CPU_BSR_SPMM,
    TESS_CPU_SYMMETRIC_SPMV,
    TESS_CPU_SYMMETRIC_SPMM,
    TESS_CPU_FBCSR_SPMV,
    TESS_CPU_FAMILIES
} tess_cpu_family;

/* One line of kernels.def for one ISA and precision. */
typedef struct tess_cpu_kernel {
    const char *name; /* "bsr_spmv_3x3_f64_neon_streams2" */
    tess_cpu_family family;
    tess_cpu_isa isa;
    int scalar_bytes; /* 8: f64, 4: f32; 16: c64, 8: c32 */
    bool complex;
    int32_t block_height, block_width; /* 0 x 0: any; 1 x 0: one row of any width */
    int32_t shift;                     /* of a block's rows: FBCSR_SPMV */
    int streams;
    int lanes;             /* rows of a group in symmetric storage; 0: row by row */
    bool prefetch;         /* x is prefetched: for scattered columns */
    tess_cpu_spmv_fn spmv; /* the family's function; the others are NULL */
    tess_cpu_spmm_fn spmm;
    tess_cpu_symmetric_fn symmetric;
    tess_cpu_symmetric_spmm_fn symmetric_spmm;
    tess_cpu_fbcsr_fn fbcsr;
} tess_cpu_kernel;

typedef struct tess_cpu_kernel_table {
    const tess_cpu_kernel *kernels;
    size_t count;
} tess_cpu_kernel_table;

/* Filled by isa/isa_*.c; an ISA of the other processor family has an empty table. */
extern const tess_cpu_kernel_table tess_cpu_scalar, tess_cpu_neon, tess_cpu_sve, tess_cpu_avx2,
    tess_cpu_avx512;

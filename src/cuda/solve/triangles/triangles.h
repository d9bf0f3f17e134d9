/* A triangle of a preconditioner as triangular.cu reads it, and the launches of a sweep.
 *
 * Plain C without a driver: the backend copies the arrays to a device, the tests to the emulator.
 *
 *     tile     up to `rows` block rows of one stage; a thread block solves one tile at a time
 *     segment  the tiles of one launch: of one wide stage, or of several narrow ones
 *
 * A position is a row's number in the order of the sweep: its place downwards, rows - 1 - place
 * upwards.
 */
#pragma once

#include "cuda/kernels/table.h"
#include "solve/pc/triangles/staged.h"

/* Scalars of a vector in a block row. A complex vector has half as many as its embedding has
 * reals. */
static inline int32_t tess_staged_height(const tess_staged *staged)
{
    return staged->block / (tess_is_complex(staged->vector_type) ? 2 : 1);
}

/* How triangular.cu is specialised for a block size, and how sweeps are cut in launches. */
typedef struct tess_triangle_tuning {
    int rows, threads, depth, panel; /* ROWS, THREADS, DEPTH, PANEL of triangular.cu */
    int nap;                         /* NAP: ns between two looks at a value; 0: none */
    int ahead;                       /* AHEAD */
    int64_t wide;   /* a stage of at least this many threads is a launch of its own */
    int64_t blocks; /* thread blocks of a launch of joined stages; 0: by the width of stages */
} tess_triangle_tuning;

typedef struct tess_segment {
    int64_t tile, end; /* tiles tile .. end-1 */
    int64_t stages;
    bool wide;    /* one wide stage */
    bool waiting; /* several stages: rows wait for rows of the same launch */
} tess_segment;

/* A tile as triangular.cu reads it. */
typedef struct tess_tile {
    int64_t block;       /* number of its first stored block, padding included */
    int32_t first, rows; /* positions */
} tess_tile;

enum {
    TRIANGLE_TILES,
    TRIANGLE_PLACES,
    TRIANGLE_COLUMNS,
    TRIANGLE_VALUES,
    TRIANGLE_INVERSE,
    TRIANGLE_ARRAYS
};

typedef struct tess_cuda_triangle {
    tess_ctx *ctx;
    bool up;
    int32_t block; /* height of a block in scalars */
    tess_type type;
    int64_t tiles, rows; /* block rows */
    int64_t blocks;      /* stored, padding included */
    int64_t segments;
    tess_segment *segment;
    tess_tile *tile;
    int32_t *places;  /* 2 per position: blocks of the row, the matrix's block row */
    int32_t *columns; /* tile by tile: block k of all its rows, then block k + 1 */
} tess_cuda_triangle;

/* The tuning for blocks of that size and stages of `stage_threads` scalar rows on average. */
tess_triangle_tuning tess_triangle_guess(tess_type type, int32_t block, double stage_threads);
/* "-DREAL=8 -DHELD=4 -DBH=3 ...": `block` in scalars. */
void tess_triangle_defines(const tess_triangle_tuning *tuning, int32_t block, tess_type vector_type,
                           tess_type type, char *text, size_t size);

/* The tiles of one triangle of `split`, without values: tess_cuda_triangle_fill writes those. */
tess_status tess_cuda_triangle_create(const tess_staged *staged, const tess_split *split, bool up,
                                      const tess_triangle_tuning *tuning, tess_cuda_triangle **out);
void tess_cuda_triangle_destroy(tess_cuda_triangle *triangle);

/* Bytes of an array. A downward triangle has no INVERSE. */
size_t tess_cuda_triangle_bytes(const tess_cuda_triangle *triangle, int array);
/* The host's array of the pattern; NULL for VALUES and INVERSE. */
const void *tess_cuda_triangle_array(const tess_cuda_triangle *triangle, int array);
/* Writes VALUES and INVERSE (unused downwards). */
void tess_cuda_triangle_fill(const tess_cuda_triangle *triangle, const tess_staged *staged,
                             const tess_split *split, void *values, void *inverse);

/* Addresses of one sweep. */
typedef struct tess_triangle_call {
    uint64_t arrays[TRIANGLE_ARRAYS];
    uint64_t in, out; /* `out` has block_rows * block scalars, all bits set where segments wait */
    uint64_t z;       /* upwards */
    uint64_t tickets; /* an int per segment, all bits set */
    int64_t scalars;  /* rows of the matrix */
} tess_triangle_call;

/* The kernels of triangular.cu: down or up, plain or waiting. */
extern const char *const tess_triangle_entries[2][2];
void tess_triangle_launch(const tess_cuda_triangle *triangle, const tess_triangle_tuning *tuning,
                          int64_t segment, const tess_triangle_call *call, int multiprocessors,
                          tess_cuda_launch *out);

/* The texts that specialise loop.cu (whole iterations in one launch) and between.cu (what an
 * iteration does between two products), and their launches. Plain C, no device is needed. */
#pragma once

#include "cuda/solve/units/units.h"

enum {
    TESS_LOOP_TEXT = 800,
    TESS_LOOP_BLOCK = 16,
    TESS_LOOP_SLOTS = 64, /* loop.cu: SLOTS */
    TESS_LOOP_TEAM = 16   /* thread blocks of a cluster at most */
};

/* loop.cu or between.cu for one method. */
typedef struct tess_loop_code {
    tess_pass_kernel numbers; /* vectors, coefficients and dots of all stages */
    char stages[TESS_LOOP_TEXT];
    char defines[TESS_LOOP_TEXT + 200];
    int threads;
    int team;               /* loop.cu: thread blocks of the cluster */
    unsigned loads, stores; /* between.cu: bits of vectors, as in pass.cu */
    tess_diagonal diagonal; /* of the whole list; block 0: there is none */
} tess_loop_code;

/* Writes the text of a list of units; false when loop.cu cannot run the list. */
bool tess_loop_write(const tess_unit_list *list, tess_type type, int32_t block, int threads,
                     int team, tess_loop_code *code);
/* The same for between.cu: `count` units from `first` on, none of them a product, for vectors of
 * `rows` rows and `grid` thread blocks. */
bool tess_between_write(const tess_unit_list *list, int64_t first, int64_t count, tess_type type,
                        int threads, int64_t rows, int grid, tess_loop_code *code);

/* Which rows each thread block has, and which rows of x it needs: loop.cu's arrays. */
typedef struct tess_loop_layout {
    int grid;
    int32_t *first, *source_first; /* grid + 1 each */
    int32_t *sources;
    uint16_t *places; /* one per block */
    int64_t span;     /* scalar rows of the largest thread block */
    int64_t shared;   /* bytes of shared memory that the largest thread block needs */
} tess_loop_layout;

/* Gives the rows of A to `grid` thread blocks. `most`: bytes of shared memory of a thread block.
 * *fits: whether they suffice. */
tess_status tess_loop_lay_out(tess_ctx *ctx, const tess_matrix *A, const tess_loop_code *code,
                              int grid, int64_t most, tess_loop_layout *layout, bool *fits);
void tess_loop_layout_free(tess_ctx *ctx, tess_loop_layout *layout);

/* What a launch needs beside the code. Addresses are those of device memory. */
typedef struct tess_loop_call {
    tess_rows_call common;
    int64_t span;
    uint64_t offsets, values;
    uint64_t first, sources, source_first, places;
    uint64_t product_sums, partial, meeting; /* between.cu */
    int64_t product_count;
    int grid;
    int64_t shared;
} tess_loop_call;
void tess_between_launch(const tess_loop_code *code, const tess_loop_call *call,
                         tess_cuda_launch *out);
void tess_loop_launch(const tess_loop_code *code, const tess_loop_call *call,
                      tess_cuda_launch *out);

/* The next run of at least `least` units, from *at on, that can be one launch of between.cu. False:
 * there is none. */
bool tess_between_find(const tess_unit_list *list, int least, int64_t *at, int64_t *count);

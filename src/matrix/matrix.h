/* The matrix: BSR with r x c column-major blocks. A CSR matrix has r = c = 1.
 *
 * Invariants, established by every constructor and relied on everywhere:
 *   row_offsets[0] = 0, non-decreasing, row_offsets[block_rows] = blocks;
 *   0 <= columns[k] < block_cols, strictly increasing in each block row;
 *   padding (the part of the last block row or column outside rows x cols) holds zeros.
 */
#pragma once

#include "core/threads.h"

/* The largest height and width of a block: r*c fits 31 bits. */
#define TESS_BLOCK_MAX 32768

struct tess_matrix {
    tess_ctx *ctx;
    tess_type type;
    int64_t rows, cols;
    int32_t block_height, block_width;
    int64_t block_rows, block_cols;
    int64_t blocks;
    int64_t *row_offsets;
    int32_t *columns;
    void *values;
    tess_ownership ownership; /* of the three arrays; COPY: the matrix owns them */
    int64_t version;          /* how often the values were changed in place; plans compare it */
    /* The places in space of a generated problem's block rows, `dimensions` numbers each; NULL: not
     * known. */
    double *coordinates;
    int32_t dimensions;
};

/* Checks the sizes of a matrix: block columns must fit 32 bits, products of sizes 63 bits. */
tess_status tess_matrix_check_sizes(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                                    int32_t block_height, int32_t block_width, int64_t blocks);

/* A matrix of checked sizes, without arrays yet. */
tess_status tess_matrix_head(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                             int32_t block_height, int32_t block_width, int64_t blocks,
                             tess_matrix **out);

/* convert_blocks.c: A in blocks of r x c. */
tess_status tess_matrix_convert_blocks(tess_ctx *ctx, const tess_matrix *A, int32_t r, int32_t c,
                                       tess_matrix **out);

/* A matrix with uninitialised columns and values and all-zero row_offsets, arrays owned. */
tess_status tess_matrix_allocate(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                                 int32_t block_height, int32_t block_width, int64_t blocks,
                                 tess_matrix **out);

/* Gives B, which has A's block rows, A's coordinates if they are known. */
tess_status tess_matrix_copy_coordinates(const tess_matrix *A, tess_matrix *B);

/* A matrix of A's sizes, pattern and coordinates, with uninitialised values. */
tess_status tess_matrix_same_pattern(tess_ctx *ctx, const tess_matrix *A, tess_type type,
                                     tess_matrix **out);
void tess_matrix_copy_pattern(const tess_matrix *A, int64_t *row_offsets, int32_t *columns);

/* Allocates uninitialised columns and values of `blocks` blocks for a matrix that has only
 * row_offsets. */
tess_status tess_matrix_allocate_blocks(tess_matrix *A, int64_t blocks);

/* The number of scalars stored: blocks * r * c. */
static inline int64_t tess_matrix_stored(const tess_matrix *A)
{
    return A->blocks * A->block_height * A->block_width;
}

/* Element `at` of the values of a real matrix, whatever the precision. */
static inline double tess_matrix_value(const tess_matrix *A, int64_t at)
{
    return tess_get(A->values, A->type, at);
}

/* The same for a matrix of any type. */
static inline tess_complex tess_matrix_complex_value(const tess_matrix *A, int64_t at)
{
    return tess_get_complex(A->values, A->type, at);
}

static inline bool tess_matrix_is_zero(const tess_matrix *A, int64_t at)
{
    return tess_is_complex(A->type) ? tess_complex_is_zero(tess_matrix_complex_value(A, at))
                                    : tess_matrix_value(A, at) == 0;
}

/* Fails with TESS_ERR_UNSUPPORTED if `type` is complex: for calls that support real matrices only.
 * `what` begins the sentence. */
tess_status tess_refuse_complex(tess_ctx *ctx, const char *what, tess_type type);

/* Fails unless the order is column-major or row-major. */
tess_status tess_check_order(tess_ctx *ctx, tess_block_order order);

/* The first position of a block row whose column is at least `column`, by binary search. */
int64_t tess_matrix_lower_bound(const tess_matrix *A, int64_t row, int64_t column);
/* The position of block (row, column), or -1. */
int64_t tess_matrix_find(const tess_matrix *A, int64_t row, int64_t column);

/* Returns whether the scalars on the diagonal of A, whose blocks are square, are positive. */
bool tess_matrix_positive_diagonal(const tess_matrix *A);

/* The bytes that an SpMV must move at least: values, block columns (4 B each), row offsets (counted
 * as 4 B each in all measurements), x and y. Every printed GB/s is computed from this number. */
double tess_matrix_spmv_bytes(const tess_matrix *A);

/* The share of blocks that lie further than 64 columns from all blocks of the 64 block rows before,
 * in up to 64 samples over the matrix. It is about 0 for a stencil or a band, also with dense
 * columns, and about 1 for random columns. A near block finds its part of x in the cache; a far
 * block only if all of x fits the cache. */
double tess_matrix_scattered(const tess_matrix *A);

/* Checks offsets, column range and, if `sorted`, the strict order of columns. The message names the
 * first fault: row, position, value, what is valid. */
tess_status tess_matrix_validate(tess_ctx *ctx, const tess_matrix_view *arrays, bool sorted);

/* ---- Padding of the last block row and column: padding.c ---- */

void tess_matrix_zero_padding(tess_matrix *A, int64_t row);
/* Fails with the place of the first value in the padding that is not zero. */
tess_status tess_matrix_check_padding(const tess_matrix *A);

/* transpose.c: a matrix with the pattern of A'. With `from` (A->blocks numbers) its values are not
 * set: block k of the result is the transpose of A's block from[k]. With from = NULL the values are
 * set. */
tess_status tess_matrix_transpose_pattern(tess_ctx *ctx, const tess_matrix *A, int64_t *from,
                                          tess_matrix **out);

/* Sets block k of `to` to block source[k] of `from`, or to zeros where source[k] is negative. A
 * block has `bytes`. */
void tess_take_blocks(tess_ctx *ctx, int64_t count, const int64_t *source, size_t bytes,
                      const void *from, void *to);
/* to_type.c: to[i] = from[i] for `count` reals, where a complex scalar counts as two. Returns the
 * first i whose finite number becomes infinite, or -1. */
int64_t tess_narrow(tess_ctx *ctx, const double *from, float *to, int64_t count);

/* ---- Rows and threads: shares.c ---- */

/* The first row of share 0..shares-1; for share = shares, `rows`. Rows are dealt out in contiguous
 * ranges of nearly equal work, which is entries plus rows. */
int64_t tess_share_row(const int64_t *row_offsets, int64_t rows, int share, int shares);
/* Calls `run` for each share's range of rows, dealt out as by tess_share_row before the first share
 * begins. */
void tess_for_row_shares(tess_ctx *ctx, int shares, const int64_t *row_offsets, int64_t rows,
                         tess_range_fn run, void *arg);
/* The same with one share per thread of the context. */
void tess_for_rows(tess_ctx *ctx, const int64_t *row_offsets, int64_t rows, tess_range_fn run,
                   void *arg);
/* The number of blocks in the longest block row. */
int64_t tess_matrix_longest_row(const tess_matrix *A);

/* Sorts rows by falling length; rows of equal length keep their order. At most 2^31 - 1 rows. */
tess_status tess_rows_by_length(tess_ctx *ctx, const int64_t *row_offsets, int64_t rows,
                                int32_t *order);

/* Turns the counts in offsets[1..rows] into offsets; offsets[0] is 0 before and after. */
void tess_counts_to_offsets(int64_t *offsets, int64_t rows);

/* ---- Rows in any order: scatter.c, from_rows.c ---- */

/* Entries (blocks) by coordinates, in any number of pieces. */
typedef struct tess_coo_piece {
    int64_t entries;
    const int64_t *row_index;
    const int64_t *col_index;
} tess_coo_piece;

/* Sorts entries by row. Within a row they keep their order, piece by piece. Fills row_offsets[rows
 * + 1] (zeroed before), columns[entries] and, unless NULL, entry[entries]: the number of the entry
 * that went to each place. All indices must be in range. */
void tess_scatter_rows(tess_ctx *ctx, int64_t rows, const tess_coo_piece *pieces, int64_t count,
                       int64_t *row_offsets, int32_t *columns, int64_t *entry);

/* Block rows whose columns may be unsorted and repeated, but are in range. The values of position k
 * are block entry[k] of `values` (block k when entry is NULL). values = NULL: all zeros. */
typedef struct tess_row_source {
    const int64_t *row_offsets;
    const int32_t *columns;
    const int64_t *entry;
    const void *values;
    tess_block_order order;
} tess_row_source;

/* A matrix of the given sizes from the source's rows: columns sorted, repeated columns summed in
 * the order of their positions, padding zeroed. */
tess_status tess_matrix_from_rows(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                                  int32_t block_height, int32_t block_width,
                                  const tess_row_source *source, tess_matrix **out);
/* A matrix of A's block rows first .. end - 1, with all columns. */
tess_status tess_matrix_take_rows(tess_ctx *ctx, const tess_matrix *A, int64_t first, int64_t end,
                                  tess_matrix **out);

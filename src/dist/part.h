/* One part of a matrix that several parts hold together.
 *
 * The part's block rows, columns in the whole matrix's numbering, are stored as two matrices:
 *
 *                 columns of
 *        part 0  | this part |  part 2 ..
 *      . x . . x | x x x . . | . . x . .         own       block_rows x block_rows, square
 *      . . . . . | x x . . . | . . . . .   ==>
 *      . . . . x | . . x x . | . . x . .         outside   the rows with blocks of other columns,
 *                                                          columns numbered as they arrive: the
 * halo
 *
 * y = own x is computed while the halo travels; outside * halo is added afterwards, in the rows
 * that have blocks there. The halo is sorted by column, so a part's piece of it is contiguous, and
 * each column comes once.
 */
#pragma once

#include "matrix/matrix.h"

/* Where the blocks of one of the two matrices came from: rows of tess_part_view's numbers. */
typedef struct tess_part_rows {
    int64_t block_rows;
    int64_t *row_offsets; /* block_rows + 1 */
    int32_t *columns;
    int64_t *entry; /* block of the caller's */
} tess_part_rows;

/* Rows of x that go to or come from another part: blocks first .. first+count-1 of a buffer. */
typedef struct tess_part_peer {
    int rank;
    int64_t first, count;
} tess_part_peer;

struct tess_part {
    tess_ctx *ctx;
    tess_comm comm;
    bool same_process; /* as all other parts: devices may read each other's memory */
    tess_type type;
    int32_t block;
    tess_block_order order;
    int64_t rows;      /* scalars */
    int64_t *firsts;   /* comm.size + 1: the first block row of each part */
    int64_t *row_ends; /* comm.size: scalars up to the end of each part */
    int64_t entries;   /* the caller's blocks */
    int64_t *numbers; /* block rows of the whole matrix that are here, in part 0 those of all parts;
                         NULL: they are in order */
    tess_part_rows own_rows, outside_rows;
    tess_matrix *own, *outside;
    int64_t *boundary;     /* the block row of each row of `outside` */
    int64_t halo;          /* block columns that come from others */
    int64_t *halo_columns; /* which, sorted */
    int64_t *sent;         /* the block rows that go to others, grouped by receiver */
    int64_t sent_count;
    tess_part_peer *receives, *sends;
    int receive_count, send_count;
    double *sums;      /* of all parts: SUMS numbers each, the last SUMS being sent */
    int pending_count; /* numbers of a sum that is under way; 0: none */
    void *pending;     /* the transport's handle of it */
};

/* Dot products summed in one message. */
enum { TESS_PART_SUMS = 16 };

/* ---- agree.c ---- */

/* Returns `status`, or the failure of the first part that has one, with its sentence. */
tess_status tess_comm_agree(tess_ctx *ctx, const tess_comm *comm, tess_status status);
/* A failure of the transport itself, with a sentence. */
tess_status tess_comm_check(tess_ctx *ctx, const tess_comm *comm, tess_status status,
                            const char *what);
/* values[i] becomes the sum over all parts, added in their order. */
tess_status tess_part_sum(tess_part *part, double *values, int count);
/* The same in two calls; at most one such sum of at most TESS_PART_SUMS numbers is under way. */
tess_status tess_part_sum_start(tess_part *part, const double *values, int count);
tess_status tess_part_sum_wait(tess_part *part, double *values);
/* One exchange of messages, once. */
tess_status tess_comm_exchange(tess_ctx *ctx, const tess_comm *comm, int sends,
                               const tess_message *send, int receives, const tess_message *receive);

/* ---- part.c ---- */

/* One of the two matrices with the caller's values. */
tess_status tess_part_fill(const tess_part *part, const void *values, bool outside,
                           tess_matrix **out);

/* ---- halo.c ---- */

/* Tells the owners of this part's halo (block columns, sorted) what to send, and hears what others
 * need: fills receives, sends and sent. */
tess_status tess_part_connect(tess_part *part, const int64_t *halo);

/* One part of a matrix that several parts hold together.
 *
 * The part's block rows, columns in the whole matrix's numbering, are stored as two matrices:
 *
 *                 columns of
 *        part 0  | this part |  part 2 ..
 *      . x . . x | x x x . . | . . x . .         own       block_rows x block_rows, square
 *      . . . . . | x x . . . | . . . . .   ==>
 *      . . . . x | . . x x . | . . x . .         outside   rows with outside blocks, columns
 *                                                          numbered by their place in the halo
 *
 * y = own x is computed while the halo travels. outside * halo is added afterwards, in the rows
 * that have outside blocks. Each column stands in the halo once. The halo is sorted by column, so
 * that the columns of one part are contiguous.
 */
#pragma once

#include "matrix/matrix.h"

enum { TESS_PARTS_MOST = 64 }; /* of one process */

/* The pattern of one of the two matrices, and where its blocks are in the caller's arrays. */
typedef struct tess_part_rows {
    int64_t block_rows;
    int64_t *row_offsets; /* block_rows + 1 */
    int32_t *columns;
    int64_t *entry; /* of each block: its position in the caller's arrays */
} tess_part_rows;

/* Rows of x that go to another part or come from it: block rows first .. first+count-1 of a
 * buffer. */
typedef struct tess_part_peer {
    int rank;
    int64_t first, count;
} tess_part_peer;

/* Where the piece of `rank` begins; 0: it has none. */
static inline int64_t tess_peer_first(const tess_part_peer *peers, int count, int rank)
{
    for (int i = 0; i < count; i++)
        if (peers[i].rank == rank)
            return peers[i].first;
    return 0;
}

struct tess_part {
    tess_ctx *ctx;
    tess_comm comm;
    bool same_process; /* all parts are of one process: devices may read each other's memory */
    tess_type type;
    int32_t block;
    tess_block_order order;
    int64_t rows;      /* scalars */
    int64_t *firsts;   /* comm.size + 1: the first block row of each part */
    int64_t *row_ends; /* comm.size: scalars up to the end of each part */
    int64_t entries;   /* the caller's blocks */
    int64_t *numbers;  /* of its block rows in the whole matrix, on part 0 those of all parts; NULL:
                          the partition keeps the order */
    tess_part_rows own_rows, outside_rows;
    tess_matrix *own, *outside;
    int64_t *boundary;     /* of each block row of `outside`: its number in `own` */
    int64_t halo;          /* block columns that come from others */
    int64_t *halo_columns; /* which, sorted */
    int64_t *sent;         /* the block rows that go to others, grouped by receiver */
    int64_t sent_count;
    tess_part_peer *receives, *sends;
    int receive_count, send_count;
    double *sums;      /* TESS_PART_SUMS numbers of each part, and as many of this part to send */
    int pending_count; /* how many numbers an unfinished sum has; 0: there is none */
    void *pending;     /* the transport's handle of that sum */
};

/* The number of scalar rows before a part's. */
static inline int64_t tess_part_first_row(const tess_part *part, int rank)
{
    return rank > 0 ? part->row_ends[rank - 1] : 0;
}

static inline size_t tess_part_block_bytes(const tess_part *part)
{
    return tess_block_bytes(part->block, part->block, part->type);
}

/* The part that has a block row, where part r begins with firsts[r]. */
static inline int tess_part_owner(const int64_t *firsts, int parts, int64_t row)
{
    return (int)tess_lower_bound(firsts, 1, parts, row + 1) - 1;
}

/* The most dot products summed in one message. */
enum { TESS_PART_SUMS = 16 };

/* ---- agree.c ---- */

/* Returns the failure of the first part that has one, with its sentence, or TESS_OK. Where the
 * other parts have ended, a part that has failed returns its own failure. Collective. */
tess_status tess_comm_agree(tess_ctx *ctx, const tess_comm *comm, tess_status status);
/* Fails where the caller's struct lacks a function, or its rank is no part's. */
tess_status tess_comm_whole(tess_ctx *ctx, const tess_comm *comm);
/* Gives a failure of the transport a sentence: `what` failed. */
tess_status tess_comm_check(tess_ctx *ctx, const tess_comm *comm, tess_status status,
                            const char *what);
/* values[i] becomes the sum over all parts, added in their order. */
tess_status tess_part_sum(tess_part *part, double *values, int count);
/* values[i] becomes the largest of all parts; at most TESS_PART_SUMS numbers. */
tess_status tess_part_most(tess_part *part, double *values, int count);
/* The sum in two calls, for at most TESS_PART_SUMS numbers. One sum has to be waited for before
 * the next one starts. */
tess_status tess_part_sum_start(tess_part *part, const double *values, int count);
tess_status tess_part_sum_wait(tess_part *part, double *values);
/* Starts a channel's messages and waits for them; `what` is for a failure's sentence. */
tess_status tess_comm_travel(tess_ctx *ctx, const tess_comm *comm, void *channel, const char *what);
void tess_comm_close(const tess_comm *comm, void *channel); /* NULL is fine */
/* Exchanges messages once: opens a channel, uses it and closes it. */
tess_status tess_comm_exchange(tess_ctx *ctx, const tess_comm *comm, int sends,
                               const tess_message *send, int receives, const tess_message *receive);

/* Sends elements out_firsts[r] .. out_firsts[r+1]-1 of `out` to part r, for all r, and receives
 * elements in_firsts[r] .. in_firsts[r+1]-1 of `in` from it. This part's own elements are copied.
 * `bytes` is the size of an element. `messages` has room for two per part. */
tess_status tess_comm_exchange_array(tess_ctx *ctx, const tess_comm *comm,
                                     const int64_t *out_firsts, void *out, const int64_t *in_firsts,
                                     void *in, size_t bytes, tess_message *messages);

/* ---- part.c ---- */

/* Makes one of the two matrices with the caller's values. */
tess_status tess_part_fill(const tess_part *part, const void *values, bool outside,
                           tess_matrix **out);

/* ---- halo.c ---- */

/* Fills receives, sends and sent: tells the owners of this part's halo (block columns, sorted) what
 * to send, and learns what others need of this part. Collective. */
tess_status tess_part_connect(tess_part *part, const int64_t *halo);

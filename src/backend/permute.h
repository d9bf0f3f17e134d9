/* Brings vectors into another order of their rows.
 *
 *     to(i, v) = from(source[i], v) + beta to(i, v)       i: row, v: vector
 *
 * Rows and vectors have strides, so one pass serves both orders of several vectors. If the order
 * interleaves F fields of L rows each, or separates them again, no list of rows is read:
 *
 *     interleaved   row F n + f comes from row L f + n
 *     to fields     row L f + n comes from row F n + f
 */
#pragma once

#include "core/threads.h"

typedef struct tess_permute {
    tess_type type;
    int64_t rows;
    int vectors;
    const int32_t *source; /* in the same memory as the vectors; not read with fields */
    int32_t fields;        /* F; 0: the order is `source` */
    bool to_fields;        /* with fields: the result is by fields; otherwise interleaved */
    int64_t begins;        /* with fields: the interleaved vector has only the nodes from here on */
    const void *from;
    int64_t from_row, from_vector; /* scalars from a row, from a vector to the next */
    void *to;
    int64_t to_row, to_vector;
    double beta; /* 0: `to` is not read */
} tess_permute;

/* Does the nodes first .. last-1 of a pass in the host's memory, by the caller's thread. A node is
 * a row n of a field; without fields it is a row of the result. */
void tess_permute_nodes(const tess_permute *pass, int64_t first, int64_t last);

/* Permutes vectors in the host's memory, by `threads` of the context's threads. */
void tess_permute_host(tess_ctx *ctx, int threads, const tess_permute *pass);

/* Permutes one vector of whole blocks of `size` scalars in the host's memory, by the caller's
 * thread: from blocks to fields, or with `together` from fields to blocks. */
void tess_permute_blocks(tess_type type, int64_t rows, int32_t size, bool together,
                         const void *from, void *to);

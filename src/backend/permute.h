/* Vectors into another order of their rows.
 *
 *     to(i, v) = from(source[i], v) + beta to(i, v)       i: row, v: vector
 *
 * Rows and vectors have strides, so that both orders of several vectors are the same pass. Where
 * the order interleaves F fields of L rows each, or goes back to fields, no list of rows is read:
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
    const int32_t *source; /* in the memory of the vectors; not read where there are fields */
    int32_t fields;        /* F; 0: the order is `source` */
    bool to_fields;        /* where there are fields: the result is by fields; 0: interleaved */
    const void *from;
    int64_t from_row, from_vector; /* scalars from one row to the next, from a vector to the next */
    void *to;
    int64_t to_row, to_vector;
    double beta; /* 0: what `to` holds is not read */
} tess_permute;

/* Vectors in the host's memory, by so many of the context's threads. */
void tess_permute_host(tess_ctx *ctx, int threads, const tess_permute *pass);

/* One vector of whole blocks of `size` scalars in the host's memory, by the caller's thread: taken
 * apart into fields, or `together` again. */
void tess_permute_blocks(tess_type type, int64_t rows, int32_t size, bool together,
                         const void *from, void *to);

/* Assembly: the data of a builder and its inserters.
 *
 * An inserter keeps the blocks it was given in chunks of fixed size, so growing never copies:
 *
 *     chunk:  place[n] | column[n] | values[n * r * c]
 *
 * `place` is the block row while the pattern is unknown, and the position in the pattern as soon as
 * it is known.
 */
#pragma once

#include "matrix/matrix.h"

typedef struct tess_chunk {
    int64_t *place;
    int64_t *column;
    char *values;
} tess_chunk;

struct tess_inserter {
    tess_ctx ctx; /* a copy: an error sentence of its own, as several threads add at once */
    const tess_builder *builder;
    tess_status failed; /* the first failure; its sentence is ctx.error */
    int64_t count;      /* blocks added */
    int64_t chunks, capacity;
    tess_chunk *chunk;
};

struct tess_builder {
    tess_ctx *ctx;
    tess_matrix *pattern; /* sizes; row_offsets and columns once known; never values */
    int64_t chunk_blocks; /* blocks a chunk holds */
    size_t block_bytes;
    int inserters;
    tess_inserter *inserter;
};

static inline bool tess_builder_has_pattern(const tess_builder *builder)
{
    return builder->pattern->row_offsets != NULL;
}

/* The number of an inserter's chunks in use, and the number of blocks in one of them. */
static inline int64_t tess_inserter_chunks(const tess_inserter *inserter)
{
    return tess_ceil_div(inserter->count, inserter->builder->chunk_blocks);
}

static inline int64_t tess_inserter_chunk_count(const tess_inserter *inserter, int64_t chunk)
{
    int64_t left = inserter->count - chunk * inserter->builder->chunk_blocks;
    return tess_min(left, inserter->builder->chunk_blocks);
}

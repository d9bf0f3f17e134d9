/* What is prefetched while new values of half storage are compared and copied. b is the block size.
 */
#pragma once

#include <stdbool.h>

#include "cpu/update/pair.h"

ALWAYS void tess_fetch(const void *from, int bytes)
{
    for (int at = 0; at < bytes; at += 64)
        __builtin_prefetch((const char *)from + at);
}

/* Prefetches what is used much later into the last-level cache. The nearer caches can have few
 * requests in flight, which other loads need. Without this the memory would idle while values are
 * compared and copied. */
ALWAYS void tess_fetch_far(const void *before, int64_t bytes)
{
    enum { FAR = 16384 };
    for (int64_t at = 0; at < bytes; at += 64)
        __builtin_prefetch((const char *)before + FAR + at, 0, 1);
}

/* Whether tess_fetch_far is called for each block. Rows of smaller blocks have few cache lines, all
 * of which are fetched at the beginning of the row. */
ALWAYS bool tess_fetches_by_block(const int b)
{
    return b >= 3;
}

/* How many blocks ahead of its use the mirror of a block is prefetched: one or two kilobytes of
 * small blocks, about what is in flight from memory. 1 x 1 blocks are faster without. */
ALWAYS int tess_blocks_ahead(const int b)
{
    return b == 1 ? 0 : b == 2 ? 32 : b == 3 ? 20 : b == 4 ? 12 : b <= 8 ? 6 : 2;
}

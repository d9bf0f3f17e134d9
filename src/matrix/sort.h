/* Sorting columns, and the blocks of one row by column. */
#pragma once

#include "matrix/matrix.h"

typedef struct tess_sort_key {
    int32_t column;
    int64_t position; /* by which the caller finds the block again */
} tess_sort_key;

/* Whether every column is larger than the one before. */
static inline bool tess_columns_rise(const int32_t *columns, int64_t count)
{
    for (int64_t i = 1; i < count; i++)
        if (columns[i] <= columns[i - 1])
            return false;
    return true;
}

/* Sorts columns of 32 or 64 bits and keeps each once. Returns how many there are. */
int64_t tess_distinct_of(void *columns, size_t size, int64_t count);
#define tess_distinct(columns, count) tess_distinct_of(columns, sizeof *(columns), count)

/* Sorts by column; equal columns keep their order. Both arrays have `count` elements. Returns the
 * one of them that holds the result. */
tess_sort_key *tess_sort_keys(tess_sort_key *keys, tess_sort_key *scratch, int64_t count);

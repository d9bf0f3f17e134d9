/* A stable sort of (column, position) pairs by column: insertion sort of short runs, then
 * merging. */
#include "matrix/sort.h"

enum { RUN = 16 };

static void sort_run(tess_sort_key *keys, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        tess_sort_key key = keys[i];
        int64_t at = i;
        for (; at > 0 && keys[at - 1].column > key.column; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

static void merge(const tess_sort_key *left, int64_t left_count, const tess_sort_key *right,
                  int64_t right_count, tess_sort_key *to)
{
    const tess_sort_key *left_end = left + left_count, *right_end = right + right_count;
    while (left < left_end && right < right_end)
        *to++ = right->column < left->column ? *right++ : *left++;
    memcpy(to, left, (size_t)(left_end - left) * sizeof *to);
    memcpy(to + (left_end - left), right, (size_t)(right_end - right) * sizeof *to);
}

tess_sort_key *tess_sort_keys(tess_sort_key *keys, tess_sort_key *scratch, int64_t count)
{
    for (int64_t i = 0; i < count; i += RUN)
        sort_run(keys + i, tess_min(count - i, RUN));
    for (int64_t run = RUN; run < count; run *= 2) {
        for (int64_t i = 0; i < count; i += 2 * run) {
            int64_t left = tess_min(count - i, run);
            int64_t right = tess_min(count - i - left, run);
            merge(keys + i, left, keys + i + left, right, scratch + i);
        }
        tess_sort_key *sorted = scratch;
        scratch = keys;
        keys = sorted;
    }
    return keys;
}

static int by_number_32(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int by_number_64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int64_t tess_distinct_of(void *columns, size_t size, int64_t count)
{
    char *kept = columns;
    qsort(columns, (size_t)count, size, size == 4 ? by_number_32 : by_number_64);
    for (char *next = columns; next < (char *)columns + (size_t)count * size; next += size)
        if (kept == columns || memcmp(next, kept - size, size) != 0) {
            memmove(kept, next, size);
            kept += size;
        }
    return (kept - (char *)columns) / (int64_t)size;
}

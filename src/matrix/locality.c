/* How scattered columns are: whether a product finds its parts of x in a cache. */
#include "matrix/matrix.h"

/* Each sample compares NEAR_ROWS block rows with the NEAR_ROWS before them, of both the first
 * NEAR_BLOCKS blocks at most. */
enum { NEAR_ROWS = 64, NEAR_BLOCKS = 4096, SAMPLES = 64 };

/* A set of columns: a hash table of ranges of 64 columns, with one bit per column. */
enum { RANGES = 2 * NEAR_BLOCKS };
typedef struct column_set {
    int32_t range[RANGES]; /* -1: free */
    uint64_t bits[RANGES];
} column_set;

static uint32_t place_of(const column_set *set, int32_t range)
{
    uint32_t at = ((uint32_t)range * 2654435769u >> 16) % RANGES;
    while (set->range[at] != range && set->range[at] >= 0)
        at = (at + 1) % RANGES;
    return at;
}

static uint64_t bits_of(const column_set *set, int32_t range)
{
    const uint32_t at = place_of(set, range);
    return range >= 0 && set->range[at] == range ? set->bits[at] : 0;
}

static void add_columns(column_set *set, const int32_t *columns, int64_t count)
{
    memset(set->range, 0xff, sizeof set->range);
    for (int64_t i = 0; i < count; i++) {
        const int32_t range = columns[i] / 64;
        const uint32_t at = place_of(set, range);
        if (set->range[at] < 0) {
            set->range[at] = range;
            set->bits[at] = 0;
        }
        set->bits[at] |= (uint64_t)1 << (columns[i] % 64);
    }
}

/* Returns whether the set has a column at most 64 away: in the same range, near the end of the
 * range before, or near the beginning of the next range. */
static bool is_near(const column_set *set, int32_t column)
{
    const int32_t range = column / 64, at = column % 64;
    return bits_of(set, range) != 0 || bits_of(set, range - 1) >> at != 0 ||
           bits_of(set, range + 1) << (63 - at) != 0;
}

/* The number of blocks of NEAR_ROWS block rows that are compared. */
static int64_t blocks_of(const tess_matrix *A, int64_t first)
{
    return tess_min(A->row_offsets[first + NEAR_ROWS] - A->row_offsets[first], NEAR_BLOCKS);
}

double tess_matrix_scattered(const tess_matrix *A)
{
    column_set before;
    const int64_t pairs = A->block_rows / (2 * NEAR_ROWS), samples = tess_min(pairs, SAMPLES);
    int64_t blocks = 0, far = 0;
    for (int64_t s = 0; s < samples; s++) {
        const int64_t row = s * pairs / samples * 2 * NEAR_ROWS, next = row + NEAR_ROWS;
        const int64_t count = blocks_of(A, next);
        add_columns(&before, A->columns + A->row_offsets[row], blocks_of(A, row));
        for (int64_t i = 0; i < count; i++)
            far += !is_near(&before, A->columns[A->row_offsets[next] + i]);
        blocks += count;
    }
    return blocks > 0 ? (double)far / (double)blocks : 0;
}

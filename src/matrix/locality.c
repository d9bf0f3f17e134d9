/* How scattered columns are: whether a product finds its parts of x in a cache. */
#include "matrix/matrix.h"

static int compare_columns(const void *a, const void *b)
{
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;
    return (left > right) - (left < right);
}

enum { NEAR_ROWS = 64, NEAR_BLOCKS = 4096 };

/* The columns of NEAR_ROWS block rows, of at most NEAR_BLOCKS blocks, sorted. */
static int64_t columns_of(const tess_matrix *A, int64_t first, int32_t *columns)
{
    int64_t begin = A->row_offsets[first], count = A->row_offsets[first + NEAR_ROWS] - begin;
    count = count < NEAR_BLOCKS ? count : NEAR_BLOCKS;
    if (count > 0)
        memcpy(columns, A->columns + begin, (size_t)count * sizeof *columns);
    qsort(columns, (size_t)count, sizeof *columns, compare_columns);
    return count;
}

double tess_matrix_scattered(const tess_matrix *A)
{
    int32_t before[NEAR_BLOCKS], here[NEAR_BLOCKS];
    int64_t pairs = A->block_rows / (2 * NEAR_ROWS), samples = pairs < 64 ? pairs : 64;
    int64_t blocks = 0, far = 0;
    for (int64_t s = 0; s < samples; s++) {
        int64_t row = s * pairs / samples * 2 * NEAR_ROWS;
        int64_t known = columns_of(A, row, before), count = columns_of(A, row + NEAR_ROWS, here);
        int64_t at = 0; /* the first sorted column that may be near */
        for (int64_t i = 0; i < count; i++) {
            while (at < known && before[at] < here[i] - NEAR_ROWS)
                at++;
            far += at == known || before[at] > (int64_t)here[i] + NEAR_ROWS;
        }
        blocks += count;
    }
    return blocks > 0 ? (double)far / (double)blocks : 0;
}

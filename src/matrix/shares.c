/* Rows dealt out to threads in contiguous ranges of nearly equal work. */
#include "matrix/matrix.h"

int64_t tess_share_row(const int64_t *row_offsets, int64_t rows, int share, int shares)
{
    /* A row costs its entries plus one, so that empty rows are dealt out as well. The quotient is
     * split to keep the product small: work * share may exceed 63 bits. */
    int64_t work = row_offsets[rows] + rows;
    int64_t target = work / shares * share + work % shares * share / shares;
    int64_t low = 0, high = rows;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (row_offsets[middle] + middle < target)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void tess_counts_to_offsets(int64_t *offsets, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++)
        offsets[i + 1] += offsets[i];
}

/* New values for the upper half, a template. */
#include "cpu/update/mirror.inc.c"

/* Updates rows first .. last-1; returns whether they are symmetric. */
ALWAYS bool NAME(update_rows)(tess_matrix *upper, const tess_symmetric_mirrors *mirrors,
                              const tess_matrix *A, int64_t first, int64_t last, const int b)
{
    const size_t bytes = (size_t)b * (size_t)b * sizeof(WORD);
    bool equal = true;
    for (int64_t i = first; i < last && equal; i++) {
        const int64_t to = upper->row_offsets[i], count = upper->row_offsets[i + 1] - to;
        PAIR differs[2] = {{0, 0}, {0, 0}};
        NAME(differs_row)(differs, A, mirrors, i, b);
        copy((char *)upper->values + (size_t)to * bytes,
             (const char *)A->values + (size_t)(A->row_offsets[i + 1] - count) * bytes,
             (size_t)count * bytes, tess_fetches_by_block(b), mirrors->nontemporal);
        equal = NAME(none_of)(differs) || tess_symmetric_mirrors_equal(A, mirrors, i, i + 1);
    }
    tess_store_fence(mirrors->nontemporal);
    return equal;
}

static bool NAME(update_part)(tess_matrix *upper, const tess_symmetric_mirrors *mirrors,
                              const tess_matrix *A, int64_t first, int64_t last)
{
    const int b = A->block_height;
    return b == 1    ? NAME(update_rows)(upper, mirrors, A, first, last, 1)
           : b == 2  ? NAME(update_rows)(upper, mirrors, A, first, last, 2)
           : b == 3  ? NAME(update_rows)(upper, mirrors, A, first, last, 3)
           : b == 4  ? NAME(update_rows)(upper, mirrors, A, first, last, 4)
           : b == 5  ? NAME(update_rows)(upper, mirrors, A, first, last, 5)
           : b == 7  ? NAME(update_rows)(upper, mirrors, A, first, last, 7)
           : b == 8  ? NAME(update_rows)(upper, mirrors, A, first, last, 8)
           : b == 16 ? NAME(update_rows)(upper, mirrors, A, first, last, 16)
           : b == 32 ? NAME(update_rows)(upper, mirrors, A, first, last, 32)
                     : NAME(update_rows)(upper, mirrors, A, first, last, b);
}

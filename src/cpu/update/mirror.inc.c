/* Compares new values with their mirrors: a template for loops that copy the values in the same
 * pass. It is inlined, since a row has few blocks, and a call for each row would cost as much as
 * comparing them.
 *
 *     PAIR differs[2] = {{0, 0}, {0, 0}};
 *     for (rows i)  NAME(differs_row)(differs, A, mirrors, i, b), copy row i
 *     equal = NAME(none_of)(differs) || tess_symmetric_mirrors_equal(A, mirrors, first, last)
 *
 * Bits are compared first. Rows in which bits differ are compared again as numbers: zeros of both
 * signs are equal, and so are any two NaN.
 *
 * Blocks below the diagonal are compared with their mirrors in earlier rows, which a cache still
 * holds. A is therefore read in one stream. */

/* Collects in `differs` the bits in which a block differs from the transpose of its mirror. It
 * compares 2 x 2 scalars at a time; if b is odd, also the last row and column by pairs, and the
 * corner. There are two collections, so that few operations wait for each other. Meanwhile the
 * block at `later` is prefetched, and what follows `block` in memory; neither if `later` is NULL.
 * Prefetches are spread, since cache lines requested all at once come at a third of the speed. */
ALWAYS void NAME(differs_block)(PAIR *differs, const WORD *block, const WORD *mirror,
                                const WORD *later, const int b)
{
    const int even = b - b % 2, far = tess_fetches_by_block(b) ? (int)sizeof(WORD) : 0;
    for (int q = 0; q < even; q += 2) {
        if (later) {
            tess_fetch(later + q * b, 2 * b * (int)sizeof(WORD));
            tess_fetch_far(block + q * b, 2 * b * far);
        }
        for (int p = 0; p < even; p += 2) {
            const PAIR *block_at = (const PAIR *)(block + q * b + p);
            const PAIR *block_next = (const PAIR *)(block + (q + 1) * b + p);
            const PAIR at = *(const PAIR *)(mirror + p * b + q);
            const PAIR next = *(const PAIR *)(mirror + (p + 1) * b + q);
            differs[0] |= *block_at ^ FIRSTS(at, next);
            differs[1] |= *block_next ^ SECONDS(at, next);
        }
    }
    if (even == b)
        return;
    if (later) {
        tess_fetch(later + b * b - 1, 1);
        tess_fetch_far(block + even * b,
                       b > 3 ? b * far : 0); /* 3 x 3: in the next block's cache line */
    }
    for (int p = 0; p < even; p += 2) {
        const PAIR column = {mirror[p * b + even], mirror[(p + 1) * b + even]};
        const PAIR row = {block[p * b + even], block[(p + 1) * b + even]};
        differs[0] |= *(const PAIR *)(block + even * b + p) ^ column;
        differs[1] |= *(const PAIR *)(mirror + even * b + p) ^ row;
    }
    differs[0] |= (PAIR){block[b * b - 1] ^ mirror[b * b - 1], 0};
}

/* The same for the blocks of row i up to the diagonal. If the places of the mirrors are not known,
 * the row counts as different. */
ALWAYS void NAME(differs_row)(PAIR *differs, const tess_matrix *A, const tess_symmetric_mirrors *M,
                              int64_t i, const int b)
{
    const int ahead = tess_blocks_ahead(b);
    const int64_t size = (int64_t)b * b, last = A->row_offsets[i + 1];
    const int64_t end = last - (M->offsets[i + 1] - M->offsets[i]);
    const WORD *values = A->values;
    int64_t k = A->row_offsets[i];
    if (!tess_fetches_by_block(b))
        tess_fetch_far(values + k * size, (last - k) * size * (int64_t)sizeof(WORD));
    if (!M->places) {
        differs[0] |= (PAIR){1, 1};
        return;
    }
    for (const uint32_t *place = M->places + (k - M->offsets[i]); k < end; k++, place++)
        NAME(differs_block)
    (differs, values + k * size, values + *place * size,
     ahead > 0 ? values + place[ahead] * size : NULL, b);
    if (b > 1 && end < last && (M->diagonal || A->columns[end] == i))
        NAME(differs_block)(differs, values + end * size, values + end * size, NULL, b);
}

ALWAYS bool NAME(none_of)(const PAIR *differs)
{
    return (differs[0][0] | differs[0][1] | differs[1][0] | differs[1][1]) == 0;
}

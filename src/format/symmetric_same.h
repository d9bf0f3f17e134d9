/* Whether new numbers are symmetric: for loops that copy them meanwhile, and therefore in line. A
 * row has few blocks, and a call for each would cost as much as comparing them.
 *
 *     two differs[2] = {{0, 0}, {0, 0}};
 *     for (rows i)  tess_differs_row_f64(differs, A, M, i, b), copy row i
 *     same = TESS_NONE_OF(differs) || tess_symmetric_same_numbers(A, M, first, last)
 *
 * Bits are compared first. Rows in which some differ are looked at again: zeros of both signs are
 * equal, and any two NaN.
 *
 * Blocks below the diagonal are compared with mirrors in rows before, which are still in a cache:
 * whoever compares and copies one row after the other reads A in one stream. */
#ifndef TESS_FORMAT_SYMMETRIC_SAME_H
#define TESS_FORMAT_SYMMETRIC_SAME_H

#include "format/symmetric.h"
#include "format/two.h"

TESS_ALWAYS void tess_fetch(const void *from, int bytes)
{
    for (int at = 0; at < bytes; at += 64)
        __builtin_prefetch((const char *)from + at);
}

/* Asks for what is used much later and is still in memory: into the last cache, since the nearer
 * ones have few requests on their way and others need them. Meanwhile there is work to do, during
 * which the memory would rest. */
TESS_ALWAYS void tess_fetch_far(const void *before, int64_t bytes)
{
    enum { FAR = 16384 };
    for (int64_t at = 0; at < bytes; at += 64)
        __builtin_prefetch((const char *)before + FAR + at, 0, 1);
}

/* Whether this is done block by block; otherwise at the beginning of each row: it has few lines. */
TESS_ALWAYS bool tess_fetches_by_block(const int b)
{
    return b >= 3;
}

/* How many blocks before its use the mirror of a block is fetched: a kilobyte or two, which is what
 * the memory has on its way. Lone numbers are faster without. */
TESS_ALWAYS int tess_blocks_ahead(const int b)
{
    return b == 1 ? 0 : b == 2 ? 32 : b == 3 ? 20 : b == 4 ? 12 : b <= 8 ? 6 : 2;
}

/* Collects in `differs` the bits in which a block differs from the transpose of another one: of
 * 2 x 2 scalars at once, with an odd b those of the last row and column by twos, and the corner; in
 * two places, so that few wait for each other. Meanwhile the block that begins at `later` is
 * fetched (NULL: none is) and what follows `block` in memory, line by line: lines asked for all at
 * once come at a third of the speed. */
#define TESS_DIFFERS_BLOCK(name, word, two)                                                       \
    TESS_ALWAYS void name(two *differs, const word *block, const word *mirror, const word *later, \
                          const int b)                                                            \
    {                                                                                             \
        const int even = b - b % 2, far = tess_fetches_by_block(b) ? (int)sizeof(word) : 0;       \
        for (int q = 0; q < even; q += 2) {                                                       \
            if (later) {                                                                          \
                tess_fetch(later + q * b, 2 * b * (int)sizeof(word));                             \
                tess_fetch_far(block + q * b, 2 * b * far);                                       \
            }                                                                                     \
            for (int p = 0; p < even; p += 2) {                                                   \
                const two *block_at = (const two *)(block + q * b + p);                           \
                const two *block_next = (const two *)(block + (q + 1) * b + p);                   \
                const two at = *(const two *)(mirror + p * b + q);                                \
                const two next = *(const two *)(mirror + (p + 1) * b + q);                        \
                differs[0] |= *block_at ^ TESS_FIRST_OF(two, at, next);                           \
                differs[1] |= *block_next ^ TESS_SECOND_OF(two, at, next);                        \
            }                                                                                     \
        }                                                                                         \
        if (even == b)                                                                            \
            return;                                                                               \
        if (later) {                                                                              \
            tess_fetch(later + b * b - 1, 1);                                                     \
            tess_fetch_far(block + even * b, b > 3 ? b * far : 0); /* 3: the next block's line */ \
        }                                                                                         \
        for (int p = 0; p < even; p += 2) {                                                       \
            const two column = {mirror[p * b + even], mirror[(p + 1) * b + even]};                \
            const two row = {block[p * b + even], block[(p + 1) * b + even]};                     \
            differs[0] |= *(const two *)(block + even * b + p) ^ column;                          \
            differs[1] |= *(const two *)(mirror + even * b + p) ^ row;                            \
        }                                                                                         \
        differs[0] |= (two){block[b * b - 1] ^ mirror[b * b - 1], 0};                             \
    }
TESS_DIFFERS_BLOCK(tess_differs_block_f64, tess_bits64, tess_two_bits64)
TESS_DIFFERS_BLOCK(tess_differs_block_f32, tess_bits32, tess_two_bits32)

/* The same for the blocks of row i up to the diagonal. Nobody knows whether they differ when it is
 * not known where the mirrors are. */
#define TESS_DIFFERS_ROW(name, word, two, differs_block)                                       \
    TESS_ALWAYS void name(two *differs, const tess_matrix *A, const tess_symmetric_mirrors *M, \
                          int64_t i, const int b)                                              \
    {                                                                                          \
        const int ahead = tess_blocks_ahead(b);                                                \
        const int64_t size = (int64_t)b * b, last = A->row_offsets[i + 1];                     \
        const int64_t end = last - (M->offsets[i + 1] - M->offsets[i]);                        \
        const word *values = A->values;                                                        \
        int64_t k = A->row_offsets[i];                                                         \
        if (!tess_fetches_by_block(b))                                                         \
            tess_fetch_far(values + k * size, (last - k) * size * (int64_t)sizeof(word));      \
        if (!M->places) {                                                                      \
            differs[0] |= (two){1, 1};                                                         \
            return;                                                                            \
        }                                                                                      \
        for (const uint32_t *place = M->places + (k - M->offsets[i]); k < end; k++, place++)   \
            differs_block(differs, values + k * size, values + *place * size,                  \
                          ahead > 0 ? values + place[ahead] * size : NULL, b);                 \
        if (b > 1 && end < last && (M->diagonal || A->columns[end] == i))                      \
            differs_block(differs, values + end * size, values + end * size, NULL, b);         \
    }
TESS_DIFFERS_ROW(tess_differs_row_f64, tess_bits64, tess_two_bits64, tess_differs_block_f64)
TESS_DIFFERS_ROW(tess_differs_row_f32, tess_bits32, tess_two_bits32, tess_differs_block_f32)

#define TESS_NONE_OF(differs) \
    (((differs)[0][0] | (differs)[0][1] | (differs)[1][0] | (differs)[1][1]) == 0)

/* Whether in rows first .. last-1 the numbers of the blocks up to the diagonal are those of their
 * mirrors, one after the other. */
bool tess_symmetric_same_numbers(const tess_matrix *A, const tess_symmetric_mirrors *M,
                                 int64_t first, int64_t last);

#endif

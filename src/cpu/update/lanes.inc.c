/* New values for half storage with rows in lanes, a template. */
#include "cpu/update/mirror.inc.c"

/* Puts scalars first .. last-1 of `lanes` blocks side by side: two scalars of two lanes at a
 * time. */
ALWAYS void NAME(fill_slot)(WORD *to, const WORD *const *from, const int first, const int last,
                            const int lanes, const bool nontemporal)
{
    for (int e = first; e < last; e += 2, to += 2 * lanes) {
        const bool both = e + 1 < last;
        int l = 0;
        for (; both && l + 1 < lanes; l += 2) {
            const PAIR left = *(const PAIR *)(from[l] + e);
            const PAIR right = *(const PAIR *)(from[l + 1] + e);
            NAME(tess_store_pair)((PAIR *)(to + l), FIRSTS(left, right), nontemporal);
            NAME(tess_store_pair)((PAIR *)(to + lanes + l), SECONDS(left, right), nontemporal);
        }
        for (; !both && l + 1 < lanes; l += 2)
            NAME(tess_store_pair)
        ((PAIR *)(to + l), (PAIR){from[l][e], from[l + 1][e]}, nontemporal);
        for (; l < lanes; l++) {
            to[l] = from[l][e];
            if (both)
                to[lanes + l] = from[l][e + 1];
        }
    }
}

/* Fills the first array of a group, the second one or both, slot after slot: the blocks of a row
 * come in their order. A lane without a block gets zeros. Two full slots of 1 x 1 blocks are filled
 * like one slot of blocks with two scalars. */
ALWAYS void NAME(fill_arrays)(const tess_symmetric_lanes *S, const tess_matrix *A,
                              const int64_t *offsets, int64_t group, const int b, const int lanes,
                              const bool first, const bool second, const bool nontemporal)
{
    const int size = b * b, half = (size + 1) / 2, all = (1 << lanes) - 1;
    const WORD *next[MOST_LANES], *from[MOST_LANES], *zeros = S->zeros;
    for (int l = 0; l < lanes; l++) {
        const int64_t row = group * lanes + l;
        next[l] = zeros;
        if (row < A->block_rows)
            next[l] = (const WORD *)A->values +
                      (A->row_offsets[row + 1] - offsets[row + 1] + offsets[row]) * size;
    }
    for (int64_t k = S->offsets[group], end = S->offsets[group + 1]; k < end; k++) {
        const int present = S->present[k];
        if (b == 1 && present == all && k + 1 < end && S->present[k + 1] == all) {
            NAME(fill_slot)((WORD *)S->values[0] + k * lanes, next, 0, 2, lanes, nontemporal);
            for (int l = 0; l < lanes; l++)
                next[l] += 2;
            k++;
            continue;
        }
        for (int l = 0; l < lanes; l++) {
            from[l] = present >> l & 1 ? next[l] : zeros;
            next[l] += present >> l & 1 ? size : 0;
        }
        if (first)
            NAME(fill_slot)
        ((WORD *)S->values[0] + k * half * lanes, from, 0, half, lanes, nontemporal);
        if (second)
            NAME(fill_slot)
        ((WORD *)S->values[1] + k * (size - half) * lanes, from, half, size, lanes, nontemporal);
    }
}

/* Updates a group; returns whether its rows are symmetric. Rows of 1 x 1 blocks are not read ahead,
 * since they are a few cache lines in all. With an odd b the slots of the two arrays are not whole
 * cache lines, and cache lines written in parts are slow: the arrays are then filled one after the
 * other. */
ALWAYS bool NAME(update_group)(const tess_symmetric_lanes *S, const tess_symmetric_mirrors *mirrors,
                               const tess_matrix *A, int64_t group, const int b, const int lanes)
{
    const int64_t first = group * lanes, rows = A->block_rows;
    const int64_t last = tess_min(first + lanes, rows);
    const bool nontemporal = mirrors->nontemporal && lanes % 2 == 0;
    PAIR differs[2] = {{0, 0}, {0, 0}};
    for (int64_t i = first; i < last; i++) {
        NAME(differs_row)(differs, A, mirrors, i, b);
        if (b > 1)
            touch(A, mirrors->offsets, i, b);
    }
    NAME(fill_arrays)(S, A, mirrors->offsets, group, b, lanes, true, b % 2 == 0, nontemporal);
    if (b % 2 && b > 1)
        NAME(fill_arrays)(S, A, mirrors->offsets, group, b, lanes, false, true, nontemporal);
    return NAME(none_of)(differs) || tess_symmetric_mirrors_equal(A, mirrors, first, last);
}

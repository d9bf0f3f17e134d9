/* Matrices whose blocks are hidden by a numbering. */
#ifndef TEST_HIDDEN_H
#define TEST_HIDDEN_H

#include "support/support.h"

/* The numbering by fields: all first unknowns of the groups of b, then all second ones, and so on.
 * `rows` is a multiple of b. */
static inline int64_t *by_fields(int64_t rows, int32_t b)
{
    int64_t *perm = malloc((size_t)rows * sizeof *perm), length = rows / b;
    for (int64_t i = 0; i < rows; i++)
        perm[i] = i % length * b + i / length;
    return perm;
}

static inline int64_t *by_chance(int64_t rows, uint64_t seed)
{
    int64_t *perm = malloc((size_t)rows * sizeof *perm);
    for (int64_t i = 0; i < rows; i++)
        perm[i] = i;
    for (int64_t i = rows - 1; i > 0; i--) {
        const int64_t j = tess_random_below(seed, (uint64_t)i, i + 1), kept = perm[i];
        perm[i] = perm[j];
        perm[j] = kept;
    }
    return perm;
}

/* The scalars of A, renumbered. */
static inline tess_matrix *hide(tess_ctx *ctx, const tess_matrix *A, const int64_t *perm)
{
    tess_matrix *scalars, *hidden;
    assert_int_equal(tess_matrix_to_csr(ctx, A, TESS_ZEROS_KEEP, &scalars), TESS_OK);
    assert_int_equal(tess_matrix_permute(ctx, scalars, perm, &hidden), TESS_OK);
    tess_matrix_destroy(scalars);
    return hidden;
}

/* The number of b x b blocks in A's own numbering. */
static inline int64_t natural_blocks(tess_ctx *ctx, const tess_matrix *A, int32_t b)
{
    const tess_blocking blocking = {b, b};
    tess_matrix *B;
    assert_int_equal(tess_matrix_to_blocks(ctx, A, &blocking, &B), TESS_OK);
    const int64_t blocks = B->blocks;
    tess_matrix_destroy(B);
    return blocks;
}

/* The share of groups whose members were one group of b before perm hid them. */
static inline double groups_found(const tess_regrouping *R, const int64_t *perm, int64_t rows)
{
    const int32_t b = R->block;
    int64_t found = 0, groups = rows / b;
    for (int64_t g = 0; g < groups; g++) {
        bool whole = true;
        for (int32_t k = 1; k < b; k++)
            whole = whole && perm[R->order[g * b + k]] / b == perm[R->order[g * b]] / b;
        found += whole;
    }
    return groups > 0 ? (double)found / (double)groups : 0;
}

#endif

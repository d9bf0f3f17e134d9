/* Symmetric permutation of block rows and columns: B(i, j) = A(perm[i], perm[j]).
 *
 * New row i is old row perm[i] with its columns renumbered by the inverse of perm and sorted again.
 * The renumbering is a permutation, so no column repeats.
 */
#include "matrix/sort.h"

/* Sets inverse[perm[i]] = i. Fails at the first entry of perm that is out of range or repeated. */
static tess_status invert(tess_ctx *ctx, int64_t count, const int64_t *perm, int64_t *inverse)
{
    for (int64_t i = 0; i < count; i++)
        inverse[i] = -1;
    for (int64_t i = 0; i < count; i++) {
        if (perm[i] < 0 || perm[i] >= count)
            return tess_fail(ctx, TESS_ERR_ARGUMENT,
                             "perm[%" PRId64 "] = %" PRId64 " is outside 0..%" PRId64, i, perm[i],
                             count - 1);
        if (inverse[perm[i]] >= 0)
            return tess_fail(ctx, TESS_ERR_ARGUMENT,
                             "perm[%" PRId64 "] = %" PRId64 " repeats perm[%" PRId64 "]", i,
                             perm[i], inverse[perm[i]]);
        inverse[perm[i]] = i;
    }
    return TESS_OK;
}

static tess_status check(tess_ctx *ctx, const tess_matrix *A, const int64_t *perm, int64_t *inverse)
{
    TESS_TRY(invert(ctx, A->block_rows, perm, inverse));
    int64_t last = A->block_rows - 1;
    bool ragged = A->rows % A->block_height != 0 || A->cols % A->block_width != 0;
    if (ragged && perm[last] != last)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "perm[%" PRId64 "] = %" PRId64
                         ", but the last block is padded and must stay last",
                         last, perm[last]);
    return TESS_OK;
}

static void permute_row(const tess_matrix *A, tess_matrix *B, int64_t row, int64_t old,
                        const int64_t *inverse, tess_sort_key *keys, tess_sort_key *scratch)
{
    size_t bytes = (size_t)A->block_height * (size_t)A->block_width * tess_type_size(A->type);
    int64_t count = A->row_offsets[old + 1] - A->row_offsets[old];
    for (int64_t i = 0; i < count; i++) {
        int64_t k = A->row_offsets[old] + i;
        keys[i] = (tess_sort_key){(int32_t)inverse[A->columns[k]], k};
    }
    const tess_sort_key *sorted = tess_sort_keys(keys, scratch, count);
    for (int64_t i = 0; i < count; i++) {
        int64_t to = B->row_offsets[row] + i;
        B->columns[to] = sorted[i].column;
        memcpy((char *)B->values + (size_t)to * bytes,
               (const char *)A->values + (size_t)sorted[i].position * bytes, bytes);
    }
}

/* Sets at[share], where the scratch of each share starts. Its size is the longest row of the
 * share. */
static void measure_shares(const tess_matrix *B, int shares, int64_t *at)
{
    at[0] = 0;
    for (int share = 0; share < shares; share++) {
        int64_t longest = 0;
        int64_t last = tess_share_row(B->row_offsets, B->block_rows, share + 1, shares);
        for (int64_t row = tess_share_row(B->row_offsets, B->block_rows, share, shares); row < last;
             row++)
            longest = tess_max(B->row_offsets[row + 1] - B->row_offsets[row], longest);
        at[share + 1] = at[share] + longest;
    }
}

struct permute_share {
    tess_sort_key *keys;
    int64_t *at;
    tess_matrix *B;
    const tess_matrix *A;
    const int64_t *perm;
    int64_t *inverse;
};

static void permute_share(void *arg, tess_range rows)
{
    const struct permute_share *job = arg;
    const int64_t *at = job->at + rows.share;
    tess_sort_key *mine = job->keys + 2 * at[0], *scratch = mine + at[1] - at[0];
    for (int64_t row = rows.first; row < rows.last; row++)
        permute_row(job->A, job->B, row, job->perm[row], job->inverse, mine, scratch);
}

tess_status tess_matrix_permute(tess_ctx *ctx, const tess_matrix *A, const int64_t *perm,
                                tess_matrix **out)
{
    TESS_NEED(ctx, ctx && A && out && (perm || A->block_rows == 0));
    if (A->block_rows != A->block_cols)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_matrix_permute: %" PRId64 " x %" PRId64 " blocks are not square",
                         A->block_rows, A->block_cols);
    tess_matrix *B;
    int64_t *inverse = NULL, *at = NULL;
    tess_sort_key *keys = NULL;
    int shares = ctx->threads;
    TESS_TRY(tess_matrix_allocate(ctx, A->type, A->rows, A->cols, A->block_height, A->block_width,
                                  A->blocks, &B));
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->block_rows, &inverse));
    TESS_TRY_CLEAN(check(ctx, A, perm, inverse));
    for (int64_t i = 0; i < A->block_rows; i++)
        B->row_offsets[i + 1] =
            B->row_offsets[i] + A->row_offsets[perm[i] + 1] - A->row_offsets[perm[i]];
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, shares + 1, &at));
    measure_shares(B, shares, at);
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 2 * at[shares], &keys));
    tess_for_rows(ctx, B->row_offsets, B->block_rows, permute_share,
                  &(struct permute_share){keys, at, B, A, perm, inverse});
cleanup:
    TESS_FREE(ctx, inverse, at, keys);
    return TESS_DELIVER(status, B, tess_matrix_destroy, out);
}

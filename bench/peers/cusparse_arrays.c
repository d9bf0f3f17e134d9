/* A matrix's arrays in the orders that cuSPARSE wants: blocks row-major, and sliced ELL. */
#include "cusparse_api.h"

struct transpose_range {
    const tess_matrix *A;
    int64_t b;
    double *to64;
    const double *from64;
    float *to32;
    const float *from32;
};

static void transpose_range(void *arg, tess_range range)
{
    const struct transpose_range *job = arg;
    const int64_t b = job->b;
    for (int64_t k = range.first; k < range.last; k++)
        for (int64_t j = 0; j < b; j++)
            for (int64_t i = 0; i < b; i++)
                if (job->A->type == TESS_F64)
                    job->to64[(k * b + i) * b + j] = job->from64[(k * b + j) * b + i];
                else
                    job->to32[(k * b + i) * b + j] = job->from32[(k * b + j) * b + i];
}

void cusparse_to_rows(const tess_matrix *A, void *to)
{
    int64_t b = A->block_height;
    const double *from64 = A->values;
    const float *from32 = A->values;
    double *to64 = to;
    float *to32 = to;
    tess_for(A->ctx, A->blocks, transpose_range,
             &(struct transpose_range){A, b, to64, from64, to32, from32});
}

/* Slices of SELL_SLICE rows, each as wide as its longest row, stored one after
 * the other, column by column. Places without an entry have column -1. */
tess_status cusparse_to_sell(tess_ctx *ctx, const tess_matrix *csr, sell_arrays *out)
{
    const int64_t slices = tess_ceil_div(csr->rows, SELL_SLICE);
    const size_t size = tess_type_size(csr->type);
    sell_arrays S = {.slices = slices};
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, slices + 1, &S.offsets));
    S.offsets[0] = 0;
    for (int64_t s = 0; s < slices; s++) {
        int64_t widest = 0;
        for (int64_t i = s * SELL_SLICE; i < (s + 1) * SELL_SLICE && i < csr->rows; i++)
            widest = tess_max(csr->row_offsets[i + 1] - csr->row_offsets[i], widest);
        S.stored += widest * SELL_SLICE;
        if (S.stored > INT32_MAX) {
            status = tess_fail(ctx, TESS_ERR_UNSUPPORTED, "sliced ELL: more than 2^31 places");
            goto cleanup;
        }
        S.offsets[s + 1] = (int32_t)S.stored;
    }
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, S.stored, &S.columns));
    TESS_TRY_CLEAN(tess_alloc_bytes(ctx, S.stored, size, &S.values));
    memset(S.columns, 0xff, (size_t)S.stored * sizeof *S.columns);
    memset(S.values, 0, (size_t)S.stored * size);
    for (int64_t i = 0; i < csr->rows; i++)
        for (int64_t k = csr->row_offsets[i]; k < csr->row_offsets[i + 1]; k++) {
            const int64_t at =
                S.offsets[i / SELL_SLICE] + (k - csr->row_offsets[i]) * SELL_SLICE + i % SELL_SLICE;
            S.columns[at] = csr->columns[k];
            memcpy((char *)S.values + (size_t)at * size,
                   (const char *)csr->values + (size_t)k * size, size);
        }
    *out = S;
    return TESS_OK;
cleanup:
    sell_free(ctx, &S);
    return status;
}

void sell_free(tess_ctx *ctx, sell_arrays *S)
{
    TESS_FREE(ctx, S->offsets, S->columns, S->values);
}

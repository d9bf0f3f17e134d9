/* The numbers of factors that are solved stage by stage. */
#include "solve/pc/triangles/staged.h"

/* Blocks of A in the new order. The diagonal of the padding becomes 1. */
tess_status tess_staged_take_values(tess_staged *staged, const tess_matrix *A)
{
    tess_matrix *B = &staged->reordered;
    const int64_t size = (int64_t)staged->block * staged->block;
    const size_t bytes = (size_t)size * tess_type_size(A->type);
    TESS_TRY(tess_alloc_bytes(staged->ctx, B->blocks, bytes, &B->values));
    B->type = A->type;
    tess_take_blocks(staged->ctx, B->blocks, staged->source, bytes, A->values, B->values);
    if (staged->padding > 0) {
        const int64_t last = staged->stages.places[staged->block_rows - 1];
        const int64_t k = tess_matrix_find(B, last, last);
        for (int32_t i = staged->block - staged->padding; i < staged->block; i++)
            tess_put(B->values, B->type, k * size + i * (staged->block + 1), 1);
    }
    return TESS_OK;
}

void tess_staged_drop_values(tess_staged *staged)
{
    tess_free(staged->ctx, staged->reordered.values);
    staged->reordered.values = NULL;
}

#define INLINE static inline __attribute__((always_inline))

/* Stores `count` doubles, which are whole blocks, from double `at` on of an array of the pc's
 * type. */
INLINE void store(const tess_staged *staged, void *values, int64_t at, const double *from,
                  int64_t count)
{
    if (tess_is_complex(staged->type)) {
        tess_embed_take_back(from, count / staged->block, staged->block, staged->type, values,
                             at / 4);
    } else if (staged->type == TESS_F64) {
        memcpy((double *)values + at, from, (size_t)count * sizeof *from);
    } else {
        float *to = (float *)values + at;
        for (int64_t i = 0; i < count; i++)
            to[i] = (float)from[i];
    }
}

/* to = a b. */
INLINE void multiply(double *restrict to, const double *restrict a, const double *restrict b,
                     const int32_t n)
{
    for (int32_t j = 0; j < n; j++) {
        for (int32_t i = 0; i < n; i++)
            to[j * n + i] = a[i] * b[j * n];
        for (int32_t k = 1; k < n; k++)
            for (int32_t i = 0; i < n; i++)
                to[j * n + i] += a[k * n + i] * b[j * n + k];
    }
}

INLINE void transpose(double *restrict to, const double *restrict from, const int32_t n)
{
    for (int32_t j = 0; j < n; j++)
        for (int32_t i = 0; i < n; i++)
            to[j * n + i] = from[i * n + j];
}

/* Fills the row at a place; `block` is scratch for one block. */
INLINE void fill_row(tess_staged *staged, const tess_factors *f, const tess_factor_values *v,
                     int64_t place, double *block, const int32_t b)
{
    tess_split *split = &staged->plain;
    const int64_t size = (int64_t)b * b, q = staged->block_rows - 1 - place;
    const int64_t first = split->lower.offsets[place], last = split->lower.offsets[place + 1];
    const double *inverse = tess_factor_inverse(f, v, 0, place);
    store(staged, split->inverse, place * size, inverse, size);
    if (staged->type != TESS_F64) /* otherwise taken over as it is */
        store(staged, split->lower.values, first * size, v->lower + first * size,
              (last - first) * size);
    for (int64_t k = split->upper.offsets[q]; k < split->upper.offsets[q + 1]; k++) {
        /* The upper triangle is D^-1 U, which is L^T where factors are symmetric. */
        if (staged->symmetric)
            transpose(block, v->lower + split->upper.source[k] * size, b);
        else
            multiply(block, inverse, v->upper + split->upper.source[k] * size, b);
        store(staged, split->upper.values, k * size, block, size);
    }
}

/* Fills places first .. last-1. The most frequent sizes are compiled separately. */
static void fill_rows(tess_staged *staged, const tess_factors *f, const tess_factor_values *v,
                      int64_t first, int64_t last, double *block)
{
#define CASE(B)                                  \
    case B:                                      \
        for (int64_t p = first; p < last; p++)   \
            fill_row(staged, f, v, p, block, B); \
        break
    switch (staged->block) {
        CASE(1);
        CASE(2);
        CASE(3);
        CASE(4);
        CASE(5);
    default:
        for (int64_t p = first; p < last; p++)
            fill_row(staged, f, v, p, block, staged->block);
    }
#undef CASE
}

/* Sets block `k` of the array `to` to the transpose of block `source` of `from`. */
static void transpose_block(const tess_staged *staged, const void *from, int64_t source, void *to,
                            int64_t k)
{
    const bool complex = tess_is_complex(staged->type);
    const int32_t b = complex ? staged->block / 2 : staged->block;
    const int64_t size = (int64_t)b * b;
    for (int32_t j = 0; j < b; j++)
        for (int32_t i = 0; i < b; i++) {
            const int64_t at = source * size + i * b + j;
            if (complex)
                tess_put_complex(to, staged->type, k * size + j * b + i,
                                 tess_conjugate(tess_get_complex(from, staged->type, at)));
            else
                tess_copy_scalar(staged->type, to, k * size + j * b + i, from, at);
        }
}

/* Sets blocks first .. last-1 of a triangle, each to the transpose of its source in `from`. */
static void transpose_blocks(const tess_staged *staged, const void *from, tess_triangle *to,
                             int64_t first, int64_t last)
{
    for (int64_t k = first; k < last; k++)
        transpose_block(staged, from, to->source[k], to->values, k);
}

static void fill_transposed(void *to, const void *from, int64_t place)
{
    tess_staged *staged = to;
    const tess_split *plain = from;
    tess_split *split = &staged->transposed;
    const int64_t q = staged->block_rows - 1 - place;
    transpose_block(staged, plain->inverse, place, split->inverse, place);
    transpose_blocks(staged, plain->upper.values, &split->lower, split->lower.offsets[place],
                     split->lower.offsets[place + 1]);
    transpose_blocks(staged, plain->lower.values, &split->upper, split->upper.offsets[q],
                     split->upper.offsets[q + 1]);
}

struct fill_share {
    tess_staged *staged;
    const tess_factors *f;
    tess_factor_values *v;
    double *blocks;
    int64_t size;
};

static void fill_share(void *arg, tess_range rows)
{
    const struct fill_share *job = arg;
    fill_rows(job->staged, job->f, job->v, rows.first, rows.last,
              job->blocks + rows.share * job->size);
}

tess_status tess_staged_fill(tess_staged *staged, const tess_factors *f, tess_factor_values *v)
{
    tess_ctx *ctx = staged->ctx;
    const int64_t rows = staged->block_rows, size = (int64_t)staged->block * staged->block;
    double *blocks;
    TESS_TRY(TESS_ALLOC(ctx, ctx->threads * size, &blocks));
    tess_for_rows(ctx, staged->plain.lower.offsets, rows, fill_share,
                  &(struct fill_share){staged, f, v, blocks, size});
    tess_free(ctx, blocks);
    if (staged->type == TESS_F64) {
        tess_free(ctx, staged->plain.lower.values);
        staged->plain.lower.values = v->lower;
        v->lower = NULL;
    }
    if (!staged->transposed.inverse)
        return TESS_OK;
    tess_for_each(ctx, rows, 0, fill_transposed, staged, &staged->plain);
    return TESS_OK;
}

double tess_staged_bytes(const tess_staged *staged)
{
    const int64_t rows = staged->block_rows;
    const double blocks =
        (double)staged->plain.lower.offsets[rows] + (double)staged->plain.upper.offsets[rows];
    /* Values; a column per block; 16 bytes per row for offsets and row numbers. */
    return (blocks + (double)rows) * (double)tess_factor_bytes(staged->type, staged->block) +
           4 * blocks + 16 * (double)rows;
}

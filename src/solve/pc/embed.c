/* Complex matrices as real ones of twice the size, so that dense inverses and factors need one
 * code.
 *
 *     a + bi   c + di          a -b   c -d
 *     ...            ──>       b  a   d  c        column-major: column 2j of a block is its complex
 *                              ...                column j, column 2j + 1 that one times i
 */
#include "solve/pc/pc.h"

tess_matrix tess_embedding(const tess_matrix *A)
{
    tess_matrix E = *A;
    E.type = tess_real_type(A->type);
    E.rows *= 2;
    E.cols *= 2;
    E.block_height *= 2;
    E.block_width *= 2;
    E.values = NULL;
    return E;
}

/* Column j of A's blocks, one after the other, as the two columns of `to` from its real `at` on. */
static void embed_column(const tess_matrix *A, int64_t j, tess_type type, void *to, int64_t at)
{
    const int64_t height = A->block_height;
    for (int64_t i = 0; i < height; i++) {
        const tess_complex value = tess_matrix_complex_value(A, j * height + i);
        const int64_t even = at + 2 * i, odd = even + 2 * height;
        tess_put(to, type, even, value.re);
        tess_put(to, type, even + 1, value.im);
        tess_put(to, type, odd, -value.im);
        tess_put(to, type, odd + 1, value.re);
    }
}

void tess_embed_block(const tess_matrix *A, int64_t k, double *to)
{
    const int64_t width = A->block_width;
    for (int64_t j = 0; j < width; j++)
        embed_column(A, k * width + j, TESS_F64, to, 4 * j * A->block_height);
}

struct embed_columns {
    const tess_matrix *A;
    void *values;
    tess_type type;
};

static void embed_columns(void *arg, tess_range columns)
{
    const struct embed_columns *job = arg;
    for (int64_t j = columns.first; j < columns.last; j++)
        embed_column(job->A, j, job->type, job->values, 4 * j * job->A->block_height);
}

tess_status tess_embed(tess_ctx *ctx, const tess_matrix *A, tess_matrix *out)
{
    tess_matrix E = tess_embedding(A);
    TESS_TRY(tess_alloc_bytes(ctx, 4 * tess_matrix_stored(A), tess_type_size(E.type), &E.values));
    tess_for(ctx, A->blocks * A->block_width, embed_columns,
             &(struct embed_columns){A, E.values, E.type});
    *out = E;
    return TESS_OK;
}

void tess_embed_take_back(const double *from, int64_t columns, int64_t height, tess_type type,
                          void *to, int64_t at)
{
    const tess_type part = tess_real_type(type);
    for (int64_t j = 0; j < columns / 2; j++)
        for (int64_t i = 0; i < height; i++)
            tess_put(to, part, 2 * at + j * height + i, from[2 * j * height + i]);
}

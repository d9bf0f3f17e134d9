/* Assembly: builds a matrix from the blocks that the inserters hold.
 *
 * The first call of finish sorts the block rows and columns, without the values, into a pattern.
 * Every call then adds the values: each thread owns a range of the pattern's blocks, reads the
 * places of all added blocks in order, and adds the blocks of its range. So no atomics are needed,
 * and the sums are the same for any number of threads.
 */
#include "matrix/assemble/builder.h"

enum { CHUNK_BYTES = 1 << 20 };

tess_status tess_builder_create(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                                int32_t block_height, int32_t block_width, int inserters,
                                tess_builder **out)
{
    TESS_NEED(ctx, ctx && out);
    if (inserters < 1)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_builder_create: %d inserters, but there must be at least 1",
                         inserters);
    tess_builder *builder;
    TESS_TRY(TESS_ALLOC(ctx, 1, &builder));
    *builder = (tess_builder){.ctx = ctx};
    tess_status status;
    TESS_TRY_CLEAN(
        tess_matrix_head(ctx, type, rows, cols, block_height, block_width, 0, &builder->pattern));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, inserters, &builder->inserter));
    builder->inserters = inserters;
    builder->block_bytes = tess_block_bytes(block_height, block_width, type);
    builder->chunk_blocks = CHUNK_BYTES / (int64_t)(16 + builder->block_bytes) + 1;
    for (int id = 0; id < inserters; id++) {
        builder->inserter[id].ctx = *ctx;
        builder->inserter[id].ctx.error[0] = '\0';
        builder->inserter[id].builder = builder;
    }
cleanup:
    return TESS_DELIVER(status, builder, tess_builder_destroy, out);
}

void tess_builder_destroy(tess_builder *builder)
{
    if (!builder)
        return;
    for (int id = 0; id < builder->inserters; id++) {
        tess_inserter *inserter = &builder->inserter[id];
        for (int64_t i = 0; i < inserter->chunks; i++)
            tess_free(builder->ctx, inserter->chunk[i].place);
        tess_free(builder->ctx, inserter->chunk);
    }
    tess_free(builder->ctx, builder->inserter);
    tess_matrix_destroy(builder->pattern);
    tess_free(builder->ctx, builder);
}

tess_inserter *tess_builder_inserter(tess_builder *builder, int id)
{
    return builder && id >= 0 && id < builder->inserters ? &builder->inserter[id] : NULL;
}

void tess_builder_clear(tess_builder *builder)
{
    for (int id = 0; builder && id < builder->inserters; id++) {
        builder->inserter[id].count = 0;
        builder->inserter[id].failed = TESS_OK;
    }
}

static tess_status first_failure(const tess_builder *builder)
{
    for (int id = 0; id < builder->inserters; id++)
        if (builder->inserter[id].failed)
            return tess_fail(builder->ctx, builder->inserter[id].failed, "inserter %d: %s", id,
                             builder->inserter[id].ctx.error);
    return TESS_OK;
}

/* The pattern of everything added, as a matrix of zeros. */
static tess_status sort_pattern(tess_builder *builder, tess_matrix **out)
{
    tess_ctx *ctx = builder->ctx;
    const tess_matrix *sizes = builder->pattern;
    int64_t pieces = 0, entries = 0, *row_offsets = NULL;
    int32_t *columns = NULL;
    tess_coo_piece *piece = NULL;
    for (int id = 0; id < builder->inserters; id++) {
        pieces += tess_inserter_chunks(&builder->inserter[id]);
        entries += builder->inserter[id].count;
    }
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, pieces, &piece));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, sizes->block_rows + 1, &row_offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, entries, &columns));
    pieces = 0;
    for (int id = 0; id < builder->inserters; id++) {
        const tess_inserter *inserter = &builder->inserter[id];
        for (int64_t i = 0; i < tess_inserter_chunks(inserter); i++)
            piece[pieces++] = (tess_coo_piece){tess_inserter_chunk_count(inserter, i),
                                               inserter->chunk[i].place, inserter->chunk[i].column};
    }
    tess_scatter_rows(ctx, sizes->block_rows, piece, pieces, row_offsets, columns, NULL);
    const tess_row_source source = {.row_offsets = row_offsets, .columns = columns};
    TESS_TRY_CLEAN(tess_matrix_from_rows(ctx, sizes->type, sizes->rows, sizes->cols,
                                         sizes->block_height, sizes->block_width, &source, out));
cleanup:
    TESS_FREE(ctx, piece, row_offsets, columns);
    return status;
}

/* Replaces the row of the inserter's i-th block by the block's position in the pattern. */
static void find_place(void *inserter_of, const void *A, int64_t i)
{
    const tess_inserter *inserter = inserter_of;
    const int64_t blocks = inserter->builder->chunk_blocks, at = i % blocks;
    const tess_chunk *chunk = &inserter->chunk[i / blocks];
    chunk->place[at] = tess_matrix_find(A, chunk->place[at], chunk->column[at]);
}

/* Keeps A's pattern and turns the rows of everything added into positions in it. */
static tess_status fix_pattern(tess_builder *builder, const tess_matrix *A)
{
    int64_t *row_offsets;
    int32_t *columns;
    TESS_TRY(TESS_ALLOC(builder->ctx, A->block_rows + 1, &row_offsets));
    tess_status status = TESS_ALLOC(builder->ctx, A->blocks, &columns);
    if (status != TESS_OK) {
        tess_free(builder->ctx, row_offsets);
        return status;
    }
    tess_matrix_copy_pattern(A, row_offsets, columns);
    builder->pattern->row_offsets = row_offsets;
    builder->pattern->columns = columns;
    builder->pattern->blocks = A->blocks;
    for (int id = 0; id < builder->inserters; id++)
        tess_for_each(builder->ctx, builder->inserter[id].count, 0, find_place,
                      &builder->inserter[id], A);
    return TESS_OK;
}

/* to[i] += from[i]. `type` is real, and of complex blocks `count` includes both parts. */
static void add_values(tess_type type, void *to, const void *from, int64_t count)
{
    if (type == TESS_F64)
        for (int64_t i = 0; i < count; i++)
            ((double *)to)[i] += ((const double *)from)[i];
    else
        for (int64_t i = 0; i < count; i++)
            ((float *)to)[i] += ((const float *)from)[i];
}

/* Adds to A those blocks of one inserter whose places are first..last-1. */
static void add_range(const tess_inserter *inserter, tess_matrix *A, int64_t first, int64_t last)
{
    size_t bytes = inserter->builder->block_bytes;
    int64_t values = (int64_t)A->block_height * A->block_width * (tess_is_complex(A->type) ? 2 : 1);
    for (int64_t c = 0; c < tess_inserter_chunks(inserter); c++) {
        const tess_chunk *chunk = &inserter->chunk[c];
        int64_t count = tess_inserter_chunk_count(inserter, c);
        for (int64_t i = 0; i < count; i++) {
            int64_t k = chunk->place[i];
            if (k >= first && k < last)
                add_values(tess_real_type(A->type), (char *)A->values + (size_t)k * bytes,
                           chunk->values + (size_t)i * bytes, values);
        }
    }
}

struct sum_share {
    tess_matrix *A;
    tess_builder *builder;
};

static void sum_share(void *arg, tess_range blocks)
{
    const struct sum_share *job = arg;
    tess_builder *builder = job->builder;
    memset((char *)job->A->values + (size_t)blocks.first * builder->block_bytes, 0,
           (size_t)(blocks.last - blocks.first) * builder->block_bytes);
    for (int id = 0; id < builder->inserters; id++)
        add_range(&builder->inserter[id], job->A, blocks.first, blocks.last);
}

/* A = the sum of everything added; the inserters are empty afterwards. */
static void sum_values(tess_builder *builder, tess_matrix *A)
{
    tess_for(builder->ctx, A->blocks, sum_share, &(struct sum_share){A, builder});
    tess_builder_clear(builder);
}

tess_status tess_builder_finish(tess_builder *builder, tess_matrix **out)
{
    TESS_NEED(builder ? builder->ctx : NULL, builder && out);
    TESS_TRY(first_failure(builder));
    tess_matrix *A;
    if (tess_builder_has_pattern(builder)) {
        TESS_TRY(
            tess_matrix_same_pattern(builder->ctx, builder->pattern, builder->pattern->type, &A));
    } else {
        TESS_TRY(sort_pattern(builder, &A));
        tess_status status = fix_pattern(builder, A);
        if (status != TESS_OK) {
            tess_matrix_destroy(A);
            return status;
        }
    }
    sum_values(builder, A);
    *out = A;
    return TESS_OK;
}

tess_status tess_builder_update(tess_builder *builder, tess_matrix *A)
{
    TESS_NEED(builder ? builder->ctx : NULL, builder && A);
    const tess_matrix *P = builder->pattern;
    if (!tess_builder_has_pattern(builder))
        return tess_fail(builder->ctx, TESS_ERR_ARGUMENT,
                         "tess_builder_update: no pattern yet, call tess_builder_finish first");
    TESS_TRY(first_failure(builder));
    bool matches = A->type == P->type && A->rows == P->rows && A->cols == P->cols &&
                   A->block_height == P->block_height && A->block_width == P->block_width &&
                   A->blocks == P->blocks && A->ownership != TESS_OWNERSHIP_BORROW &&
                   memcmp(A->row_offsets, P->row_offsets,
                          (size_t)(P->block_rows + 1) * sizeof *P->row_offsets) == 0 &&
                   memcmp(A->columns, P->columns, (size_t)P->blocks * sizeof *P->columns) == 0;
    if (!matches)
        return tess_fail(builder->ctx, TESS_ERR_ARGUMENT,
                         "tess_builder_update: the matrix is not a result of this builder");
    sum_values(builder, A);
    A->version++;
    return TESS_OK;
}

/* Adding blocks: checked, looked up in the pattern when there is one, and kept for finish. */
#include "matrix/assemble/builder.h"

static tess_status grow(tess_inserter *inserter)
{
    tess_ctx *ctx = &inserter->ctx;
    const tess_builder *builder = inserter->builder;
    int64_t n = builder->chunk_blocks;
    TESS_TRY(TESS_GROW(ctx, &inserter->chunk, inserter->chunks, &inserter->capacity));
    /* One allocation for n blocks, freed by `place`: their rows, their columns (16 bytes per
     * block), their values. */
    char *bytes;
    TESS_TRY(tess_alloc_bytes(ctx, n, 16 + builder->block_bytes, (void **)&bytes));
    inserter->chunk[inserter->chunks++] = (tess_chunk){
        .place = (int64_t *)(void *)bytes,
        .column = (int64_t *)(void *)bytes + n,
        .values = bytes + 16 * n,
    };
    return TESS_OK;
}

/* Sets *place of block (row, column): its row, or once there is a pattern its position there. */
static tess_status find_place(tess_inserter *inserter, int64_t row, int64_t column, int64_t *place)
{
    const tess_matrix *A = inserter->builder->pattern;
    if (row < 0 || row >= A->block_rows)
        return tess_fail(&inserter->ctx, TESS_ERR_ARGUMENT,
                         "block row %" PRId64 " is outside 0..%" PRId64, row, A->block_rows - 1);
    if (column < 0 || column >= A->block_cols)
        return tess_fail(&inserter->ctx, TESS_ERR_ARGUMENT,
                         "block column %" PRId64 " is outside 0..%" PRId64, column,
                         A->block_cols - 1);
    *place = row;
    if (tess_builder_has_pattern(inserter->builder)) {
        *place = tess_matrix_find(A, row, column);
        if (*place < 0)
            return tess_fail(&inserter->ctx, TESS_ERR_PATTERN,
                             "block (%" PRId64 ", %" PRId64 ") is outside the pattern", row,
                             column);
    }
    return TESS_OK;
}

/* Copies the part of the block that lies inside the matrix. Value (i, j) is at from[i*down +
 * j*right]. */
static void copy_block(const tess_matrix *A, int64_t row, int64_t column, const char *from,
                       int64_t down, int64_t right, char *to)
{
    size_t size = tess_type_size(A->type);
    int64_t height = A->rows - row * A->block_height, width = A->cols - column * A->block_width;
    for (int64_t j = 0; j < A->block_width; j++) {
        for (int64_t i = 0; i < A->block_height; i++, to += size) {
            if (i < height && j < width)
                memcpy(to, from + (i * down + j * right) * (int64_t)size, size);
            else
                memset(to, 0, size);
        }
    }
}

static tess_status add(tess_inserter *inserter, int64_t row, int64_t column, const char *from,
                       int64_t down, int64_t right)
{
    const tess_builder *builder = inserter->builder;
    int64_t place = 0;
    TESS_TRY(find_place(inserter, row, column, &place));
    int64_t chunk = inserter->count / builder->chunk_blocks;
    int64_t at = inserter->count % builder->chunk_blocks;
    if (chunk == inserter->chunks)
        TESS_TRY(grow(inserter));
    const tess_chunk *to = &inserter->chunk[chunk];
    to->place[at] = place;
    to->column[at] = column;
    copy_block(builder->pattern, row, column, from, down, right,
               to->values + (size_t)at * builder->block_bytes);
    inserter->count++;
    return TESS_OK;
}

static tess_status add_element(tess_inserter *inserter, int64_t n_rows, const int64_t *block_rows,
                               int64_t n_cols, const int64_t *block_cols, const char *dense,
                               tess_block_order order)
{
    const tess_matrix *A = inserter->builder->pattern;
    int64_t r = A->block_height, c = A->block_width, size = (int64_t)tess_type_size(A->type);
    int64_t down = order == TESS_ORDER_ROW_MAJOR ? n_cols * c : 1;
    int64_t right = order == TESS_ORDER_ROW_MAJOR ? 1 : n_rows * r;
    for (int64_t i = 0; i < n_rows; i++)
        for (int64_t j = 0; j < n_cols; j++)
            if (block_rows[i] >= 0 && block_cols[j] >= 0)
                TESS_TRY(add(inserter, block_rows[i], block_cols[j],
                             dense + (i * r * down + j * c * right) * size, down, right));
    return TESS_OK;
}

tess_status tess_inserter_add_block(tess_inserter *inserter, int64_t block_row, int64_t block_col,
                                    const void *values, tess_block_order order)
{
    if (!inserter)
        return TESS_ERR_ARGUMENT;
    if (inserter->failed)
        return inserter->failed;
    int64_t r = inserter->builder->pattern->block_height;
    int64_t c = inserter->builder->pattern->block_width;
    bool by_rows = order == TESS_ORDER_ROW_MAJOR;
    tess_status status = tess_check_order(&inserter->ctx, order);
    if (status == TESS_OK && !values)
        status =
            tess_fail(&inserter->ctx, TESS_ERR_ARGUMENT, "tess_inserter_add_block: values is NULL");
    TESS_THEN(add(inserter, block_row, block_col, values, by_rows ? c : 1, by_rows ? 1 : r));
    return inserter->failed = status;
}

static tess_status check_element(tess_inserter *inserter, int64_t n_rows, const int64_t *block_rows,
                                 int64_t n_cols, const int64_t *block_cols, const void *dense,
                                 tess_block_order order)
{
    TESS_TRY(tess_check_order(&inserter->ctx, order));
    if (n_rows < 0 || n_cols < 0 || (!block_cols && n_rows != n_cols))
        return tess_fail(&inserter->ctx, TESS_ERR_ARGUMENT,
                         "tess_inserter_add_element: %" PRId64 " block rows and %" PRId64
                         " block columns%s",
                         n_rows, n_cols, block_cols ? "" : " of the same indices");
    if (n_rows > 0 && n_cols > 0 && (!block_rows || !dense))
        return tess_null_argument(&inserter->ctx, "tess_inserter_add_element");
    return TESS_OK;
}

tess_status tess_inserter_add_element(tess_inserter *inserter, int64_t n_rows,
                                      const int64_t *block_rows, int64_t n_cols,
                                      const int64_t *block_cols, const void *dense,
                                      tess_block_order order)
{
    if (!inserter)
        return TESS_ERR_ARGUMENT;
    if (inserter->failed)
        return inserter->failed;
    int64_t before = inserter->count;
    tess_status status =
        check_element(inserter, n_rows, block_rows, n_cols, block_cols, dense, order);
    TESS_THEN(add_element(inserter, n_rows, block_rows, n_cols,
                          block_cols ? block_cols : block_rows, dense, order));
    if (status != TESS_OK)
        inserter->count = before; /* all or nothing */
    return inserter->failed = status;
}

const char *tess_inserter_error(const tess_inserter *inserter)
{
    return inserter && inserter->failed ? inserter->ctx.error : "";
}

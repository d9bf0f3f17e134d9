/* Builds a part from blocks that any part has added. assemble.h has the layout. */
#include "dist/assemble/assemble.h"
#include "dist/product.h"

void tess_part_builder_destroy(tess_part_builder *b)
{
    if (b)
        TESS_FREE(b->ctx, b->firsts, b->added.rows, b->added.columns, b->added.values,
                  b->row_offsets, b->columns, b);
}

static int64_t own_rows(const tess_part_builder *b)
{
    return b->firsts[b->comm.rank + 1] - b->firsts[b->comm.rank];
}

/* ---- Making one ---- */

tess_status tess_part_builder_create(tess_ctx *ctx, const tess_comm *comm, tess_type type,
                                     int64_t rows, int32_t block, tess_part_builder **out)
{
    TESS_NEED(ctx, ctx && comm && out);
    TESS_TRY(tess_comm_whole(ctx, comm));
    /* A part without blocks is made for its checks, and for the sizes of all parts. */
    const int64_t block_rows = rows > 0 ? tess_ceil_div(rows, block > 0 ? block : 1) : 0;
    int64_t *none = NULL;
    tess_part_builder *b = NULL;
    tess_part *sizes = NULL;
    tess_status status = TESS_CALLOC(ctx, block_rows + 1, &none);
    TESS_THEN(TESS_CALLOC(ctx, 1, &b));
    TESS_THEN(TESS_ALLOC(ctx, comm->size + 1, &b->firsts));
    TESS_TRY_CLEAN(tess_comm_agree(ctx, comm, status));
    const tess_part_view view = {.type = type,
                                 .rows = rows,
                                 .block = block,
                                 .order = TESS_ORDER_COLUMN_MAJOR,
                                 .row_offsets = none};
    TESS_TRY_CLEAN(tess_part_create(ctx, comm, &view, &sizes));
    b->comm = *comm;
    b->type = type;
    b->block = block;
    b->block_bytes = tess_block_bytes(block, block, type);
    b->rows = rows;
    b->all_rows = sizes->row_ends[comm->size - 1];
    memcpy(b->firsts, sizes->firsts, (size_t)(comm->size + 1) * sizeof *b->firsts);
cleanup:
    tess_part_destroy(sizes);
    if (b)
        b->ctx = ctx;
    tess_free(ctx, none);
    return TESS_DELIVER(status, b, tess_part_builder_destroy, out);
}

/* ---- Adding ---- */

static tess_status check_places(tess_part_builder *b, const char *what, int64_t count,
                                const int64_t *places)
{
    const int64_t all = b->firsts[b->comm.size];
    for (int64_t i = 0; i < count; i++)
        if (places[i] >= all)
            return tess_fail(b->ctx, TESS_ERR_ARGUMENT, "block %s %lld is outside 0..%lld", what,
                             (long long)places[i], (long long)all - 1);
    return TESS_OK;
}

/* Makes room for one more block. */
static tess_status reserve_block(tess_part_builder *b)
{
    const int64_t count = b->added.count;
    TESS_TRY(TESS_GROW(b->ctx, &b->added.rows, count, &b->row_capacity));
    TESS_TRY(TESS_GROW(b->ctx, &b->added.columns, count, &b->column_capacity));
    return tess_grow_bytes(b->ctx, (void **)&b->added.values, b->block_bytes, count,
                           &b->value_capacity);
}

/* Copies a block column by column, with 0 outside the matrix. Value (i, j) is at
 * from[i*down + j*right]. */
static void copy_block(const tess_part_builder *b, int64_t row, int64_t column, const char *from,
                       int64_t down, int64_t right, char *to)
{
    const size_t scalar = tess_type_size(b->type);
    const int64_t height = b->all_rows - row * b->block, width = b->all_rows - column * b->block;
    for (int64_t j = 0; j < b->block; j++)
        for (int64_t i = 0; i < b->block; i++, to += scalar) {
            if (i < height && j < width)
                memcpy(to, from + (i * down + j * right) * (int64_t)scalar, scalar);
            else
                memset(to, 0, scalar);
        }
}

static tess_status add(tess_part_builder *b, int64_t n_rows, const int64_t *block_rows,
                       int64_t n_cols, const int64_t *block_cols, const char *dense,
                       tess_block_order order)
{
    const bool by_rows = order == TESS_ORDER_ROW_MAJOR;
    const int64_t down = by_rows ? n_cols * b->block : 1, right = by_rows ? 1 : n_rows * b->block;
    const int64_t scalar = (int64_t)tess_type_size(b->type);
    TESS_TRY(check_places(b, "row", n_rows, block_rows));
    TESS_TRY(check_places(b, "column", n_cols, block_cols));
    for (int64_t i = 0; i < n_rows; i++)
        for (int64_t j = 0; j < n_cols; j++) {
            if (block_rows[i] < 0 || block_cols[j] < 0)
                continue;
            TESS_TRY(reserve_block(b));
            const int64_t at = b->added.count++;
            b->added.rows[at] = block_rows[i];
            b->added.columns[at] = block_cols[j];
            copy_block(b, block_rows[i], block_cols[j],
                       dense + (i * down + j * right) * b->block * scalar, down, right,
                       b->added.values + (size_t)at * b->block_bytes);
        }
    return TESS_OK;
}

tess_status tess_part_builder_add(tess_part_builder *b, int64_t n_rows, const int64_t *block_rows,
                                  int64_t n_cols, const int64_t *block_cols, const void *dense,
                                  tess_block_order order)
{
    if (!b)
        return TESS_ERR_ARGUMENT;
    if (b->failed != TESS_OK)
        return b->failed;
    const int64_t before = b->added.count;
    tess_status status = TESS_OK;
    if (n_rows < 0 || n_cols < 0 || (!block_cols && n_rows != n_cols))
        status = tess_fail(b->ctx, TESS_ERR_ARGUMENT,
                           "tess_part_builder_add: %lld block rows and %lld block columns%s",
                           (long long)n_rows, (long long)n_cols,
                           block_cols ? "" : "; without block_cols both must be as many");
    else if (n_rows > 0 && n_cols > 0 && (!block_rows || !dense))
        status = tess_null_argument(b->ctx, __func__);
    else
        status =
            add(b, n_rows, block_rows, n_cols, block_cols ? block_cols : block_rows, dense, order);
    if (status != TESS_OK) {
        b->added.count = before; /* a call adds all of its blocks or none */
        b->failed = status;
        memcpy(b->reason, b->ctx->error, sizeof b->reason);
    }
    return status;
}

/* ---- Finishing ---- */

/* The block row and column of a block, and its position in a list. */
typedef struct block_key {
    int64_t row, column, position;
} block_key;

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_keys(const void *a, const void *b)
{
    const block_key *x = a, *y = b;
    if (x->row != y->row)
        return compare_numbers(x->row, y->row);
    return x->column != y->column ? compare_numbers(x->column, y->column)
                                  : compare_numbers(x->position, y->position);
}

static bool same_place(const block_key *a, const block_key *b)
{
    return a->row == b->row && a->column == b->column;
}

static void forget_pattern(tess_part_builder *b)
{
    TESS_FREE(b->ctx, b->row_offsets, b->columns);
    b->row_offsets = b->columns = NULL;
}

/* Makes the pattern of the blocks in `keys`, which are sorted. */
static tess_status make_pattern(tess_part_builder *b, int64_t count, const block_key *keys)
{
    const int64_t rows = own_rows(b), first = b->firsts[b->comm.rank];
    int64_t distinct = 0;
    for (int64_t i = 0; i < count; i++)
        distinct += i == 0 || !same_place(&keys[i], &keys[i - 1]);
    TESS_TRY(TESS_CALLOC(b->ctx, rows + 1, &b->row_offsets));
    TESS_TRY(TESS_ALLOC(b->ctx, distinct, &b->columns));
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && same_place(&keys[i], &keys[i - 1]))
            continue;
        b->row_offsets[keys[i].row - first + 1]++;
        b->columns[at++] = keys[i].column;
    }
    tess_counts_to_offsets(b->row_offsets, rows);
    return TESS_OK;
}

static tess_status find_pattern(tess_part_builder *b, const tess_block_list *list)
{
    block_key *keys;
    TESS_TRY(TESS_ALLOC(b->ctx, list->count, &keys));
    for (int64_t i = 0; i < list->count; i++)
        keys[i] = (block_key){list->rows[i], list->columns[i], i};
    if (list->count > 0)
        qsort(keys, (size_t)list->count, sizeof *keys, compare_keys);
    const tess_status status = make_pattern(b, list->count, keys);
    tess_free(b->ctx, keys);
    return status;
}

/* The position of a block in the pattern; -1: the pattern has no such block. */
static int64_t find_block(const tess_part_builder *b, int64_t row, int64_t column)
{
    const int64_t end = b->row_offsets[row + 1];
    const int64_t at = tess_lower_bound(b->columns, b->row_offsets[row], end, column);
    return at < end && b->columns[at] == column ? at : -1;
}

/* Adds the blocks of each place of the pattern in the order of the list. */
static tess_status add_up(tess_part_builder *b, const tess_block_list *list, void **out)
{
    const int64_t scalars = (int64_t)b->block * b->block, first = b->firsts[b->comm.rank];
    void *values;
    TESS_TRY(tess_calloc_bytes(b->ctx, b->row_offsets[own_rows(b)], b->block_bytes, &values));
    for (int64_t i = 0; i < list->count; i++) {
        const int64_t at = find_block(b, list->rows[i] - first, list->columns[i]);
        if (at < 0) {
            tess_free(b->ctx, values);
            return tess_fail(b->ctx, TESS_ERR_PATTERN, "block (%lld, %lld) is outside the pattern",
                             (long long)list->rows[i], (long long)list->columns[i]);
        }
        for (int64_t k = 0; k < scalars; k++)
            tess_put(values, b->type, at * scalars + k,
                     tess_get(values, b->type, at * scalars + k) +
                         tess_get(list->values, b->type, i * scalars + k));
    }
    *out = values;
    return TESS_OK;
}

tess_status tess_part_builder_finish(tess_part_builder *b, tess_part **out)
{
    TESS_NEED(b ? b->ctx : NULL, b && out);
    tess_block_list list = {0};
    void *values = NULL;
    TESS_TRY(tess_part_builder_collect(b, &list));
    forget_pattern(b);
    tess_status status = find_pattern(b, &list);
    TESS_THEN(add_up(b, &list, &values));
    TESS_TRY_CLEAN(tess_comm_agree(b->ctx, &b->comm, status));
    const tess_part_view view = {.type = b->type,
                                 .rows = b->rows,
                                 .block = b->block,
                                 .order = TESS_ORDER_COLUMN_MAJOR,
                                 .row_offsets = b->row_offsets,
                                 .columns = b->columns,
                                 .values = values};
    TESS_TRY_CLEAN(tess_part_create(b->ctx, &b->comm, &view, out));
cleanup:
    if (status != TESS_OK)
        forget_pattern(b);
    tess_block_list_free(b->ctx, &list);
    tess_free(b->ctx, values);
    return status;
}

/* Fails unless the plan is a part's with as many rows and blocks as the builder's pattern. */
static tess_status check_plan(tess_part_builder *b, const tess_plan *plan)
{
    tess_part_times unused;
    if (!b->row_offsets)
        return tess_fail(b->ctx, TESS_ERR_ARGUMENT,
                         "tess_part_builder_update: the builder has finished no part yet");
    if (!plan)
        return tess_null_argument(b->ctx, "tess_part_builder_update");
    TESS_TRY(tess_plan_get_part_times(plan, sizeof unused, &unused));
    const tess_part *part = ((const tess_part_plan *)plan->state)->part;
    if (part->entries != b->row_offsets[own_rows(b)] || part->rows != b->rows)
        return tess_fail(b->ctx, TESS_ERR_ARGUMENT,
                         "tess_part_builder_update: the plan has %lld blocks, the builder's "
                         "pattern %lld",
                         (long long)part->entries, (long long)b->row_offsets[own_rows(b)]);
    return TESS_OK;
}

tess_status tess_part_builder_update(tess_part_builder *b, tess_plan *plan)
{
    if (!b)
        return TESS_ERR_ARGUMENT;
    tess_block_list list = {0};
    void *values = NULL;
    TESS_TRY(tess_part_builder_collect(b, &list));
    tess_status status = check_plan(b, plan);
    TESS_THEN(add_up(b, &list, &values));
    TESS_TRY_CLEAN(tess_comm_agree(b->ctx, &b->comm, status));
    TESS_TRY_CLEAN(tess_plan_update_values(plan, values));
cleanup:
    tess_block_list_free(b->ctx, &list);
    tess_free(b->ctx, values);
    return status;
}

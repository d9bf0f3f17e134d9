/* Makes a part from block rows whose columns are numbered in the whole matrix. */
#include "dist/part.h"
#include "core/fill.h"
#include "matrix/sort.h"

static void rows_free(tess_ctx *ctx, tess_part_rows *rows)
{
    TESS_FREE(ctx, rows->row_offsets, rows->columns, rows->entry);
}

void tess_part_destroy(tess_part *part)
{
    if (!part)
        return;
    tess_ctx *ctx = part->ctx;
    tess_matrix_destroy(part->own);
    tess_matrix_destroy(part->outside);
    rows_free(ctx, &part->own_rows);
    rows_free(ctx, &part->outside_rows);
    TESS_FREE(ctx, part->firsts, part->row_ends, part->numbers, part->boundary, part->halo_columns,
              part->sent, part->receives, part->sends, part->sums, part);
}

/* ---- Sizes, which must fit together ---- */

typedef struct part_sizes {
    int64_t rows;
    int32_t block, type;
} part_sizes;

static tess_status check_sizes(tess_ctx *ctx, const tess_comm *comm, const part_sizes *all)
{
    int last = -1; /* the last part that has rows */
    for (int r = 0; r < comm->size; r++) {
        if (all[r].block != all[0].block || all[r].type != all[0].type)
            return tess_fail(ctx, TESS_ERR_ARGUMENT,
                             "part %d has blocks of %d x %d in %s, part 0 of %d x %d in %s", r,
                             all[r].block, all[r].block, tess_type_name((tess_type)all[r].type),
                             all[0].block, all[0].block, tess_type_name((tess_type)all[0].type));
        if (all[r].rows == 0)
            continue;
        if (last >= 0 && all[last].rows % all[last].block != 0)
            return tess_fail(ctx, TESS_ERR_ARGUMENT,
                             "part %d has %lld rows, which blocks of %d do not divide; only the "
                             "last part with rows may end with an incomplete block",
                             last, (long long)all[last].rows, all[last].block);
        last = r;
    }
    return TESS_OK;
}

/* Gathers the sizes of all parts; fills firsts and row_ends. */
static tess_status agree_on_sizes(tess_part *part)
{
    tess_ctx *ctx = part->ctx;
    const tess_comm *comm = &part->comm;
    const part_sizes mine = {part->rows, part->block, (int32_t)part->type};
    part_sizes *all = NULL;
    tess_status status = TESS_ALLOC(ctx, comm->size, &all);
    TESS_THEN(TESS_ALLOC(ctx, comm->size + 1, &part->firsts));
    TESS_THEN(TESS_ALLOC(ctx, comm->size, &part->row_ends));
    TESS_THEN(TESS_ALLOC(ctx, ((int64_t)comm->size + 1) * TESS_PART_SUMS, &part->sums));
    TESS_TRY_CLEAN(tess_comm_agree(ctx, comm, status));
    TESS_TRY_CLEAN(tess_comm_check(ctx, comm, comm->gather(comm->user, &mine, sizeof mine, all),
                                   "gathering the parts' sizes"));
    TESS_TRY_CLEAN(check_sizes(ctx, comm, all));
    part->firsts[0] = 0;
    for (int r = 0; r < comm->size; r++) {
        part->firsts[r + 1] = part->firsts[r] + tess_ceil_div(all[r].rows, part->block);
        part->row_ends[r] = (r > 0 ? part->row_ends[r - 1] : 0) + all[r].rows;
    }
cleanup:
    tess_free(ctx, all);
    return status;
}

/* ---- Columns ---- */

static tess_status check_offsets(const tess_part *part, const int64_t *row_offsets)
{
    if (row_offsets[0] != 0)
        return tess_fail(part->ctx, TESS_ERR_MATRIX, "row_offsets[0] = %lld, not 0",
                         (long long)row_offsets[0]);
    for (int64_t i = 0; i < tess_ceil_div(part->rows, part->block); i++)
        if (row_offsets[i + 1] < row_offsets[i])
            return tess_fail(part->ctx, TESS_ERR_MATRIX,
                             "row_offsets[%lld] = %lld is less than the one before, %lld",
                             (long long)(i + 1), (long long)row_offsets[i + 1],
                             (long long)row_offsets[i]);
    return TESS_OK;
}

/* Reads no column before all offsets are known to rise: the last one is the number of columns. */
static tess_status check_columns(const tess_part *part, const tess_part_view *v)
{
    const int64_t all = part->firsts[part->comm.size];
    TESS_TRY(check_offsets(part, v->row_offsets));
    for (int64_t i = 0; i < tess_ceil_div(v->rows, v->block); i++)
        for (int64_t k = v->row_offsets[i]; k < v->row_offsets[i + 1]; k++)
            if (v->columns[k] < 0 || v->columns[k] >= all)
                return tess_fail(part->ctx, TESS_ERR_MATRIX,
                                 "block row %lld, position %lld: block column %lld is not one of "
                                 "0..%lld",
                                 (long long)i, (long long)k, (long long)v->columns[k],
                                 (long long)all - 1);
    return TESS_OK;
}

static bool is_own(const tess_part *part, int64_t column)
{
    const int rank = part->comm.rank;
    return column >= part->firsts[rank] && column < part->firsts[rank + 1];
}

/* Lists the distinct outside columns, sorted. `halo` has room for one per block. */
static int64_t list_halo(const tess_part *part, const tess_part_view *v, int64_t *halo)
{
    int64_t count = 0;
    for (int64_t k = 0; k < part->entries; k++)
        if (!is_own(part, v->columns[k]))
            halo[count++] = v->columns[k];
    return count > 0 ? tess_distinct(halo, count) : 0;
}

static tess_status rows_alloc(tess_ctx *ctx, int64_t block_rows, int64_t blocks,
                              tess_part_rows *rows)
{
    rows->block_rows = block_rows;
    TESS_TRY(TESS_CALLOC(ctx, block_rows + 1, &rows->row_offsets));
    TESS_TRY(TESS_ALLOC(ctx, blocks, &rows->columns));
    return TESS_ALLOC(ctx, blocks, &rows->entry);
}

static void rows_put(tess_part_rows *rows, int64_t *at, int64_t column, int64_t entry)
{
    rows->columns[*at] = (int32_t)column;
    rows->entry[(*at)++] = entry;
}

/* Divides the blocks between the two matrices. */
static tess_status split(tess_part *part, const tess_part_view *v, const int64_t *halo)
{
    const int64_t block_rows = tess_ceil_div(v->rows, v->block);
    int64_t outside_blocks = 0, outside_rows = 0;
    for (int64_t i = 0; i < block_rows; i++) {
        const int64_t before = outside_blocks;
        for (int64_t k = v->row_offsets[i]; k < v->row_offsets[i + 1]; k++)
            outside_blocks += !is_own(part, v->columns[k]);
        outside_rows += outside_blocks > before;
    }
    TESS_TRY(rows_alloc(part->ctx, block_rows, part->entries - outside_blocks, &part->own_rows));
    TESS_TRY(rows_alloc(part->ctx, outside_rows, outside_blocks, &part->outside_rows));
    TESS_TRY(TESS_ALLOC(part->ctx, outside_rows, &part->boundary));
    const int64_t first = part->firsts[part->comm.rank];
    int64_t own_at = 0, outside_at = 0, outside_row = 0;
    for (int64_t i = 0; i < block_rows; i++) {
        const int64_t before = outside_at;
        for (int64_t k = v->row_offsets[i]; k < v->row_offsets[i + 1]; k++) {
            const int64_t column = v->columns[k];
            if (is_own(part, column)) {
                rows_put(&part->own_rows, &own_at, column - first, k);
            } else {
                rows_put(&part->outside_rows, &outside_at,
                         tess_lower_bound(halo, 0, part->halo, column), k);
            }
        }
        part->own_rows.row_offsets[i + 1] = own_at;
        if (outside_at == before)
            continue;
        part->boundary[outside_row++] = i;
        part->outside_rows.row_offsets[outside_row] = outside_at;
    }
    return TESS_OK;
}

tess_status tess_part_fill(const tess_part *part, const void *values, bool outside,
                           tess_matrix **out)
{
    const tess_part_rows *rows = outside ? &part->outside_rows : &part->own_rows;
    const tess_row_source source = {.row_offsets = rows->row_offsets,
                                    .columns = rows->columns,
                                    .entry = rows->entry,
                                    .values = values,
                                    .order = part->order};
    /* Only `own` may end with an incomplete block; `outside` has whole blocks. */
    return tess_matrix_from_rows(
        part->ctx, part->type, outside ? rows->block_rows * part->block : part->rows,
        outside ? part->halo * part->block : part->rows, part->block, part->block, &source, out);
}

/* Makes both matrices and connects the halo. Collective, also where it fails on this part. */
static tess_status fill(tess_part *part, const tess_part_view *v)
{
    tess_ctx *ctx = part->ctx;
    int64_t *halo = NULL;
    tess_status status = check_columns(part, v);
    if (status == TESS_OK) {
        part->entries = v->row_offsets[tess_ceil_div(v->rows, v->block)];
        status = TESS_ALLOC(ctx, part->entries, &halo);
    }
    if (status == TESS_OK) {
        part->halo = list_halo(part, v, halo);
        if (part->halo > INT32_MAX)
            status = tess_fail(ctx, TESS_ERR_OVERFLOW,
                               "%lld block columns of other parts do not fit 31 bits",
                               (long long)part->halo);
    }
    TESS_THEN(TESS_ALLOC(ctx, part->halo, &part->halo_columns));
    if (status == TESS_OK) {
        memcpy(part->halo_columns, halo, (size_t)part->halo * sizeof *halo);
        status = split(part, v, halo);
    }
    TESS_THEN(tess_part_fill(part, v->values, false, &part->own));
    TESS_THEN(tess_part_fill(part, v->values, true, &part->outside));
    TESS_TRY_CLEAN(tess_comm_agree(ctx, &part->comm, status));
    TESS_TRY_CLEAN(tess_part_connect(part, halo));
cleanup:
    tess_free(ctx, halo);
    return status;
}

/* The numbers come first: they say how long the arrays are. */
static tess_status check_view(tess_ctx *ctx, const tess_part_view *v)
{
    if (!v || v->rows < 0 || !v->row_offsets)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_part_create: an array is NULL, or the number of rows negative");
    if (v->block < 1 || v->block > TESS_BLOCK_MAX)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_part_create: a block of %d, not 1..%d",
                         v->block, TESS_BLOCK_MAX);
    TESS_TRY(tess_refuse_complex(ctx, "tess_part_create", v->type));
    if (v->type != TESS_F64 && v->type != TESS_F32)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_part_create: type %d is neither TESS_F64 nor TESS_F32",
                         (int)v->type);
    TESS_TRY(tess_check_order(ctx, v->order));
    if (v->row_offsets[0] != v->row_offsets[tess_ceil_div(v->rows, v->block)] &&
        (!v->columns || !v->values))
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_part_create: columns or values are NULL");
    return TESS_OK;
}

tess_status tess_part_create(tess_ctx *ctx, const tess_comm *comm, const tess_part_view *arrays,
                             tess_part **out)
{
    TESS_NEED(ctx, ctx && comm && out);
    TESS_TRY(tess_comm_whole(ctx, comm));
    tess_part *part = NULL;
    tess_status status = check_view(ctx, arrays);
    TESS_THEN(TESS_CALLOC(ctx, 1, &part));
    if (status == TESS_OK) {
        part->ctx = ctx;
        part->comm = *comm;
        part->type = arrays->type;
        part->block = arrays->block;
        part->order = arrays->order;
        part->rows = arrays->rows;
    }
    status = tess_comm_agree(ctx, comm, status);
    TESS_THEN(agree_on_sizes(part));
    TESS_THEN(fill(part, arrays));
    return TESS_DELIVER(status, part, tess_part_destroy, out);
}

tess_status tess_part_get_info(const tess_part *part, size_t size, tess_part_info *out)
{
    TESS_NEED(part ? part->ctx : NULL, part && out);
    const int rank = part->comm.rank;
    const tess_part_info info = {
        .rank = rank,
        .size = part->comm.size,
        .type = part->type,
        .block = part->block,
        .first_row = tess_part_first_row(part, rank),
        .rows = part->rows,
        .all_rows = part->row_ends[part->comm.size - 1],
        .blocks = part->own->blocks + part->outside->blocks,
        .outside_blocks = part->outside->blocks,
        .halo_rows = part->halo * part->block,
        .sent_rows = part->sent_count * part->block,
        .neighbours = part->receive_count,
    };
    return tess_fill(out, size, &info, sizeof info);
}

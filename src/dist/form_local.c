/* All of x on every part, in host memory, and the matrix that it is multiplied with. */
#include "dist/form.h"

static int64_t all_rows(const tess_part *part)
{
    return part->row_ends[part->comm.size - 1];
}

/* ---- The part's own rows ---- */

void tess_form_rows_free(tess_ctx *ctx, tess_form_rows *rows)
{
    TESS_FREE(ctx, rows->row_offsets, rows->columns, rows->values);
    *rows = (tess_form_rows){0};
}

/* The blocks of a row of one of the two matrices; *at is the next free place. */
static void append_row(const tess_part *part, const tess_matrix *from, int64_t row, bool outside,
                       tess_form_rows *rows, int64_t *at)
{
    const int64_t begin = from->row_offsets[row], count = from->row_offsets[row + 1] - begin;
    const int64_t first = part->firsts[part->comm.rank];
    const size_t bytes = tess_part_block_bytes(part);
    for (int64_t k = 0; k < count; k++) {
        const int64_t column = from->columns[begin + k];
        rows->columns[*at + k] = outside ? part->halo_columns[column] : first + column;
    }
    if (count > 0)
        memcpy(rows->values + (size_t)*at * bytes, (char *)from->values + (size_t)begin * bytes,
               (size_t)count * bytes);
    *at += count;
}

tess_status tess_form_rows_make(const tess_part_plan *p, tess_form_rows *out)
{
    const tess_part *part = p->part;
    const tess_matrix *own = p->new_own ? p->new_own : part->own;
    const tess_matrix *outside = p->new_outside ? p->new_outside : part->outside;
    const size_t bytes = tess_part_block_bytes(part);
    tess_form_rows rows = {.block_rows = own->block_rows, .blocks = own->blocks + outside->blocks};
    int64_t at = 0, boundary = 0;
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(part->ctx, rows.block_rows + 1, &rows.row_offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(part->ctx, rows.blocks, &rows.columns));
    TESS_TRY_CLEAN(tess_alloc_bytes(part->ctx, rows.blocks, bytes, (void **)&rows.values));
    rows.row_offsets[0] = 0;
    for (int64_t i = 0; i < rows.block_rows; i++) {
        append_row(part, own, i, false, &rows, &at);
        if (boundary < outside->block_rows && part->boundary[boundary] == i)
            append_row(part, outside, boundary++, true, &rows, &at);
        rows.row_offsets[i + 1] = at;
    }
cleanup:
    return TESS_DELIVER_OR(status, rows, tess_form_rows_free(part->ctx, &rows), out);
}

/* ---- The matrix ---- */

static tess_status matrix_of(const tess_part *part, const tess_form_rows *from, int64_t rows,
                             tess_matrix **out)
{
    tess_ctx *ctx = part->ctx;
    int32_t *columns;
    if (part->firsts[part->comm.size] > INT32_MAX)
        return tess_fail(
            ctx, TESS_ERR_OVERFLOW,
            "%lld block columns do not fit 31 bits: the product form 'halo' needs only "
            "those of a part to fit",
            (long long)part->firsts[part->comm.size]);
    TESS_TRY(TESS_ALLOC(ctx, from->blocks, &columns));
    for (int64_t k = 0; k < from->blocks; k++)
        columns[k] = (int32_t)from->columns[k];
    const tess_row_source source = {.row_offsets = from->row_offsets,
                                    .columns = columns,
                                    .values = from->values,
                                    .order = TESS_ORDER_COLUMN_MAJOR};
    const tess_status status = tess_matrix_from_rows(ctx, part->type, rows, all_rows(part),
                                                     part->block, part->block, &source, out);
    tess_free(ctx, columns);
    return status;
}

tess_status tess_form_local_fill(tess_part_plan *p, const tess_form_rows *from, int64_t rows,
                                 tess_device *device, const tess_plan_options *options,
                                 tess_form_local *local)
{
    tess_matrix *fresh = NULL;
    TESS_TRY(matrix_of(p->part, from, rows, local->plan ? &fresh : &local->matrix));
    if (local->plan)
        return tess_part_renew(local->plan, fresh, &local->fresh);
    tess_plan_options plain = *options;
    plain.regroup = TESS_REGROUP_OFF; /* a part's numbering is that of its partition */
    plain.form = NULL;                /* is of the parts together */
    return tess_plan_create(p->part->ctx, local->matrix, device, &plain, &local->plan);
}

static void x_close(const tess_part *part, tess_form_x *x)
{
    tess_comm_close(&part->comm, x->channel);
    tess_free(part->ctx, x->x);
    *x = (tess_form_x){0};
}

void tess_form_local_free(tess_part_plan *p, tess_form_local *local)
{
    x_close(p->part, &local->one);
    x_close(p->part, &local->many);
    tess_plan_destroy(local->plan);
    tess_matrix_destroy(local->matrix);
    tess_matrix_destroy(local->fresh);
    *local = (tess_form_local){0};
}

/* ---- All of x ---- */

static tess_status open_channel(const tess_part *part, int k, char *x, tess_message *messages,
                                void **channel)
{
    const tess_comm *comm = &part->comm;
    const size_t row = (size_t)k * tess_type_size(part->type);
    tess_message *sends = messages + comm->size;
    int send_count = 0, receive_count = 0;
    for (int r = 0; r < comm->size; r++) {
        const int64_t theirs = part->row_ends[r] - tess_part_first_row(part, r);
        if (r == comm->rank)
            continue;
        if (theirs > 0)
            messages[receive_count++] = (tess_message){
                r, (size_t)theirs * row, x + (size_t)tess_part_first_row(part, r) * row};
        if (part->rows > 0)
            sends[send_count++] =
                (tess_message){r, (size_t)part->rows * row,
                               x + (size_t)tess_part_first_row(part, comm->rank) * row};
    }
    return tess_comm_check(
        part->ctx, comm,
        comm->open(comm->user, send_count, sends, receive_count, messages, channel),
        "opening the channel of x");
}

tess_status tess_form_x_channel(const tess_part *part, int k, void *x, void **channel)
{
    tess_ctx *ctx = part->ctx;
    tess_message *messages = NULL;
    tess_status status = TESS_ALLOC(ctx, 2 * part->comm.size, &messages);
    status = tess_comm_agree(ctx, &part->comm, status);
    if (status == TESS_OK)
        status = tess_comm_agree(ctx, &part->comm, open_channel(part, k, x, messages, channel));
    tess_free(ctx, messages);
    return status;
}

static tess_status x_open(const tess_part *part, int k, tess_form_x *out)
{
    tess_ctx *ctx = part->ctx;
    tess_form_x x = {.k = k};
    tess_status status =
        tess_calloc_bytes(ctx, all_rows(part) * k, tess_type_size(part->type), (void **)&x.x);
    status = tess_comm_agree(ctx, &part->comm, status);
    TESS_THEN(tess_form_x_channel(part, k, x.x, &x.channel));
    return TESS_DELIVER_OR(status, x, x_close(part, &x), out);
}

static tess_status x_for(const tess_part *part, tess_form_local *local, int k, tess_form_x **out)
{
    tess_form_x *x = k == 1 ? &local->one : &local->many;
    if (x->k != k) {
        x_close(part, x);
        TESS_TRY(x_open(part, k, x));
    }
    *out = x;
    return TESS_OK;
}

/* Element of row i and vector v of the caller's. */
static int64_t element(tess_block_order order, int64_t ld, int64_t i, int v)
{
    return order == TESS_ORDER_COLUMN_MAJOR ? i + v * ld : i * ld + v;
}

tess_status tess_form_spread(tess_part_plan *p, tess_form_local *local, int k,
                             tess_block_order order, const void *X, int64_t ldx, void **out)
{
    const tess_part *part = p->part;
    const tess_comm *comm = &part->comm;
    const int64_t first = tess_part_first_row(part, comm->rank);
    tess_form_x *x;
    TESS_TRY(x_for(part, local, k, &x));
    for (int64_t i = 0; i < part->rows; i++)
        for (int v = 0; v < k; v++)
            tess_copy_scalar(part->type, x->x, (first + i) * k + v, X, element(order, ldx, i, v));
    TESS_TRY(tess_comm_check(part->ctx, comm, comm->start(comm->user, x->channel),
                             "sending x to all parts"));
    TESS_TRY(tess_comm_check(part->ctx, comm, comm->wait(comm->user, x->channel),
                             "waiting for x of all parts"));
    *out = x->x;
    return TESS_OK;
}

tess_status tess_form_multiply(tess_form_local *local, int k, double alpha, const void *x,
                               void *result)
{
    if (k == 1)
        return tess_spmv(local->plan, alpha, x, 0, result);
    return tess_spmm(local->plan, k, TESS_ORDER_ROW_MAJOR, alpha, x, k, 0, result, k);
}

void tess_form_put(const tess_part *part, int k, tess_block_order order, const void *result,
                   double beta, void *Y, int64_t ldy)
{
    const tess_type type = part->type;
    for (int64_t i = 0; i < part->rows; i++)
        for (int v = 0; v < k; v++) {
            const int64_t at = element(order, ldy, i, v);
            const double kept = beta != 0 ? beta * tess_get(Y, type, at) : 0;
            tess_put(Y, type, at, kept + tess_get(result, type, i * k + v));
        }
}

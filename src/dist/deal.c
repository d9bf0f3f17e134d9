/* From a matrix or vector that part 0 has to the parts, and back. */
#include "dist/part.h"

/* What part 0 tells each part before the arrays come. */
typedef struct deal_head {
    int64_t rows, block_rows, blocks;
    int32_t type, block;
} deal_head;

/* The arrays of one part while they are dealt out. */
typedef struct deal_arrays {
    deal_head head;
    int64_t *row_offsets, *columns;
    void *values;
} deal_arrays;

/* One message from part 0 to every other part, or the one that comes from there. bytes[r] and
 * data[r] are those of part r on part 0; bytes[0] and data[0] of this part elsewhere. */
static tess_status send_each(tess_ctx *ctx, const tess_comm *comm, const size_t *bytes,
                             void *const *data, tess_message *messages)
{
    if (comm->rank != 0) {
        const tess_message one = {0, bytes[0], data[0]};
        return tess_comm_exchange(ctx, comm, 0, NULL, 1, &one);
    }
    for (int r = 1; r < comm->size; r++)
        messages[r - 1] = (tess_message){r, bytes[r], data[r]};
    return tess_comm_exchange(ctx, comm, comm->size - 1, messages, 0, NULL);
}

/* Part 0's: what every part gets, as pieces of A's own arrays. */
static tess_status cut(tess_ctx *ctx, const tess_comm *comm, const tess_matrix *A,
                       deal_arrays *parts)
{
    int64_t *columns, *offsets;
    TESS_TRY(TESS_ALLOC(ctx, A->blocks, &columns));
    parts[0].columns = columns;
    TESS_TRY(TESS_ALLOC(ctx, A->block_rows + comm->size, &offsets));
    parts[0].row_offsets = offsets;
    for (int64_t k = 0; k < A->blocks; k++)
        columns[k] = A->columns[k];
    const size_t block_bytes =
        (size_t)A->block_height * (size_t)A->block_width * tess_type_size(A->type);
    for (int r = 0; r < comm->size; r++) {
        const int64_t first = tess_share_row(A->row_offsets, A->block_rows, r, comm->size);
        const int64_t end = tess_share_row(A->row_offsets, A->block_rows, r + 1, comm->size);
        const int64_t at = A->row_offsets[first];
        const int64_t last = tess_min(end * A->block_height, A->rows);
        parts[r] = (deal_arrays){.head = {.rows = last - tess_min(first * A->block_height, last),
                                          .block_rows = end - first,
                                          .blocks = A->row_offsets[end] - at,
                                          .type = (int32_t)A->type,
                                          .block = A->block_height},
                                 .row_offsets = offsets + first + r,
                                 .columns = columns + at,
                                 .values = (char *)A->values + (size_t)at * block_bytes};
        for (int64_t i = first; i <= end; i++)
            parts[r].row_offsets[i - first] = A->row_offsets[i] - at;
    }
    return TESS_OK;
}

/* A part's own arrays, to be received into. */
static tess_status reserve(tess_ctx *ctx, deal_arrays *a)
{
    const deal_head *h = &a->head;
    TESS_TRY(TESS_ALLOC(ctx, h->block_rows + 1, &a->row_offsets));
    TESS_TRY(TESS_ALLOC(ctx, h->blocks, &a->columns));
    return tess_alloc_bytes(ctx, h->blocks * h->block * h->block,
                            tess_type_size((tess_type)h->type), &a->values);
}

static tess_status send_arrays(tess_ctx *ctx, const tess_comm *comm, deal_arrays *parts, int count,
                               size_t *bytes, void **data, tess_message *messages)
{
    for (int array = 0; array < 3; array++) {
        for (int r = 0; r < count; r++) {
            const deal_head *h = &parts[r].head;
            const size_t scalars = (size_t)(h->blocks * h->block * h->block);
            bytes[r] = array == 0   ? (size_t)(h->block_rows + 1) * sizeof *parts->row_offsets
                       : array == 1 ? (size_t)h->blocks * sizeof *parts->columns
                                    : scalars * tess_type_size((tess_type)h->type);
            data[r] = array == 0   ? (void *)parts[r].row_offsets
                      : array == 1 ? (void *)parts[r].columns
                                   : parts[r].values;
        }
        TESS_TRY(send_each(ctx, comm, bytes, data, messages));
    }
    return TESS_OK;
}

static tess_status check_matrix(tess_ctx *ctx, const tess_comm *comm, const tess_matrix *A)
{
    if (comm->rank != 0)
        return TESS_OK;
    if (!A)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_part_deal: part 0 has no matrix");
    if (A->rows != A->cols || A->block_height != A->block_width)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "parts need a square matrix of square blocks, not %lld x %lld of %d x %d",
                         (long long)A->rows, (long long)A->cols, A->block_height, A->block_width);
    return TESS_OK;
}

tess_status tess_part_deal(tess_ctx *ctx, const tess_comm *comm, const tess_matrix *A,
                           tess_part **out)
{
    if (!ctx || !comm || !out)
        return tess_null_argument(ctx, __func__);
    const bool dealer = comm->rank == 0;
    const int count = dealer ? comm->size : 1;
    deal_arrays *parts = NULL;
    size_t *bytes = NULL;
    void **data = NULL;
    tess_message *messages = NULL;
    tess_status status = check_matrix(ctx, comm, A);
    if (status == TESS_OK)
        status = TESS_CALLOC(ctx, count, &parts);
    if (status == TESS_OK)
        status = TESS_ALLOC(ctx, count, &bytes);
    if (status == TESS_OK)
        status = TESS_ALLOC(ctx, count, &data);
    if (status == TESS_OK)
        status = TESS_ALLOC(ctx, count, &messages);
    if (status == TESS_OK && dealer)
        status = cut(ctx, comm, A, parts);
    TESS_TRY_CLEAN(tess_comm_agree(ctx, comm, status));
    for (int r = 0; r < count; r++) {
        bytes[r] = sizeof parts[r].head;
        data[r] = &parts[r].head;
    }
    TESS_TRY_CLEAN(send_each(ctx, comm, bytes, data, messages));
    TESS_TRY_CLEAN(tess_comm_agree(ctx, comm, dealer ? TESS_OK : reserve(ctx, parts)));
    TESS_TRY_CLEAN(send_arrays(ctx, comm, parts, count, bytes, data, messages));
    const tess_part_view view = {.type = (tess_type)parts->head.type,
                                 .rows = parts->head.rows,
                                 .block = parts->head.block,
                                 .order = TESS_ORDER_COLUMN_MAJOR,
                                 .row_offsets = parts->row_offsets,
                                 .columns = parts->columns,
                                 .values = parts->values};
    TESS_TRY_CLEAN(tess_part_create(ctx, comm, &view, out));
cleanup:
    if (parts) {
        TESS_FREE(ctx, parts->row_offsets, parts->columns);
        if (!dealer)
            tess_free(ctx, parts->values);
    }
    TESS_FREE(ctx, parts, bytes, data, messages);
    return status;
}

/* ---- Vectors ---- */

/* Part 0's messages with all others: a piece of the whole vector each. */
static int pieces(const tess_part *part, char *whole, tess_message *messages)
{
    const size_t scalar = tess_type_size(part->type);
    int count = 0;
    for (int r = 1; r < part->comm.size; r++) {
        const int64_t first = part->row_ends[r - 1], rows = part->row_ends[r] - first;
        if (rows > 0)
            messages[count++] =
                (tess_message){r, (size_t)rows * scalar, whole + (size_t)first * scalar};
    }
    return count;
}

/* `collect`: from the parts to part 0, else the other way. */
static tess_status move_vector(tess_part *part, bool collect, void *whole, void *mine,
                               const char *call)
{
    tess_ctx *ctx = part->ctx;
    const tess_comm *comm = &part->comm;
    const size_t bytes = (size_t)part->rows * tess_type_size(part->type);
    const bool dealer = comm->rank == 0;
    tess_message *messages = NULL, one = {0, bytes, mine};
    tess_status status = TESS_OK;
    if ((part->rows > 0 && !mine) || (dealer && part->row_ends[comm->size - 1] > 0 && !whole))
        status = tess_fail(ctx, TESS_ERR_ARGUMENT, "%s: a vector is NULL", call);
    else if (dealer)
        status = TESS_ALLOC(ctx, comm->size, &messages);
    TESS_TRY_CLEAN(tess_comm_agree(ctx, comm, status));
    const int count = dealer ? pieces(part, whole, messages) : part->rows > 0;
    const tess_message *list = dealer ? messages : &one;
    const bool sends = dealer != collect;
    TESS_TRY_CLEAN(tess_comm_exchange(ctx, comm, sends ? count : 0, list, sends ? 0 : count, list));
    if (dealer && bytes > 0)
        memcpy(collect ? whole : mine, collect ? mine : whole, bytes);
cleanup:
    tess_free(ctx, messages);
    return status;
}

tess_status tess_part_deal_vector(tess_part *part, const void *whole, void *mine)
{
    if (!part)
        return TESS_ERR_ARGUMENT;
    return move_vector(part, false, (void *)(uintptr_t)whole, mine, "tess_part_deal_vector");
}

tess_status tess_part_collect_vector(tess_part *part, const void *mine, void *whole)
{
    if (!part)
        return TESS_ERR_ARGUMENT;
    return move_vector(part, true, whole, (void *)(uintptr_t)mine, "tess_part_collect_vector");
}

/* Deals a matrix or vector of part 0 out to the parts, and collects vectors.
 *
 * Where a partition changes the order of rows, parts number them as the partition does: the rows of
 * part 0, then those of part 1. The whole matrix and whole vectors keep A's order. */
#include "dist/part.h"
#include "matrix/partition/partition.h"

/* Sizes that part 0 sends to each part before the arrays. */
typedef struct deal_head {
    int64_t rows, block_rows, blocks;
    int32_t type, block, moved;
} deal_head;

/* The arrays of one part while they are dealt out. */
typedef struct deal_arrays {
    deal_head head;
    int64_t *row_offsets, *columns;
    void *values;
    int64_t *numbers; /* the numbers of its block rows in A; not sent where `moved` is 0 */
} deal_arrays;

/* The parts that this one deals out: all of them on part 0, itself elsewhere. */
typedef struct dealing {
    tess_ctx *ctx;
    const tess_comm *comm;
    int count;
    deal_arrays *parts;
    tess_message *messages; /* one per part */
} dealing;

/* Part 0 sends messages[r] to every other part r; another part receives messages[0]. */
static tess_status send_each(const dealing *d)
{
    const bool dealer = d->comm->rank == 0;
    return tess_comm_exchange(d->ctx, d->comm, dealer ? d->count - 1 : 0, d->messages + 1,
                              dealer ? 0 : 1, d->messages);
}

/* ---- On part 0: the arrays of all parts ---- */

/* A in the order of the parts. Each part gets a contiguous piece of every array. */
typedef struct deal_whole {
    tess_partition *partition;
    int64_t *firsts, *order; /* of the partition */
    int64_t *place;          /* of each of A's block rows in that order */
    int64_t *columns, *row_offsets;
    char *values; /* A's own where the rows stay in order */
} deal_whole;

static void whole_free(tess_ctx *ctx, const tess_matrix *A, deal_whole *w)
{
    tess_partition_destroy(w->partition);
    if (A && w->values != A->values)
        tess_free(ctx, w->values);
    TESS_FREE(ctx, w->firsts, w->order, w->place, w->columns, w->row_offsets);
}

static size_t block_bytes(const tess_matrix *A)
{
    return tess_block_bytes(A->block_height, A->block_width, A->type);
}

/* Writes A's blocks in the order of the parts, with columns numbered in that order. */
static void arrange(const tess_matrix *A, deal_whole *w)
{
    const size_t bytes = block_bytes(A);
    int64_t at = 0;
    for (int64_t n = 0; n < A->block_rows; n++)
        w->place[w->order[n]] = n;
    for (int64_t n = 0; n < A->block_rows; n++) {
        const int64_t from = A->row_offsets[w->order[n]];
        const int64_t length = A->row_offsets[w->order[n] + 1] - from;
        for (int64_t k = 0; k < length; k++)
            w->columns[at + k] = w->place[A->columns[from + k]];
        if (w->values != A->values)
            memcpy(w->values + (size_t)at * bytes, (const char *)A->values + (size_t)from * bytes,
                   (size_t)length * bytes);
        at += length;
    }
}

static tess_status whole_make(tess_ctx *ctx, const tess_comm *comm, const tess_matrix *A,
                              const char *partition, deal_whole *w)
{
    TESS_TRY(tess_partition_create(ctx, A, comm->size, partition, &w->partition));
    TESS_TRY(TESS_ALLOC(ctx, comm->size + 1, &w->firsts));
    TESS_TRY(TESS_ALLOC(ctx, A->block_rows, &w->order));
    TESS_TRY(TESS_ALLOC(ctx, A->block_rows, &w->place));
    TESS_TRY(TESS_ALLOC(ctx, A->blocks, &w->columns));
    TESS_TRY(TESS_ALLOC(ctx, A->block_rows + comm->size, &w->row_offsets));
    if (w->partition->in_order)
        w->values = A->values;
    else
        TESS_TRY(tess_alloc_bytes(ctx, A->blocks, block_bytes(A), (void **)&w->values));
    tess_partition_order(w->partition, w->firsts, w->order);
    arrange(A, w);
    return TESS_OK;
}

/* Cuts the whole into the parts' pieces. */
static void cut(const tess_comm *comm, const tess_matrix *A, deal_whole *w, deal_arrays *parts)
{
    int64_t at = 0;
    for (int r = 0; r < comm->size; r++) {
        const int64_t first = w->firsts[r], end = w->firsts[r + 1];
        const tess_partition_part *p = &w->partition->parts[r];
        parts[r] = (deal_arrays){.head = {.rows = p->rows,
                                          .block_rows = p->block_rows,
                                          .blocks = p->blocks,
                                          .type = (int32_t)A->type,
                                          .block = A->block_height,
                                          .moved = !w->partition->in_order},
                                 .row_offsets = w->row_offsets + first + r,
                                 .columns = w->columns + at,
                                 .values = w->values + (size_t)at * block_bytes(A),
                                 .numbers = w->order + first};
        parts[r].row_offsets[0] = 0;
        for (int64_t n = first; n < end; n++) {
            at += A->row_offsets[w->order[n] + 1] - A->row_offsets[w->order[n]];
            parts[r].row_offsets[n - first + 1] = at - (parts[r].columns - w->columns);
        }
    }
}

/* ---- On the other parts ---- */

static void arrays_free(tess_ctx *ctx, deal_arrays *a)
{
    TESS_FREE(ctx, a->row_offsets, a->columns, a->values, a->numbers);
}

/* Allocates the arrays that a part receives. */
static tess_status reserve(tess_ctx *ctx, deal_arrays *a)
{
    const deal_head *h = &a->head;
    TESS_TRY(TESS_ALLOC(ctx, h->block_rows + 1, &a->row_offsets));
    TESS_TRY(TESS_ALLOC(ctx, h->blocks, &a->columns));
    if (h->moved)
        TESS_TRY(TESS_ALLOC(ctx, h->block_rows, &a->numbers));
    return tess_alloc_bytes(ctx, h->blocks * h->block * h->block,
                            tess_type_size((tess_type)h->type), &a->values);
}

/* The message to or from part `rank` with array 0 .. 3: row offsets, columns, values, numbers. */
static tess_message array_of(const deal_arrays *a, int array, int rank)
{
    const deal_head *h = &a->head;
    const size_t scalar = tess_type_size((tess_type)h->type), number = sizeof(int64_t);
    const size_t sizes[] = {(size_t)(h->block_rows + 1) * number, (size_t)h->blocks * number,
                            (size_t)(h->blocks * h->block * h->block) * scalar,
                            (size_t)h->block_rows * number};
    void *const arrays[] = {a->row_offsets, a->columns, a->values, a->numbers};
    return (tess_message){rank, sizes[array], arrays[array]};
}

static tess_status send_arrays(const dealing *d)
{
    const int arrays = d->parts->head.moved ? 4 : 3;
    for (int array = 0; array < arrays; array++) {
        for (int r = 0; r < d->count; r++)
            d->messages[r] = array_of(&d->parts[r], array, r);
        TESS_TRY(send_each(d));
    }
    return TESS_OK;
}

static tess_status check_matrix(tess_ctx *ctx, const tess_comm *comm, const tess_matrix *A)
{
    if (comm->rank != 0)
        return TESS_OK;
    if (!A)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_part_deal: part 0 has no matrix");
    return tess_partition_check(ctx, A);
}

/* Sends the heads, then the arrays, and makes the part. */
static tess_status deal(const dealing *d, tess_part **out)
{
    deal_arrays *parts = d->parts;
    for (int r = 0; r < d->count; r++)
        d->messages[r] = (tess_message){r, sizeof parts[r].head, &parts[r].head};
    TESS_TRY(send_each(d));
    TESS_TRY(
        tess_comm_agree(d->ctx, d->comm, d->comm->rank == 0 ? TESS_OK : reserve(d->ctx, parts)));
    TESS_TRY(send_arrays(d));
    const tess_part_view view = {.type = (tess_type)parts->head.type,
                                 .rows = parts->head.rows,
                                 .block = parts->head.block,
                                 .order = TESS_ORDER_COLUMN_MAJOR,
                                 .row_offsets = parts->row_offsets,
                                 .columns = parts->columns,
                                 .values = parts->values};
    return tess_part_create(d->ctx, d->comm, &view, out);
}

/* Makes what a part has to have before the first message. */
static tess_status prepare(dealing *d, const tess_matrix *A, const char *partition, deal_whole *w)
{
    TESS_TRY(check_matrix(d->ctx, d->comm, A));
    TESS_TRY(TESS_CALLOC(d->ctx, d->count, &d->parts));
    TESS_TRY(TESS_ALLOC(d->ctx, d->count, &d->messages));
    if (d->comm->rank != 0)
        return TESS_OK;
    TESS_TRY(whole_make(d->ctx, d->comm, A, partition, w));
    cut(d->comm, A, w, d->parts);
    return TESS_OK;
}

/* Hands the array over: the caller frees it no longer. */
static int64_t *take(int64_t **numbers)
{
    int64_t *taken = *numbers;
    *numbers = NULL;
    return taken;
}

tess_status tess_part_deal_by(tess_ctx *ctx, const tess_comm *comm, const tess_matrix *A,
                              const char *partition, tess_part **out)
{
    TESS_NEED(ctx, ctx && comm && out);
    TESS_TRY(tess_comm_whole(ctx, comm));
    const bool dealer = comm->rank == 0;
    dealing d = {.ctx = ctx, .comm = comm, .count = dealer ? comm->size : 1};
    deal_whole whole = {0};
    tess_part *part = NULL;
    tess_status status;
    TESS_TRY_CLEAN(tess_comm_agree(ctx, comm, prepare(&d, A, partition, &whole)));
    TESS_TRY_CLEAN(deal(&d, &part));
    if (d.parts->head.moved)
        part->numbers = take(dealer ? &whole.order : &d.parts->numbers);
    *out = part;
cleanup:
    if (d.parts && !dealer)
        arrays_free(ctx, d.parts);
    if (dealer)
        whole_free(ctx, A, &whole);
    TESS_FREE(ctx, d.parts, d.messages);
    return status;
}

tess_status tess_part_deal(tess_ctx *ctx, const tess_comm *comm, const tess_matrix *A,
                           tess_part **out)
{
    return tess_part_deal_by(ctx, comm, A, NULL, out);
}

/* ---- Vectors ---- */

/* Part 0's messages, one with each other part: its piece of the whole vector. */
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

/* Copies the whole vector from A's order to the parts' (`gather`), or back. Part 0 calls it. */
static void permute(const tess_part *part, bool gather, char *whole, char *arranged)
{
    const int64_t all = part->row_ends[part->comm.size - 1], block = part->block;
    const size_t scalar = tess_type_size(part->type);
    for (int64_t n = 0; n < tess_ceil_div(all, block); n++) {
        const size_t bytes = (size_t)tess_min(block, all - n * block) * scalar;
        char *mine = arranged + (size_t)(n * block) * scalar;
        char *theirs = whole + (size_t)(part->numbers[n] * block) * scalar;
        memcpy(gather ? mine : theirs, gather ? theirs : mine, bytes);
    }
}

static tess_status check_vectors(const tess_part *part, const void *whole, const void *mine,
                                 const char *call)
{
    const int64_t all = part->comm.rank == 0 ? part->row_ends[part->comm.size - 1] : 0;
    if ((part->rows > 0 && !mine) || (all > 0 && !whole))
        return tess_fail(part->ctx, TESS_ERR_ARGUMENT, "%s: a vector is NULL", call);
    return TESS_OK;
}

/* Moves a vector from the parts to part 0 (`collect`), or from part 0 to the parts. */
static tess_status move_vector(tess_part *part, bool collect, void *whole, void *mine,
                               const char *call)
{
    tess_ctx *ctx = part->ctx;
    const tess_comm *comm = &part->comm;
    const size_t scalar = tess_type_size(part->type), bytes = (size_t)part->rows * scalar;
    const bool dealer = comm->rank == 0, moved = dealer && part->numbers;
    tess_message *messages = NULL, one = {0, bytes, mine};
    void *arranged = NULL;
    tess_status status = check_vectors(part, whole, mine, call);
    if (status == TESS_OK && dealer)
        status = TESS_ALLOC(ctx, comm->size, &messages);
    if (status == TESS_OK && moved)
        status = tess_alloc_bytes(ctx, part->row_ends[comm->size - 1], scalar, &arranged);
    TESS_TRY_CLEAN(tess_comm_agree(ctx, comm, status));
    if (moved && !collect)
        permute(part, true, whole, arranged);
    char *dealt = moved ? arranged : whole;
    const int count = dealer ? pieces(part, dealt, messages) : part->rows > 0;
    const tess_message *list = dealer ? messages : &one;
    const bool sends = dealer != collect;
    TESS_TRY_CLEAN(tess_comm_exchange(ctx, comm, sends ? count : 0, list, sends ? 0 : count, list));
    if (dealer && bytes > 0)
        memcpy(collect ? dealt : mine, collect ? mine : dealt, bytes);
    if (moved && collect)
        permute(part, false, whole, arranged);
cleanup:
    TESS_FREE(ctx, messages, arranged);
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

tess_status tess_part_get_rows(const tess_part *part, int64_t *rows)
{
    TESS_NEED(part ? part->ctx : NULL, part && rows);
    const int64_t first = tess_part_first_row(part, part->comm.rank);
    for (int64_t i = 0; i < part->rows; i++)
        rows[i] = part->numbers ? part->numbers[i / part->block] * part->block + i % part->block
                                : first + i;
    return TESS_OK;
}

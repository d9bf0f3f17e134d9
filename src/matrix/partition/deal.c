/* Partitions that need only the row lengths: contiguous ranges, and rows dealt out one by one. */
#include "matrix/partition/partition.h"

/* ---- Contiguous ---- */

typedef struct row_bytes {
    tess_offset_fn offset;
    void *user;
    double block, row;
} row_bytes;

/* The bytes that the products of all rows before `row` move. */
static double bytes_before(const row_bytes *b, int64_t row)
{
    return (double)b->offset(b->user, row) * b->block + (double)row * b->row;
}

int64_t tess_partition_first(tess_offset_fn offset, void *user, const tess_matrix *A, int part,
                             int parts)
{
    const row_bytes b = {offset, user, tess_partition_block_bytes(A), tess_partition_row_bytes(A)};
    const int64_t rows = A->block_rows;
    if (part <= 0 || part >= parts)
        return part <= 0 ? 0 : rows;
    const double target = bytes_before(&b, rows) / parts * part;
    int64_t low = 0, high = rows;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (bytes_before(&b, middle) < target)
            low = middle + 1;
        else
            high = middle;
    }
    /* Takes the nearer of the two rows around the target. */
    const bool before =
        low > 0 && target - bytes_before(&b, low - 1) < bytes_before(&b, low) - target;
    return low - before;
}

static int64_t offset_of(void *user, int64_t row)
{
    return ((const int64_t *)user)[row];
}

int64_t tess_partition_first_of(const tess_matrix *A, int part, int parts)
{
    return tess_partition_first(offset_of, A->row_offsets, A, part, parts);
}

tess_status tess_partition_contiguous(tess_ctx *ctx, const tess_matrix *A, int parts,
                                      int32_t *owner)
{
    (void)ctx;
    for (int r = 0; r < parts; r++) {
        const int64_t end = tess_partition_first_of(A, r + 1, parts);
        for (int64_t i = tess_partition_first_of(A, r, parts); i < end; i++)
            owner[i] = r;
    }
    return TESS_OK;
}

/* ---- Cyclic ---- */

/* Sorts rows by length, the longest first; rows of equal length keep their order. Number n of the
 * list goes to part n modulo `parts`. */
tess_status tess_partition_cyclic(tess_ctx *ctx, const tess_matrix *A, int parts, int32_t *owner)
{
    int32_t *order;
    TESS_TRY(TESS_ALLOC(ctx, A->block_rows, &order));
    const tess_status status = tess_rows_by_length(ctx, A->row_offsets, A->block_rows, order);
    for (int64_t n = 0; status == TESS_OK && n < A->block_rows; n++)
        owner[order[n]] = (int32_t)(n % parts);
    tess_free(ctx, order);
    return status;
}

/* Reading a matrix under another grid of blocks.
 *
 * A block row of the new grid crosses one or more block rows of A, whose blocks are sorted by
 * column. Each of A's block rows has one cursor. The next new block is the one that holds the
 * leftmost scalar column to which a cursor points:
 *
 *        new block column j
 *            |   j*c .. limit-1   |
 *      cursor 0      [A00] [A01]                 height rows of each A block lie in the new row
 *      cursor 1  [A10]       [A11]
 *
 * So rows are merged and never sorted. The work is the entries read plus the new blocks times their
 * height, which is at most the number of new values to write.
 */
#pragma once

#include "matrix/matrix.h"

typedef struct tess_cursor {
    int64_t next;     /* the next scalar column, INT64_MAX at the end of the row */
    int64_t stop;     /* end of the current block's scalar columns, inside the matrix */
    int64_t k, end;   /* the current block, and the end of its block row */
    int32_t from, to; /* the common rows start here in A's block and in the new block */
    int32_t height;   /* the number of common rows */
} tess_cursor;

static inline void tess_cursor_load(const tess_matrix *A, tess_cursor *cursor)
{
    if (cursor->k >= cursor->end) {
        cursor->next = INT64_MAX;
        return;
    }
    cursor->next = (int64_t)A->columns[cursor->k] * A->block_width;
    cursor->stop = tess_min(cursor->next + A->block_width, A->cols);
}

/* The number of cursors that new block rows of `height` need at most. */
static inline int64_t tess_cursors_needed(const tess_matrix *A, int32_t height)
{
    return height / A->block_height + 2;
}

/* Opens the cursors of new block row `row` and returns their number. */
static inline int64_t tess_cursors_open(const tess_matrix *A, int64_t row, int32_t height,
                                        tess_cursor *cursors)
{
    int64_t first = row * height, last = tess_min(first + height, A->rows), count = 0;
    for (int64_t at = first; at < last; count++) {
        int64_t ib = at / A->block_height, end = tess_min((ib + 1) * A->block_height, last);
        cursors[count] = (tess_cursor){
            .k = A->row_offsets[ib],
            .end = A->row_offsets[ib + 1],
            .from = (int32_t)(at - ib * A->block_height),
            .to = (int32_t)(at - first),
            .height = (int32_t)(end - at),
        };
        tess_cursor_load(A, &cursors[count]);
        at = end;
    }
    return count;
}

/* The next new block column, or -1 at the end of the row. */
static inline int64_t tess_cursors_column(const tess_cursor *cursors, int64_t count, int32_t width)
{
    int64_t next = INT64_MAX;
    for (int64_t i = 0; i < count; i++)
        next = tess_min(cursors[i].next, next);
    return next == INT64_MAX ? -1 : next / width;
}

/* Moves all cursors to scalar column `limit` or beyond. */
static inline void tess_cursors_skip(const tess_matrix *A, tess_cursor *cursors, int64_t count,
                                     int64_t limit)
{
    for (int64_t i = 0; i < count; i++) {
        tess_cursor *cursor = &cursors[i];
        while (cursor->next < limit) {
            cursor->next = limit;
            if (cursor->next >= cursor->stop) {
                cursor->k++;
                tess_cursor_load(A, cursor);
            }
        }
    }
}

/* The same, and copies the values that the cursors pass into the new block at `block`. The block is
 * zeroed, starts at scalar column `first`, ends before `limit` and is `height` rows high. `size` is
 * the bytes of a value, a constant after inlining. */
static inline __attribute__((always_inline)) void
tess_cursors_copy(const tess_matrix *A, tess_cursor *cursors, int64_t count, int64_t first,
                  int64_t limit, int32_t height, char *block, size_t size)
{
    int64_t r = A->block_height;
    for (int64_t i = 0; i < count; i++) {
        tess_cursor *cursor = &cursors[i];
        while (cursor->next < limit) {
            int64_t stop = tess_min(cursor->stop, limit);
            int64_t inside = cursor->next - (int64_t)A->columns[cursor->k] * A->block_width;
            const char *from =
                (const char *)A->values +
                (size_t)((cursor->k * A->block_width + inside) * r + cursor->from) * size;
            char *to = block + (size_t)((cursor->next - first) * height + cursor->to) * size;
            for (; cursor->next < stop; cursor->next++) {
                if (cursor->height == 1)
                    memcpy(to, from, size);
                else
                    memcpy(to, from, (size_t)cursor->height * size);
                from += (size_t)r * size;
                to += (size_t)height * size;
            }
            if (stop == cursor->stop) {
                cursor->k++;
                tess_cursor_load(A, cursor);
            }
        }
    }
}

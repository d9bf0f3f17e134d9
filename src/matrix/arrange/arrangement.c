/* Matrices and vectors under an arrangement. */
#include "matrix/arrange/arrange.h"
#include "matrix/sort.h"

tess_status tess_arrangement_open(tess_ctx *ctx, const tess_matrix *A, tess_arrangement *out)
{
    if (A->rows != A->cols || A->block_height != A->block_width)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "only square matrices with square blocks are reordered and scaled, not "
                         "%" PRId64 " x %" PRId64 " with blocks of %d x %d",
                         A->rows, A->cols, (int)A->block_height, (int)A->block_width);
    *out = (tess_arrangement){
        .ctx = ctx, .rows = A->rows, .block_rows = A->block_rows, .block = A->block_height};
    return TESS_OK;
}

void tess_arrangement_close(tess_arrangement *arrangement)
{
    TESS_FREE(arrangement->ctx, arrangement->row_order, arrangement->col_order,
              arrangement->row_scale, arrangement->col_scale);
    arrangement->row_order = arrangement->col_order = NULL;
    arrangement->row_scale = arrangement->col_scale = NULL;
}

/* The block row or column of A that is number i of B. */
static int64_t source_of(const int64_t *order, int64_t i)
{
    return order ? order[i] : i;
}

static double scale_of(const double *scale, int64_t i)
{
    return scale ? scale[i] : 1;
}

/* One block row of B: block row `from` of A with its columns renumbered, sorted and scaled. */
static void arrange_row(const tess_matrix *A, const tess_arrangement *a, const int64_t *new_column,
                        int64_t from, int64_t to_row, tess_matrix *B, tess_sort_key *keys,
                        tess_sort_key *scratch)
{
    const int64_t b = A->block_height, first = A->row_offsets[from];
    const int64_t count = A->row_offsets[from + 1] - first;
    for (int64_t i = 0; i < count; i++)
        keys[i] = (tess_sort_key){(int32_t)new_column[A->columns[first + i]], first + i};
    const tess_sort_key *sorted = tess_sort_keys(keys, scratch, count);
    for (int64_t i = 0; i < count; i++) {
        const int64_t to = B->row_offsets[to_row] + i, k = sorted[i].position;
        B->columns[to] = sorted[i].column;
        for (int64_t q = 0; q < b; q++)
            for (int64_t p = 0; p < b; p++) {
                const int64_t row = from * b + p, col = A->columns[k] * b + q;
                double value = tess_matrix_value(A, (k * b + q) * b + p);
                /* A stored zero stays zero, although the scales of its row and its column may
                 * have an infinite product. */
                if (value != 0 && row < A->rows && col < A->cols)
                    value *= scale_of(a->row_scale, row) * scale_of(a->col_scale, col);
                tess_put(B->values, B->type, (to * b + q) * b + p, value);
            }
    }
}

struct arrange_share {
    tess_sort_key *keys;
    int64_t longest;
    tess_matrix *B;
    const tess_matrix *A;
    const tess_arrangement *a;
    int64_t *new_column;
};

static void arrange_share(void *arg, tess_range rows)
{
    const struct arrange_share *job = arg;
    tess_sort_key *mine = job->keys + 2 * job->longest * rows.share;
    for (int64_t i = rows.first; i < rows.last; i++)
        arrange_row(job->A, job->a, job->new_column, source_of(job->a->row_order, i), i, job->B,
                    mine, mine + job->longest);
}

tess_status tess_matrix_arrange(const tess_matrix *A, const tess_arrangement *a, tess_matrix **out)
{
    tess_ctx *ctx = a->ctx;
    const int64_t longest = tess_matrix_longest_row(A);
    tess_matrix *B;
    int64_t *new_column = NULL;
    tess_sort_key *keys = NULL;
    tess_status status;
    TESS_TRY(tess_matrix_allocate(ctx, A->type, A->rows, A->cols, A->block_height, A->block_width,
                                  A->blocks, &B));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->block_cols, &new_column));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 2 * longest * ctx->threads, &keys));
    for (int64_t j = 0; j < A->block_cols; j++)
        new_column[source_of(a->col_order, j)] = j;
    for (int64_t i = 0; i < A->block_rows; i++) {
        const int64_t from = source_of(a->row_order, i);
        B->row_offsets[i + 1] = B->row_offsets[i] + A->row_offsets[from + 1] - A->row_offsets[from];
    }
    tess_for_rows(ctx, B->row_offsets, B->block_rows, arrange_share,
                  &(struct arrange_share){keys, longest, B, A, a, new_column});
cleanup:
    TESS_FREE(ctx, new_column, keys);
    return TESS_DELIVER(status, B, tess_matrix_destroy, out);
}

struct move_blocks {
    const tess_arrangement *a;
    const int64_t *order;
    const double *scale;
    bool back;
    void *to;
    tess_type type;
    const void *from;
};

static void move_blocks(void *arg, tess_range range)
{
    const struct move_blocks *job = arg;
    const tess_arrangement *a = job->a;
    const tess_type type = job->type;
    for (int64_t block = range.first; block < range.last; block++) {
        const int64_t source = source_of(job->order, block);
        for (int64_t p = 0; p < a->block; p++) {
            const int64_t ours = block * a->block + p, theirs = source * a->block + p;
            if (ours >= a->rows || theirs >= a->rows)
                continue;
            const double factor = scale_of(job->scale, theirs);
            if (job->back)
                tess_put(job->to, type, theirs, factor * tess_get(job->from, type, ours));
            else
                tess_put(job->to, type, ours, factor * tess_get(job->from, type, theirs));
        }
    }
}

/* to[i] = scale[s] from[s], where scalar i of the arranged system is scalar s of the caller's. With
 * `back`: to[s] = scale[s] from[i]. */
static void move(const tess_arrangement *a, const int64_t *order, const double *scale, bool back,
                 tess_type type, const void *from, void *to)
{
    tess_for(a->ctx, a->block_rows, move_blocks,
             &(struct move_blocks){a, order, scale, back, to, type, from});
}

void tess_arrange_rhs(const tess_arrangement *a, tess_type type, const void *b, void *c)
{
    move(a, a->row_order, a->row_scale, false, type, b, c);
}

void tess_arrange_solution(const tess_arrangement *a, tess_type type, const void *y, void *x)
{
    move(a, a->col_order, a->col_scale, true, type, y, x);
}

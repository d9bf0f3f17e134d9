/* The list of partitions, and the measures of a partition: rows, bytes and halo of every part. */
#include "matrix/partition/partition.h"

static const tess_partition_kind kinds[] = {
    {"contiguous", "ranges of rows whose products move equal bytes (default)", true,
     tess_partition_contiguous},
    {"cyclic", "rows sorted by length and dealt out one by one (paper 003)", false,
     tess_partition_cyclic},
    {"metis", "few couplings between parts, by METIS where it is installed", false,
     tess_partition_metis},
    {"scotch", "few couplings between parts, by SCOTCH where it is installed", false,
     tess_partition_scotch},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

const char *tess_partition_name(int i)
{
    return i >= 0 && i < KINDS ? kinds[i].name : NULL;
}

const char *tess_partition_summary(int i)
{
    return i >= 0 && i < KINDS ? kinds[i].summary : NULL;
}

static tess_status find_kind(tess_ctx *ctx, const char *name, const tess_partition_kind **out)
{
    const char *names[KINDS];
    for (int i = 0; i < KINDS; i++) {
        names[i] = kinds[i].name;
        if (!name || strcmp(name, kinds[i].name) == 0) {
            *out = &kinds[i];
            return TESS_OK;
        }
    }
    return tess_fail(ctx, TESS_ERR_OPTION, "unknown partition '%s' (%s)", name,
                     tess_suggest(&(tess_suggestion){""}, name, names, KINDS));
}

bool tess_partition_fits(const tess_matrix *A)
{
    return A->rows == A->cols && A->block_height == A->block_width;
}

tess_status tess_partition_refuse(tess_ctx *ctx, const tess_matrix *A, const char *what)
{
    return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                     "%s need a square matrix of square blocks, not %lld x %lld of %d x %d: store "
                     "it in square blocks, or use one part",
                     what, (long long)A->rows, (long long)A->cols, A->block_height, A->block_width);
}

tess_status tess_partition_check(tess_ctx *ctx, const tess_matrix *A)
{
    return tess_partition_fits(A) ? TESS_OK : tess_partition_refuse(ctx, A, "parts");
}

double tess_partition_block_bytes(const tess_matrix *A)
{
    return (double)tess_type_size(A->type) * A->block_height * A->block_width + sizeof(int32_t);
}

double tess_partition_row_bytes(const tess_matrix *A)
{
    return 2.0 * (double)tess_type_size(A->type) * A->block_height + sizeof(int64_t);
}

/* ---- What it comes to ---- */

/* The caller's structure, and the arrays that it points to. */
typedef struct partition {
    tess_partition public;
    tess_ctx *ctx;
    int32_t *owner;
    tess_partition_part *parts;
} partition;

void tess_partition_destroy(tess_partition *p)
{
    partition *whole = (partition *)p;
    if (whole)
        TESS_FREE(whole->ctx, whole->owner, whole->parts, whole);
}

void tess_partition_order(const tess_partition *p, int64_t *firsts, int64_t *order)
{
    firsts[0] = 0;
    for (int r = 0; r < p->count; r++)
        firsts[r + 1] = firsts[r] + p->parts[r].block_rows;
    /* Each range is filled from its end backwards, which moves the firsts; they are restored
     * below. */
    for (int64_t i = p->block_rows - 1; i >= 0; i--)
        order[--firsts[p->owner[i] + 1]] = i;
    for (int r = 0; r < p->count; r++)
        firsts[r + 1] = firsts[r] + p->parts[r].block_rows;
}

/* Counts the blocks, halo, neighbours and bytes of one part. column[j] is the last part that
 * counted column j, plus 1; asked[p] is the last part that counted part p as a neighbour, plus
 * 1. */
static void count_halo(const tess_matrix *A, partition *p, int part, const int64_t *rows,
                       int32_t *column, int32_t *asked)
{
    tess_partition_part *mine = &p->parts[part];
    for (int64_t n = 0; n < mine->block_rows; n++) {
        for (int64_t k = A->row_offsets[rows[n]]; k < A->row_offsets[rows[n] + 1]; k++) {
            const int32_t j = A->columns[k], from = p->owner[j];
            mine->blocks++;
            if (from == part)
                continue;
            mine->outside_blocks++;
            if (column[j] == part + 1)
                continue;
            column[j] = part + 1;
            mine->halo++;
            p->parts[from].sent++;
            mine->neighbours += asked[from] != part + 1;
            asked[from] = part + 1;
        }
    }
    const double vector = (double)tess_type_size(A->type) * A->block_height;
    mine->bytes = (double)mine->blocks * tess_partition_block_bytes(A) +
                  (double)mine->block_rows * tess_partition_row_bytes(A) +
                  (double)mine->halo * vector;
}

static tess_status measure(const tess_matrix *A, partition *p)
{
    tess_ctx *ctx = p->ctx;
    int64_t *firsts = NULL, *order = NULL;
    int32_t *column = NULL, *asked = NULL;
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, p->public.count + 1, &firsts));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->block_rows, &order));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, A->block_cols, &column));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, p->public.count, &asked));
    for (int64_t i = 0; i < A->block_rows; i++) {
        const int64_t left = A->rows - i * A->block_height;
        tess_partition_part *part = &p->parts[p->owner[i]];
        part->block_rows++;
        part->rows += tess_min(left, A->block_height);
    }
    tess_partition_order(&p->public, firsts, order);
    for (int r = 0; r < p->public.count; r++)
        count_halo(A, p, r, order + firsts[r], column, asked);
cleanup:
    TESS_FREE(ctx, firsts, order, column, asked);
    return status;
}

static tess_status fill(const tess_matrix *A, const tess_partition_kind *kind, int parts,
                        partition *p)
{
    TESS_TRY(TESS_CALLOC(p->ctx, A->block_rows, &p->owner));
    TESS_TRY(TESS_CALLOC(p->ctx, parts, &p->parts));
    p->public = (tess_partition){.name = kind->name,
                                 .count = parts,
                                 .in_order = kind->in_order || parts == 1,
                                 .block_rows = A->block_rows,
                                 .block = A->block_height,
                                 .owner = p->owner,
                                 .parts = p->parts};
    if (parts > 1)
        TESS_TRY(kind->assign(p->ctx, A, parts, p->owner));
    if (!kind->in_order && A->rows % A->block_height != 0)
        p->owner[A->block_rows - 1] = parts - 1;
    return measure(A, p);
}

tess_status tess_partition_create(tess_ctx *ctx, const tess_matrix *A, int parts, const char *name,
                                  tess_partition **out)
{
    const tess_partition_kind *kind = NULL;
    TESS_NEED(ctx, ctx && A && out);
    if (parts < 1 || parts > TESS_PARTS_MAX)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "%d parts, not 1..%d", parts, TESS_PARTS_MAX);
    TESS_TRY(find_kind(ctx, name, &kind));
    TESS_TRY(tess_partition_check(ctx, A));
    partition *p;
    TESS_TRY(TESS_CALLOC(ctx, 1, &p));
    p->ctx = ctx;
    const tess_status status = fill(A, kind, parts, p);
    return TESS_DELIVER(status, &p->public, tess_partition_destroy, out);
}

/* Groups of b similar rows (regroup.h).
 *
 * First, a row and the b - 1 rows most like it become a group if all of them are alike, the most
 * alike groups first. Then the remaining rows are joined in pairs, again the most alike first, as
 * long as no group gets more than b rows. Pairs alone would tear groups apart: joining two rows of
 * one group to two of another leaves two halves.
 *
 * A group is a ring of rows, `next`, with a root that knows its size.
 */
#include "matrix/detect/regroup.h"

typedef struct rings {
    int32_t *parent, *next, *size;
} rings;

static int32_t root_of(rings *R, int32_t i)
{
    while (R->parent[i] != i) {
        R->parent[i] = R->parent[R->parent[i]];
        i = R->parent[i];
    }
    return i;
}

static void join(rings *R, int32_t i, int32_t j, int32_t b)
{
    int32_t a = root_of(R, i), c = root_of(R, j);
    if (a == c || R->size[a] + R->size[c] > b)
        return;
    if (R->size[a] < R->size[c]) {
        const int32_t kept = a;
        a = c;
        c = kept;
    }
    R->parent[c] = a;
    R->size[a] += R->size[c];
    const int32_t after = R->next[a];
    R->next[a] = R->next[c];
    R->next[c] = after;
}

/* Writes the members of i's ring in rising order, and removes the ring from later searches. Returns
 * their number. */
static int64_t write_ring(rings *R, int64_t i, int64_t *order)
{
    const int32_t root = root_of(R, (int32_t)i);
    int32_t at = (int32_t)i;
    int64_t count = 0;
    do {
        int64_t to = count++;
        for (; to > 0 && order[to - 1] > at; to--)
            order[to] = order[to - 1];
        order[to] = at;
        at = R->next[at];
    } while (at != i);
    R->size[root] = 0;
    return count;
}

/* The first row from *at on in a ring of `size` rows that is not written yet; `rows`: none. */
static int64_t find_ring(rings *R, int64_t rows, int32_t size, int64_t *at)
{
    while (*at < rows && R->size[root_of(R, (int32_t)*at)] != size)
        (*at)++;
    return *at;
}

/* Writes whole groups, then blocks of smaller rings. The next ring is the largest that fits the
 * rest of the block; if none fits, the smallest is taken and cut. */
static void write_order(rings *R, int64_t rows, int32_t b, int64_t *order, int64_t *grouped)
{
    int64_t at[TESS_REGROUP_MAX + 1] = {0}, count = 0, i;
    while ((i = find_ring(R, rows, b, &at[b])) < rows)
        count += write_ring(R, i, order + count);
    *grouped = count;
    while (count < rows) {
        const int32_t room = b - (int32_t)(count % b);
        int32_t size = tess_min(room, b - 1);
        while (size > 0 && find_ring(R, rows, size, &at[size]) == rows)
            size--;
        if (size == 0)
            for (size = 1; find_ring(R, rows, size, &at[size]) == rows;)
                size++;
        count += write_ring(R, at[size], order + count);
    }
}

/* The likeness of two rows, if one of them lists the other; else 0. */
static int alike(const tess_similar *similar, int64_t i, int64_t j)
{
    for (int k = 0; k < TESS_SIMILAR; k++) {
        if (similar[i].row[k] == j)
            return similar[i].alike[k];
        if (similar[j].row[k] == i)
            return similar[j].alike[k];
    }
    return 0;
}

/* The least likeness of two rows among row i and the b - 1 rows most like it. */
static int least_alike(const tess_similar *similar, int64_t i, int32_t b)
{
    const int32_t *others = similar[i].row;
    if (others[b - 2] < 0)
        return 0;
    int least = similar[i].alike[b - 2];
    for (int p = 1; p < b - 1 && least > 0; p++)
        for (int q = 0; q < p; q++) {
            const int score = alike(similar, others[p], others[q]);
            least = tess_min(score, least);
        }
    return least;
}

typedef struct rating {
    const tess_similar *similar;
    int32_t block;
    uint8_t *least;
} rating;

static void rate_rows(void *arg, tess_range rows)
{
    const rating *job = arg;
    for (int64_t i = rows.first; i < rows.last; i++)
        job->least[i] = (uint8_t)least_alike(job->similar, i, job->block);
}

/* Sorts rows by their least likeness, the most alike first. Rows whose least likeness is 0 are left
 * out. */
static tess_status sort_rows(tess_ctx *ctx, const tess_similar *similar, int64_t rows, int32_t b,
                             tess_similar_pairs *out)
{
    int64_t first[257] = {0};
    uint8_t *least;
    TESS_TRY(TESS_ALLOC(ctx, rows, &least));
    tess_for(ctx, rows, rate_rows, &(rating){similar, b, least});
    for (int64_t i = 0; i < rows; i++)
        first[255 - least[i] + 1]++;
    tess_counts_to_offsets(first, 256);
    *out = (tess_similar_pairs){.count = first[255]};
    tess_status status = TESS_ALLOC(ctx, rows, &out->pair);
    for (int64_t i = 0; status == TESS_OK && i < rows; i++)
        out->pair[first[255 - least[i]]++] = i;
    tess_free(ctx, least);
    return status;
}

/* Joins row i and the b - 1 rows most like it, if all of them are free. */
static void join_all(rings *R, const tess_similar *similar, int64_t i, int32_t b)
{
    const int32_t *others = similar[i].row;
    bool all_free = R->next[i] == i;
    for (int k = 0; k < b - 1; k++)
        all_free = all_free && R->next[others[k]] == others[k];
    for (int k = 0; k < b - 1 && all_free; k++)
        join(R, (int32_t)i, others[k], b);
}

int tess_guess_densities(const tess_similar *similar, int64_t rows, double *density)
{
    int64_t sum[TESS_REGROUP_MAX + 2] = {0}; /* [b]: likeness of the b-th row of a group */
    for (int64_t i = 0; i < rows; i++)
        for (int k = 0; k < TESS_SIMILAR; k++)
            sum[k + 2] += similar[i].alike[k];
    /* The list ends here: assume that rows of other groups are about half alike, as neighbours
     * are. */
    sum[TESS_REGROUP_MAX + 1] = tess_min(sum[TESS_REGROUP_MAX], 255 * rows / 2);
    double alike = 0;
    int natural = 2;
    for (int b = 2; b <= TESS_REGROUP_MAX; b++) {
        alike += rows > 0 ? (double)sum[b] / (255 * (double)rows) : 0;
        density[b] = (1 + alike) / b * (1 + alike) / b;
        if (sum[b] - sum[b + 1] > sum[natural] - sum[natural + 1])
            natural = b;
    }
    return natural;
}

/* Sorts pairs by likeness: place k in the list of row i is pair i * TESS_SIMILAR + k. */
tess_status tess_sort_similar(tess_ctx *ctx, const tess_similar *similar, int64_t rows,
                              tess_similar_pairs *out)
{
    int64_t first[257] = {0};
    for (int64_t i = 0; i < rows; i++)
        for (int k = 0; k < TESS_SIMILAR && similar[i].row[k] >= 0; k++)
            first[255 - similar[i].alike[k] + 1]++;
    tess_counts_to_offsets(first, 256);
    *out = (tess_similar_pairs){.count = first[256]};
    TESS_TRY(TESS_ALLOC(ctx, out->count, &out->pair));
    for (int64_t i = 0; i < rows; i++)
        for (int k = 0; k < TESS_SIMILAR && similar[i].row[k] >= 0; k++)
            out->pair[first[255 - similar[i].alike[k]]++] = i * TESS_SIMILAR + k;
    return TESS_OK;
}

tess_status tess_group_similar(tess_ctx *ctx, const tess_similar *similar, int64_t rows,
                               const tess_similar_pairs *pairs, int32_t b, int64_t *order,
                               int64_t *grouped)
{
    rings R = {0};
    tess_similar_pairs seeds = {0};
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, rows, &R.parent));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, rows, &R.next));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, rows, &R.size));
    for (int64_t i = 0; i < rows; i++) {
        R.parent[i] = R.next[i] = (int32_t)i;
        R.size[i] = 1;
    }
    TESS_TRY_CLEAN(sort_rows(ctx, similar, rows, b, &seeds));
    for (int64_t s = 0; s < seeds.count; s++)
        join_all(&R, similar, seeds.pair[s], b);
    for (int64_t p = 0; p < pairs->count; p++) {
        const int64_t i = pairs->pair[p] / TESS_SIMILAR;
        join(&R, (int32_t)i, similar[i].row[pairs->pair[p] % TESS_SIMILAR], b);
    }
    write_order(&R, rows, b, order, grouped);
cleanup:
    TESS_FREE(ctx, seeds.pair, R.parent, R.next, R.size);
    return status;
}

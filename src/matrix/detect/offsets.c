/* Where do blocks begin? (detect.h)
 *
 * Rows and columns are judged separately. Two entries that follow each other in a row, at columns a
 * < x, share a 1 x b block unless a block begins at one of a+1 .. x. So a pair tells, for every b,
 * by which x - a offsets (mod b) it is cut. Summed over all pairs this gives the number of 1 x b
 * blocks for all b offsets at once. Down the columns the same holds for b x 1 blocks, with the row
 * in which a column was last seen. If the matrix has b x b blocks, both minima are the offsets at
 * which the blocks begin.
 *
 * A sample of a few hundred thousand entries, in runs of consecutive rows, decides.
 */
#include "matrix/detect/detect.h"

enum { SAMPLE_ENTRIES = 250000, SAMPLE_RUN = 512 };

typedef struct cuts {
    int64_t pairs[TESS_DETECT_MAX + 1]; /* pairs less than b apart */
    int64_t cut[TESS_DETECT_MAX + 1][TESS_DETECT_MAX];
} cuts;

/* Counts the pair of entries at `place` and at `place - gap`. */
static void count_pair(cuts *C, int64_t place, int64_t gap)
{
    for (int32_t b = (int32_t)gap + 1; b <= TESS_DETECT_MAX; b++) {
        int64_t offset = place % b;
        C->pairs[b]++;
        for (int64_t t = 0; t < gap; t++) {
            C->cut[b][offset]++;
            offset = offset ? offset - 1 : b - 1;
        }
    }
}

/* Counts the pairs of rows first..last-1, until `budget` entries are used up. seen[j] is 1 + the
 * last row of column j in any run so far; a row before this run counts as none. */
static int64_t count_run(const tess_pattern *P, int64_t first, int64_t last, int64_t budget,
                         int64_t *seen, cuts *horizontal, cuts *vertical)
{
    int64_t used = 0;
    for (int64_t i = first; i < last; i++) {
        for (int64_t k = P->row_offsets[i]; k < P->row_offsets[i + 1]; k++, used++) {
            if (used >= budget)
                return used;
            int64_t j = P->columns[k];
            if (k > P->row_offsets[i] && j - P->columns[k - 1] < TESS_DETECT_MAX)
                count_pair(horizontal, j, j - P->columns[k - 1]);
            int64_t before = seen[j] - 1;
            if (before >= first && before < i && i - before < TESS_DETECT_MAX)
                count_pair(vertical, i, i - before);
            seen[j] = i + 1;
        }
    }
    return used;
}

/* entries / (blocks * b); blocks = entries - pairs that are not cut. */
static double density(const cuts *C, int64_t entries, int32_t b, int32_t offset)
{
    int64_t blocks = entries - C->pairs[b] + C->cut[b][offset];
    return blocks > 0 ? (double)entries / ((double)blocks * b) : 0;
}

static void choose(const cuts *C, int64_t entries, tess_best_offset best[])
{
    for (int32_t b = 1; b <= TESS_DETECT_MAX; b++) {
        int32_t at = 0;
        for (int32_t o = 1; o < b; o++)
            if (C->cut[b][o] < C->cut[b][at])
                at = o;
        best[b] = (tess_best_offset){at, density(C, entries, b, at)};
    }
}

tess_status tess_find_offsets(tess_ctx *ctx, const tess_pattern *P, tess_best_offsets *out)
{
    struct {
        cuts horizontal, vertical;
    } *C = NULL;
    int64_t *seen = NULL;
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, 1, &C));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, P->cols, &seen));
    int64_t used = 0, runs = 1, length = P->rows;
    if (P->entries > SAMPLE_ENTRIES) {
        double average = (double)P->entries / (double)P->rows;
        runs = (int64_t)(SAMPLE_ENTRIES / (average * SAMPLE_RUN)) + 1;
        length = tess_min(SAMPLE_RUN, P->rows);
    }
    for (int64_t run = 0; run < runs; run++) {
        int64_t first = (int64_t)((double)run / (double)runs * (double)(P->rows - length));
        used += count_run(P, first, first + length, SAMPLE_ENTRIES - used, seen, &C->horizontal,
                          &C->vertical);
    }
    *out = (tess_best_offsets){0};
    choose(&C->vertical, used, out->row);
    choose(&C->horizontal, used, out->col);
cleanup:
    TESS_FREE(ctx, seen, C);
    return status;
}

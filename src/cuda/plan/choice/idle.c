/* The time in which the memory waits at the end of a product, because rows have different lengths.
 *
 * The threads of a line load some of its blocks at a time and wait for them: a step. A step of all
 * lines that run at once takes as long as the memory needs for their bytes, and at least the
 * latency of one load. While long lines are alone, too few loads are in flight, and the memory
 * waits:
 *
 *     lines alive  ####################
 *                  ############              a step:  max(latency, bytes of lines alive / speed)
 *                  ####        <- idle: latency - bytes / speed
 *
 * New lines take the place of those that end, so the memory waits only at the end of a product.
 * Lines of equal length end together. Their waiting is part of the model's curves, so idle time is
 * what exceeds it. */
#include "cuda/plan/choice/choose.h"

/* The latency of a load from the memory of a busy H200. It is chosen by the time that a product of
 * bcsstk16 (59 entries per row in the mean, up to 81) takes longer, in us:
 *
 *                                             7 x 7 blocks   8 x 8 blocks
 *     one thread per row instead of two           6.1            3.5
 *     half of the loads in flight                 4.0            1.4
 *     either, counted with this latency           4.8            4.0
 */
static const double latency = 0.7e-6; /* seconds */

/* Lines by their lengths. */
typedef struct line_counts {
    int64_t lines, longest;
    double *longer; /* [t]: lines of more than t blocks */
    double *beyond; /* [t]: their blocks beyond t */
} line_counts;

/* Adds to counts[n] the number of lines of n blocks. Rows longer than `split` are cut. */
static void count_lines(const tess_matrix *A, int64_t split, double *counts, int64_t *lines)
{
    for (int64_t i = 0; i < A->block_rows; i++) {
        int64_t length = A->row_offsets[i + 1] - A->row_offsets[i];
        for (; split > 0 && length > split; length -= split) {
            counts[split]++;
            ++*lines;
        }
        counts[length]++;
        ++*lines;
    }
}

static tess_status line_counts_of(tess_ctx *ctx, const tess_matrix *A, int64_t split,
                                  line_counts *out)
{
    line_counts c = {0};
    for (int64_t i = 0; i < A->block_rows; i++)
        c.longest = tess_max(c.longest, A->row_offsets[i + 1] - A->row_offsets[i]);
    if (split > 0)
        c.longest = tess_min(c.longest, split);
    TESS_TRY(TESS_CALLOC(ctx, 2 * (c.longest + 2), &c.longer));
    c.beyond = c.longer + c.longest + 2;
    count_lines(A, split, c.longer, &c.lines);
    double longer = 0, beyond = 0;
    for (int64_t t = c.longest; t >= 0; t--) {
        const double here = c.longer[t];
        c.longer[t] = longer;
        c.beyond[t] = beyond;
        longer += here;
        beyond += longer;
    }
    *out = c;
    return TESS_OK;
}

/* Blocks beyond the first t of every line. */
static double blocks_beyond(const line_counts *c, double t)
{
    if (t >= (double)c->longest)
        return 0;
    const int64_t whole = (int64_t)t;
    return c->beyond[whole] - (t - (double)whole) * c->longer[whole];
}

/* Seconds for which the memory waits in a step that reads `bytes`. */
static double waiting(double bytes, double speed)
{
    const double busy = bytes / speed;
    return busy < latency ? latency - busy : 0;
}

tess_status tess_cuda_idle(tess_ctx *ctx, const tess_matrix *A, const tess_cuda_flight *flight,
                           double speed, double *seconds)
{
    line_counts c;
    *seconds = 0;
    if (A->blocks == 0 || !(speed > 0) || !(flight->blocks > 0) || !(flight->lines > 0))
        return TESS_OK;
    TESS_TRY(line_counts_of(ctx, A, flight->split, &c));
    const double lines = (double)c.lines, mean = (double)A->blocks / lines;
    const double block =
        4 + (double)tess_type_size(A->type) * A->block_height * (double)A->block_width;
    const double share = flight->lines < lines ? flight->lines / lines : 1;
    double idle = 0, even = 0;
    /* Sorted lines begin with the longest. The last lines to run are short, so nothing waits for
     * them. */
    const double end = flight->sorted && share < 1 ? 0 : (double)c.longest;
    for (double t = 0; t < end; t += flight->blocks) {
        const double alive = share * c.longer[(int64_t)t], next = t + flight->blocks;
        const double bytes = share * block * (blocks_beyond(&c, t) - blocks_beyond(&c, next));
        idle += fmin(alive, 1) * waiting(bytes, speed);
        if (t < mean)
            even += waiting(share * block * lines * (fmin(next, mean) - t), speed);
    }
    *seconds = idle > even ? idle - even : 0;
    tess_free(ctx, c.longer);
    return TESS_OK;
}

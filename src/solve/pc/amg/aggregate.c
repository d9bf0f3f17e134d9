/* Groups of block rows that become one coarse block row each.
 *
 * Block rows are cut into domains, which threads share. The number of domains depends on the matrix
 * alone, and so do the groups. Rows at the ends of a domain begin no groups, so a domain is several
 * times as long as couplings reach: several planes of a mesh.
 *
 *   1. Each domain in order: a row whose strong neighbours are all free, and of the same domain,
 *      begins a group with them. First rows of groups are an independent set: no two have a common
 *      neighbour.
 *   2. A row left over joins the group of its strongest neighbour that has one after round 1, in
 *      whatever domain. Neighbours that are strong for this row alone count here, and only here:
 *      a group has no two rows that couple by a third one which neither depends on.
 *   3. Each domain in order: a row still left over begins a group with its free neighbours.
 *
 * A row without strong neighbours of either kind stays outside all groups: smoothers solve its
 * equation alone.
 */
#include "solve/pc/amg/amg.h"

enum { FREE = -2, ALONE = -1 };
enum { DOMAIN_LEAST = 32768, DOMAIN_REACHES = 8, SAMPLES = 4096 };

void tess_aggregates_free(tess_ctx *ctx, tess_aggregates *aggregates)
{
    TESS_FREE(ctx, aggregates->of, aggregates->offsets, aggregates->members);
    *aggregates = (tess_aggregates){0};
}

typedef struct walk {
    const tess_matrix *A;
    const float *strength;
    int32_t *of;    /* the group of each row; in round 1 counted within the domain */
    int32_t *first; /* number of groups of each domain, then the first group of each */
    int32_t *joins; /* the group that each row joins in round 2 */
    int32_t *rest;  /* as `first`, for round 3 */
    int domains;
} walk;

int64_t tess_amg_domain_row(int64_t rows, int domains, int domain)
{
    return rows * domain / domains;
}

static int64_t domain_row(const walk *w, int domain)
{
    return tess_amg_domain_row(w->A->block_rows, w->domains, domain);
}

/* Whether a row has no strong neighbour, not even one that is strong for this row alone. */
static bool is_alone(const walk *w, int64_t row)
{
    for (int64_t k = w->A->row_offsets[row]; k < w->A->row_offsets[row + 1]; k++)
        if (w->strength[k] != 0)
            return false;
    return true;
}

static bool is_first(const walk *w, int64_t row, int64_t begin, int64_t end)
{
    bool coupled = false;
    if (w->of[row] != FREE)
        return false;
    for (int64_t k = w->A->row_offsets[row]; k < w->A->row_offsets[row + 1]; k++) {
        const int64_t j = w->A->columns[k];
        if (w->strength[k] > 0 && (j < begin || j >= end || w->of[j] != FREE))
            return false;
        coupled |= w->strength[k] > 0;
    }
    return coupled;
}

/* Makes a group of the row and its free neighbours in the domain. */
static void group(const walk *w, int64_t row, int64_t begin, int64_t end, int32_t number)
{
    w->of[row] = number;
    for (int64_t k = w->A->row_offsets[row]; k < w->A->row_offsets[row + 1]; k++) {
        const int64_t j = w->A->columns[k];
        if (w->strength[k] > 0 && j >= begin && j < end && w->of[j] == FREE)
            w->of[j] = number;
    }
}

static void begin_groups(const walk *w, int domain)
{
    const int64_t begin = domain_row(w, domain), end = domain_row(w, domain + 1);
    int32_t count = 0;
    for (int64_t i = begin; i < end; i++)
        w->of[i] = is_alone(w, i) ? ALONE : FREE;
    for (int64_t i = begin; i < end; i++)
        if (is_first(w, i, begin, end))
            group(w, i, begin, end, count++);
    w->first[domain] = count;
}

static int domain_of(const walk *w, int64_t row)
{
    int domain = (int)(row * w->domains / w->A->block_rows);
    while (row < domain_row(w, domain))
        domain--;
    while (row >= domain_row(w, domain + 1))
        domain++;
    return domain;
}

/* Returns the strongest neighbour that has a group; -1: there is none. */
static int64_t strongest(const walk *w, int64_t row)
{
    int64_t best = -1;
    float most = 0;
    for (int64_t k = w->A->row_offsets[row]; k < w->A->row_offsets[row + 1]; k++) {
        const float strength = fabsf(w->strength[k]);
        if (strength > most && w->of[w->A->columns[k]] >= 0) {
            most = strength;
            best = w->A->columns[k];
        }
    }
    return best;
}

/* Turns the number of groups of each domain into its first group in the numbering of the whole. */
static void number_groups(const walk *w, int32_t *first)
{
    int32_t next = 0;
    for (int d = 0; d < w->domains; d++) {
        const int32_t count = first[d];
        first[d] = next;
        next += count;
    }
    first[w->domains] = next;
}

/* Round 2: finds the group that each row left over joins. Only groups of round 1 count, so the
 * result does not depend on the order of rows. */
static void join(void *arg, tess_range range)
{
    const walk *w = arg;
    for (int64_t i = range.first; i < range.last; i++) {
        const int64_t j = w->of[i] == FREE ? strongest(w, i) : -1;
        w->joins[i] = j < 0 ? FREE : w->first[domain_of(w, j)] + w->of[j];
    }
}

/* Round 3 of a domain: its new groups are numbered from `from` on. Returns how many there are. */
static int32_t group_rest(const walk *w, int domain, int32_t from)
{
    const int64_t begin = domain_row(w, domain), end = domain_row(w, domain + 1);
    int32_t count = 0;
    for (int64_t i = begin; i < end; i++)
        if (w->of[i] == FREE)
            group(w, i, begin, end, from + count++);
    return count;
}

static tess_status list_members(tess_ctx *ctx, int64_t rows, tess_aggregates *out)
{
    TESS_TRY(TESS_CALLOC(ctx, out->count + 2, &out->offsets));
    TESS_TRY(TESS_ALLOC(ctx, rows, &out->members));
    /* Group g is counted at offsets[g + 2]. After the sum offsets[g + 1] is where its next member
     * goes, and in the end where the group ends. */
    for (int64_t i = 0; i < rows; i++)
        if (out->of[i] >= 0)
            out->offsets[out->of[i] + 2]++;
    for (int64_t g = 0; g < out->count; g++)
        out->offsets[g + 2] += out->offsets[g + 1];
    for (int64_t i = 0; i < rows; i++)
        if (out->of[i] >= 0)
            out->members[out->offsets[out->of[i] + 1]++] = (int32_t)i;
    return TESS_OK;
}

static void first_round(void *arg, tess_range range)
{
    const walk *w = arg;
    for (int d = (int)range.first; d < range.last; d++)
        begin_groups(w, d);
}

static void third_round(void *arg, tess_range range)
{
    const walk *w = arg;
    const int32_t *joins = w->joins;
    for (int d = (int)range.first; d < range.last; d++) {
        for (int64_t i = domain_row(w, d); i < domain_row(w, d + 1); i++)
            w->of[i] = joins[i] >= 0 ? joins[i] : w->of[i] >= 0 ? w->first[d] + w->of[i] : w->of[i];
        /* For now every domain numbers its new groups behind all others, which marks their rows. */
        w->rest[d] = group_rest(w, d, w->first[w->domains]);
    }
}

/* Gives groups of round 3 their final numbers. Those of domain 0 have them, so range i is domain
 * i + 1. */
static void number_rest(void *arg, tess_range range)
{
    const walk *w = arg;
    for (int d = (int)range.first + 1; d <= range.last; d++)
        for (int64_t i = domain_row(w, d); i < domain_row(w, d + 1); i++)
            if (w->of[i] >= w->first[w->domains])
                w->of[i] += w->rest[d];
}

static void number_all(tess_ctx *ctx, walk *w)
{
    tess_for(ctx, w->domains, first_round, w);
    number_groups(w, w->first);
    tess_for(ctx, w->A->block_rows, join, w);
    tess_for(ctx, w->domains, third_round, w);
    number_groups(w, w->rest);
    tess_for(ctx, w->domains - 1, number_rest, w);
}

/* Returns how far the blocks of a row reach from the diagonal: the mean over some rows. */
static int64_t mean_reach(const tess_matrix *A)
{
    const int64_t step = A->block_rows / SAMPLES + 1;
    int64_t sum = 0, count = 0;
    for (int64_t i = 0; i < A->block_rows; i += step, count++) {
        const int64_t first = A->row_offsets[i], last = A->row_offsets[i + 1] - 1;
        if (first <= last)
            sum += tess_max(i - A->columns[first], A->columns[last] - i);
    }
    return sum / tess_max(count, 1);
}

int tess_amg_domains(const tess_matrix *A)
{
    const int64_t wanted = A->block_rows / tess_max(DOMAIN_LEAST, DOMAIN_REACHES * mean_reach(A));
    return (int)tess_max(1, tess_min(wanted, TESS_AMG_DOMAINS));
}

tess_status tess_amg_aggregate(tess_ctx *ctx, const tess_amg_level *level, int domains,
                               tess_aggregates *out)
{
    const int64_t rows = level->A->block_rows;
    walk w = {.A = level->A, .strength = level->strength, .domains = domains};
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, rows, &out->of));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, rows, &w.joins));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, w.domains + 1, &w.first));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, w.domains + 1, &w.rest));
    w.of = out->of;
    number_all(ctx, &w);
    out->count = (int64_t)w.first[w.domains] + w.rest[w.domains];
    TESS_TRY_CLEAN(list_members(ctx, rows, out));
cleanup:
    TESS_FREE(ctx, w.joins, w.first, w.rest);
    return status;
}

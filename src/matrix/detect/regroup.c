/* Blocks that the numbering hides: finds, counts and prices them (tessera.h, "Analysis").
 *
 * Candidates are 2 to 16 fields of equal length, and groups of 2 to 16 rows with nearly the same
 * columns. A sample of the fields, and the likeness of rows, decide which candidates are counted. A
 * candidate is counted exactly, in one sweep over the entries.
 */
#include "matrix/detect/regroup.h"

/* A regrouping is worth the permutation if it moves at most this share of the bytes of 1 x 1
 * blocks. */
#define WORTH_THE_TROUBLE 0.95
/* Of each kind at most COUNTED sizes are counted: those with the fewest guessed bytes, as far as
 * these are at most WORTH_A_SWEEP times those of the best guess. */
#define WORTH_A_SWEEP 1.2
/* Groups whose size neither divides the natural size nor is a multiple of it take rows from each
 * other. Their guessed bytes are multiplied by this factor. */
#define TORN 1.15
enum { COUNTED = 4 };
/* Groups of similar rows take the place of fields if fields move more than this many times their
 * bytes. Half storage halves the bytes of blocks, but not those of the passes that a list of rows
 * needs. If fields move at most this many times the bytes of full blocks of the largest size, no
 * groups are sought: finding them takes far longer. */
#define LITTLE_TO_GAIN 1.06
/* Groups whose blocks are as full as this are left as they are. */
#define NEARLY_FULL 0.95
/* The share of the rows that must be in whole groups before the blocks of a size are counted. */
#define WORTH_COUNTING 0.6

/* The caller's structure, and the context that frees it. */
typedef struct regrouping {
    tess_regrouping public;
    tess_ctx *ctx;
} regrouping;

typedef struct search {
    tess_ctx *ctx;
    const tess_matrix *A;
    tess_pattern P;
    tess_marks marks;
    int32_t *group_of;
    int64_t *order, *best_order; /* under trial; the best so far */
    tess_regrouping best;
} search;

/* ---- Counting ---- */

struct count_groups {
    const tess_pattern *P;
    const int64_t *order;
    const int32_t *group_of;
    tess_marks *marks;
    int64_t block;
};

static int64_t count_groups(const void *arg, tess_range groups)
{
    const struct count_groups *job = arg;
    const tess_pattern *P = job->P;
    uint32_t *mark = job->marks->mark + groups.share * job->marks->columns;
    int64_t found = 0;
    for (int64_t g = groups.first; g < groups.last; g++) {
        const uint32_t stamp = tess_marks_next(job->marks, groups.share);
        const int64_t last = tess_min((g + 1) * job->block, P->rows);
        for (int64_t i = g * job->block; i < last; i++)
            for (int64_t k = P->row_offsets[job->order[i]]; k < P->row_offsets[job->order[i] + 1];
                 k++) {
                uint32_t *seen = mark + job->group_of[P->columns[k]];
                found += *seen != stamp;
                *seen = stamp;
            }
    }
    return found;
}

/* Numbers the groups: b unknowns each, in the given order. */
static void number_groups(int64_t rows, const int64_t *order, int32_t b, int32_t *group_of)
{
    for (int64_t i = 0; i < rows; i++)
        group_of[order[i]] = (int32_t)(i / b);
}

/* The number of b x b blocks of P in the given order. group_of is scratch of P->rows elements. */
static int64_t count_regrouped(tess_ctx *ctx, const tess_pattern *P, const int64_t *order,
                               int32_t b, int32_t *group_of, tess_marks *marks)
{
    number_groups(P->rows, order, b, group_of);
    return tess_reduce(ctx, tess_ceil_div(P->rows, b), TESS_SUM, count_groups,
                       &(struct count_groups){P, order, group_of, marks, b});
}

/* The order that interleaves `fields` equal fields. */
static void interleave(int64_t rows, int32_t fields, int64_t *order)
{
    const int64_t length = rows / fields;
    for (int64_t i = 0; i < rows; i++)
        order[i] = i % fields * length + i / fields;
}

/* ---- Price ---- */

static double price(const search *S, int32_t b, int64_t blocks, bool list)
{
    return tess_regrouped_price(S->A, b, (double)blocks, list);
}

/* Picks up to COUNTED sizes with the fewest guessed bytes, the cheapest first. bytes[b] = 0: size b
 * is no candidate. */
static int pick_sizes(const double *bytes, int32_t *sizes)
{
    int count = 0;
    for (int32_t b = 2; b <= TESS_REGROUP_MAX; b++) {
        if (!(bytes[b] > 0))
            continue;
        int at = count < COUNTED ? count++ : COUNTED;
        for (; at > 0 && bytes[sizes[at - 1]] > bytes[b]; at--)
            if (at < COUNTED)
                sizes[at] = sizes[at - 1];
        if (at < COUNTED)
            sizes[at] = b;
    }
    while (count > 0 && bytes[sizes[count - 1]] > WORTH_A_SWEEP * bytes[sizes[0]])
        count--;
    return count;
}

/* Counts the blocks of S->order, and keeps the order if it is better than the best so far. */
static void try_order(search *S, int32_t b, int32_t fields)
{
    const int64_t blocks = count_regrouped(S->ctx, &S->P, S->order, b, S->group_of, &S->marks);
    const double bytes = price(S, b, blocks, fields == 0);
    const bool replaces_fields = fields == 0 && S->best.fields > 0;
    if (!(bytes * (replaces_fields ? LITTLE_TO_GAIN : 1) < S->best.bytes))
        return;
    S->best = (tess_regrouping){
        .block = b,
        .fields = fields,
        .blocks = blocks,
        .density = (double)S->P.entries / ((double)blocks * b * b),
        .bytes = bytes,
    };
    int64_t *kept = S->best_order;
    S->best_order = S->order;
    S->order = kept;
}

/* ---- The search ---- */

static tess_status try_fields(search *S)
{
    double bytes[TESS_REGROUP_MAX + 1] = {0};
    int32_t sizes[COUNTED];
    for (int32_t f = 2; f <= TESS_REGROUP_MAX; f++)
        if (S->P.rows % f == 0)
            bytes[f] =
                tess_regrouped_price(S->A, f, tess_sample_fields(&S->P, f, &S->marks), false);
    const int count = pick_sizes(bytes, sizes);
    for (int i = 0; i < count && bytes[sizes[i]] < WORTH_A_SWEEP * S->best.bytes; i++) {
        TESS_TRY(tess_progress(S->ctx, "looking for fields", i, count));
        interleave(S->P.rows, sizes[i], S->order);
        try_order(S, sizes[i], sizes[i]);
    }
    return TESS_OK;
}

/* Picks the sizes whose groups might be cheaper than the best so far. */
static int guess_sizes(const search *S, const tess_similar *similar, int32_t *sizes)
{
    double density[TESS_REGROUP_MAX + 1], bytes[TESS_REGROUP_MAX + 1] = {0};
    const int natural = tess_guess_densities(similar, S->P.rows, density);
    for (int32_t b = 2; b <= TESS_REGROUP_MAX; b++) {
        bytes[b] = tess_regrouped_price(S->A, b, (double)S->P.entries / (density[b] * b * b), true);
        bytes[b] *= natural % b != 0 && b % natural != 0 ? TORN : 1;
        if (bytes[b] > WORTH_A_SWEEP * S->best.bytes)
            bytes[b] = 0;
    }
    return pick_sizes(bytes, sizes);
}

/* Groups rows alike into groups of these sizes, and counts the blocks. */
static tess_status try_sizes(search *S, const tess_similar *similar, const int32_t *sizes,
                             int count)
{
    tess_similar_pairs pairs = {0};
    tess_status status = TESS_OK;
    int64_t grouped;
    if (count > 0)
        TESS_TRY_CLEAN(tess_sort_similar(S->ctx, similar, S->P.rows, &pairs));
    for (int i = 0; i < count; i++) {
        TESS_TRY_CLEAN(tess_progress(S->ctx, "grouping rows alike", i, count));
        TESS_TRY_CLEAN(
            tess_group_similar(S->ctx, similar, S->P.rows, &pairs, sizes[i], S->order, &grouped));
        if ((double)grouped >= WORTH_COUNTING * (double)S->P.rows)
            try_order(S, sizes[i], 0);
    }
cleanup:
    tess_free(S->ctx, pairs.pair);
    return status;
}

/* Groups the rows once more, compared by the groups of their columns. A row may be more like rows
 * of a neighbouring node than like its own node's, of which it lacks some couplings; but it is
 * coupled with the same nodes. */
static tess_status refine(search *S, const tess_pattern *T, tess_similar *similar)
{
    const int32_t b = S->best.block;
    number_groups(S->P.rows, S->best_order, b, S->group_of);
    TESS_TRY(tess_find_similar(S->ctx, &S->P, T, S->group_of, similar));
    return try_sizes(S, similar, &b, 1);
}

static tess_status try_similar(search *S)
{
    tess_similar *similar = NULL;
    tess_pattern T;
    int32_t sizes[COUNTED];
    tess_status status;
    TESS_TRY_CLEAN(tess_transpose_of(S->ctx, &S->P, &T));
    TESS_TRY_CLEAN(TESS_ALLOC(S->ctx, S->P.rows, &similar));
    TESS_TRY_CLEAN(tess_find_similar(S->ctx, &S->P, &T, NULL, similar));
    TESS_TRY_CLEAN(try_sizes(S, similar, sizes, guess_sizes(S, similar, sizes)));
    if (S->best.block > 1 && S->best.fields == 0 && S->best.density < NEARLY_FULL)
        TESS_TRY_CLEAN(refine(S, &T, similar));
cleanup:
    tess_pattern_clear(S->ctx, &T);
    tess_free(S->ctx, similar);
    return status;
}

static tess_status look(search *S)
{
    TESS_TRY(TESS_ALLOC(S->ctx, S->P.rows, &S->group_of));
    TESS_TRY(TESS_ALLOC(S->ctx, S->P.rows, &S->order));
    TESS_TRY(TESS_ALLOC(S->ctx, S->P.rows, &S->best_order));
    TESS_TRY(tess_marks_create(S->ctx, S->P.cols, &S->marks));
    TESS_TRY(try_fields(S));
    const double full = tess_regrouped_price(
        S->A, TESS_REGROUP_MAX, (double)S->P.entries / (TESS_REGROUP_MAX * TESS_REGROUP_MAX), true);
    return S->best.bytes < LITTLE_TO_GAIN * full ? TESS_OK : try_similar(S);
}

/* ---- The verdict ---- */

/* Writes the result as a sentence. */
static void write_reason(const search *S, double csr, tess_regrouping *R)
{
    const int b = (int)R->block;
    if (b == 1)
        tess_append(R->reason, sizeof R->reason,
                    S->A->rows == S->A->cols
                        ? "no order of the unknowns was found that makes blocks which pay"
                        : "an order of the unknowns is looked for in square matrices only");
    else if (R->fields > 0)
        tess_append(R->reason, sizeof R->reason,
                    "%d fields of %lld unknowns: interleaved they are %.0f %% full blocks of %d x "
                    "%d",
                    b, (long long)(S->A->rows / b), 100 * R->density, b, b);
    else
        tess_append(R->reason, sizeof R->reason,
                    "groups of %d unknowns with nearly the same columns: renumbered they are %.0f "
                    "%% full blocks of %d x %d",
                    b, 100 * R->density, b, b);
    if (b > 1)
        tess_append(R->reason, sizeof R->reason,
                    ", which move %.3g MB in an SpMV%s, %.2f times CSR's", R->bytes / 1e6,
                    R->fields > 0 ? "" : " with the permutation of x and y", R->bytes / csr);
}

static tess_status conclude(search *S, double csr, tess_regrouping **out)
{
    regrouping *whole;
    TESS_TRY(TESS_CALLOC(S->ctx, 1, &whole));
    whole->ctx = S->ctx;
    whole->public = S->best;
    if (whole->public.block > 1) {
        whole->public.order = S->best_order;
        S->best_order = NULL;
    } else {
        whole->public.blocks = S->P.entries;
        whole->public.density = S->P.entries > 0 ? 1 : 0;
        whole->public.bytes = csr;
    }
    write_reason(S, csr, &whole->public);
    *out = &whole->public;
    return TESS_OK;
}

tess_status tess_detect_regrouping(tess_ctx *ctx, const tess_matrix *A,
                                   const tess_detect_options *given, tess_regrouping **out)
{
    tess_detect_options options;
    TESS_NEED(ctx, ctx && A && out);
    TESS_TRY(TESS_TAKE_OPTIONS(ctx, tess_detect_options, given, &options));
    search S = {.ctx = ctx, .A = A};
    tess_status status;
    TESS_TRY_CLEAN(tess_pattern_of(ctx, A, options.ignore_zeros, &S.P));
    const double csr = price(&S, 1, S.P.entries, false);
    S.best = (tess_regrouping){.block = 1, .bytes = WORTH_THE_TROUBLE * csr};
    if (A->rows == A->cols && S.P.entries > 0)
        TESS_TRY_CLEAN(look(&S));
    TESS_TRY_CLEAN(conclude(&S, csr, out));
cleanup:
    tess_pattern_clear(ctx, &S.P);
    tess_marks_clear(ctx, &S.marks);
    TESS_FREE(ctx, S.group_of, S.order, S.best_order);
    return status;
}

void tess_regrouping_destroy(tess_regrouping *R)
{
    if (R)
        TESS_FREE(((regrouping *)R)->ctx, (void *)(uintptr_t)R->order, R);
}

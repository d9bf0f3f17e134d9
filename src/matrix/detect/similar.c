/* Similar rows (regroup.h): equal rows anywhere, and nearly equal rows among a row's columns.
 *
 * A signature stands for a row's columns: the columns are hashed into 16 bins, each of which keeps
 * its smallest hash (one permutation hashing). The share of bins in which two rows agree is about
 * the share of columns that they have in common. So two rows are compared by 32 bytes first; only
 * rows whose signatures agree are compared column by column.
 */
#include "matrix/detect/regroup.h"
#include "matrix/sort.h"

enum { BINS = 16, AGREE = 6, CLOSEST = 24, FAR_LESS = 6 };
/* Of the rows with the least number of agreeing bins that passes, at most this many are compared
 * column by column. In a dense matrix nearly all rows agree in as many bins, and comparing all of
 * them would take time in proportion to rows times entries. */
enum { TIES = 4 * CLOSEST };
/* The number of columns of a row whose agreement is kept. In longer rows the signatures of the
 * further columns are compared twice. */
enum { KEPT = 1024 };

/* In 255ths: rows less alike than this share no block that pays. */
enum { ALIKE_LEAST = 90 };

typedef struct signature {
    uint16_t bin[BINS];
} signature;

/* The hash of all columns of a row. */
typedef struct hashed_row {
    uint64_t hash;
    int64_t row;
} hashed_row;

typedef struct search {
    const tess_pattern *P;
    const tess_pattern *Q; /* by which rows are compared: P, or its columns by groups */
    const tess_pattern *T; /* the same of the transpose, where it differs; else NULL */
    signature *signatures;
    hashed_row *by_hash; /* sorted */
    tess_similar *similar;
} search;

static void sign_rows(void *arg, tess_range rows)
{
    const search *S = arg;
    for (int64_t i = rows.first; i < rows.last; i++) {
        signature *s = &S->signatures[i];
        memset(s, 0xff, sizeof *s);
        S->by_hash[i] = (hashed_row){0, i};
        for (int64_t k = S->Q->row_offsets[i]; k < S->Q->row_offsets[i + 1]; k++) {
            const uint64_t hash = tess_random_u64(1, (uint64_t)S->Q->columns[k]);
            uint16_t *bin = &s->bin[hash >> 60], value = (uint16_t)(hash >> 40);
            S->by_hash[i].hash += hash;
            *bin = (uint16_t)tess_min(value, *bin);
        }
    }
}

static int bins_agreeing(const signature *a, const signature *b)
{
    int agree = 0;
    for (int i = 0; i < BINS; i++)
        agree += a->bin[i] == b->bin[i];
    return agree;
}

int tess_rows_alike(const tess_pattern *P, int64_t i, int64_t j)
{
    int64_t a = P->row_offsets[i], b = P->row_offsets[j], common = 0;
    const int64_t last_a = P->row_offsets[i + 1], last_b = P->row_offsets[j + 1];
    const int64_t all = last_a - a + last_b - b;
    while (a < last_a && b < last_b) {
        const int32_t x = P->columns[a], y = P->columns[b];
        common += x == y;
        a += x <= y;
        b += y <= x;
    }
    return all > 0 ? (int)(255 * common / (all - common)) : 0;
}

static bool is_listed(const tess_similar *list, int64_t row)
{
    int k = 0;
    while (k < TESS_SIMILAR && list->row[k] >= 0 && list->row[k] != row)
        k++;
    return k < TESS_SIMILAR && list->row[k] == row;
}

/* Inserts a row into the list if it is among the best. Of equally similar rows the first stay. */
static void keep(tess_similar *list, int64_t row, int score)
{
    int at = TESS_SIMILAR;
    while (at > 0 && (list->row[at - 1] < 0 || list->alike[at - 1] < score))
        at--;
    if (at == TESS_SIMILAR)
        return;
    for (int i = TESS_SIMILAR - 1; i > at; i--) {
        list->row[i] = list->row[i - 1];
        list->alike[i] = list->alike[i - 1];
    }
    list->row[at] = (int32_t)row;
    list->alike[at] = (uint8_t)score;
}

/* For each column of row i: the number of bins in which row i agrees with that row. found[n] counts
 * the columns with n agreeing bins. */
static void agreements(const search *S, int64_t i, uint8_t *agree, int *found)
{
    const tess_pattern *P = S->P;
    const signature mine = S->signatures[i];
    const int64_t first = P->row_offsets[i], count = P->row_offsets[i + 1] - first;
    for (int64_t k = 0; k < count; k++) {
        const int64_t j = P->columns[first + k];
        const int bins = j == i ? 0 : bins_agreeing(&mine, &S->signatures[j]);
        found[bins]++;
        if (k < KEPT)
            agree[k] = (uint8_t)bins;
    }
}

/* The number of bins that must agree before two rows are compared column by column. Fewer than
 * CLOSEST rows have more agreeing bins, and none passes with FAR_LESS bins fewer than the best. */
static int least_agreeing(const int *found)
{
    int least = BINS, sum = 0, best = BINS;
    while (best > 0 && found[best] == 0)
        best--;
    while (least > AGREE && (sum += found[least]) < CLOSEST)
        least--;
    return tess_max(least, best - FAR_LESS);
}

/* Lists the rows most like row i. Its columns are visited from i on, in a circle: of many equal
 * rows each then lists different ones. */
static void find_for_row(const search *S, int64_t i)
{
    const tess_pattern *P = S->P;
    tess_similar *list = &S->similar[i];
    uint8_t agree[KEPT];
    int found[BINS + 1] = {0};
    agreements(S, i, agree, found);
    const int least = least_agreeing(found);
    const int64_t first = P->row_offsets[i], count = P->row_offsets[i + 1] - first;
    int64_t next = 0, ties = 0;
    while (next < count && P->columns[first + next] <= i)
        next++;
    for (int64_t at = 0; at < count; at++) {
        const int64_t k = next + at < count ? next + at : next + at - count;
        const int64_t j = P->columns[first + k];
        const int bins = k < KEPT ? agree[k] : bins_agreeing(&S->signatures[i], &S->signatures[j]);
        if (j == i || bins < least || is_listed(list, j) || (bins == least && ties++ >= TIES))
            continue;
        int score = tess_rows_alike(S->Q, i, j);
        if (S->T && score >= ALIKE_LEAST)
            score = (score + tess_rows_alike(S->T, i, j)) / 2;
        if (score >= ALIKE_LEAST)
            keep(list, j, score);
    }
}

static int compare_hashes(const void *a, const void *b)
{
    const hashed_row *x = a, *y = b;
    return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1)
                              : (x->row > y->row) - (x->row < y->row);
}

/* Begins the list of every row with the rows of the same hash that follow it, in a circle. */
static void list_equal_rows(const search *S)
{
    const int64_t rows = S->P->rows;
    for (int64_t first = 0, last; first < rows; first = last) {
        last = first + 1;
        while (last < rows && S->by_hash[last].hash == S->by_hash[first].hash)
            last++;
        for (int64_t i = first; i < last; i++) {
            tess_similar *list = &S->similar[S->by_hash[i].row];
            for (int k = 0; k < TESS_SIMILAR; k++) {
                list->row[k] = -1;
                list->alike[k] = 0;
            }
            for (int64_t k = 1; k <= TESS_SIMILAR && k < last - first; k++) {
                const int64_t j = S->by_hash[first + (i - first + k) % (last - first)].row;
                int score = tess_rows_alike(S->Q, S->by_hash[i].row, j);
                if (S->T && score > 0)
                    score = (score + tess_rows_alike(S->T, S->by_hash[i].row, j)) / 2;
                if (score >= ALIKE_LEAST)
                    keep(list, j, score);
            }
        }
    }
}

static void find_rows(void *arg, tess_range rows)
{
    const search *S = arg;
    for (int64_t i = rows.first; i < rows.last; i++)
        find_for_row(S, i);
}

/* T = P transposed, with sorted rows. */
static tess_status transpose(tess_ctx *ctx, const tess_pattern *P, tess_pattern *T)
{
    int64_t *at;
    *T = (tess_pattern){.height = 1, .width = 1, .rows = P->cols, .cols = P->rows};
    T->entries = P->entries;
    TESS_TRY(TESS_CALLOC(ctx, T->rows + 1, &T->row_offsets));
    TESS_TRY(TESS_ALLOC(ctx, T->entries, &T->columns));
    TESS_TRY(TESS_ALLOC(ctx, T->rows, &at));
    for (int64_t k = 0; k < P->entries; k++)
        T->row_offsets[P->columns[k] + 1]++;
    tess_counts_to_offsets(T->row_offsets, T->rows);
    memcpy(at, T->row_offsets, (size_t)T->rows * sizeof *at);
    for (int64_t i = 0; i < P->rows; i++)
        for (int64_t k = P->row_offsets[i]; k < P->row_offsets[i + 1]; k++)
            T->columns[at[P->columns[k]]++] = (int32_t)i;
    tess_free(ctx, at);
    return TESS_OK;
}

/* Finds whether the pattern is symmetric: a hash of row i, a sum over its columns, is compared with
 * the hash of column i, a sum over its rows. */
static tess_status is_symmetric(tess_ctx *ctx, const tess_pattern *P, bool *symmetric)
{
    uint64_t *difference;
    TESS_TRY(TESS_CALLOC(ctx, P->cols, &difference));
    for (int64_t i = 0; i < P->rows; i++) {
        const uint64_t hash = tess_random_u64(1, (uint64_t)i);
        for (int64_t k = P->row_offsets[i]; k < P->row_offsets[i + 1]; k++) {
            difference[P->columns[k]] += hash;
            difference[i] -= tess_random_u64(1, (uint64_t)P->columns[k]);
        }
    }
    *symmetric = true;
    for (int64_t i = 0; i < P->rows && *symmetric; i++)
        *symmetric = difference[i] == 0;
    tess_free(ctx, difference);
    return TESS_OK;
}

tess_status tess_transpose_of(tess_ctx *ctx, const tess_pattern *P, tess_pattern *T)
{
    bool symmetric;
    *T = (tess_pattern){0};
    TESS_TRY(is_symmetric(ctx, P, &symmetric));
    return symmetric ? TESS_OK : transpose(ctx, P, T);
}

/* ---- Columns by groups ---- */

typedef struct grouping {
    const tess_pattern *P;
    const int32_t *group_of;
    tess_pattern *Q;
} grouping;

/* Writes each row's groups, sorted and each once, to where its columns are in P, and their number
 * to row_offsets[i + 1]. */
static void group_rows(void *arg, tess_range rows)
{
    const grouping *job = arg;
    for (int64_t i = rows.first; i < rows.last; i++) {
        const int64_t first = job->P->row_offsets[i], count = job->P->row_offsets[i + 1] - first;
        int32_t *groups = job->Q->columns + first;
        for (int64_t k = 0; k < count; k++)
            groups[k] = job->group_of[job->P->columns[first + k]];
        job->Q->row_offsets[i + 1] = tess_distinct(groups, count);
    }
}

/* Q = P with groups for columns. */
static tess_status group_columns(tess_ctx *ctx, const tess_pattern *P, const int32_t *group_of,
                                 tess_pattern *Q)
{
    *Q = (tess_pattern){.height = 1, .width = 1, .rows = P->rows, .cols = P->cols};
    TESS_TRY(TESS_CALLOC(ctx, P->rows + 1, &Q->row_offsets));
    TESS_TRY(TESS_ALLOC(ctx, P->entries, &Q->columns));
    tess_for_rows(ctx, P->row_offsets, P->rows, group_rows, &(grouping){P, group_of, Q});
    tess_counts_to_offsets(Q->row_offsets, Q->rows);
    for (int64_t i = 0; i < P->rows; i++)
        memmove(Q->columns + Q->row_offsets[i], Q->columns + P->row_offsets[i],
                (size_t)(Q->row_offsets[i + 1] - Q->row_offsets[i]) * sizeof *Q->columns);
    Q->entries = Q->row_offsets[Q->rows];
    return TESS_OK;
}

tess_status tess_find_similar(tess_ctx *ctx, const tess_pattern *P, const tess_pattern *T,
                              const int32_t *group_of, tess_similar *similar)
{
    const bool both = T->row_offsets != NULL;
    tess_pattern grouped = {0}, grouped_T = {0};
    search S = {.P = P, .Q = P, .T = both ? T : NULL, .similar = similar};
    tess_status status = TESS_OK;
    if (group_of) {
        TESS_TRY_CLEAN(group_columns(ctx, P, group_of, &grouped));
        if (both)
            TESS_TRY_CLEAN(group_columns(ctx, T, group_of, &grouped_T));
        S.Q = &grouped;
        S.T = both ? &grouped_T : NULL;
    }
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, P->rows, &S.signatures));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, P->rows, &S.by_hash));
    tess_for_rows(ctx, P->row_offsets, P->rows, sign_rows, &S);
    qsort(S.by_hash, (size_t)P->rows, sizeof *S.by_hash, compare_hashes);
    list_equal_rows(&S);
    tess_for_rows(ctx, P->row_offsets, P->rows, find_rows, &S);
cleanup:
    tess_pattern_clear(ctx, &grouped);
    tess_pattern_clear(ctx, &grouped_T);
    TESS_FREE(ctx, S.by_hash, S.signatures);
    return status;
}

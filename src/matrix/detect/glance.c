/* A glance at a few rows, for blocks that the numbering hides (regroup.h).
 *
 * Fields: a sample of groups of f fields gives the number of blocks per group. Similar rows: a row
 * has a partner if one of its columns is a row with nearly the same columns.
 */
#include "matrix/detect/regroup.h"

enum { GROUPS = 4096, ROWS = 256, COLUMNS = 64, LONGEST = 2048 };

/* In 255ths: the least likeness at which 2 x 2 blocks are full enough to pay. */
enum { CLOSE = 178 };

/* Fields are promising if they move at most this share of CSR's bytes. */
#define PROMISING 0.9

/* The gather of x and the scatter of y each read and write a vector, and read 4 bytes per row of
 * the list. */
double tess_regrouped_price(const tess_matrix *A, int32_t b, double blocks, bool list)
{
    const double value = (double)tess_type_size(A->type), rows = (double)A->rows;
    return (value * b * b + 4) * blocks + 4 * (double)(tess_ceil_div(A->rows, b) + 1) +
           2 * value * rows + (list ? (4 * value + 8) * rows : 0);
}

/* The number of blocks of group g, which is row g of every field. */
static int64_t count_group(const tess_pattern *P, int32_t fields, int64_t g, tess_marks *marks)
{
    const int32_t length = (int32_t)(P->rows / fields);
    const uint32_t stamp = tess_marks_next(marks, 0);
    int64_t found = 0;
    for (int32_t f = 0; f < fields; f++) {
        const int64_t row = (int64_t)f * length + g;
        for (int64_t k = P->row_offsets[row]; k < P->row_offsets[row + 1]; k++) {
            uint32_t *seen = marks->mark + P->columns[k] % length;
            found += *seen != stamp;
            *seen = stamp;
        }
    }
    return found;
}

/* The count is scaled by entries, not by groups, since groups differ in length. */
double tess_sample_fields(const tess_pattern *P, int32_t f, tess_marks *marks)
{
    const int64_t length = P->rows / f, sampled = tess_min(length, GROUPS);
    int64_t blocks = 0, entries = 0;
    for (int64_t s = 0; s < sampled; s++) {
        const int64_t g = s * length / sampled;
        blocks += count_group(P, f, g, marks);
        for (int32_t k = 0; k < f; k++)
            entries += P->row_offsets[k * length + g + 1] - P->row_offsets[k * length + g];
    }
    return entries > 0 ? (double)P->entries * (double)blocks / (double)entries : 0;
}

static bool has_partner(const tess_pattern *P, int64_t i)
{
    const int64_t first = P->row_offsets[i], count = P->row_offsets[i + 1] - first;
    if (count > LONGEST)
        return false;
    const int64_t step = tess_max(1, count / COLUMNS);
    for (int64_t k = 0; k < count; k += step) {
        const int64_t j = P->columns[first + k];
        if (j != i && P->row_offsets[j + 1] - P->row_offsets[j] <= LONGEST &&
            tess_rows_alike(P, i, j) >= CLOSE)
            return true;
    }
    return false;
}

static bool rows_have_partners(const tess_pattern *P)
{
    const int64_t sampled = tess_min(P->rows, ROWS);
    int64_t with = 0;
    for (int64_t s = 0; s < sampled; s++)
        with += has_partner(P, s * P->rows / sampled);
    return 2 * with > sampled;
}

tess_status tess_glance_regrouping(tess_ctx *ctx, const tess_matrix *A, bool *promising)
{
    tess_pattern P = {0};
    tess_marks marks = {0};
    tess_status status;
    bool found = false;
    TESS_TRY_CLEAN(tess_pattern_of(ctx, A, false, &P));
    TESS_TRY_CLEAN(tess_marks_create(ctx, P.cols, &marks));
    const double most = PROMISING * tess_regrouped_price(A, 1, (double)P.entries, false);
    if (A->rows == A->cols && P.entries > 0) {
        for (int32_t f = 2; f <= TESS_REGROUP_MAX && !found; f++)
            found = P.rows % f == 0 &&
                    tess_regrouped_price(A, f, tess_sample_fields(&P, f, &marks), false) < most;
        found = found || rows_have_partners(&P);
    }
    *promising = found;
cleanup:
    tess_pattern_clear(ctx, &P);
    tess_marks_clear(ctx, &marks);
    return status;
}

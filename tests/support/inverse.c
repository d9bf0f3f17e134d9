#include "support/inverse.h"

#include <string.h>

/* A matrix of another one's sizes, for columns and values. */
static tess_status allocate(tess_ctx *ctx, const tess_matrix *like, tess_matrix **A)
{
    return tess_matrix_allocate(ctx, like->type, like->rows, like->cols, like->block_height,
                                like->block_width, like->blocks, A);
}

/* ---- Sliced ---- */

/* Block k of a line, by the formulas of sliced.h. */
static void take_sliced_block(const tess_sliced *S, int64_t s, int32_t lane, int32_t k,
                              tess_matrix *A)
{
    const int32_t C = S->options.height, V = S->options.vector, P = S->group;
    const int32_t bh = S->block_height, bw = S->block_width;
    const int64_t group = S->offsets[s] + k / P, block = S->starts[s * C + lane] + k;
    A->columns[block] = S->columns[(group * C + lane) * P + k % P];
    for (int32_t j = 0; j < bw; j++) {
        for (int32_t i = 0; i < bh; i++) {
            const int64_t along = (int64_t)(k % P) * S->width + j, t = (int64_t)lane * bh + i;
            const int64_t vector = (group * (P * S->width / V) + along / V) * C * bh + t;
            tess_copy_scalar(S->type, A->values, (block * bw + j) * bh + i, S->values,
                             vector * V + along % V);
        }
    }
}

/* The block row of a line: of a segment, the cut row that owns its slot. */
static int64_t sliced_row(const tess_sliced *S, int64_t line)
{
    int64_t target = S->targets ? S->targets[line] : line;
    if (target >= 0)
        return target;
    int64_t low = 0, high = S->cut_rows; /* cut_slots[low] <= slot < cut_slots[high] */
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (S->cut_slots[middle] <= ~target)
            low = middle;
        else
            high = middle;
    }
    return S->cut_row[low];
}

tess_status test_sliced_to_bsr(tess_ctx *ctx, const tess_sliced *S, const tess_matrix *like,
                               tess_matrix **out)
{
    tess_matrix *A;
    TESS_TRY(allocate(ctx, like, &A));
    int32_t height = S->options.height;
    for (int64_t line = 0; line < S->slices * height; line++)
        if (S->lengths[line] > 0)
            A->row_offsets[sliced_row(S, line) + 1] += S->lengths[line];
    for (int64_t row = 0; row < S->block_rows; row++)
        A->row_offsets[row + 1] += A->row_offsets[row];
    for (int64_t s = 0; s < S->slices; s++) {
        for (int32_t lane = 0; lane < height; lane++)
            for (int32_t k = 0; k < S->lengths[s * height + lane]; k++)
                take_sliced_block(S, s, lane, k, A);
    }
    *out = A;
    return TESS_OK;
}

/* ---- Swept ---- */

enum { SWEPT_LANES = TESS_SWEPT_LANES };

/* A block's column, from the panel of its step and the offset in its word. */
static int32_t swept_column(const tess_swept *S, int64_t c, int64_t place)
{
    int32_t panel = 0;
    while (S->first_step[c * S->panels + panel + 1] <= place / SWEPT_LANES)
        panel++;
    return panel * TESS_SWEPT_PANEL + (int32_t)(S->words[place] >> TESS_SWEPT_BITS);
}

/* A block's column and values. Scalars that fill whole vectors of 16 bytes lie vector by vector.
 * The other scalars follow one by one. */
static void take_swept_block(const tess_swept *S, int64_t c, int64_t block, tess_matrix *A)
{
    const int64_t place = S->first_step[c * S->panels] * SWEPT_LANES + S->places[block];
    const int32_t N = S->block_height * S->block_width, V = 16 / (int32_t)tess_type_size(S->type);
    const int64_t first = place / SWEPT_LANES * SWEPT_LANES * N, lane = place % SWEPT_LANES;
    A->columns[block] = swept_column(S, c, place);
    for (int32_t e = 0; e < N; e++) {
        const int64_t at = e < N / V * V ? first + (e / V * SWEPT_LANES + lane) * V + e % V
                                         : first + e * SWEPT_LANES + lane;
        tess_copy_scalar(S->type, A->values, block * N + e, S->values, at);
    }
}

tess_status test_swept_to_bsr(tess_ctx *ctx, const tess_swept *S, const tess_matrix *like,
                              tess_matrix **out)
{
    tess_matrix *A;
    TESS_TRY(allocate(ctx, like, &A));
    for (int64_t row = 0; row < S->block_rows; row++)
        A->row_offsets[row] = S->starts[row];
    A->row_offsets[S->block_rows] = S->blocks;
    for (int64_t c = 0; c < S->chunks; c++) {
        for (int64_t line = S->chunk_line[c]; line < S->chunk_line[c + 1]; line++)
            for (int32_t k = 0; k < S->lengths[line]; k++)
                take_swept_block(S, c, S->starts[line] + k, A);
    }
    *out = A;
    return TESS_OK;
}

/* ---- Interleaved ---- */

/* Block k of line l in group g. */
static void take_interleaved_block(const tess_interleaved *I, int64_t g, int32_t l, int64_t k,
                                   tess_matrix *A)
{
    const int32_t lines = I->options.lines, per_step = I->options.blocks;
    const size_t bytes = (size_t)I->block_height * (size_t)I->block_width * tess_type_size(I->type);
    const int64_t place = ((I->offsets[g] + k / per_step) * lines + l) * per_step + k % per_step;
    const int64_t block = I->starts[I->targets[g * lines + l]] + k;
    A->columns[block] = I->columns[place];
    memcpy((char *)A->values + (size_t)block * bytes,
           (const char *)I->values + (size_t)place * bytes, bytes);
}

tess_status test_interleaved_to_bsr(tess_ctx *ctx, const tess_interleaved *I,
                                    const tess_matrix *like, tess_matrix **out)
{
    tess_matrix *A;
    TESS_TRY(allocate(ctx, like, &A));
    memcpy(A->row_offsets, I->starts, (size_t)(I->block_rows + 1) * sizeof *I->starts);
    for (int64_t g = 0; g < I->groups; g++) {
        for (int32_t l = 0; l < I->options.lines; l++) {
            int32_t row = I->targets[g * I->options.lines + l];
            int64_t length = row >= 0 ? I->starts[row + 1] - I->starts[row] : 0;
            for (int64_t k = 0; k < length; k++)
                take_interleaved_block(I, g, l, k, A);
        }
    }
    *out = A;
    return TESS_OK;
}

/* ---- Half storage ---- */

/* Row i: the transposed blocks of the columns before i, then row i of `upper`. */
static void fill_row(const tess_matrix *upper, const tess_matrix *lower, tess_matrix *A, int64_t i)
{
    size_t bytes = (size_t)A->block_height * (size_t)A->block_height * tess_type_size(A->type);
    const tess_matrix *halves[2] = {lower, upper};
    int64_t to = A->row_offsets[i];
    for (int half = 0; half < 2; half++) {
        const tess_matrix *from = halves[half];
        for (int64_t k = from->row_offsets[i]; k < from->row_offsets[i + 1]; k++) {
            if (half == 0 && from->columns[k] == i)
                continue;
            A->columns[to] = from->columns[k];
            memcpy((char *)A->values + (size_t)to * bytes,
                   (const char *)from->values + (size_t)k * bytes, bytes);
            to++;
        }
    }
}

tess_status test_symmetric_to_bsr(tess_ctx *ctx, const tess_matrix *upper, tess_matrix **out)
{
    tess_matrix *lower, *A;
    TESS_TRY(tess_matrix_transpose(ctx, upper, &lower));
    int64_t diagonal = 0;
    for (int64_t i = 0; i < upper->block_rows; i++)
        diagonal += tess_matrix_find(upper, i, i) >= 0;
    tess_status status =
        tess_matrix_allocate(ctx, upper->type, upper->rows, upper->cols, upper->block_height,
                             upper->block_width, 2 * upper->blocks - diagonal, &A);
    if (status == TESS_OK) {
        for (int64_t i = 0; i < A->block_rows; i++) {
            int64_t both = upper->row_offsets[i + 1] - upper->row_offsets[i] +
                           lower->row_offsets[i + 1] - lower->row_offsets[i];
            A->row_offsets[i + 1] = A->row_offsets[i] + both - (tess_matrix_find(upper, i, i) >= 0);
        }
        for (int64_t i = 0; i < A->block_rows; i++)
            fill_row(upper, lower, A, i);
        *out = A;
    }
    tess_matrix_destroy(lower);
    return status;
}

/* ---- FBCSR ---- */

/* The array that holds scalar `at` of the map: a split's number, or `splits` for the remainder. */
static int array_of(const tess_fbcsr *F, const int64_t *bases, int64_t at)
{
    int s = 0;
    while (s < F->splits && at >= bases[s + 1])
        s++;
    return s;
}

/* bases[s]: scalars before split s; bases[splits]: before the remainder. */
static void find_bases(const tess_fbcsr *F, int64_t bases[TESS_FBCSR_SPLITS + 1])
{
    bases[0] = 0;
    for (int s = 0; s < F->splits; s++)
        bases[s + 1] = bases[s] + F->split[s].blocks * tess_shape_cells(&F->split[s].shape);
}

/* Row and column of scalar `at` of a split. */
static void locate(const tess_fbcsr_split *split, int64_t at, int64_t *row, int64_t *col)
{
    const tess_shape *S = &split->shape;
    int64_t block = at / tess_shape_cells(S), cell = at % tess_shape_cells(S);
    int64_t i = cell % S->height;
    *row = split->rows[block] + i;
    *col = split->cols[block] + S->shift * i + cell / S->height;
}

/* counts[row] += entries of the row in splits. */
static void count_splits(const tess_fbcsr *F, const int64_t *bases, int64_t *counts)
{
    for (int64_t i = 0; i < F->nonzeros; i++) {
        int s = array_of(F, bases, F->map[i]);
        int64_t row, col;
        if (s == F->splits)
            continue;
        locate(&F->split[s], F->map[i] - bases[s], &row, &col);
        counts[row]++;
    }
}

tess_status test_fbcsr_to_csr(tess_ctx *ctx, const tess_fbcsr *F, tess_matrix **out)
{
    int64_t bases[TESS_FBCSR_SPLITS + 1];
    tess_matrix *A;
    find_bases(F, bases);
    TESS_TRY(tess_matrix_allocate(ctx, F->type, F->rows, F->cols, 1, 1, F->nonzeros, &A));
    count_splits(F, bases, A->row_offsets + 1);
    for (int64_t row = 0; row < F->rows; row++)
        A->row_offsets[row + 1] += F->rest->row_offsets[row + 1] - F->rest->row_offsets[row];
    tess_counts_to_offsets(A->row_offsets, A->rows);
    for (int64_t i = 0; i < F->nonzeros; i++) {
        int s = array_of(F, bases, F->map[i]);
        int64_t at = F->map[i] - bases[s], row, col;
        if (s < F->splits)
            locate(&F->split[s], at, &row, &col);
        else
            col = F->rest->columns[at];
        A->columns[i] = (int32_t)col;
        tess_copy_scalar(F->type, A->values, i,
                         s < F->splits ? F->split[s].values : F->rest->values, at);
    }
    *out = A;
    return TESS_OK;
}

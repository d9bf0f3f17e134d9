/* Maximum-product matching (Duff and Koster 2001, "On algorithms for permuting large entries to the
 * diagonal of a sparse matrix").
 *
 * An entry a_ij costs log(max_j |a_ij|) - log |a_ij| >= 0. A perfect matching of least total cost
 * has the largest product of magnitudes. Rows are matched one after the other along shortest
 * augmenting paths (Dijkstra over columns, with a heap). Duals u and v with
 *
 *     cost_ij - u_i - v_j >= 0, and 0 where i and j are matched
 *
 * keep the lengths of paths non-negative. At the end exp(u_i) / max_j |a_ij| and exp(v_j) are
 * scales under which matched entries are 1 and all others at most 1.
 *
 * A search that fails has reached columns whose rows lead to no other column. Later searches leave
 * them out, because a path that enters them does not end. The duals of such a dead end are shifted
 * together at the end, so that the inequality holds for the rows outside, too.
 */
#include "matrix/arrange/arrange.h"

/* Values of matching.place: not reached, at a final distance, in a dead end. */
enum { UNREACHED = -1, FINAL = -2, DEAD = -3 };

typedef struct matching {
    int64_t n;
    const int64_t *offsets; /* of the block pattern */
    const int32_t *columns;
    double *cost;       /* of each block; infinity: a block of zeros */
    double *row_size;   /* the largest entry of each block row */
    double *u, *v;      /* duals */
    int64_t *of_row;    /* the column matched to each row, -1: none */
    int64_t *of_column; /* the row matched to each column, -1: none */
    /* The state of a search: distances of columns, how they were reached, and a heap of the columns
     * whose distance is not final. */
    double *distance;
    int64_t *from;         /* the row from which a column was reached */
    int64_t *heap, *place; /* place[j]: index in the heap, UNREACHED, FINAL or DEAD */
    int64_t heap_count;
    /* Columns as near as the row that reached them, which need no heap. They lie at the end of
     * `heap`, the first one last. */
    int64_t near_count, near_taken;
    int64_t *reached; /* all of these columns */
    int64_t reached_count;
    int64_t found; /* the nearest column without a row, -1: none yet */
    double end;    /* its distance; columns beyond are not reached */
    /* Dead ends: end e has the columns dead[first[e]] to dead[first[e + 1]] and their rows, and
     * the row start[e], which has no column. */
    int64_t *dead, *first, *start, *end_of; /* end_of[j]: of column j, -1: none */
    int64_t ends;
} matching;

/* ---- The heap of columns, nearest first ---- */

static void put_at(matching *m, int64_t at, int64_t column)
{
    m->heap[at] = column;
    m->place[column] = at;
}

static void sift_up(matching *m, int64_t column)
{
    int64_t at = m->place[column];
    while (at > 0) {
        const int64_t parent = (at - 1) / 2;
        if (m->distance[m->heap[parent]] <= m->distance[column])
            break;
        put_at(m, at, m->heap[parent]);
        at = parent;
    }
    put_at(m, at, column);
}

static int64_t take_nearest(matching *m)
{
    const int64_t nearest = m->heap[0], last = m->heap[--m->heap_count];
    int64_t at = 0;
    m->place[nearest] = FINAL;
    if (m->heap_count == 0)
        return nearest;
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= m->heap_count)
            break;
        if (child + 1 < m->heap_count &&
            m->distance[m->heap[child + 1]] < m->distance[m->heap[child]])
            child++;
        if (m->distance[m->heap[child]] >= m->distance[last])
            break;
        put_at(m, at, m->heap[child]);
        at = child;
    }
    put_at(m, at, last);
    return nearest;
}

/* ---- One search ---- */

/* Updates the distances of a row's columns; the row is reached at distance `base`. */
static void relax(matching *m, int64_t row, double base)
{
    for (int64_t k = m->offsets[row]; k < m->offsets[row + 1]; k++) {
        const int64_t j = m->columns[k];
        if (m->place[j] <= FINAL || m->cost[k] == HUGE_VAL)
            continue;
        const double distance = base + fmax(0, m->cost[k] - m->u[row] - m->v[j]);
        if (distance >= m->end || (m->place[j] >= 0 && distance >= m->distance[j]))
            continue;
        m->from[j] = row;
        if (m->of_column[j] < 0) {
            m->found = j;
            m->end = distance;
            continue;
        }
        m->distance[j] = distance;
        if (m->place[j] == UNREACHED) {
            m->reached[m->reached_count++] = j;
            if (distance == base) {
                m->place[j] = FINAL;
                m->heap[m->n - ++m->near_count] = j;
                continue;
            }
            m->place[j] = m->heap_count++;
        }
        sift_up(m, j);
    }
}

/* Takes a column whose distance is final; -1: none is nearer than the one found. */
static int64_t take_next(matching *m)
{
    if (m->near_taken < m->near_count) {
        const int64_t j = m->heap[m->n - ++m->near_taken];
        return m->distance[j] < m->end ? j : -1;
    }
    return m->heap_count > 0 && m->distance[m->heap[0]] < m->end ? take_nearest(m) : -1;
}

/* Updates the duals after a search from `start` that found a column. */
static void update_duals(matching *m, int64_t start)
{
    m->u[start] += m->end;
    for (int64_t i = 0; i < m->reached_count; i++) {
        const int64_t j = m->reached[i];
        if (m->place[j] != FINAL || m->distance[j] >= m->end)
            continue;
        m->v[j] -= m->end - m->distance[j];
        m->u[m->of_column[j]] += m->end - m->distance[j];
    }
}

/* Matches the rows of the path from `start` to the column that was found. */
static void flip_path(matching *m, int64_t start)
{
    for (int64_t j = m->found, row = -1; row != start;) {
        row = m->from[j];
        const int64_t next = m->of_row[row];
        m->of_row[row] = j;
        m->of_column[j] = row;
        j = next;
    }
}

/* Makes what a search from `start` has reached a dead end. */
static void close_end(matching *m, int64_t start)
{
    int64_t at = m->first[m->ends];
    m->start[m->ends] = start;
    for (int64_t i = 0; i < m->reached_count; i++) {
        m->dead[at++] = m->reached[i];
        m->end_of[m->reached[i]] = m->ends;
    }
    m->first[++m->ends] = at;
}

/* Matches row `start` if there is an augmenting path. Returns whether there is. */
static bool augment(matching *m, int64_t start)
{
    m->heap_count = m->near_count = m->near_taken = m->reached_count = 0;
    m->found = -1;
    m->end = HUGE_VAL;
    relax(m, start, 0);
    for (int64_t j; (j = take_next(m)) >= 0;)
        relax(m, m->of_column[j], m->distance[j]);
    const bool found = m->found >= 0;
    if (found) {
        update_duals(m, start);
        flip_path(m, start);
    } else {
        close_end(m, start);
    }
    for (int64_t i = 0; i < m->reached_count; i++)
        m->place[m->reached[i]] = found ? UNREACHED : DEAD;
    return found;
}

/* ---- Duals of dead ends ---- */

/* Raises shift[e] to what the columns of dead end e need for this row, which is outside of it. */
static void raise_shifts(const matching *m, int64_t row, int64_t own, double *shift)
{
    for (int64_t k = m->offsets[row]; k < m->offsets[row + 1]; k++) {
        const int64_t e = m->end_of[m->columns[k]];
        if (e >= 0 && e != own)
            shift[e] = fmax(shift[e], m->u[row] + m->v[m->columns[k]] - m->cost[k]);
    }
}

/* Shifts the duals of every dead end. Its rows have entries in columns of earlier ends only, so the
 * last end comes first. `shift` has room for a number per end. */
static void shift_ends(matching *m, double *shift)
{
    for (int64_t e = 0; e < m->ends; e++)
        shift[e] = 0;
    for (int64_t row = 0; m->ends > 0 && row < m->n; row++)
        if (m->of_row[row] >= 0 && m->end_of[m->of_row[row]] < 0)
            raise_shifts(m, row, -1, shift);
    for (int64_t e = m->ends - 1; e >= 0; e--) {
        m->u[m->start[e]] += shift[e];
        raise_shifts(m, m->start[e], e, shift);
        for (int64_t i = m->first[e]; i < m->first[e + 1]; i++) {
            const int64_t row = m->of_column[m->dead[i]];
            m->v[m->dead[i]] -= shift[e];
            m->u[row] += shift[e];
            raise_shifts(m, row, e, shift);
        }
    }
}

/* ---- The whole ---- */

static void price(const tess_matrix *A, matching *m)
{
    const int64_t area = (int64_t)A->block_height * A->block_width;
    for (int64_t i = 0; i < m->n; i++) {
        double largest = 0;
        for (int64_t k = m->offsets[i]; k < m->offsets[i + 1]; k++) {
            m->cost[k] = tess_largest(A->values, A->type, k * area, area);
            largest = fmax(largest, m->cost[k]);
        }
        m->row_size[i] = largest > 0 ? largest : 1;
        for (int64_t k = m->offsets[i]; k < m->offsets[i + 1]; k++)
            m->cost[k] = m->cost[k] > 0 ? log(m->row_size[i]) - log(m->cost[k]) : HUGE_VAL;
    }
}

/* Sets the first duals, and matches every row that has a free column with a reduced cost of 0.
 * Returns the number of rows matched. */
static int64_t begin(matching *m)
{
    int64_t matched = 0;
    for (int64_t j = 0; j < m->n; j++) {
        m->of_row[j] = m->of_column[j] = m->end_of[j] = -1;
        m->place[j] = UNREACHED;
        m->u[j] = 0;
        m->v[j] = HUGE_VAL;
    }
    for (int64_t k = 0; k < m->offsets[m->n]; k++)
        m->v[m->columns[k]] = fmin(m->v[m->columns[k]], m->cost[k]);
    for (int64_t j = 0; j < m->n; j++)
        if (m->v[j] == HUGE_VAL)
            m->v[j] = 0;
    for (int64_t i = 0; i < m->n; i++) {
        double least = HUGE_VAL;
        for (int64_t k = m->offsets[i]; k < m->offsets[i + 1]; k++)
            least = fmin(least, m->cost[k] - m->v[m->columns[k]]);
        m->u[i] = least == HUGE_VAL ? 0 : least;
        for (int64_t k = m->offsets[i]; k < m->offsets[i + 1] && m->of_row[i] < 0; k++) {
            const int64_t j = m->columns[k];
            if (m->of_column[j] >= 0 || m->cost[k] == HUGE_VAL ||
                m->cost[k] - m->u[i] - m->v[j] > 0)
                continue;
            m->of_row[i] = j;
            m->of_column[j] = i;
            matched++;
        }
    }
    return matched;
}

/* Pairs the rows and columns that were not matched, in any way: the order must be a permutation. */
static void pair_the_rest(matching *m)
{
    int64_t row = 0;
    for (int64_t j = 0; j < m->n; j++) {
        if (m->of_column[j] >= 0)
            continue;
        while (m->of_row[row] >= 0)
            row++;
        m->of_row[row] = j;
        m->of_column[j] = row;
    }
}

static tess_status keep(const matching *m, tess_arrangement *a)
{
    tess_ctx *ctx = a->ctx;
    TESS_TRY(TESS_ALLOC(ctx, m->n, &a->row_order));
    TESS_TRY(TESS_ALLOC(ctx, a->rows, &a->row_scale));
    TESS_TRY(TESS_ALLOC(ctx, a->rows, &a->col_scale));
    memcpy(a->row_order, m->of_column, (size_t)m->n * sizeof *m->of_column);
    for (int64_t i = 0; i < a->rows; i++) {
        const int64_t block = i / a->block;
        a->row_scale[i] = exp2(round((m->u[block] - log(m->row_size[block])) / log(2)));
        a->col_scale[i] = exp2(round(m->v[block] / log(2)));
    }
    return TESS_OK;
}

tess_status tess_arrange_match(const tess_matrix *A, tess_arrangement *a, int64_t *matched)
{
    tess_ctx *ctx = a->ctx;
    const int64_t n = A->block_rows;
    double *reals = NULL;
    int64_t *integers = NULL;
    matching m = {.n = n, .offsets = A->row_offsets, .columns = A->columns};
    tess_status status;
    tess_arrangement_close(a);
    if (A->rows % A->block_height != 0)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "a matrix whose last block is padded is not matched: store it with blocks "
                         "that divide its size");
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->blocks, &m.cost));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 4 * n, &reals));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 10 * n + 1, &integers));
    m.row_size = reals, m.u = reals + n, m.v = reals + 2 * n, m.distance = reals + 3 * n;
    m.of_row = integers, m.of_column = integers + n, m.from = integers + 2 * n;
    m.heap = integers + 3 * n, m.place = integers + 4 * n, m.reached = integers + 5 * n;
    m.dead = integers + 6 * n, m.start = integers + 7 * n, m.end_of = integers + 8 * n;
    m.first = integers + 9 * n;
    m.first[0] = 0;
    price(A, &m);
    int64_t count = begin(&m);
    for (int64_t i = 0; i < n; i++) {
        if (m.of_row[i] < 0)
            count += augment(&m, i);
        if (i % 1024 == 0)
            TESS_TRY_CLEAN(tess_progress(ctx, "matching rows", (double)i, (double)n));
    }
    shift_ends(&m, m.distance);
    pair_the_rest(&m);
    status = keep(&m, a);
    if (status == TESS_OK)
        *matched = count;
cleanup:
    if (status != TESS_OK)
        tess_arrangement_close(a);
    TESS_FREE(ctx, m.cost, reals, integers);
    return status;
}

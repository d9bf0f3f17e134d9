/* FSAI, a factorised sparse approximate inverse (Kolotilina and Yeremin 1993): M^-1 = G^T G, two
 * products with sparse matrices.
 *
 * A = L L^T, and G is as near to L^-1 as its pattern allows. The pattern of G is that of A on and
 * below the diagonal.
 *
 * Block row i of G needs only the blocks A(J, J) of its pattern J, whose last element is i:
 *
 *     A(J, J) = C C^T (dense),  G(i, J) = the last block row of C^-1,  so that (G A G^T)(i, i) = I
 *
 * Rows are independent of each other. A positive definite A has a G for any pattern.
 */
#include <math.h>
#include <string.h>

#include "core/threads.h"
#include "solve/pc/block_numbers.h"

/* WIDEST: the most scalars in a row of G; longer rows keep their largest blocks. STEP: the block
 * rows that a thread takes at a time. */
enum { WIDEST = 256, STEP = 64 };

typedef struct fsai {
    tess_matrix *G, *transpose; /* in the preconditioner's precision */
    tess_plan *plan, *transpose_plan;
    tess_device *host;       /* the plans' own, where several parts hold A's plan; else NULL */
    tess_vector_level level; /* of f32 vectors, under a method in f64 */
    int vector_level[3];
} fsai;

enum { FIRST, R, X, VECTORS };

/* ---- The pattern ---- */

/* Counts the blocks of a row before the diagonal whose squares sum up to `least` or more, `most` of
 * them at most, and the diagonal block. Writes their columns to `out` unless that is NULL. */
static int64_t list_row(const tess_matrix *A, int64_t row, double least, int64_t most, int32_t *out)
{
    int64_t count = 0;
    for (int64_t k = A->row_offsets[row];
         k < A->row_offsets[row + 1] && A->columns[k] < row && count < most; k++)
        if (block_squares(A, k) >= least) {
            if (out)
                out[count] = A->columns[k];
            count++;
        }
    if (out)
        out[count] = (int32_t)row;
    return count + 1;
}

/* Returns a sum of squares that at most `most` blocks of a row reach, and nearly as many as
 * possible. */
static double find_least(const tess_matrix *A, int64_t row, int64_t most)
{
    double low = 0, high = 0;
    if (list_row(A, row, 0, INT64_MAX, NULL) - 1 <= most)
        return 0;
    for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++)
        high = fmax(high, block_squares(A, k));
    for (int i = 0; i < 60; i++) {
        const double middle = i < 30 ? sqrt(fmax(low, 1e-30 * high) * high) : 0.5 * (low + high);
        if (list_row(A, row, middle, INT64_MAX, NULL) - 1 <= most)
            high = middle;
        else
            low = middle;
    }
    return high;
}

static tess_status make_pattern(tess_ctx *ctx, const tess_matrix *A, tess_type type,
                                tess_matrix **out)
{
    const int32_t b = A->block_height;
    const int64_t most = b < WIDEST ? WIDEST / b - 1 : 0;
    tess_matrix *G;
    double *least;
    TESS_TRY(TESS_ALLOC(ctx, A->block_rows, &least));
    int64_t blocks = 0;
    for (int64_t row = 0; row < A->block_rows; row++) {
        least[row] = find_least(A, row, most);
        blocks += list_row(A, row, least[row], most, NULL);
    }
    const tess_status status = tess_matrix_allocate(ctx, type, A->rows, A->cols, b, b, blocks, &G);
    for (int64_t row = 0; status == TESS_OK && row < A->block_rows; row++)
        G->row_offsets[row + 1] = G->row_offsets[row] + list_row(A, row, least[row], most,
                                                                 G->columns + G->row_offsets[row]);
    tess_free(ctx, least);
    if (status == TESS_OK)
        *out = G;
    return status;
}

/* ---- The numbers ---- */

struct fill {
    const tess_matrix *A;
    tess_matrix *G;
    double *scratch; /* per share: `width` squared, and `width` */
    int64_t width;   /* scalars of the widest row */
    int64_t bad;     /* the first row of which A(J, J) is not positive definite */
};

/* Copies the lower half of A(J, J), column-major. Rows of the padding become rows of the
 * identity. */
static void gather(const tess_matrix *A, const int32_t *J, int64_t count, double *dense)
{
    const int64_t b = A->block_height, n = count * b;
    for (int64_t p = 0; p < count; p++)
        for (int64_t q = 0; q <= p; q++) {
            const int64_t k = tess_matrix_find(A, J[p], J[q]);
            for (int64_t j = 0; j < b; j++)
                for (int64_t i = 0; i < b; i++) {
                    const bool outside = J[p] * b + i >= A->rows || J[q] * b + j >= A->cols;
                    dense[(q * b + j) * n + p * b + i] =
                        outside ? J[p] * b + i == J[q] * b + j
                        : k < 0 ? 0
                                : tess_matrix_value(A, (k * b + j) * b + i);
                }
        }
}

/* Turns the lower half of a into C. Returns false where a is not positive definite. */
static bool factor(double *a, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        double *column = a + j * n;
        const double pivot = column[j];
        if (!(pivot > 0) || !isfinite(pivot))
            return false;
        const double root = sqrt(pivot);
        for (int64_t i = j; i < n; i++)
            column[i] /= root;
        for (int64_t k = j + 1; k < n; k++)
            for (int64_t i = k; i < n; i++)
                a[k * n + i] -= column[i] * column[k];
    }
    return true;
}

/* Writes row `last` of C^-1 to x: C^T x = e. */
static void solve_row(const double *C, int64_t n, int64_t last, double *x)
{
    for (int64_t j = n; j-- > 0;) {
        double sum = j == last;
        for (int64_t i = j + 1; i < n; i++)
            sum -= C[j * n + i] * x[i];
        x[j] = sum / C[j * n + j];
    }
}

static void fill_rows(void *arg, tess_range range)
{
    struct fill *job = arg;
    tess_matrix *G = job->G;
    const int64_t b = G->block_height;
    double *dense = job->scratch + range.share * job->width * (job->width + 1);
    for (int64_t row = range.first; row < range.last; row++) {
        const int64_t first = G->row_offsets[row], count = G->row_offsets[row + 1] - first;
        const int64_t n = count * b;
        double *x = dense + n * n;
        gather(job->A, G->columns + first, count, dense);
        if (!factor(dense, n)) {
            tess_lower(&job->bad, row);
            return;
        }
        for (int64_t i = 0; i < b; i++) {
            solve_row(dense, n, n - b + i, x);
            for (int64_t j = 0; j < n; j++) /* padding is 0 in a matrix, and the identity in M */
                tess_put(G->values, G->type, ((first + j / b) * b + j % b) * b + i,
                         row * b + i < G->rows ? x[j] : 0);
        }
    }
}

static tess_status fill(tess_ctx *ctx, const tess_matrix *A, tess_matrix *G)
{
    struct fill job = {.A = A, .G = G, .bad = INT64_MAX};
    for (int64_t row = 0; row < G->block_rows; row++)
        job.width =
            tess_max(job.width, (G->row_offsets[row + 1] - G->row_offsets[row]) * G->block_height);
    TESS_TRY(TESS_ALLOC(ctx, ctx->threads * job.width * (job.width + 1), &job.scratch));
    tess_for_dynamic(ctx, ctx->threads, G->block_rows, STEP, fill_rows, &job);
    tess_free(ctx, job.scratch);
    if (job.bad < INT64_MAX)
        return tess_fail(ctx, TESS_ERR_MATRIX,
                         "pc=fsai: A is not positive definite, as block row %lld (rows %lld..) "
                         "shows: try minres, or gmres with pc=ilut",
                         (long long)job.bad, (long long)(job.bad * G->block_height));
    return TESS_OK;
}

/* ---- The preconditioner ---- */

static tess_status put_plan(tess_ctx *ctx, tess_device *device, tess_matrix *matrix,
                            tess_plan **out)
{
    static const tess_plan_options guess = {.effort = TESS_EFFORT_ESTIMATE};
    return *out ? tess_plan_update_values(*out, matrix->values)
                : tess_plan_create(ctx, matrix, device, &guess, out);
}

static tess_status update(tess_plan *plan, tess_pc *pc)
{
    fsai *state = pc->state;
    const tess_matrix A = tess_plan_present(plan);
    tess_matrix *transpose;
    TESS_TRY(fill(pc->ctx, &A, state->G));
    TESS_TRY(tess_matrix_transpose(pc->ctx, state->G, &transpose));
    if (state->transpose) {
        memcpy(state->transpose->values, transpose->values,
               (size_t)tess_matrix_stored(transpose) * tess_type_size(transpose->type));
        tess_matrix_destroy(transpose);
    } else {
        state->transpose = transpose;
    }
    tess_device *device = state->host ? state->host : plan->local ? plan->local : plan->device;
    TESS_TRY(put_plan(pc->ctx, device, state->G, &state->plan));
    return put_plan(pc->ctx, device, state->transpose, &state->transpose_plan);
}

static tess_status set_up(tess_plan *plan, tess_pc *pc)
{
    const tess_matrix A = tess_plan_present(plan);
    const bool single = pc->type != pc->vector_type;
    fsai *state;
    TESS_TRY(TESS_CALLOC(pc->ctx, 1, &state));
    pc->state = state;
    if (plan->device->backend->sum && !plan->local)
        TESS_TRY(tess_device_open(pc->ctx, "cpu", &state->host));
    state->level = (tess_vector_level){A.rows, A.block_height, pc->type};
    for (int i = 0; i < VECTORS; i++)
        state->vector_level[i] = single;
    pc->own = (tess_pc_own){.level = &state->level,
                            .vector_level = state->vector_level,
                            .levels = single,
                            .vectors = single ? VECTORS : 1,
                            .slots = single};
    TESS_TRY(make_pattern(pc->ctx, &A, pc->type, &state->G));
    return update(plan, pc);
}

/* z = G^T (G r). In f32 r is divided by its norm, so that a residual of any size fits. */
static void append(const tess_pc *pc, tess_steps *s, int r, int z, bool transpose)
{
    const fsai *state = pc->state;
    const int own = pc->own.first_vector, norm = pc->own.first_slot;
    (void)transpose; /* M is symmetric */
    if (pc->own.levels == 0) {
        tess_step_product(s, state->plan, 1, r, 0, own + FIRST);
        tess_step_product(s, state->transpose_plan, 1, own + FIRST, 0, z);
        return;
    }
    tess_step_dot(s, norm, r, r);
    tess_step_scalar(s, TESS_OP_SQRT, norm, norm, norm);
    tess_step_convert(s, 1, r, own + R, norm, true);
    tess_step_product(s, state->plan, 1, own + R, 0, own + FIRST);
    tess_step_product(s, state->transpose_plan, 1, own + FIRST, 0, own + X);
    tess_step_convert(s, 0, own + X, z, norm, false);
}

static double bytes(const tess_pc *pc)
{
    const tess_matrix *G = ((const fsai *)pc->state)->G;
    return 2 * ((double)tess_matrix_stored(G) * (double)tess_type_size(G->type) +
                4 * (double)G->blocks);
}

static void destroy(tess_pc *pc)
{
    fsai *state = pc->state;
    tess_plan_destroy(state->plan);
    tess_plan_destroy(state->transpose_plan);
    tess_matrix_destroy(state->G);
    tess_matrix_destroy(state->transpose);
    tess_device_close(state->host);
    tess_free(pc->ctx, state);
}

const tess_pc_ops tess_pc_fsai = {
    .name = "fsai",
    .summary = "factorised approximate inverse of a positive definite A: products alone",
    .symmetric = true,
    .square_blocks = true,
    .largest_block = WIDEST,
    .pivots = TESS_PIVOTS_POSITIVE,
    .set_up = set_up,
    .update = update,
    .append = append,
    .bytes = bytes,
    .free = destroy,
};

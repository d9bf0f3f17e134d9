/* Y = alpha A X + beta Y by threads, on the division of work that SpMV has.
 *
 * The kernels want the vectors of X side by side (row-major). Column-major vectors are first copied
 * into scratch in that order. So are the vectors of a matrix with a ragged last block column, whose
 * blocks reach beyond X. More than TESS_CPU_SPMM_GROUP vectors are done in groups, which bounds the
 * scratch.
 */
#include "cpu/plan.h"
#include "cpu/vectors.h"

/* Makes room for `vectors` vectors in the scratch arrays. */
static tess_status reserve(tess_cpu_plan *plan, int vectors, bool packed)
{
    const tess_matrix *A = &plan->matrix;
    size_t scalar = tess_type_size(A->type);
    if (vectors > plan->spmm_vectors) {
        TESS_FREE(plan->ctx, plan->spmm_x, plan->spmm_piece_sums);
        plan->spmm_x = plan->spmm_piece_sums = NULL;
        plan->spmm_vectors = 0;
    }
    int room = tess_max(vectors, plan->spmm_vectors);
    if (!plan->spmm_piece_sums)
        TESS_TRY(tess_alloc_bytes(plan->ctx, plan->work.pieces * A->block_height,
                                  scalar * (size_t)room, &plan->spmm_piece_sums));
    if (packed && !plan->spmm_x)
        TESS_TRY(tess_alloc_bytes(plan->ctx, A->block_cols * A->block_width, scalar * (size_t)room,
                                  &plan->spmm_x));
    plan->spmm_vectors = room;
    return TESS_OK;
}

typedef struct product {
    const tess_cpu_plan *plan;
    const tess_cpu_spmm_args *args;
} product;

static void run_job(const void *arg, int64_t i, int share)
{
    (void)share;
    const product *p = arg;
    const tess_cpu_work *work = &p->plan->work;
    const tess_cpu_job *job = &work->jobs[i];
    const tess_cpu_spmm_fn kernel = p->plan->kernels[TESS_CPU_BSR_SPMM]->spmm;
    const int64_t first = job->bounds[0], last = job->bounds[work->streams];
    if (job->long_row < 0) {
        kernel(p->args, first, last);
        return;
    }
    const tess_cpu_long_row *row = &work->long_rows[job->long_row];
    const size_t sum_bytes =
        (size_t)(p->args->block_height * p->args->vectors) * tess_type_size(p->plan->matrix.type);
    tess_cpu_spmm_args pieces = *p->args;
    pieces.row_offsets = work->piece_offsets + row->first_offset;
    pieces.y = (char *)p->plan->spmm_piece_sums + (size_t)row->first_sum * sum_bytes;
    pieces.y_row = p->args->vectors;
    pieces.y_vector = 1;
    pieces.alpha = 1;
    pieces.beta = pieces.alpha_im = pieces.beta_im = 0;
    kernel(&pieces, first, last);
}

/* Adds up the pieces of a long row, in order, and puts the sums into Y, except in rows below the
 * matrix. */
static void finish_long_row(const void *arg, int64_t i)
{
    const product *p = arg;
    const tess_cpu_spmm_args *args = p->args;
    const tess_cpu_long_row *row = &p->plan->work.long_rows[i];
    const int64_t r = args->block_height, top = row->row * r, k = args->vectors;
    for (int64_t j = 0; j < tess_min(r, p->plan->matrix.rows - top); j++)
        for (int64_t v = 0; v < k; v++)
            tess_cpu_put_pieces(p->plan->matrix.type, p->plan->spmm_piece_sums,
                                (row->first_sum * r + j) * k + v, r * k, row->pieces,
                                (tess_complex){args->alpha, args->alpha_im},
                                (tess_complex){args->beta, args->beta_im}, args->y,
                                (top + j) * args->y_row + v * args->y_vector);
}

/* The product with A stored whole. */
static tess_status multiply(tess_cpu_plan *plan, int k, tess_block_order order, tess_complex alpha,
                            const void *X, int64_t ldx, tess_complex beta, void *Y, int64_t ldy)
{
    const tess_matrix *A = &plan->matrix;
    const bool columns = order == TESS_ORDER_COLUMN_MAJOR;
    const size_t scalar = tess_type_size(A->type);
    const bool packed = columns || A->cols % A->block_width != 0;
    TESS_TRY(reserve(plan, tess_min(k, TESS_CPU_SPMM_GROUP), packed));
    for (int first = 0; first < k; first += TESS_CPU_SPMM_GROUP) {
        int count = tess_min(k - first, TESS_CPU_SPMM_GROUP);
        int64_t x_vector = columns ? ldx : 1, y_vector = columns ? ldy : 1;
        tess_cpu_vectors from = {(void *)((uintptr_t)X + (size_t)(first * x_vector) * scalar),
                                 columns ? 1 : ldx, x_vector}; /* only ever read */
        if (packed)
            tess_cpu_pack(plan->ctx, A, &from, count, plan->spmm_x, plan->work.shares);
        const tess_cpu_spmm_args args = {
            .row_offsets = A->row_offsets,
            .columns = A->columns,
            .values = A->values,
            .x = packed ? plan->spmm_x : from.data,
            .y = (char *)Y + (size_t)(first * y_vector) * scalar,
            .x_row = packed ? count : ldx,
            .y_row = columns ? 1 : ldy,
            .y_vector = y_vector,
            .vectors = count,
            .alpha = alpha.re,
            .beta = beta.re,
            .block_height = A->block_height,
            .block_width = A->block_width,
            .alpha_im = alpha.im,
            .beta_im = beta.im,
        };
        tess_cpu_work_run(&plan->work, run_job, finish_long_row, &(product){plan, &args});
    }
    return TESS_OK;
}

/* Returns whether there is one vector only, stored as SpMV wants it. */
static bool is_spmv(int k, tess_block_order order, int64_t ldx, int64_t ldy)
{
    return k == 1 && (order == TESS_ORDER_COLUMN_MAJOR || (ldx == 1 && ldy == 1));
}

tess_status tess_cpu_spmm(tess_plan *whole, int k, tess_block_order order, double alpha,
                          const void *X, int64_t ldx, double beta, void *Y, int64_t ldy)
{
    tess_cpu_plan *plan = whole->state;
    if (is_spmv(k, order, ldx, ldy)) {
        tess_cpu_spmv(plan, alpha, X, beta, Y);
        return TESS_OK;
    }
    if (plan->half)
        return tess_cpu_half_spmm(plan->half, k, order, alpha, X, ldx, beta, Y, ldy);
    return multiply(plan, k, order, (tess_complex){alpha, 0}, X, ldx, (tess_complex){beta, 0}, Y,
                    ldy);
}

tess_status tess_cpu_complex_spmm(tess_plan *whole, int k, tess_block_order order,
                                  tess_complex alpha, const void *X, int64_t ldx, tess_complex beta,
                                  void *Y, int64_t ldy)
{
    if (is_spmv(k, order, ldx, ldy)) {
        tess_cpu_multiply(whole->state, alpha, X, beta, false, Y);
        return TESS_OK;
    }
    return multiply(whole->state, k, order, alpha, X, ldx, beta, Y, ldy);
}

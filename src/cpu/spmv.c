/* y = alpha A x + beta y by threads: each does the jobs of its share, then the pieces of long rows
 * are added in order. */
#include "cpu/plan.h"
#include "cpu/vectors.h"

typedef struct product {
    const tess_cpu_plan *plan;
    const tess_cpu_spmv_args *args;
} product;

static void run_job(const void *arg, int64_t i, int share)
{
    (void)share;
    const product *p = arg;
    const tess_cpu_work *work = &p->plan->work;
    const tess_cpu_job *job = &work->jobs[i];
    const tess_cpu_spmv_fn kernel = p->plan->kernels[TESS_CPU_BSR_SPMV]->spmv;
    if (job->long_row < 0) {
        kernel(p->args, job->bounds);
        return;
    }
    const tess_cpu_long_row *row = &work->long_rows[job->long_row];
    const size_t sum_bytes = (size_t)p->args->block_height * tess_type_size(p->plan->matrix.type);
    tess_cpu_spmv_args pieces = *p->args;
    pieces.row_offsets = work->piece_offsets + row->first_offset;
    pieces.y = (char *)p->plan->piece_sums + (size_t)row->first_sum * sum_bytes;
    pieces.alpha = 1;
    pieces.beta = pieces.alpha_im = pieces.beta_im = 0;
    pieces.short_rows = false;
    kernel(&pieces, job->bounds);
}

/* Adds up the pieces of a long row, in order, and puts the sums into y, except in rows below the
 * matrix. */
static void finish_long_row(const void *arg, int64_t i)
{
    const product *p = arg;
    const tess_cpu_spmv_args *args = p->args;
    const tess_cpu_long_row *row = &p->plan->work.long_rows[i];
    const int64_t r = args->block_height, top = row->row * r;
    for (int64_t j = 0; j < tess_min(r, p->plan->matrix.rows - top); j++)
        tess_cpu_put_pieces(p->plan->matrix.type, p->plan->piece_sums, row->first_sum * r + j, r,
                            row->pieces, (tess_complex){args->alpha, args->alpha_im},
                            (tess_complex){args->beta, args->beta_im}, args->y, top + j);
}

/* Kernels read whole blocks of x: an x that ends inside a block is copied, with zeros after it. */
static const void *padded(const tess_cpu_plan *plan, const void *x)
{
    if (!plan->padded_x)
        return x;
    tess_cpu_copy(plan->ctx, plan->padded_x, x,
                  (size_t)plan->matrix.cols * tess_type_size(plan->matrix.type), plan->work.shares);
    return plan->padded_x;
}

tess_cpu_spmv_args tess_cpu_bsr_args(const tess_matrix *A, tess_complex alpha, const void *x,
                                     tess_complex beta, void *y)
{
    return (tess_cpu_spmv_args){
        .row_offsets = A->row_offsets,
        .columns = A->columns,
        .values = A->values,
        .x = x,
        .y = y,
        .alpha = alpha.re,
        .beta = beta.re,
        .block_height = A->block_height,
        .block_width = A->block_width,
        .short_rows = tess_cpu_short_rows(A),
        .alpha_im = alpha.im,
        .beta_im = beta.im,
    };
}

void tess_cpu_multiply(tess_cpu_plan *plan, tess_complex alpha, const void *x, tess_complex beta,
                       bool conjugate, void *y)
{
    tess_cpu_spmv_args args = tess_cpu_bsr_args(&plan->matrix, alpha, padded(plan, x), beta, y);
    args.conjugate = conjugate;
    tess_cpu_work_run(&plan->work, run_job, finish_long_row, &(product){plan, &args});
}

void tess_cpu_spmv(tess_cpu_plan *plan, double alpha, const void *x, double beta, void *y)
{
    if (plan->half)
        tess_cpu_half_spmv(plan->half, alpha, x, beta, y);
    else if (plan->fbcsr)
        tess_cpu_fbcsr_spmv(plan->fbcsr, alpha, x, beta, y);
    else
        tess_cpu_multiply(plan, (tess_complex){alpha, 0}, x, (tess_complex){beta, 0}, false, y);
}

double tess_cpu_spmv_dot(tess_cpu_plan *plan, double alpha, const void *x, double beta, void *y,
                         const void *w)
{
    tess_cpu_spmv(plan, alpha, x, beta, y);
    return tess_cpu_dot(plan, w, y);
}

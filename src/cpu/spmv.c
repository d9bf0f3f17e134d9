/* y = alpha A x + beta y by threads: each does the jobs of its share, then the pieces of long rows
 * are added in order. */
#include "cpu/plan.h"
#include "cpu/vectors.h"

typedef struct product {
    const tess_cpu_plan *plan;
    const tess_cpu_spmv_args *args;
} product;

static void run_job(const void *arg, int64_t i)
{
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
    pieces.beta = 0;
    pieces.short_rows = false;
    kernel(&pieces, job->bounds);
}

/* The sums of a long row's pieces, in order, into the part of y that the matrix has. */
static void finish_long_row(const void *arg, int64_t i)
{
    const product *p = arg;
    const tess_cpu_long_row *row = &p->plan->work.long_rows[i];
    const tess_type type = p->plan->matrix.type;
    const int64_t r = p->args->block_height, top = row->row * r;
    for (int64_t j = 0; j < tess_min(r, p->plan->matrix.rows - top); j++) {
        double sum = 0;
        for (int64_t piece = 0; piece < row->pieces; piece++)
            sum += tess_get(p->plan->piece_sums, type, (row->first_sum + piece) * r + j);
        tess_cpu_put(p->args->y, type, top + j, p->args->alpha, sum, p->args->beta);
    }
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

/* y = alpha A x + beta y for blocks of one size. */
static void multiply(tess_cpu_plan *plan, double alpha, const void *x, double beta, void *y)
{
    const tess_matrix *A = &plan->matrix;
    const tess_cpu_spmv_args args = {
        .row_offsets = A->row_offsets,
        .columns = A->columns,
        .values = A->values,
        .x = padded(plan, x),
        .y = y,
        .alpha = alpha,
        .beta = beta,
        .block_height = A->block_height,
        .block_width = A->block_width,
        .short_rows = tess_cpu_short_rows(A),
    };
    tess_cpu_work_run(&plan->work, run_job, finish_long_row, &(product){plan, &args});
}

void tess_cpu_spmv(tess_cpu_plan *plan, double alpha, const void *x, double beta, void *y)
{
    if (plan->half)
        tess_cpu_half_spmv(plan->half, alpha, x, beta, y);
    else if (plan->fbcsr)
        tess_cpu_fbcsr_spmv(plan->fbcsr, alpha, x, beta, y);
    else
        multiply(plan, alpha, x, beta, y);
}

double tess_cpu_spmv_dot(tess_cpu_plan *plan, double alpha, const void *x, double beta, void *y,
                         const void *w)
{
    tess_cpu_spmv(plan, alpha, x, beta, y);
    return tess_cpu_dot(plan, w, y);
}

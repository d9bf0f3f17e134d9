/* y = alpha A x + beta y by threads: each does the jobs of its share, then the pieces of long rows
 * are added in order. */
#include "cpu/plan.h"
#include "cpu/vectors.h"

static void run_jobs(const tess_cpu_plan *plan, const tess_cpu_spmv_args *args, int64_t first_job,
                     int64_t end)
{
    const tess_cpu_work *work = &plan->work;
    size_t scalar = tess_type_size(plan->matrix.type);
    for (int64_t i = first_job; i < end; i++) {
        const tess_cpu_job *job = &work->jobs[i];
        if (job->long_row < 0) {
            plan->kernels[TESS_CPU_BSR_SPMV]->spmv(args, job->bounds);
            continue;
        }
        const tess_cpu_long_row *row = &work->long_rows[job->long_row];
        tess_cpu_spmv_args pieces = *args;
        pieces.row_offsets = work->piece_offsets + row->first_offset;
        pieces.y =
            (char *)plan->piece_sums + (size_t)row->first_sum * (size_t)args->block_height * scalar;
        pieces.alpha = 1;
        pieces.beta = 0;
        pieces.short_rows = false;
        plan->kernels[TESS_CPU_BSR_SPMV]->spmv(&pieces, job->bounds);
    }
}

/* The sums of a long row's pieces, in order, into the part of y that the matrix has. */
static void finish_long_row(const tess_cpu_plan *plan, const tess_cpu_spmv_args *args, int64_t i)
{
    const tess_cpu_long_row *row = &plan->work.long_rows[i];
    const tess_type type = plan->matrix.type;
    int64_t r = args->block_height, top = row->row * r;
    int64_t height = plan->matrix.rows - top < r ? plan->matrix.rows - top : r;
    for (int64_t j = 0; j < height; j++) {
        double sum = 0;
        for (int64_t piece = 0; piece < row->pieces; piece++)
            sum += tess_get(plan->piece_sums, type, (row->first_sum + piece) * r + j);
        tess_cpu_put(args->y, type, top + j, args->alpha, sum, args->beta);
    }
}

struct product {
    const tess_cpu_plan *plan;
    const tess_cpu_spmv_args *args;
    tess_cpu_turns turns;
};

static void do_share(void *arg, int share)
{
    struct product *job = arg;
    const tess_cpu_work *work = &job->plan->work;
    run_jobs(job->plan, job->args, work->first_job[share], work->first_job[share + 1]);
    for (int64_t i; (i = tess_cpu_work_next(work, share, &job->turns)) >= 0;)
        run_jobs(job->plan, job->args, i, i + 1);
}

static void finish_long_rows(void *arg, tess_range range)
{
    const struct product *job = arg;
    for (int64_t i = range.first; i < range.last; i++)
        finish_long_row(job->plan, job->args, i);
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
    struct product job = {.plan = plan, .args = &args};
    tess_parallel(plan->ctx, plan->work.shares, do_share, &job);
    tess_for_shares(plan->ctx, plan->work.shares, plan->work.long_count, finish_long_rows, &job);
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

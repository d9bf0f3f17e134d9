/* w . y right after y = A x. The sums of chunks are added in order, so that the result does not
 * depend on the number of threads. A thread's chunks are about the rows that it has just written,
 * which its cache still holds. */
#include "cpu/plan.h"

/* Independent partial sums: with one sum, every addition would wait for the one before. */
enum { SUMS = 8 };

static double add_up(const double *sums)
{
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) +
           ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

static double dot_f64(const double *restrict w, const double *restrict y, int64_t n)
{
    double sums[SUMS] = {0};
    int64_t i = 0;
    for (; i + SUMS <= n; i += SUMS)
        for (int j = 0; j < SUMS; j++)
            sums[j] += w[i + j] * y[i + j];
    for (; i < n; i++)
        sums[i % SUMS] += w[i] * y[i];
    return add_up(sums);
}

static double dot_f32(const float *restrict w, const float *restrict y, int64_t n)
{
    double sums[SUMS] = {0};
    int64_t i = 0;
    for (; i + SUMS <= n; i += SUMS)
        for (int j = 0; j < SUMS; j++)
            sums[j] += (double)w[i + j] * (double)y[i + j];
    for (; i < n; i++)
        sums[i % SUMS] += (double)w[i] * (double)y[i];
    return add_up(sums);
}

struct dot_chunks {
    tess_cpu_plan *plan;
    const void *w, *y;
};

static void dot_chunks(void *arg, tess_range range)
{
    const struct dot_chunks *job = arg;
    const tess_matrix *A = &job->plan->matrix;
    const void *w = job->w, *y = job->y;
    for (int64_t i = range.first; i < range.last; i++) {
        const int64_t first = i * TESS_CPU_DOT_CHUNK, rest = A->rows - first;
        const int64_t n = tess_min(rest, TESS_CPU_DOT_CHUNK);
        job->plan->partial_dots[i] =
            A->type == TESS_F64 ? dot_f64((const double *)w + first, (const double *)y + first, n)
                                : dot_f32((const float *)w + first, (const float *)y + first, n);
    }
}

double tess_cpu_dot(tess_cpu_plan *plan, const void *w, const void *y)
{
    const int64_t chunks = tess_ceil_div(plan->matrix.rows, TESS_CPU_DOT_CHUNK);
    double sum = 0;
    tess_for_shares(plan->ctx, plan->work.shares, chunks, dot_chunks,
                    &(struct dot_chunks){plan, w, y});
    for (int64_t i = 0; i < chunks; i++)
        sum += plan->partial_dots[i];
    return sum;
}

/* Re and Im of w^H y: the sums of w_re y_re + w_im y_im and of w_re y_im - w_im y_re. */
static void complex_dot_chunks(void *arg, tess_range range)
{
    const struct dot_chunks *job = arg;
    const tess_matrix *A = &job->plan->matrix;
    for (int64_t i = range.first; i < range.last; i++) {
        const int64_t first = i * TESS_CPU_DOT_CHUNK;
        const int64_t last = tess_min(first + TESS_CPU_DOT_CHUNK, A->rows);
        tess_complex sum = {0, 0};
        for (int64_t k = first; k < last; k++)
            sum = tess_complex_sum(
                sum, tess_complex_product(tess_conjugate(tess_get_complex(job->w, A->type, k)),
                                          tess_get_complex(job->y, A->type, k)));
        job->plan->partial_dots[2 * i] = sum.re;
        job->plan->partial_dots[2 * i + 1] = sum.im;
    }
}

tess_status tess_cpu_complex_dot(tess_plan *whole, const void *w, const void *y, tess_complex *dot)
{
    tess_cpu_plan *plan = whole->state;
    const int64_t chunks = tess_ceil_div(plan->matrix.rows, TESS_CPU_DOT_CHUNK);
    tess_complex sum = {0, 0};
    tess_for_shares(plan->ctx, plan->work.shares, chunks, complex_dot_chunks,
                    &(struct dot_chunks){plan, w, y});
    for (int64_t i = 0; i < chunks; i++)
        sum = tess_complex_sum(
            sum, (tess_complex){plan->partial_dots[2 * i], plan->partial_dots[2 * i + 1]});
    *dot = sum;
    return TESS_OK;
}

/* Products and solves on devices of one and of several parts, in turns, in one run.
 *
 *     tessera_bench_parts INPUT SPEC ROUNDS DEVICE[/FORM]...
 *     tessera_bench_parts gen:stencil27:n=80,b=3 cg 5 cuda:0 cuda:0,0 cuda:0,0/shuffle:lambda=32
 *
 * FORM is a product form of the parts. Where SPEC is "-", nothing is solved. Where ROUNDS is 0,
 * every product and every solve runs once: for a sanitizer, under which times mean nothing. Every
 * line is JSON: the device, the median microseconds of a product and of an iteration of the solver,
 * both relative to the first device, the error of a product against the reference backend's over
 * the largest element, and the true residual. Vectors of products are in the parts' memory; BATCH
 * products are queued before the clock is read. A solve is timed with a solver that has solved the
 * same system before.
 */
#include <math.h>
#include <string.h>

#include "program.h"

enum { BATCH = 50, DEVICES = 16, ROUNDS = 31, PARTS = 64 };

typedef struct subject {
    const char *name;
    tess_device *device;
    tess_plan *plan;
    tess_solver *solver;
    int parts;
    tess_plan_part part[PARTS];
    void *x[PARTS], *y[PARTS];
    double spmv[ROUNDS], iteration[ROUNDS];
    int64_t iterations;
    double error, residual;
} subject;

static void open_subject(tess_ctx *ctx, const tess_matrix *A, const double *b, const char *spec,
                         subject *s)
{
    const char *form = strchr(s->name, '/');
    const tess_plan_options options = {.size = sizeof options, .form = form ? form + 1 : NULL};
    char device[128];
    snprintf(device, sizeof device, "%.*s", (int)strcspn(s->name, "/"), s->name);
    check(ctx, tess_device_open(ctx, device, &s->device));
    check(ctx, tess_plan_create(ctx, A, s->device, &options, &s->plan));
    if (strcmp(spec, "-") != 0)
        check(ctx, tess_solver_create(s->plan, spec, &s->solver));
    s->parts = tess_plan_parts(s->plan);
    for (int r = 0; r < s->parts; r++) {
        s->part[r] = (tess_plan_part){.device = s->device, .rows = A->rows};
        if (s->parts > 1)
            check(ctx, tess_plan_get_part(s->plan, r, sizeof s->part[r], &s->part[r]));
        const size_t bytes = (size_t)s->part[r].rows * sizeof *b;
        check(ctx, tess_device_alloc(s->part[r].device, bytes, &s->x[r]));
        check(ctx, tess_device_alloc(s->part[r].device, bytes, &s->y[r]));
        check(ctx,
              tess_device_copy_to(s->part[r].device, s->x[r], b + s->part[r].first_row, bytes));
    }
}

static void close_subject(subject *s)
{
    for (int r = 0; r < s->parts; r++) {
        tess_device_free(s->part[r].device, s->x[r]);
        tess_device_free(s->part[r].device, s->y[r]);
    }
    tess_solver_destroy(s->solver);
    tess_plan_destroy(s->plan);
    tess_device_close(s->device);
}

static double time_products(tess_ctx *ctx, subject *s, bool once)
{
    const int batch = once ? 1 : BATCH;
    double start = 0;
    for (int i = once ? 0 : -2; i < batch; i++) {
        if (i == 0) {
            for (int r = 0; r < s->parts; r++)
                check(ctx, tess_device_synchronize(s->part[r].device));
            start = tess_seconds();
        }
        check(ctx, s->parts == 1 ? tess_spmv(s->plan, 1, s->x[0], 0, s->y[0])
                                 : tess_spmv_parts(s->plan, 1, (const void *const *)s->x, 0, s->y));
    }
    for (int r = 0; r < s->parts; r++)
        check(ctx, tess_device_synchronize(s->part[r].device));
    return (tess_seconds() - start) / batch;
}

static double time_iteration(tess_ctx *ctx, subject *s, const tess_matrix *A, const double *b,
                             double *x)
{
    tess_result result;
    if (!s->solver)
        return 0;
    memset(x, 0, (size_t)A->rows * sizeof *x);
    check(ctx, tess_solver_solve(s->solver, b, x, &result));
    s->iterations = result.iterations;
    s->residual = result.true_residual;
    return result.seconds / (double)result.iterations;
}

/* b times the matrix, by the reference backend. */
static double *reference(tess_ctx *ctx, const tess_matrix *A, const double *b)
{
    tess_device *device;
    tess_plan *plan;
    double *y = malloc((size_t)A->rows * sizeof *y);
    check(ctx, tess_device_open(ctx, "ref", &device));
    check(ctx, tess_plan_create(ctx, A, device, NULL, &plan));
    check(ctx, tess_spmv(plan, 1, b, 0, y));
    tess_plan_destroy(plan);
    tess_device_close(device);
    return y;
}

/* The error of the last product; `y` is scratch. */
static void check_product(tess_ctx *ctx, subject *s, const tess_matrix *A, const double *expected,
                          double *y)
{
    double largest = 0, error = 0;
    for (int r = 0; r < s->parts; r++)
        check(ctx, tess_device_copy_from(s->part[r].device, y + s->part[r].first_row, s->y[r],
                                         (size_t)s->part[r].rows * sizeof *y));
    for (int64_t i = 0; i < A->rows; i++) {
        largest = fmax(largest, fabs(expected[i]));
        error = fmax(error, fabs(y[i] - expected[i]));
    }
    s->error = error / largest;
    if (!(s->error < 1e-10)) {
        fprintf(stderr, "%s: a product is off by %g of its largest element\n", s->name, s->error);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    tess_ctx *ctx;
    tess_matrix *A;
    double *b;
    static subject subjects[DEVICES];
    const bool once = argc > 3 && strcmp(argv[3], "0") == 0;
    const int count = argc - 4, rounds = once ? 1 : argc > 3 ? atoi(argv[3]) : 0;
    if (count < 1 || count > DEVICES || rounds < 1 || rounds > ROUNDS ||
        tess_ctx_create(NULL, &ctx) != TESS_OK) {
        fprintf(stderr, "usage: tessera_bench_parts INPUT SPEC ROUNDS DEVICE[/FORM]...\n");
        return 2;
    }
    check(ctx, tess_matrix_generate(ctx, argv[1], &A, (void **)&b));
    double *x = malloc((size_t)A->rows * sizeof *x), *expected = reference(ctx, A, b);
    for (int i = 0; i < count; i++) {
        subjects[i].name = argv[4 + i];
        open_subject(ctx, A, b, argv[2], &subjects[i]);
        if (!once)
            (void)time_iteration(ctx, &subjects[i], A, b, x); /* makes what is made lazily */
    }
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < count; i++) {
            subjects[i].spmv[round] = time_products(ctx, &subjects[i], once);
            check_product(ctx, &subjects[i], A, expected, x);
            subjects[i].iteration[round] = time_iteration(ctx, &subjects[i], A, b, x);
        }
    for (int i = 0; i < count; i++) {
        subject *s = &subjects[i];
        const double spmv = tess_median(s->spmv, rounds), one = tess_median(s->iteration, rounds);
        printf("{\"input\": \"%s\", \"device\": \"%s\", \"rows\": %lld, \"spmv\": %.2f, "
               "\"spmv_ratio\": %.3f, \"iteration\": %.2f, \"iteration_ratio\": %.3f, "
               "\"iterations\": %lld, \"error\": %.2g, \"true_residual\": %.3g}\n",
               argv[1], s->name, (long long)A->rows, 1e6 * spmv,
               spmv / tess_median(subjects[0].spmv, rounds), 1e6 * one,
               s->solver ? one / tess_median(subjects[0].iteration, rounds) : 0,
               (long long)s->iterations, s->error, s->residual);
        fflush(stdout);
    }
    for (int i = 0; i < count; i++)
        close_subject(&subjects[i]);
    free(x), free(expected);
    tess_release(ctx, b);
    tess_matrix_destroy(A);
    tess_ctx_destroy(ctx);
    return 0;
}

/* Solvers on one system: time to solution, and an iteration against the ideal.
 *
 *     tessera_bench_solve [--json] [--reps N] [--dump FILE] INPUT SPEC [SPEC ...]
 *
 * The ideal of an iteration is the time of its products, measured by themselves, and the time in
 * which the read ceiling moves its vectors and its preconditioner once. --dump writes the matrix,
 * the right-hand side and, where the matrix has them, the coordinates of its rows in PETSc's binary
 * format, for other libraries in the same run. */
#include <endian.h>
#include <math.h>
#include <string.h>

#include "peer_solve.h"
#include "../program.h"

enum { PRODUCTS = 30 };

typedef struct options {
    bool json;
    int reps;
    const char *dump;
} options;

static void put_int(FILE *file, int64_t value)
{
    uint32_t bytes = htobe32((uint32_t)value);
    fwrite(&bytes, sizeof bytes, 1, file);
}

static void put_double(FILE *file, double value)
{
    uint64_t bytes;
    memcpy(&bytes, &value, sizeof bytes);
    bytes = htobe64(bytes);
    fwrite(&bytes, sizeof bytes, 1, file);
}

/* Writes the columns, or the values, of all scalar rows. */
static void put_entries(FILE *file, const tess_matrix *A, bool values)
{
    const int64_t r = A->block_height, c = A->block_width;
    for (int64_t row = 0; row < A->rows; row++)
        for (int64_t k = A->row_offsets[row / r]; k < A->row_offsets[row / r + 1]; k++)
            for (int64_t j = 0; j < c; j++) {
                if (values)
                    put_double(file, tess_matrix_value(A, (k * c + j) * r + row % r));
                else
                    put_int(file, A->columns[k] * c + j);
            }
}

static void put_vector(FILE *file, int64_t rows, const double *x)
{
    put_int(file, 1211214);
    put_int(file, rows);
    for (int64_t i = 0; i < rows; i++)
        put_double(file, x[i]);
}

static void dump(const tess_matrix *A, const double *b, const char *path)
{
    const int64_t r = A->block_height, c = A->block_width;
    FILE *file = fopen(path, "wb");
    if (!file || A->rows % r != 0 || tess_matrix_stored(A) > INT32_MAX) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(1);
    }
    const int64_t header[] = {1211216, A->rows, A->cols, tess_matrix_stored(A)};
    for (int i = 0; i < 4; i++)
        put_int(file, header[i]);
    for (int64_t row = 0; row < A->rows; row++)
        put_int(file, (A->row_offsets[row / r + 1] - A->row_offsets[row / r]) * c);
    put_entries(file, A, false);
    put_entries(file, A, true);
    put_vector(file, A->rows, b);
    if (A->coordinates) /* only generated elasticity, with one coordinate a scalar row */
        put_vector(file, A->rows, A->coordinates);
    if (fclose(file) != 0)
        exit(1);
}

/* The median of the products' times. */
static double product_seconds(tess_plan *plan, const double *x, double *y)
{
    double seconds[PRODUCTS];
    static const tess_product spmv = {.kind = TESS_PRODUCT_SPMV};
    check(plan->ctx, tess_product_time(plan, &spmv, 1, x, 0, y, PRODUCTS, seconds));
    return tess_median(seconds, PRODUCTS);
}

/* The products with A or its transpose in an iteration, those of its preconditioner included. */
static double products_of(const tess_solver *solver)
{
    int64_t products = 0;
    while (solver->inner)
        solver = solver->inner;
    for (int64_t i = 0; i < solver->cycle; i++)
        for (int64_t k = 0; k < solver->loop[i].count; k++) {
            const tess_step *step = &solver->loop[i].step[k];
            products += step->kind == TESS_STEP_APPLY && !step->plan;
        }
    return solver->cycle > 0 ? (double)products / (double)solver->cycle : 1;
}

/* The ideal of an iteration: its products as measured, and its other bytes at the read ceiling. */
static double ideal_seconds(const tess_matrix *A, double products, const tess_result *result,
                            double spmv, double ceiling)
{
    const double iterations = (double)(result->iterations > 0 ? result->iterations : 1);
    const double moved = result->bytes / iterations - products * tess_matrix_spmv_bytes(A);
    return products * spmv + fmax(moved, 0) / ceiling;
}

/* Sets up and solves `reps` times from x = 0. */
static void solve(const options *o, tess_plan *plan, const char *spec, const double *b, double spmv,
                  double ceiling)
{
    const tess_matrix *A = plan->matrix;
    double *x = malloc((size_t)A->rows * sizeof *x), setup[PEER_REPS_MAX], seconds[PEER_REPS_MAX];
    tess_result result = {0}, fastest = {.seconds = HUGE_VAL};
    double products = 1;
    for (int rep = 0; rep < o->reps; rep++) {
        tess_solver *solver;
        memset(x, 0, (size_t)A->rows * sizeof *x);
        const double start = tess_seconds();
        check(plan->ctx, tess_solver_create(plan, spec, &solver));
        check(plan->ctx, tess_solver_set_up(solver));
        setup[rep] = tess_seconds() - start;
        check(plan->ctx, tess_solver_solve(solver, b, x, &result));
        seconds[rep] = result.seconds;
        products = products_of(solver);
        if (result.seconds < fastest.seconds)
            fastest = result;
        tess_solver_destroy(solver);
    }
    const double best = fastest.seconds,
                 ideal = ideal_seconds(A, products, &fastest, spmv, ceiling);
    const double iterations = (double)(fastest.iterations > 0 ? fastest.iterations : 1);
    if (o->json) {
        printf("{\"peer\": \"\", \"spec\": \"%s\", \"threads\": %d, \"iterations\": %lld, ", spec,
               plan->device->threads, (long long)fastest.iterations);
        peer_print_times("setup_seconds", setup, o->reps);
        peer_print_times("solve_seconds", seconds, o->reps);
        printf("\"true_residual\": %.6e, \"reason\": \"%s\", \"ideal_seconds\": %.9f}\n",
               fastest.true_residual, tess_reason_name(fastest.reason), ideal);
    } else {
        tess_sort_doubles(setup, o->reps);
        printf("%-36s %5lld its  setup %.3f s  solve %.3f s  %.3f ms/it  true %.2e  %s\n", spec,
               (long long)fastest.iterations, setup[0], best, 1e3 * best / iterations,
               fastest.true_residual, tess_reason_name(fastest.reason));
        printf("    ideal %.3f ms/it (x%.2f); spmv %.0f %%, pc %.0f %%, dots %.0f %%, "
               "vectors %.0f %%\n",
               1e3 * ideal, best / iterations / ideal, 100 * fastest.seconds_spmv / best,
               100 * fastest.seconds_pc / best, 100 * fastest.seconds_dots / best,
               100 * fastest.seconds_vectors / best);
    }
    fflush(stdout);
    free(x);
}

/* Reads the options before INPUT. Returns INPUT's index, or -1. */
static int read_options(int argc, char **argv, options *o)
{
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        if (strcmp(argv[at], "--json") == 0)
            o->json = true;
        else if (strcmp(argv[at], "--dump") == 0 && at + 1 < argc)
            o->dump = argv[++at];
        else if (strcmp(argv[at], "--reps") == 0 && at + 1 < argc)
            o->reps = atoi(argv[++at]);
        else
            return -1;
    }
    return at < argc && o->reps >= 1 && o->reps <= PEER_REPS_MAX ? at : -1;
}

int main(int argc, char **argv)
{
    options o = {.reps = 3};
    const int first = read_options(argc, argv, &o);
    if (first < 0) {
        fprintf(stderr, "usage: tessera_bench_solve [--json] [--reps N] [--dump FILE] INPUT "
                        "SPEC [SPEC ...]\n");
        return 2;
    }
    const char *input = argv[first];
    bench_system s = open_system(input, "cpu");
    const tess_matrix *A = s.A;
    const double bytes = tess_matrix_spmv_bytes(A);
    double *y = malloc((size_t)A->rows * sizeof *y), ceiling;
    if (o.dump)
        dump(A, s.b, o.dump);
    check(s.ctx, tess_plan_create(s.ctx, A, s.device, NULL, &s.plan));
    check(s.ctx, s.device->backend->read_ceiling(s.device, bytes, &ceiling));
    const double spmv = product_seconds(s.plan, s.b, y);
    if (o.json)
        printf("{\"input\": \"%s\", \"rows\": %lld, \"block\": %d, \"matrix_bytes\": %.0f, "
               "\"device\": \"%s\", \"read_GBps\": %.2f, \"spmv_seconds\": %.9f}\n",
               input, (long long)A->rows, (int)A->block_height, bytes, s.device->description,
               1e-9 * ceiling, spmv);
    else
        printf("%s: %lld rows, blocks of %d, %s; read ceiling %.1f GB/s, SpMV %.3f ms "
               "(%.1f GB/s)\n",
               input, (long long)A->rows, (int)A->block_height, s.device->description,
               1e-9 * ceiling, 1e3 * spmv, 1e-9 * bytes / spmv);
    for (int i = first + 1; i < argc; i++)
        solve(&o, s.plan, argv[i], s.b, spmv, ceiling);
    free(y);
    close_system(&s);
    return 0;
}

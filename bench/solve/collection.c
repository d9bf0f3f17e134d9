/* Several matrices with several solvers, one JSON object per line:
 *
 *     tessera_bench_solve_collection DEVICE SECONDS SPEC [SPEC ...] -- FILE [FILE ...]
 *     tessera_bench_solve_collection --names          the methods and preconditioners there are,
 *                                                     and which of these take domains=
 *
 * Blocks are those that tess_matrix_to_blocks finds, or 1 x 1 where these are not square and the
 * solver needs square ones. b is A times ones; a solve begins with x = 0 and ends after SECONDS.
 * One process solves all, so that the device is opened and its code compiled once.
 */
#include <string.h>

#include "../program.h"

/* One form of a matrix on the device. */
typedef struct problem {
    tess_matrix *A;
    tess_plan *plan;
    double *b, *x;
} problem;

static problem open_problem(tess_ctx *ctx, tess_device *device, const tess_matrix *read,
                            const tess_blocking *blocking)
{
    problem p;
    check(ctx, tess_matrix_to_blocks(ctx, read, blocking, &p.A));
    check(ctx, tess_plan_create(ctx, p.A, device, NULL, &p.plan));
    p.b = malloc((size_t)p.A->rows * sizeof *p.b);
    p.x = malloc((size_t)p.A->rows * sizeof *p.x);
    if (!p.b || !p.x)
        exit(1);
    for (int64_t i = 0; i < p.A->rows; i++)
        p.x[i] = 1;
    check(ctx, tess_spmv(p.plan, 1, p.x, 0, p.b));
    return p;
}

static void close_problem(problem *p)
{
    tess_plan_destroy(p->plan);
    tess_matrix_destroy(p->A);
    free(p->b);
    free(p->x);
}

static int is_late(void *end, int64_t iteration, double residual)
{
    (void)iteration, (void)residual;
    return tess_seconds() > *(const double *)end;
}

static void print_head(const char *file, const char *spec, const problem *p)
{
    printf("{\"file\": \"%s\", \"spec\": \"%s\", \"rows\": %lld, \"block\": %d, ", file, spec,
           (long long)p->A->rows, (int)p->A->block_height);
}

/* False: the solver needs square blocks, and these are not. */
static bool solve(tess_ctx *ctx, const char *file, const char *spec, double seconds, problem *p)
{
    tess_solver *solver;
    tess_result result;
    double end = tess_seconds() + seconds;
    if (tess_solver_create(p->plan, spec, &solver) != TESS_OK) {
        if (strstr(tess_ctx_error(ctx), "needs square blocks") &&
            p->A->block_height != p->A->block_width)
            return false;
        print_head(file, spec, p);
        printf("\"reason\": \"%s\", \"solved\": false}\n",
               strstr(tess_ctx_error(ctx), "pivot") ? "NO_PIVOT" : "ERROR");
        fprintf(stderr, "%s, %s: %s\n", file, spec, tess_ctx_error(ctx));
        fflush(stdout);
        return true;
    }
    tess_solver_set_callback(solver, is_late, &end);
    memset(p->x, 0, (size_t)p->A->rows * sizeof *p->x);
    check(ctx, tess_solver_solve(solver, p->b, p->x, &result));
    print_head(file, spec, p);
    printf("\"reason\": \"%s\", \"solved\": %s, \"iterations\": %lld, \"true_residual\": %.3e}\n",
           tess_reason_name(result.reason),
           result.reason == TESS_REASON_CONVERGED ? "true" : "false", (long long)result.iterations,
           result.true_residual);
    fflush(stdout);
    tess_solver_destroy(solver);
    return true;
}

static void solve_file(tess_ctx *ctx, tess_device *device, const char *file, char **specs,
                       int count, double seconds)
{
    static const tess_blocking scalars = {1, 1};
    tess_matrix *read;
    check(ctx, tess_matrix_read(ctx, file, &read));
    problem blocks = open_problem(ctx, device, read, NULL), single = {0};
    for (int i = 0; i < count; i++) {
        if (solve(ctx, file, specs[i], seconds, &blocks))
            continue;
        if (!single.plan)
            single = open_problem(ctx, device, read, &scalars);
        (void)solve(ctx, file, specs[i], seconds, &single);
    }
    close_problem(&single);
    close_problem(&blocks);
    tess_matrix_destroy(read);
}

static bool takes_domains(int pc)
{
    return tess_pcs[pc]->keys && strstr(tess_pcs[pc]->keys, "domains");
}

/* The names of those that `has` holds for; NULL: of all. */
static void print_names(const char *what, const char *(*name)(int), bool (*has)(int),
                        const char *end)
{
    const char *between = "";
    printf("\"%s\": [", what);
    for (int i = 0; name(i); i++)
        if (!has || has(i)) {
            printf("%s\"%s\"", between, name(i));
            between = ", ";
        }
    printf("]%s", end);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--names") == 0) {
        printf("{");
        print_names("methods", tess_solve_method_name, NULL, ", ");
        print_names("pcs", tess_solve_pc_name, NULL, ", ");
        print_names("domains", tess_solve_pc_name, takes_domains, "}\n");
        return 0;
    }
    int first = 3;
    while (first < argc && strcmp(argv[first], "--") != 0)
        first++;
    if (first + 1 >= argc || first == 3) {
        fprintf(stderr, "usage: tessera_bench_solve_collection DEVICE SECONDS SPEC [SPEC ...] -- "
                        "FILE [FILE ...]\n");
        return 2;
    }
    tess_ctx *ctx;
    tess_device *device;
    check(NULL, tess_ctx_create(NULL, &ctx));
    check(ctx, tess_device_open(ctx, argv[1], &device));
    for (int i = first + 1; i < argc; i++)
        solve_file(ctx, device, argv[i], argv + 3, first - 3, strtod(argv[2], NULL));
    tess_device_close(device);
    tess_ctx_destroy(ctx);
    return 0;
}

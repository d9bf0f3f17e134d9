/* Times of what precedes a solve: plan, set-up, and updates to new values.
 *
 *     tessera_bench_setup [--device D] [--log] [--products] INPUT SPEC [SPEC ...]
 *
 * Every SPEC is set up RUNS times, and updated as often with values from the host's memory and from
 * the device's. Prints the milliseconds of each, and the description of the last preconditioner.
 * --log sets up once more and prints the library's log, with the milliseconds since its start.
 * --products prints what the products of a multigrid hierarchy take: microseconds, bytes, and the
 * share of what the device reads at most. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../program.h"

enum { RUNS = 4 };

/* Prints the time since *since, which becomes now. */
static void print_time(double *since)
{
    const double now = tess_seconds();
    printf(" %8.1f", 1e3 * (now - *since));
    fflush(stdout);
    *since = now;
}

static tess_solver *set_up(tess_plan *plan, const char *spec)
{
    tess_solver *solver = NULL;
    printf("%-40s set-up ms     ", spec);
    for (int run = 0; run < RUNS; run++) {
        tess_solver_destroy(solver);
        double since = tess_seconds();
        check(plan->ctx, tess_solver_create(plan, spec, &solver));
        check(plan->ctx, tess_solver_set_up(solver));
        check(plan->ctx, tess_device_synchronize(plan->device));
        print_time(&since);
    }
    printf("\n");
    return solver;
}

static void update(tess_plan *plan, tess_solver *solver, const char *where, const void *values)
{
    printf("%-40s update, %-6s", "", where);
    for (int run = 0; run < RUNS; run++) {
        double since = tess_seconds();
        check(plan->ctx, tess_plan_update_values(plan, values));
        check(plan->ctx, tess_solver_update(solver, NULL));
        check(plan->ctx, tess_device_synchronize(plan->device));
        print_time(&since);
    }
    printf("\n");
}

static void print_line(void *since, const char *line)
{
    printf("%10.2f  %s\n", 1e3 * (tess_seconds() - *(const double *)since), line);
}

static void log_set_up(tess_plan *plan, const char *spec)
{
    tess_solver *solver;
    double since = tess_seconds();
    plan->ctx->log = print_line;
    plan->ctx->log_user = &since;
    check(plan->ctx, tess_solver_create(plan, spec, &solver));
    check(plan->ctx, tess_solver_set_up(solver));
    plan->ctx->log = NULL;
    tess_solver_destroy(solver);
}

/* One line: r = r - A d, with the matrix's bytes and x and y counted once. */
static void print_product(int level, const char *name, tess_plan *plan)
{
    enum { REPS = 21 };
    static const tess_product spmv = {.kind = TESS_PRODUCT_SPMV};
    const tess_matrix *A = plan->matrix;
    const tess_backend *backend = plan->device->backend;
    const double bytes = tess_matrix_spmv_bytes(A);
    double seconds[REPS], ceiling = 0;
    void *x = calloc((size_t)A->cols + 1, sizeof(double)),
         *y = calloc((size_t)A->rows + 1, sizeof(double));
    check(plan->ctx, tess_product_time(plan, &spmv, -1, x, 1, y, REPS, seconds));
    if (backend->read_ceiling)
        check(plan->ctx, backend->read_ceiling(plan->device, bytes, &ceiling));
    const double median = tess_median(seconds, REPS);
    printf("  level %d %-6s %9.1f us %9.1f MB %5.1f %% of read  %s %s\n", level, name, 1e6 * median,
           1e-6 * bytes, ceiling > 0 ? 100 * bytes / median / ceiling : 0, plan->kernel,
           plan->params);
    free(x), free(y);
}

static void print_products(const tess_solver *solver)
{
    const tess_amg *amg = solver->pc.state;
    if (solver->pc.ops != &tess_pc_amg)
        return;
    for (int i = 0; i < amg->levels; i++) {
        const tess_amg_level *level = &amg->level[i];
        if (level->plan)
            print_product(i, "A", level->plan);
        if (level->P_plan)
            print_product(i, "P", level->P_plan);
        if (level->R_plan)
            print_product(i, "R", level->R_plan);
    }
    if (amg->bottom_plan)
        print_product(amg->levels - 1, "bottom", amg->bottom_plan);
}

static void time_spec(tess_plan *plan, const char *spec, const void *near, bool products)
{
    tess_solver *solver = set_up(plan, spec);
    if (products)
        print_products(solver);
    printf("%s", tess_solver_describe(solver));
    update(plan, solver, "host", plan->matrix->values);
    if (near)
        update(plan, solver, "device", near);
    printf("%s", tess_solver_describe(solver));
    tess_solver_destroy(solver);
}

int main(int argc, char **argv)
{
    const char *where = "cuda";
    bool logs = false, products = false;
    if (argc > 2 && strcmp(argv[1], "--device") == 0) {
        where = argv[2];
        argv += 2;
        argc -= 2;
    }
    if (argc > 1 && strcmp(argv[1], "--log") == 0) {
        logs = true;
        argv++;
        argc--;
    }
    if (argc > 1 && strcmp(argv[1], "--products") == 0) {
        products = true;
        argv++;
        argc--;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: tessera_bench_setup [--device D] [--log] [--products] INPUT SPEC "
                        "[SPEC ...]\n");
        return 2;
    }
    static const tess_plan_options guess = {.effort = TESS_EFFORT_ESTIMATE};
    void *near = NULL;
    bench_system s = open_system(argv[1], where);
    double since = tess_seconds();
    check(s.ctx, tess_plan_create(s.ctx, s.A, s.device, &guess, &s.plan));
    printf("%s: %lld rows, %s; plan ms", argv[1], (long long)s.A->rows, s.device->description);
    print_time(&since);
    printf("\n");
    if (s.device->backend->memory_alloc) {
        const size_t bytes = (size_t)tess_matrix_stored(s.A) * tess_type_size(s.A->type);
        check(s.ctx, tess_device_alloc(s.device, bytes, &near));
        check(s.ctx, tess_device_copy_to(s.device, near, s.A->values, bytes));
    }
    for (int i = 2; i < argc; i++) {
        time_spec(s.plan, argv[i], near, products);
        if (logs)
            log_set_up(s.plan, argv[i]);
    }
    if (near)
        tess_device_free(s.device, near);
    close_system(&s);
    return 0;
}

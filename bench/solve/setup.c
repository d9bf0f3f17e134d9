/* How long a solver takes to be ready: plan, set-up, and updates to new values.
 *
 *     tessera_bench_setup [--device D] [--log] INPUT SPEC [SPEC ...]
 *
 * Every SPEC is set up RUNS times, and updated as often with values from the host's memory and from
 * the device's. Milliseconds of each are printed, and what the preconditioner says of the last.
 * --log sets up once more and prints the library's log, with the milliseconds since its start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../internal.h"

enum { RUNS = 4 };

static void check(tess_ctx *ctx, tess_status status)
{
    if (status == TESS_OK)
        return;
    fprintf(stderr, "%s\n", tess_ctx_error(ctx));
    exit(1);
}

/* The time since *since, which becomes now. */
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

static void time_spec(tess_plan *plan, const char *spec, const void *near)
{
    tess_solver *solver = set_up(plan, spec);
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
    bool logs = false;
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
    if (argc < 3) {
        fprintf(stderr, "usage: tessera_bench_setup [--device D] [--log] INPUT SPEC [SPEC ...]\n");
        return 2;
    }
    static const tess_plan_options guess = {.effort = TESS_EFFORT_ESTIMATE};
    tess_ctx *ctx;
    tess_matrix *A;
    tess_device *device;
    tess_plan *plan;
    void *b, *near = NULL;
    if (tess_ctx_create(NULL, &ctx) != TESS_OK)
        return 1;
    check(ctx, tess_matrix_generate(ctx, argv[1], &A, &b));
    check(ctx, tess_device_open(ctx, where, &device));
    double since = tess_seconds();
    check(ctx, tess_plan_create(ctx, A, device, &guess, &plan));
    printf("%s: %lld rows, %s; plan ms", argv[1], (long long)A->rows, device->description);
    print_time(&since);
    printf("\n");
    if (device->backend->memory_alloc) {
        const size_t bytes = (size_t)tess_matrix_stored(A) * tess_type_size(A->type);
        check(ctx, tess_device_alloc(device, bytes, &near));
        check(ctx, tess_device_copy_to(device, near, A->values, bytes));
    }
    for (int i = 2; i < argc; i++) {
        time_spec(plan, argv[i], near);
        if (logs)
            log_set_up(plan, argv[i]);
    }
    if (near)
        tess_device_free(device, near);
    tess_release(ctx, b);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    tess_ctx_destroy(ctx);
    return 0;
}

/* Triangular preconditioners on a CUDA device: microseconds an application, beside the product with
 * the matrix and the read ceiling.
 *
 *     tessera_bench_factors INPUT PC SCHEDULE [single] [KEY=VALUE,...] ...
 *
 * INPUT is a generator, "gen:stencil27:n=80,b=3". `single`: the factors are in f32. Each further
 * argument is one tuning (tess_triangle_tuning), with the keys wide, blocks, rows, depth, ahead and
 * nap. An application is timed in a replayed graph, as a solver runs it. Its result is compared
 * with that of the host, and the difference is printed. */
#include <math.h>
#include <string.h>

#include "../program.h"

enum { IN_GRAPH = 5, REPLAYS = 9 };

static tess_ctx *ctx;
static tess_device *device;

/* Median microseconds of one application in a replayed graph. */
static double time_apply(tess_cuda_factors *factors, cu_pointer r, cu_pointer z)
{
    tess_cuda *cuda = tess_cuda_of(device);
    cu_stream stream;
    cu_graph graph;
    cu_graph_exec exec;
    cu_event begin, end;
    double times[REPLAYS];
    check(ctx, TESS_CU(cuda, cuStreamCreate(&stream, 1)));
    check(ctx, TESS_CU(cuda, cuEventCreate(&begin, CU_EVENT_DEFAULT_FLAGS)));
    check(ctx, TESS_CU(cuda, cuEventCreate(&end, CU_EVENT_DEFAULT_FLAGS)));
    check(ctx, TESS_CU(cuda, cuStreamBeginCapture(stream, 0)));
    for (int i = 0; i < IN_GRAPH; i++)
        check(ctx, tess_cuda_factors_apply(factors, false, r, z, stream));
    check(ctx, TESS_CU(cuda, cuStreamEndCapture(stream, &graph)));
    check(ctx, TESS_CU(cuda, cuGraphInstantiate(&exec, graph, 0)));
    for (int i = -2; i < REPLAYS; i++) {
        float milliseconds;
        check(ctx, TESS_CU(cuda, cuEventRecord(begin, stream)));
        check(ctx, TESS_CU(cuda, cuGraphLaunch(exec, stream)));
        check(ctx, TESS_CU(cuda, cuEventRecord(end, stream)));
        check(ctx, TESS_CU(cuda, cuEventSynchronize(end)));
        check(ctx, TESS_CU(cuda, cuEventElapsedTime(&milliseconds, begin, end)));
        if (i >= 0)
            times[i] = 1e3 * (double)milliseconds / IN_GRAPH;
    }
    (void)cuda->driver.cuGraphExecDestroy(exec);
    (void)cuda->driver.cuGraphDestroy(graph);
    (void)cuda->driver.cuEventDestroy(begin);
    (void)cuda->driver.cuEventDestroy(end);
    (void)cuda->driver.cuStreamDestroy(stream);
    return tess_median(times, REPLAYS);
}

/* Median microseconds of a product. */
static double time_product(tess_plan *plan, const void *x, void *y)
{
    static const tess_product spmv = {.kind = TESS_PRODUCT_SPMV};
    double seconds[REPLAYS];
    check(ctx, tess_product_time(plan, &spmv, 1, x, 0, y, REPLAYS, seconds));
    return 1e6 * tess_median(seconds, REPLAYS);
}

/* max |a - b| / max |b|. */
static double distance(const double *a, const double *b, int64_t count)
{
    double most = 0, size = 0;
    for (int64_t i = 0; i < count; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
        size = fmax(size, fabs(b[i]));
    }
    return most / size;
}

typedef struct vectors {
    double *r, *z, *exact; /* rows up to a whole block */
    void *device_r, *device_z;
    size_t bytes;
} vectors;

static void run(tess_plan *plan, const tess_pc *pc, const char *text, vectors *v, double spmv,
                double ceiling)
{
    tess_cuda *cuda = tess_cuda_of(device);
    const tess_staged *staged = tess_pc_staged(pc);
    tess_triangle_tuning tuning =
        tess_triangle_guess(staged->vector_type, staged->block,
                            tess_stages_describe(&staged->stages).mean * staged->block);
    int64_t rows = tuning.rows, depth = tuning.depth, nap = 0, ahead = tuning.ahead;
    const tess_option table[] = {
        {"wide", TESS_OPTION_INT, &tuning.wide, 0, 1e18, NULL, 0},
        {"blocks", TESS_OPTION_INT, &tuning.blocks, 0, 1 << 20, NULL, 0},
        {"rows", TESS_OPTION_INT, &rows, 1, 256, NULL, 0},
        {"depth", TESS_OPTION_INT, &depth, 1, 16, NULL, 0},
        {"ahead", TESS_OPTION_INT, &ahead, 0, 1, NULL, 0},
        {"nap", TESS_OPTION_INT, &nap, 0, 1000, NULL, 0},
    };
    check(ctx, tess_options_parse(ctx, "launch", text, table, sizeof table / sizeof *table));
    tuning.ahead = (int)ahead;
    tuning.rows = (int)rows;
    tuning.threads = (int)(rows * staged->block + 31) / 32 * 32;
    tuning.depth = (int)depth;
    tuning.nap = (int)nap;
    tess_cuda_factors *factors;
    check(ctx, tess_cuda_enter(cuda));
    double start = tess_seconds();
    check(ctx, tess_cuda_factors_create_tuned(cuda, pc, &tuning, cuda->stream, &factors));
    const double create = tess_seconds() - start;
    start = tess_seconds();
    check(ctx, tess_cuda_factors_update(factors, cuda->stream));
    const double update = tess_seconds() - start;
    const cu_pointer r = tess_cuda_address(v->device_r), z = tess_cuda_address(v->device_z);
    const double us = time_apply(factors, r, z);
    check(ctx, tess_device_copy_from(device, v->z, v->device_z, v->bytes));
    const double bytes =
        pc->ops->bytes(pc) + 2 * (double)plan->matrix->rows * (double)sizeof(double);
    printf(
        "  %-28s %9.1f us  %6.1f GB/s  %5.1f %% of read  %5.2f SpMV  %4lld launches  error %.1e  "
        "create %.2f s, update %.2f s\n",
        text, us, 1e-3 * bytes / us, 100 * 1e6 * bytes / us / ceiling, us / spmv,
        (long long)tess_cuda_factors_launches(factors),
        distance(v->z, v->exact, plan->matrix->rows), create, update);
    fflush(stdout);
    tess_cuda_factors_destroy(factors);
    tess_cuda_leave(cuda);
}

static int find(const char *word, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(word, names[i]) == 0)
            return i;
    fprintf(stderr, "unknown name '%s'\n", word);
    exit(2);
}

static vectors open_vectors(const tess_matrix *A)
{
    const int64_t scalars = A->block_rows * A->block_height;
    vectors v = {.bytes = (size_t)A->rows * sizeof(double)};
    check(ctx, TESS_CALLOC(ctx, scalars, &v.r));
    check(ctx, TESS_CALLOC(ctx, scalars, &v.z));
    check(ctx, TESS_CALLOC(ctx, scalars, &v.exact));
    for (int64_t i = 0; i < A->rows; i++)
        v.r[i] = tess_random_unit(3, (uint64_t)i);
    check(ctx, tess_device_alloc(device, v.bytes, &v.device_r));
    check(ctx, tess_device_alloc(device, v.bytes, &v.device_z));
    check(ctx, tess_device_copy_to(device, v.device_r, v.r, v.bytes));
    return v;
}

static void close_vectors(vectors *v)
{
    TESS_FREE(ctx, v->r, v->z, v->exact);
    tess_device_free(device, v->device_r);
    tess_device_free(device, v->device_z);
}

/* Seconds on the host, of the set-up, of new values and of an application. */
typedef struct host_times {
    double setup, update, apply;
} host_times;

/* Sets up the preconditioner; v->exact becomes the host's result. */
static host_times run_on_host(tess_plan *plan, const tess_pc_options *options, tess_pc *pc,
                              vectors *v)
{
    host_times times;
    double start = tess_seconds();
    check(ctx, tess_pc_set_up(plan, options, pc));
    times.setup = tess_seconds() - start;
    start = tess_seconds();
    check(ctx, tess_pc_update_values(plan, pc));
    times.update = tess_seconds() - start;
    check(ctx, tess_staged_deal(tess_pc_staged(pc), ctx->threads));
    start = tess_seconds();
    pc->ops->apply(pc, false, v->r, v->exact);
    times.apply = tess_seconds() - start;
    return times;
}

int main(int argc, char **argv)
{
    if (argc < 4 || strncmp(argv[1], "gen:", 4) != 0) {
        fprintf(
            stderr,
            "usage: tessera_bench_factors gen:INPUT PC SCHEDULE [single] [KEY=VALUE,...] ...\n");
        return 2;
    }
    tess_pc pc;
    bench_system system = open_system(argv[1] + 4, "cuda");
    const tess_matrix *A = system.A;
    ctx = system.ctx;
    device = system.device;
    check(ctx, tess_plan_create(ctx, A, device, NULL, &system.plan));
    tess_plan *plan = system.plan;
    const bool single = argc > 4 && strcmp(argv[4], "single") == 0;
    const tess_pc_options options = {.ops = tess_pcs[find(argv[2], tess_pc_names)],
                                     .schedule = find(argv[3], tess_pc_schedule_names),
                                     .single = single,
                                     .omega = 1};
    vectors v = open_vectors(A);
    const host_times times = run_on_host(plan, &options, &pc, &v);
    double ceiling = 0;
    check(ctx, device->backend->read_ceiling(device, pc.ops->bytes(&pc), &ceiling));
    const double spmv = time_product(plan, v.r, v.z);
    const tess_stage_statistics s = tess_stages_describe(&tess_pc_staged(&pc)->stages);
    printf(
        "%s pc=%s schedule=%s%s: %lld unknowns, %lld stages of %.0f block rows (%lld..%lld), "
        "%.1f MB, read %.0f GB/s, SpMV %.1f us; on the host: analysis and factors %.2f s, factors "
        "again %.2f s, an application %.0f us\n",
        argv[1], argv[2], argv[3], single ? " pc_type=f32" : "", (long long)A->rows,
        (long long)s.count, s.mean, (long long)s.narrowest, (long long)s.widest,
        1e-6 * pc.ops->bytes(&pc), 1e-9 * ceiling, spmv, times.setup, times.update,
        1e6 * times.apply);
    for (int i = single ? 5 : 4; i < argc; i++)
        run(plan, &pc, argv[i], &v, spmv, ceiling);
    if (argc == (single ? 5 : 4))
        run(plan, &pc, "", &v, spmv, ceiling);
    close_vectors(&v);
    tess_pc_tear_down(&pc);
    close_system(&system);
    return 0;
}

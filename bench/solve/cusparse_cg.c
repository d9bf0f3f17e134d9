/* CG with a Jacobi preconditioner on a GPU: ours, and the one a user writes with cuSPARSE and
 * cuBLAS.
 *
 *     tessera_bench_cusparse_cg INPUT [INPUT ...]        one JSON object per line
 *
 * The peer (cusparse_peer.h) runs in two ways: `plain` reads r.z back in every iteration, `graph`
 * replays ten iterations that were captured once. It multiplies by legacy bsrmv on column-major
 * blocks, and also by cuSPARSE's fastest product with blocks where that is another.
 *
 * All solvers take turns in ROUNDS rounds. Ours first make some runs that are not timed, in which
 * their iterations are captured. Vectors are in device memory on both sides, because the time of
 * copies varies by more than an iteration. The time of an iteration is the difference of the
 * fastest long run and the fastest short one over their iterations, so that neither uploads nor
 * starts count.
 *
 * Results are verified with a random b. |b - A x| after a few iterations must be that of our solver
 * on the CPU, and the graph must compute what the single calls do.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cusparse_peer.h"

enum { ROUNDS = 4, VERIFIED = 10, SHORT_RUN = PEER_REPLAYED, WARM_RUNS = 3 };

/* The fastest runs so far, in seconds. */
typedef struct times {
    double shortest, longest;
} times;

static const times never = {HUGE_VAL, HUGE_VAL};

/* ---- Ours ---- */

enum { JACOBI, BJACOBI, PCS };
static const char *const pc_names[PCS] = {"jacobi", "bjacobi"};

typedef struct ours {
    tess_solver *solver[2]; /* the short run and the long one; NULL: the device has no solvers */
    times best;
} ours;

static tess_solver *open_ours(tess_plan *plan, const char *pc, int iterations)
{
    tess_solver *solver = NULL;
    char spec[80];
    snprintf(spec, sizeof spec, "cg:pc=%s,tol=0,max=%d", pc, iterations);
    tess_status status = tess_solver_create(plan, spec, &solver);
    if (status == TESS_ERR_UNSUPPORTED)
        fprintf(stderr, "%s: %s\n", spec, tess_ctx_error(plan->ctx));
    else
        peer_check(plan->ctx, status);
    return solver;
}

/* Seconds of a run from x = 0, with both vectors in device memory; |b - A x| goes to *residual. */
static double run_ours(tess_plan *plan, tess_solver *solver, const void *b, void *x,
                       double *residual)
{
    tess_result result;
    const size_t bytes = (size_t)plan->matrix->rows * sizeof(double);
    void *zeros = calloc(1, bytes);
    if (!zeros)
        peer_fail("ours", "out of memory");
    peer_check(plan->ctx, tess_device_copy_to(plan->device, x, zeros, bytes));
    free(zeros);
    peer_check(plan->ctx, tess_solver_solve(solver, b, x, &result));
    *residual = result.true_residual * result.rhs_norm;
    return result.seconds;
}

/* |b - A x| after VERIFIED iterations of our solver; 0 where the device has none. */
static double few_iterations(tess_plan *plan, const void *b, void *x)
{
    double residual = 0;
    tess_solver *solver = open_ours(plan, pc_names[JACOBI], VERIFIED);
    if (solver)
        run_ours(plan, solver, b, x, &residual);
    tess_solver_destroy(solver);
    return residual;
}

static double expected_residual(tess_ctx *ctx, const tess_matrix *A, const double *b, double *x)
{
    tess_device *device;
    tess_plan *plan;
    peer_check(ctx, tess_device_open(ctx, "cpu", &device));
    peer_check(ctx, tess_plan_create(ctx, A, device, NULL, &plan));
    const double residual = few_iterations(plan, b, x);
    tess_plan_destroy(plan);
    tess_device_close(device);
    return residual;
}

static void verify(const char *name, double residual, double expected)
{
    char text[96];
    snprintf(text, sizeof text, "|b - Ax| = %.6e after %d iterations instead of %.6e", residual,
             VERIFIED, expected);
    if (!(fabs(residual - expected) <= 1e-6 * expected))
        peer_fail(name, text);
}

/* ---- The peer's ways ---- */

typedef struct way {
    char name[32];
    cusparse_product *product;
    cu_graph_exec graph;
    double spmv;
    times plain, replayed;
} way;

static void open_way(tess_cuda *cuda, peer *p, const tess_matrix *A, const char *name, way *w)
{
    *w = (way){.plain = never, .replayed = never};
    snprintf(w->name, sizeof w->name, "%s", name);
    peer_check(cuda->ctx, cusparse_open(cuda, A, name, NULL, cuda->stream, &w->product));
    peer_use(p, w->product);
    w->spmv = peer_product_seconds(p);
}

/* Opens legacy bsrmv on column-major blocks, and the fastest other way where it is faster. */
static int open_ways(tess_cuda *cuda, peer *p, const tess_matrix *A, way *ways)
{
    static const char *const others[] = {"cusparse_bsrmv_row", "cusparse_bsr_col",
                                         "cusparse_bsr_row"};
    int count = 1;
    open_way(cuda, p, A, "cusparse_bsrmv_col", &ways[0]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        way other;
        open_way(cuda, p, A, others[i], &other);
        const bool faster = other.spmv < ways[count - 1].spmv;
        if (!faster || count == 2)
            cusparse_close(faster ? ways[1].product : other.product);
        if (faster) {
            ways[1] = other;
            count = 2;
        }
    }
    return count;
}

/* ---- One matrix ---- */

typedef struct bench {
    tess_plan *plan; /* on the GPU */
    tess_cuda *cuda;
    peer *peer;
    const double *b;
    double *x, expected;
    void *near_b, *near_x; /* on the GPU */
    int long_run, ways;
    way way[2];
    ours ours[PCS];
} bench;

/* Microseconds of an iteration. */
static double per_iteration(const bench *t, const times *best)
{
    return 1e6 * (best->longest - best->shortest) / (t->long_run - SHORT_RUN);
}

static void verify_all(bench *t)
{
    for (int i = 0; i < t->ways; i++) {
        way *w = &t->way[i];
        peer_use(t->peer, w->product);
        peer_run(t->peer, NULL, VERIFIED);
        verify(w->name, peer_true_residual(t->peer), t->expected);
        peer_run(t->peer, NULL, SHORT_RUN);
        const double rz = peer_rz(t->peer);
        peer_run(t->peer, w->graph, SHORT_RUN);
        if (!(fabs(peer_rz(t->peer) - rz) <= 1e-6 * rz))
            peer_fail(w->name, "the graph computes another r.z");
    }
    const double residual = few_iterations(t->plan, t->near_b, t->near_x);
    if (residual > 0)
        verify("ours", residual, t->expected);
}

static void time_peer(bench *t, cu_graph_exec graph, times *best)
{
    best->shortest = fmin(best->shortest, peer_run(t->peer, graph, SHORT_RUN));
    best->longest = fmin(best->longest, peer_run(t->peer, graph, t->long_run));
}

static void run_round(bench *t)
{
    for (int i = 0; i < t->ways; i++) {
        way *w = &t->way[i];
        peer_use(t->peer, w->product);
        time_peer(t, NULL, &w->plain);
        time_peer(t, w->graph, &w->replayed);
    }
    for (int i = 0; i < PCS; i++) {
        ours *o = &t->ours[i];
        double ignored;
        if (!o->solver[0] || !o->solver[1])
            continue;
        for (int run = 0; run < 2; run++) {
            double *best = run == 0 ? &o->best.shortest : &o->best.longest;
            *best = fmin(*best, run_ours(t->plan, o->solver[run], t->near_b, t->near_x, &ignored));
        }
    }
}

/* Runs until iterations are captured and all code is on the device. */
static void warm_up(bench *t)
{
    double ignored;
    for (int i = 0; i < PCS * 2 * WARM_RUNS; i++) {
        ours *o = &t->ours[i % PCS];
        if (o->solver[0] && o->solver[1])
            run_ours(t->plan, o->solver[i / PCS % 2], t->near_b, t->near_x, &ignored);
    }
}

static void print(bench *t, const char *input)
{
    const tess_matrix *A = t->plan->matrix;
    const tess_device *device = t->plan->device;
    double ceiling, seconds[20];
    static const tess_product spmv = {.kind = TESS_PRODUCT_SPMV};
    const double bytes = tess_matrix_spmv_bytes(A);
    peer_check(t->plan->ctx, device->backend->read_ceiling(t->plan->device, 4e9, &ceiling));
    peer_check(t->plan->ctx, tess_product_time(t->plan, &spmv, 1, t->b, 0, t->x, 20, seconds));
    printf("{\"input\": \"%s\", \"device\": \"%s\", \"block\": %d, \"unknowns\": %lld, "
           "\"matrix_bytes\": %.0f, \"read_GBps\": %.1f, \"ideal_us\": %.3f, "
           "\"ours_spmv_us\": %.3f",
           input, device->description, (int)A->block_height, (long long)A->rows, bytes,
           1e-9 * ceiling, 1e6 * (bytes + 11 * 8 * (double)A->rows) / ceiling,
           1e6 * tess_median(seconds, 20));
    for (int i = 0; i < PCS; i++)
        if (t->ours[i].solver[0] && t->ours[i].solver[1])
            printf(", \"ours_%s_us\": %.3f", pc_names[i], per_iteration(t, &t->ours[i].best));
    printf(", \"peers\": [");
    for (int i = 0; i < t->ways; i++)
        printf("%s{\"name\": \"%s\", \"spmv_us\": %.3f, \"plain_us\": %.3f, \"graph_us\": %.3f}",
               i ? ", " : "", t->way[i].name, 1e6 * t->way[i].spmv,
               per_iteration(t, &t->way[i].plain), per_iteration(t, &t->way[i].replayed));
    printf("]}\n");
    fflush(stdout);
}

/* Solvers on both sides, with vectors in device memory; b and A are the caller's. */
static void open_bench(tess_device *device, const tess_matrix *A, double *b, const char *input,
                       bench *t)
{
    tess_ctx *ctx = device->ctx;
    const size_t bytes = (size_t)A->rows * sizeof *b;
    /* CG solves the stencils' own right-hand side in three iterations, too few to be timed. */
    for (int64_t i = 0; i < A->rows; i++)
        b[i] = tess_random_unit(1, (uint64_t)i);
    t->b = b;
    t->x = malloc(bytes);
    if (!t->x)
        peer_fail(input, "out of memory");
    t->long_run = A->rows < 500000 ? 510 : 210;
    t->expected = expected_residual(ctx, A, b, t->x);
    peer_check(ctx, tess_plan_create(ctx, A, device, NULL, &t->plan));
    peer_check(ctx, tess_device_alloc(device, bytes, &t->near_b));
    peer_check(ctx, tess_device_alloc(device, bytes, &t->near_x));
    peer_check(ctx, tess_device_copy_to(device, t->near_b, b, bytes));
    for (int i = 0; i < PCS; i++) {
        t->ours[i].best = never;
        t->ours[i].solver[0] = open_ours(t->plan, pc_names[i], SHORT_RUN);
        t->ours[i].solver[1] = open_ours(t->plan, pc_names[i], t->long_run);
    }
    peer_check(ctx, tess_cuda_enter(t->cuda));
    t->peer = peer_open(t->cuda, A, b);
    t->ways = open_ways(t->cuda, t->peer, A, t->way);
    for (int i = 0; i < t->ways; i++) {
        peer_use(t->peer, t->way[i].product);
        t->way[i].graph = peer_capture(t->peer);
    }
}

static void close_bench(tess_device *device, bench *t)
{
    for (int i = 0; i < t->ways; i++) {
        peer_check(device->ctx, TESS_CU(t->cuda, cuGraphExecDestroy(t->way[i].graph)));
        cusparse_close(t->way[i].product);
    }
    peer_close(t->peer);
    tess_cuda_leave(t->cuda);
    for (int i = 0; i < PCS; i++) {
        tess_solver_destroy(t->ours[i].solver[0]);
        tess_solver_destroy(t->ours[i].solver[1]);
    }
    tess_plan_destroy(t->plan);
    tess_device_free(device, t->near_b);
    tess_device_free(device, t->near_x);
    free(t->x);
}

static void run(tess_ctx *ctx, tess_device *device, const char *input)
{
    tess_matrix *A;
    double *b;
    bench t = {.cuda = tess_cuda_of(device)};
    peer_check(ctx, tess_matrix_generate(ctx, input, &A, (void **)&b));
    if (A->type != TESS_F64 || A->block_height != A->block_width || A->rows > INT32_MAX)
        peer_fail(input, "the peer takes f64 and square blocks");
    open_bench(device, A, b, input, &t);
    verify_all(&t);
    warm_up(&t);
    for (int round = 0; round < ROUNDS; round++)
        run_round(&t);
    print(&t, input);
    close_bench(device, &t);
    tess_release(ctx, b);
    tess_matrix_destroy(A);
}

int main(int argc, char **argv)
{
    tess_ctx *ctx;
    tess_device *device;
    if (argc < 2) {
        fprintf(stderr, "usage: tessera_bench_cusparse_cg INPUT [INPUT ...]\n");
        return 2;
    }
    if (tess_ctx_create(NULL, &ctx) != TESS_OK)
        return 1;
    peer_check(ctx, tess_device_open(ctx, "cuda", &device));
    for (int i = 1; i < argc; i++)
        run(ctx, device, argv[i]);
    tess_device_close(device);
    tess_ctx_destroy(ctx);
    return 0;
}

/* Paper 004's Figure 5: what loading 1, 2, 4 or 8 vectors of single precision reaches, with a fixed
 * grid and with one thread per element. One line of JSON a size and number of vectors:
 *
 *     tessera_bench_papers_load DEVICE ELEMENTS...       elements loaded in all
 *
 * Vector v is filled with 2^v, so that every sum is 2^vectors - 1. The kernel writes a sum where it
 * is the number that it is given: with this one everywhere, which is compared, and with a NaN
 * nowhere, which is timed. The two grids take turns; medians.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cg.h"

enum { ROUNDS = 5, REPS = 8, MOST = 8 };

typedef struct load_run {
    tess_cuda *cuda;
    cu_function function;
    tess_cuda_launch launch;
} load_run;

static tess_status launch_once(void *user)
{
    load_run *run = user;
    return tess_cuda_launch_one(run->cuda, run->function, &run->launch, run->cuda->stream);
}

/* What a case loads. */
typedef struct load_case {
    cg_machine machine;
    int vectors;
    cu_pointer sums; /* where the kernel may write: machine.n elements */
    float *host;     /* as many as the vectors hold, padding included */
} load_case;

static tess_status make_run(tess_cuda *cuda, const load_case *c, bool fixed, double factor,
                            load_run *run)
{
    char defines[64];
    *run = (load_run){.cuda = cuda};
    snprintf(defines, sizeof defines, "-DREAL=4 -DTHREADS=%d -DVECTORS=%d", CG_THREADS, c->vectors);
    TESS_TRY(tess_cuda_helper(cuda, "cg.cu", defines, "load", &run->function));
    cg_launch(&c->machine, "load", factor, &run->launch);
    if (!fixed)
        run->launch.grid[0] = (unsigned)tess_ceil_div(c->machine.n, CG_THREADS);
    return TESS_OK;
}

/* Whether the kernel saw all elements of all vectors and wrote nothing behind the last sum. */
static tess_status check(tess_cuda *cuda, const load_case *c, bool fixed, bool *right)
{
    load_run run;
    const double sum = (double)((1 << c->vectors) - 1);
    const int64_t n = c->machine.n, behind = 64;
    const size_t bytes = (size_t)(n + behind) * sizeof(float);
    TESS_TRY(make_run(cuda, c, fixed, sum, &run));
    TESS_TRY(TESS_CU(cuda, cuMemsetD8Async(c->sums, 0, bytes, cuda->stream)));
    TESS_TRY(launch_once(&run));
    TESS_TRY(tess_cuda_download(cuda, c->host, c->sums, bytes, cuda->stream));
    *right = true;
    for (int64_t i = 0; i < n + behind; i++)
        *right = *right && (double)c->host[i] == (i < n ? sum : 0);
    return TESS_OK;
}

static tess_status time_case(tess_cuda *cuda, const load_case *c, double seconds[2])
{
    double rounds[2][ROUNDS], times[REPS];
    for (int round = 0; round < ROUNDS; round++)
        for (int fixed = 0; fixed < 2; fixed++) {
            load_run run;
            TESS_TRY(make_run(cuda, c, fixed, NAN, &run));
            TESS_TRY(
                tess_cuda_time_launches(cuda, cuda->stream, launch_once, &run, true, REPS, times));
            rounds[fixed][round] = tess_median(times, REPS);
        }
    for (int fixed = 0; fixed < 2; fixed++)
        seconds[fixed] = tess_median(rounds[fixed], ROUNDS);
    return TESS_OK;
}

/* The vectors lie one after the other, at multiples of 256 bytes. */
static tess_status place(tess_cuda *cuda, cu_pointer memory, load_case *c)
{
    cg_machine *m = &c->machine;
    const int64_t stride = (m->n * (int64_t)sizeof(float) + 255) / 256 * 256;
    for (int v = 0; v < CG_VECTORS; v++)
        m->vector[v] = memory + (uint64_t)(v % c->vectors * stride);
    m->vector[CG_T] = m->sums = c->sums;
    const int64_t each = stride / (int64_t)sizeof(float);
    for (int64_t i = 0; i < c->vectors * each; i++)
        c->host[i] = (float)(1 << (i / each));
    TESS_TRY(tess_cuda_upload(cuda, memory, c->host, (size_t)(c->vectors * stride), cuda->stream));
    return TESS_CU(cuda, cuStreamSynchronize(cuda->stream));
}

/* Inside tess_cuda_enter. */
static tess_status run_size(tess_cuda *cuda, int64_t elements, cu_pointer memory, cu_pointer sums,
                            float *host)
{
    for (int vectors = 1; vectors <= MOST; vectors *= 2) {
        load_case c = {.machine = {.n = elements / vectors,
                                   .blocks = CG_A_MULTIPROCESSOR * cuda->multiprocessors},
                       .vectors = vectors,
                       .sums = sums,
                       .host = host};
        double seconds[2];
        bool right[2];
        TESS_TRY(place(cuda, memory, &c));
        for (int fixed = 0; fixed < 2; fixed++)
            TESS_TRY(check(cuda, &c, fixed, &right[fixed]));
        TESS_TRY(time_case(cuda, &c, seconds));
        for (int fixed = 0; fixed < 2; fixed++)
            printf("{\"elements\":%lld,\"vectors\":%d,\"fixed\":%d,\"seconds\":%.9g,"
                   "\"right\":%s}\n",
                   (long long)(c.machine.n * vectors), vectors, fixed, seconds[fixed],
                   right[fixed] ? "true" : "false");
    }
    fflush(stdout);
    return TESS_OK;
}

static tess_status run_all(tess_cuda *cuda, int count, char **sizes)
{
    enum { SPARE = 4096 };
    cu_pointer memory = 0, sums = 0;
    float *host = NULL;
    int64_t most = 0;
    tess_status status;
    for (int i = 0; i < count; i++)
        most = tess_max((int64_t)atoll(sizes[i]), most);
    const size_t bytes = (size_t)most * sizeof(float) + SPARE;
    TESS_TRY(tess_cuda_enter(cuda));
    TESS_TRY_CLEAN(TESS_ALLOC(cuda->ctx, most + SPARE, &host));
    TESS_TRY_CLEAN(tess_cuda_alloc(cuda, bytes, "vectors", &memory));
    TESS_TRY_CLEAN(tess_cuda_alloc(cuda, bytes, "sums", &sums));
    for (int i = 0; i < count; i++)
        TESS_TRY_CLEAN(run_size(cuda, atoll(sizes[i]), memory, sums, host));
cleanup:
    tess_cuda_free(cuda, memory);
    tess_cuda_free(cuda, sums);
    tess_free(cuda->ctx, host);
    return tess_cuda_leave_with(cuda, status);
}

int main(int argc, char **argv)
{
    tess_ctx *ctx;
    tess_device *device;
    if (argc < 3 || tess_ctx_create(NULL, &ctx) != TESS_OK) {
        fprintf(stderr, "usage: tessera_bench_papers_load DEVICE ELEMENTS...\n");
        return 2;
    }
    if (tess_device_open(ctx, argv[1], &device) != TESS_OK ||
        device->backend != &tess_cuda_backend ||
        run_all(tess_cuda_of(device), argc - 2, argv + 2) != TESS_OK) {
        fprintf(stderr, "tessera_bench_papers_load: %s: %s\n", argv[1], tess_ctx_error(ctx));
        return 1;
    }
    tess_device_close(device);
    tess_ctx_destroy(ctx);
    return 0;
}

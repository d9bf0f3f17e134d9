/* Paper 004's Figure 5: what loading 1, 2, 4 or 8 vectors of single precision reaches, with a fixed
 * grid and with one thread an element. One line of JSON a size and number of vectors:
 *
 *     tessera_bench_papers_load DEVICE ELEMENTS...       elements loaded in all
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cg.h"

enum { REPS = 20, MOST = 8 };

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

/* Inside tess_cuda_enter. */
static tess_status time_load(tess_cuda *cuda, const cg_machine *m, int vectors, bool fixed,
                             double *seconds)
{
    load_run run = {.cuda = cuda};
    char defines[64];
    double times[REPS];
    snprintf(defines, sizeof defines, "-DREAL=4 -DTHREADS=%d -DVECTORS=%d", CG_THREADS, vectors);
    TESS_TRY(tess_cuda_helper(cuda, "cg.cu", defines, "load", &run.function));
    cg_launch(m, "load", NAN, &run.launch);
    if (!fixed)
        run.launch.grid[0] = (unsigned)tess_ceil_div(m->n, CG_THREADS);
    TESS_TRY(tess_cuda_time_launches(cuda, cuda->stream, launch_once, &run, true, REPS, times));
    *seconds = tess_median(times, REPS);
    return TESS_OK;
}

static tess_status run_size(tess_cuda *cuda, int64_t elements, cu_pointer memory)
{
    for (int vectors = 1; vectors <= MOST; vectors *= 2) {
        cg_machine m = {.n = elements / vectors,
                        .blocks = CG_A_MULTIPROCESSOR * cuda->multiprocessors,
                        .sums = memory};
        for (int v = 0; v < CG_VECTORS; v++) /* one after the other, at multiples of 256 bytes */
            m.vector[v] = memory + (uint64_t)(v % vectors) *
                                       (((uint64_t)m.n * sizeof(float) + 255) / 256 * 256);
        for (int fixed = 0; fixed < 2; fixed++) {
            double seconds;
            TESS_TRY(time_load(cuda, &m, vectors, fixed, &seconds));
            printf("{\"elements\":%lld,\"vectors\":%d,\"fixed\":%d,\"seconds\":%.9g}\n",
                   (long long)(m.n * vectors), vectors, fixed, seconds);
        }
    }
    fflush(stdout);
    return TESS_OK;
}

static tess_status run_all(tess_cuda *cuda, int count, char **sizes)
{
    cu_pointer memory = 0;
    int64_t most = 0;
    tess_status status;
    for (int i = 0; i < count; i++)
        most = tess_max(atoll(sizes[i]), most);
    const size_t bytes = (size_t)most * sizeof(float) + 4096;
    TESS_TRY(tess_cuda_enter(cuda));
    TESS_TRY_CLEAN(tess_cuda_alloc(cuda, bytes, "vectors", &memory));
    TESS_TRY_CLEAN(TESS_CU(cuda, cuMemsetD8Async(memory, 0, bytes, cuda->stream)));
    for (int i = 0; i < count; i++)
        TESS_TRY_CLEAN(run_size(cuda, atoll(sizes[i]), memory));
cleanup:
    tess_cuda_free(cuda, memory);
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

/* Timing on the device with its own clock: the read ceiling and the products of a plan. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/solve/space.h"

enum { ROUNDS = 12, CEILING_THREADS = 256, SEED_BYTES = 1 << 20 };

/* 2*count events, start and end of every repetition. */
static void destroy_events(tess_cuda *cuda, cu_event *events, int count)
{
    for (int i = 0; events && i < 2 * count; i++)
        if (events[i])
            (void)cuda->driver.cuEventDestroy(events[i]);
    tess_free(cuda->ctx, events);
}

static tess_status create_events(tess_cuda *cuda, int count, cu_event **out)
{
    cu_event *events;
    TESS_TRY(TESS_CALLOC(cuda->ctx, 2 * (int64_t)count, &events));
    for (int i = 0; i < 2 * count; i++) {
        tess_status status = TESS_CU(cuda, cuEventCreate(&events[i], CU_EVENT_DEFAULT_FLAGS));
        if (status != TESS_OK) {
            destroy_events(cuda, events, count);
            return status;
        }
    }
    *out = events;
    return TESS_OK;
}

static tess_status read_events(tess_cuda *cuda, const cu_event *events, int count, double *seconds)
{
    for (int i = 0; i < count; i++) {
        float milliseconds = 0;
        TESS_TRY(TESS_CU(cuda, cuEventSynchronize(events[2 * i + 1])));
        TESS_TRY(
            TESS_CU(cuda, cuEventElapsedTime(&milliseconds, events[2 * i], events[2 * i + 1])));
        seconds[i] = 1e-3 * (double)milliseconds;
    }
    return TESS_OK;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *seconds, int count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, by_value);
    return seconds[count / 2];
}

/* ---- The read ceiling ---- */

/* Random bytes: a constant pattern can be faster to move than real data. */
static tess_status fill_random(tess_cuda *cuda, cu_pointer data, size_t bytes)
{
    uint64_t *seed;
    size_t first = bytes < SEED_BYTES ? bytes : SEED_BYTES;
    TESS_TRY(TESS_ALLOC(cuda->ctx, SEED_BYTES / 8, &seed));
    for (size_t i = 0; i < SEED_BYTES / 8; i++)
        seed[i] = tess_random_u64(1, i);
    tess_status status = tess_cuda_upload(cuda, data, seed, first, cuda->stream);
    for (size_t done = first; status == TESS_OK && done < bytes;) {
        size_t part = bytes - done < done ? bytes - done : done;
        status = TESS_CU(cuda, cuMemcpyDtoDAsync(data + done, data, part, cuda->stream));
        done += part;
    }
    if (status == TESS_OK)
        status = TESS_CU(cuda, cuStreamSynchronize(cuda->stream));
    tess_free(cuda->ctx, seed);
    return status;
}

/* The median time of reading the array with one pattern: `unroll` loads in flight a thread, and
 * thread blocks either as many as fit at once or one for every piece. */
static tess_status time_pattern(tess_cuda *cuda, cu_pointer data, size_t bytes, cu_pointer sums,
                                const cu_event *events, int unroll, bool persistent, bool streaming,
                                double *seconds)
{
    char defines[96];
    snprintf(defines, sizeof defines, "-DTHREADS=%d -DEACH=%d -DSTREAMING=%d", CEILING_THREADS,
             unroll, streaming);
    tess_jit_image image;
    cu_module module;
    cu_function function;
    tess_jit_request request = {"read_ceiling.cu", defines, cuda->sm};
    TESS_TRY(tess_cuda_load_module(cuda, &request, &image, &module));
    if (image.fresh)
        (void)tess_cache_store(cuda->ctx, &image.key, &image.entry);
    tess_free(cuda->ctx, image.entry.image);

    long long count = (long long)(bytes / 16);
    long long blocks = tess_ceil_div(count, (int64_t)CEILING_THREADS * unroll);
    long long resident =
        (long long)cuda->multiprocessors * (cuda->threads_per_multiprocessor / CEILING_THREADS);
    if (persistent && blocks > resident)
        blocks = resident;
    double times[ROUNDS];
    struct {
        cu_pointer data;
        long long count;
        cu_pointer sums;
    } args = {data, count, sums};
    void *arguments[] = {&args};
    tess_status status;
    TESS_TRY_CLEAN(TESS_CU(cuda, cuModuleGetFunction(&function, module, "read_ceiling")));
    for (int i = -2; i < ROUNDS; i++) { /* two to warm up */
        if (i >= 0)
            TESS_TRY_CLEAN(TESS_CU(cuda, cuEventRecord(events[2 * i], cuda->stream)));
        TESS_TRY_CLEAN(
            TESS_CU(cuda, cuLaunchKernel(function, (unsigned)blocks, 1, 1, CEILING_THREADS, 1, 1, 0,
                                         cuda->stream, arguments, NULL)));
        if (i >= 0)
            TESS_TRY_CLEAN(TESS_CU(cuda, cuEventRecord(events[2 * i + 1], cuda->stream)));
    }
    TESS_TRY_CLEAN(read_events(cuda, events, ROUNDS, times));
    *seconds = median(times, ROUNDS);

cleanup:
    (void)cuda->driver.cuModuleUnload(module);
    return status;
}

static tess_status read_ceiling(tess_cuda *cuda, size_t bytes, double *bytes_per_second)
{
    static const int unrolls[] = {2, 4, 8};
    cu_pointer data = 0, sums = 0;
    cu_event *events = NULL;
    bool streaming = bytes > cuda->l2_bytes;
    double best = 0;
    /* One sum a thread block of the finest pattern. */
    size_t sums_bytes = 4 * (bytes / 16 / (CEILING_THREADS * 2) + 4096);
    tess_status status;
    TESS_TRY_CLEAN(tess_cuda_alloc(cuda, bytes, "the read ceiling's array", &data));
    TESS_TRY_CLEAN(tess_cuda_alloc(cuda, sums_bytes, "the read ceiling's sums", &sums));
    TESS_TRY_CLEAN(create_events(cuda, ROUNDS, &events));
    TESS_TRY_CLEAN(fill_random(cuda, data, bytes));
    for (size_t u = 0; u < sizeof unrolls / sizeof unrolls[0]; u++) {
        for (int persistent = 0; persistent < 2; persistent++) {
            double seconds = 0;
            TESS_TRY_CLEAN(time_pattern(cuda, data, bytes, sums, events, unrolls[u],
                                        persistent != 0, streaming, &seconds));
            if (seconds > 0 && (double)bytes / seconds > best)
                best = (double)bytes / seconds;
        }
    }
    *bytes_per_second = best;

cleanup:
    destroy_events(cuda, events, ROUNDS);
    tess_cuda_free(cuda, data);
    tess_cuda_free(cuda, sums);
    return status;
}

tess_status tess_cuda_read_ceiling(tess_device *device, double bytes, double *bytes_per_second)
{
    tess_cuda *cuda = tess_cuda_of(device);
    /* Beyond 4 GB nothing changes; below 1 MB only the launch is measured. */
    double asked = bytes < 1e6 ? 1e6 : bytes > 4e9 ? 4e9 : bytes;
    size_t available = 0, total = 0;
    TESS_TRY(tess_cuda_enter(cuda));
    tess_status status = TESS_CU(cuda, cuMemGetInfo(&available, &total));
    if (asked > 0.5 * (double)available)
        asked = 0.5 * (double)available;
    if (status == TESS_OK)
        status = read_ceiling(cuda, (size_t)asked / 16 * 16, bytes_per_second);
    tess_cuda_leave(cuda);
    return status;
}

/* ---- The gate ---- */

static tess_status need_gate(tess_cuda *cuda)
{
    if (!cuda->gate_flag) {
        TESS_TRY(TESS_CU(cuda, cuMemAllocHost((void **)&cuda->gate_flag, sizeof(unsigned))));
        *cuda->gate_flag = cuda->gates;
    }
    return cuda->gate.module ? TESS_OK
                             : tess_cuda_load_function(cuda, "gate.cu", "", "gate",
                                                       &cuda->gate.module, &cuda->gate.function);
}

static tess_status shut_gate(tess_cuda *cuda, cu_stream stream)
{
    enum { MOST = 20000000 }; /* 20 ms: nothing hangs, whatever waits for the stream */
    unsigned wanted = cuda->gates + 1;
    struct {
        cu_pointer flag;
        long long wanted;
        unsigned long long most;
    } args = {tess_cuda_address((const void *)cuda->gate_flag), wanted, MOST};
    void *arguments[] = {&args};
    TESS_TRY(TESS_CU(
        cuda, cuLaunchKernel(cuda->gate.function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL)));
    cuda->gates = wanted;
    return TESS_OK;
}

static void open_gate(tess_cuda *cuda)
{
    if (cuda->gate_flag)
        *cuda->gate_flag = cuda->gates;
}

void tess_cuda_gate_free(tess_cuda *cuda)
{
    if (cuda->gate.module)
        (void)cuda->driver.cuModuleUnload(cuda->gate.module);
    if (cuda->gate_flag)
        (void)cuda->driver.cuMemFreeHost((void *)cuda->gate_flag);
}

/* ---- Products ---- */

/* Repetitions wait behind a gate, so many at a time that the stream takes all: the host would put
 * them while the device has nothing to do, and each of a few microseconds would be as long as its
 * launch. Iterations of a solver, which the device launches itself, have no such gaps. */
enum { GATED = 128 };

static tess_status next_gate(tess_cuda *cuda, cu_stream stream)
{
    open_gate(cuda);
    TESS_TRY(TESS_CU(cuda, cuStreamSynchronize(stream)));
    return shut_gate(cuda, stream);
}

static tess_status time_product(tess_plan *plan, const tess_product *product, double alpha,
                                const void *x, double beta, void *y, int reps, double *seconds)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    tess_cuda *cuda = p->cuda;
    size_t size = tess_type_size(p->matrix.type);
    size_t x_bytes = size * (size_t)tess_product_x_size(&p->matrix, product);
    size_t y_bytes = size * (size_t)tess_product_y_size(&p->matrix, product);
    cu_pointer device_x = 0, device_y = 0;
    cu_event *events = NULL;
    tess_status status;
    TESS_TRY_CLEAN(tess_cuda_alloc(cuda, x_bytes, "x", &device_x));
    TESS_TRY_CLEAN(tess_cuda_alloc(cuda, y_bytes, "y", &device_y));
    TESS_TRY_CLEAN(create_events(cuda, reps, &events));
    TESS_TRY_CLEAN(tess_cuda_upload(cuda, device_x, x, x_bytes, p->stream));
    if (beta != 0)
        TESS_TRY_CLEAN(tess_cuda_upload(cuda, device_y, y, y_bytes, p->stream));
    else if (y_bytes > 0) /* NaNs: a row nobody writes is seen */
        TESS_TRY_CLEAN(TESS_CU(cuda, cuMemsetD8Async(device_y, 0xff, y_bytes, p->stream)));
    TESS_TRY_CLEAN(need_gate(cuda));
    for (int i = beta == 0 ? -1 : 0; i < reps; i++) { /* the first makes what is made lazily */
        if (i >= 0 && i % GATED == 0 && beta == 0)
            TESS_TRY_CLEAN(next_gate(cuda, p->stream));
        if (i >= 0)
            TESS_TRY_CLEAN(TESS_CU(cuda, cuEventRecord(events[2 * i], p->stream)));
        TESS_TRY_CLEAN(tess_product_run(plan, product, alpha, (void *)(uintptr_t)device_x, beta,
                                        (void *)(uintptr_t)device_y));
        if (i >= 0)
            TESS_TRY_CLEAN(TESS_CU(cuda, cuEventRecord(events[2 * i + 1], p->stream)));
    }
    open_gate(cuda);
    TESS_TRY_CLEAN(read_events(cuda, events, reps, seconds));
    TESS_TRY_CLEAN(tess_cuda_download(cuda, y, device_y, y_bytes, p->stream));

cleanup:
    open_gate(cuda);
    destroy_events(cuda, events, reps);
    tess_cuda_free(cuda, device_x);
    tess_cuda_free(cuda, device_y);
    return status;
}

tess_status tess_cuda_time_product(tess_plan *plan, const tess_product *product, double alpha,
                                   const void *x, double beta, void *y, int reps, double *seconds)
{
    tess_cuda *cuda = tess_cuda_of(plan->device);
    TESS_TRY(tess_cuda_enter(cuda));
    tess_status status = time_product(plan, product, alpha, x, beta, y, reps, seconds);
    tess_cuda_leave(cuda);
    return status;
}

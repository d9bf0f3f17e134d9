/* The read ceiling: how fast the device reads an array again and again, by its own clock. */
#include "cuda/kernels/support.h"
#include "cuda/plan/plan.h"

enum { ROUNDS = 12, CEILING_THREADS = 256, SEED_BYTES = 1 << 20 };

/* Random bytes: a constant pattern can be faster to move than real data. */
static tess_status fill_random(tess_cuda *cuda, cu_pointer data, size_t bytes)
{
    uint64_t *seed;
    size_t first = tess_min(bytes, SEED_BYTES);
    TESS_TRY(TESS_ALLOC(cuda->ctx, SEED_BYTES / 8, &seed));
    for (size_t i = 0; i < SEED_BYTES / 8; i++)
        seed[i] = tess_random_u64(1, i);
    tess_status status = tess_cuda_upload(cuda, data, seed, first, cuda->stream);
    for (size_t done = first; status == TESS_OK && done < bytes;) {
        size_t part = tess_min(bytes - done, done);
        status = TESS_CU(cuda, cuMemcpyDtoDAsync(data + done, data, part, cuda->stream));
        done += part;
    }
    if (status == TESS_OK)
        status = TESS_CU(cuda, cuStreamSynchronize(cuda->stream));
    tess_free(cuda->ctx, seed);
    return status;
}

/* The median time of reading the array with one pattern: `unroll` loads in flight per thread, and
 * either as many thread blocks as run at once (`persistent`), or one for every piece of the
 * array. */
static tess_status time_pattern(tess_cuda *cuda, cu_pointer data, size_t bytes, cu_pointer sums,
                                const cu_event *events, int unroll, bool persistent, bool streaming,
                                double *seconds)
{
    char defines[96];
    snprintf(defines, sizeof defines, "-DTHREADS=%d -DEACH=%d -DSTREAMING=%d", CEILING_THREADS,
             unroll, streaming);
    cu_module module;
    cu_function function;
    TESS_TRY(tess_cuda_load_function(cuda, "read_ceiling.cu", defines, "read_ceiling", &module,
                                     &function));

    int64_t count = (int64_t)(bytes / 16);
    int64_t blocks = tess_ceil_div(count, (int64_t)CEILING_THREADS * unroll);
    if (persistent)
        blocks = tess_min(blocks, (int64_t)cuda->multiprocessors *
                                      (cuda->threads_per_multiprocessor / CEILING_THREADS));
    double times[ROUNDS];
    tess_cuda_launch run;
    tess_cuda_launch_start(&run, "read_ceiling", blocks, CEILING_THREADS);
    TESS_CUDA_POINTERS(&run, data);
    TESS_CUDA_INTEGERS(&run, count);
    TESS_CUDA_POINTERS(&run, sums);
    tess_status status;
    for (int i = -2; i < ROUNDS; i++) { /* two to warm up */
        if (i >= 0)
            TESS_TRY_CLEAN(TESS_CU(cuda, cuEventRecord(events[2 * i], cuda->stream)));
        TESS_TRY_CLEAN(tess_cuda_launch_one(cuda, function, &run, cuda->stream));
        if (i >= 0)
            TESS_TRY_CLEAN(TESS_CU(cuda, cuEventRecord(events[2 * i + 1], cuda->stream)));
    }
    TESS_TRY_CLEAN(tess_cuda_events_read(cuda, events, ROUNDS, times));
    tess_sort_doubles(times, ROUNDS);
    *seconds = times[ROUNDS / 2];

cleanup:
    tess_cuda_unload(cuda, module);
    return status;
}

static tess_status read_ceiling(tess_cuda *cuda, size_t bytes, double *bytes_per_second)
{
    static const int unrolls[] = {2, 4, 8};
    cu_pointer data = 0, sums = 0;
    cu_event *events = NULL;
    bool streaming = bytes > cuda->l2_bytes;
    double best = 0;
    /* One sum per thread block of the pattern with the most thread blocks. */
    size_t sums_bytes = 4 * (bytes / 16 / (CEILING_THREADS * 2) + 4096);
    tess_status status;
    TESS_TRY_CLEAN(tess_cuda_alloc(cuda, bytes, "the read ceiling's array", &data));
    TESS_TRY_CLEAN(tess_cuda_alloc(cuda, sums_bytes, "the read ceiling's sums", &sums));
    TESS_TRY_CLEAN(tess_cuda_events_create(cuda, 2 * ROUNDS, &events));
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
    tess_cuda_events_destroy(cuda, events, 2 * ROUNDS);
    tess_cuda_free(cuda, data);
    tess_cuda_free(cuda, sums);
    return status;
}

tess_status tess_cuda_read_ceiling(tess_device *device, double bytes, double *bytes_per_second)
{
    tess_cuda *cuda = tess_cuda_of(device);
    /* Beyond 4 GB nothing changes; below 1 MB only the launch is measured. */
    double asked = tess_clamp(bytes, 1e6, 4e9);
    size_t available = 0, total = 0;
    TESS_TRY(tess_cuda_enter(cuda));
    tess_status status = TESS_CU(cuda, cuMemGetInfo(&available, &total));
    asked = tess_min(0.5 * (double)available, asked);
    if (status == TESS_OK)
        status = read_ceiling(cuda, (size_t)asked / 16 * 16, bytes_per_second);
    tess_cuda_leave(cuda);
    return status;
}

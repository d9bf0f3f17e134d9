/* From a kernel's launch records to the driver. Nothing here allocates or waits, so a product on
 * device pointers can be captured in a CUDA graph. */
#include "cuda/plan/variants/launch.h"

static cu_function find_function(const tess_cuda_variant *variant, const char *entry)
{
    for (int i = 0; i < variant->functions; i++)
        if (variant->entries[i] == entry || strcmp(variant->entries[i], entry) == 0)
            return variant->function[i];
    return NULL;
}

static cu_launch_config config_of(const tess_cuda_launch *l, cu_launch_attribute *attributes,
                                  unsigned count, cu_stream stream)
{
    return (cu_launch_config){
        .grid = {l->grid[0], l->grid[1], l->grid[2]},
        .block = {l->block[0], l->block[1], l->block[2]},
        .shared = l->shared,
        .stream = stream,
        .attributes = attributes,
        .attribute_count = count,
    };
}

static cu_launch_attribute cluster_of(const tess_cuda_launch *l)
{
    return (cu_launch_attribute){
        .id = CU_LAUNCH_CLUSTER,
        .value = {.size = {l->grid[0], l->grid[1], l->grid[2]}},
    };
}

/* Threads and thread blocks have the same limits on all GPUs. The limit of shared memory is a
 * property of the device. */
tess_status tess_cuda_launch_check(const tess_cuda *cuda, const tess_cuda_launch *l)
{
    static const unsigned most_blocks[3] = {INT32_MAX, 65535, 65535};
    enum { MOST_THREADS = 1024 };
    const int64_t threads = (int64_t)l->block[0] * l->block[1] * l->block[2];
    if (threads > MOST_THREADS)
        return tess_fail(cuda->ctx, TESS_ERR_DEVICE,
                         "device '%s': '%s' would be launched with %lld threads per thread block; "
                         "at most %d are possible",
                         cuda->name, l->entry, (long long)threads, MOST_THREADS);
    for (int i = 0; i < 3; i++)
        if (l->grid[i] > most_blocks[i])
            return tess_fail(cuda->ctx, TESS_ERR_DEVICE,
                             "device '%s': '%s' would be launched with %u thread blocks along %c; "
                             "at most %u are possible",
                             cuda->name, l->entry, l->grid[i], "xyz"[i], most_blocks[i]);
    if (l->shared > cuda->shared_bytes)
        return tess_fail(cuda->ctx, TESS_ERR_DEVICE,
                         "device '%s': '%s' would be launched with %u bytes of shared memory a "
                         "thread block; at most %zu are possible",
                         cuda->name, l->entry, l->shared, cuda->shared_bytes);
    return TESS_OK;
}

bool tess_cuda_cluster_fits(tess_cuda *cuda, cu_function function, const tess_cuda_launch *l)
{
    int clusters = 0;
    cu_launch_attribute cluster = cluster_of(l);
    const cu_launch_config config = config_of(l, &cluster, 1, NULL);
    return cuda->driver.cuFuncSetAttribute(function, CU_FUNCTION_ANY_CLUSTER_SIZE, 1) ==
               CU_SUCCESS &&
           cuda->driver.cuOccupancyClusters(&clusters, function, &config) == CU_SUCCESS &&
           clusters > 0;
}

tess_status tess_cuda_launch_one(tess_cuda *cuda, cu_function function, tess_cuda_launch *l,
                                 cu_stream stream)
{
    void *arguments[] = {l->args};
    cu_launch_attribute attributes[3];
    TESS_TRY(tess_cuda_launch_check(cuda, l));
    unsigned count = 0;
    if (l->cluster)
        attributes[count++] = cluster_of(l);
    /* The launch may start while the one before it ends. Such launches can be captured since CUDA
     * 12.3. A launch that also waits for other streams starts when all of their work is done. */
    const bool waited = __atomic_exchange_n(&cuda->waited, false, __ATOMIC_RELAXED);
    const bool overlaps = l->overlaps && !waited;
    if (overlaps && cuda->sm >= 90 && cuda->version >= 12030)
        attributes[count++] = (cu_launch_attribute){.id = CU_LAUNCH_PROGRAMMATIC_SERIALIZATION,
                                                    .value = {.number = 1}};
    if (count > 0 && l->cooperative)
        attributes[count++] =
            (cu_launch_attribute){.id = CU_LAUNCH_COOPERATIVE, .value = {.number = 1}};
    if (count > 0) {
        const cu_launch_config config = config_of(l, attributes, count, stream);
        return TESS_CU(cuda, cuLaunchKernelEx(&config, function, arguments, NULL));
    }
    if (l->cooperative)
        return TESS_CU(cuda, cuLaunchCooperativeKernel(function, l->grid[0], l->grid[1], l->grid[2],
                                                       l->block[0], l->block[1], l->block[2],
                                                       l->shared, stream, arguments));
    return TESS_CU(cuda,
                   cuLaunchKernel(function, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                                  l->block[1], l->block[2], l->shared, stream, arguments, NULL));
}

/* Whether a product of a solver starts while the launch before it ends. A product of one launch
 * does: its thread blocks fill one multiprocessor after the other as they become free. A product
 * with cut rows, which has a second launch, does not: its thread blocks with segments follow each
 * other and take much longer than the others. Started early they share few multiprocessors, which
 * costs more than the early start saves (H200, an arrow of 139 500 rows of 3 x 3 blocks: an
 * iteration of cg takes 24.5 us started early and 15.7 us otherwise). */
static bool starts_early(const tess_cuda_launch *launches, int count)
{
    return launches[0].waits && (count == 1 || (count == 2 && launches[1].adds_sums));
}

static tess_status run(tess_cuda *cuda, const tess_cuda_variant *variant, tess_cuda_call *call,
                       cu_stream stream, bool early, tess_cuda_partial_sums *partial)
{
    const tess_cuda_resident *resident = variant->resident;
    for (int i = 0; i < TESS_CUDA_ARRAYS; i++)
        call->arrays[i] = resident->arrays[i];
    call->workspace = resident->workspace;
    tess_cuda_launch launches[TESS_CUDA_LAUNCHES];
    int count = variant->kernel->launches(&variant->problem, variant->params, resident->layout,
                                          call, launches);
    for (int i = 0; i < count; i++) {
        tess_cuda_launch *l = &launches[i];
        if (l->grid[0] == 0 || l->grid[1] == 0 || l->grid[2] == 0)
            continue;
        if (partial && l->adds_sums) {
            *partial = (tess_cuda_partial_sums){l->args[0].pointer, l->args[1].integer};
            continue;
        }
        cu_function function = find_function(variant, l->entry);
        if (!function)
            return tess_fail(cuda->ctx, TESS_ERR_INTERNAL, "kernel '%s' has no entry '%s' loaded",
                             variant->kernel->name, l->entry);
        l->overlaps |= early && starts_early(launches, count);
        TESS_TRY(tess_cuda_launch_one(cuda, function, l, stream));
    }
    return TESS_OK;
}

tess_status tess_cuda_run(tess_cuda *cuda, const tess_cuda_variant *variant, tess_cuda_call *call,
                          cu_stream stream)
{
    return run(cuda, variant, call, stream, false, NULL);
}

tess_status tess_cuda_run_early(tess_cuda *cuda, const tess_cuda_variant *variant,
                                tess_cuda_call *call, cu_stream stream)
{
    return run(cuda, variant, call, stream, true, NULL);
}

tess_status tess_cuda_run_partial_sums(tess_cuda *cuda, const tess_cuda_variant *variant,
                                       tess_cuda_call *call, cu_stream stream,
                                       tess_cuda_partial_sums *partial)
{
    *partial = (tess_cuda_partial_sums){0};
    return run(cuda, variant, call, stream, true, partial);
}

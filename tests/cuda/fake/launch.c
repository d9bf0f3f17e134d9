/* Modules, functions and launches. The "machine code" of a module names a shared object, which
 * holds the program compiled for the emulator; a launch that a real driver would accept is run
 * there. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

enum { FUNCTIONS = 1024, MAX_THREADS = 1024, PORTABLE_CLUSTER = 8 };

/* A function's first launches have a random order of threads, those after it the quickest one. */
enum { RANDOM_LAUNCHES = 4 };

static fake_module *modules;
static fake_function functions[FUNCTIONS];
static int function_count;
static uint64_t seed; /* of the order of threads: another one for every launch */

static bool module_known(const fake_module *module)
{
    const fake_module *at = modules;
    while (at && at != module)
        at = at->next;
    return at != NULL;
}

static fake_function *known(cu_function handle)
{
    fake_function *function = (fake_function *)handle;
    return function >= functions && function < functions + function_count && function->module
               ? function
               : NULL;
}

/* Programs are compiled without a link to this library: its symbols become those of the process. */
static bool lend_symbols(void)
{
    static bool lent;
    Dl_info self;
    if (!lent && dladdr(&fake_state, &self))
        lent = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL) != NULL;
    return lent;
}

/* The shared object stays loaded: another module may come from the same machine code. */
CALL cuModuleLoadData(cu_module *module, const void *image)
{
    ENTER();
    IN_CONTEXT();
    NOT_CAPTURED();
    char expected[32];
    const int before =
        snprintf(expected, sizeof expected, "FAKE %016llx ", (unsigned long long)fake_tools());
    REFUSE_IF(strncmp(image, expected, (size_t)before) != 0, FAKE_INVALID_IMAGE);
    const char *path = (const char *)image + before, *name = strrchr(path, '/');
    REFUSE_IF(!name || access(path, R_OK) != 0, FAKE_INVALID_IMAGE);
    if (!lend_symbols() || !dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
        fprintf(stderr, "fake driver: %s\n", dlerror());
        return FAKE_INVALID_IMAGE;
    }
    fake_module *loaded = calloc(1, sizeof *loaded);
    snprintf(loaded->variant, sizeof loaded->variant, "%.*s", (int)strcspn(name + 1, "."),
             name + 1);
    loaded->device = fake_device_now();
    loaded->next = modules;
    modules = loaded;
    fake_state.alive++;
    *module = (cu_module)loaded;
    return CU_SUCCESS;
}

CALL cuModuleUnload(cu_module handle)
{
    LOCKED();
    fake_module *module = (fake_module *)handle, **link = &modules;
    while (*link && *link != module)
        link = &(*link)->next;
    REFUSE_IF(!*link, FAKE_INVALID_HANDLE);
    *link = module->next;
    for (int i = 0; i < function_count; i++)
        if (functions[i].module == module)
            functions[i].module = NULL;
    free(module);
    fake_state.alive--;
    return CU_SUCCESS;
}

/* The same name gives the same handle, so that a function's attributes hold for every caller. */
CALL cuModuleGetFunction(cu_function *function, cu_module handle, const char *name)
{
    ENTER();
    fake_module *module = (fake_module *)handle;
    REFUSE_IF(!module_known(module), FAKE_INVALID_HANDLE);
    emu_entry *entry = emu_find(module->variant, name);
    REFUSE_IF(!entry, FAKE_NOT_FOUND);
    int at = 0;
    while (at < function_count && (functions[at].module != module || functions[at].entry != entry))
        at++;
    if (at == function_count) {
        at = 0;
        while (at < function_count && functions[at].module)
            at++;
        REFUSE_IF(at == FUNCTIONS, CU_ERROR_OUT_OF_MEMORY);
        function_count = at == function_count ? at + 1 : function_count;
        functions[at] = (fake_function){.module = module, .entry = entry, .dynamic_limit = -1};
    }
    *function = (cu_function)&functions[at];
    return CU_SUCCESS;
}

static int64_t dynamic_limit(const fake_function *f)
{
    return f->dynamic_limit >= 0 ? f->dynamic_limit
                                 : FAKE_SHARED_DEFAULT - (int64_t)f->entry->static_shared;
}

CALL cuFuncGetAttribute(int *value, int attribute, cu_function function)
{
    LOCKED();
    const fake_function *f = known(function);
    REFUSE_IF(!f, FAKE_INVALID_HANDLE);
    *value = attribute == CU_FUNCTION_REGISTERS             ? 40
             : attribute == CU_FUNCTION_SHARED_STATIC_BYTES ? (int)f->entry->static_shared
             : attribute == CU_FUNCTION_MAX_DYNAMIC_SHARED  ? (int)dynamic_limit(f)
             : attribute == CU_FUNCTION_ANY_CLUSTER_SIZE    ? f->any_cluster_size
                                                            : 0;
    return CU_SUCCESS;
}

CALL cuFuncLoad(cu_function function)
{
    LOCKED();
    REFUSE_IF(!known(function), FAKE_INVALID_HANDLE);
    return CU_SUCCESS;
}

CALL cuFuncSetAttribute(cu_function function, int attribute, int value)
{
    ENTER();
    fake_function *f = known(function);
    REFUSE_IF(!f, FAKE_INVALID_HANDLE);
    if (attribute == CU_FUNCTION_MAX_DYNAMIC_SHARED) {
        REFUSE_IF(value < 0 || value + (int64_t)f->entry->static_shared > FAKE_SHARED_OPTIN,
                  CU_ERROR_INVALID_VALUE);
        f->dynamic_limit = value;
    } else if (attribute == CU_FUNCTION_ANY_CLUSTER_SIZE) {
        f->any_cluster_size = value != 0;
    } else {
        return CU_ERROR_INVALID_VALUE;
    }
    return CU_SUCCESS;
}

/* Thread blocks that a multiprocessor holds at once, by threads and by shared memory (of which the
 * driver keeps 1 KB a block). */
static int64_t blocks_at_once(const fake_function *f, unsigned threads, size_t shared)
{
    const int64_t each = (int64_t)(shared + f->entry->static_shared) + 1024;
    const int64_t by_threads = threads > 0 ? FAKE_THREADS_PER_MULTIPROCESSOR / threads : 0;
    const int64_t by_shared = FAKE_SHARED_PER_MULTIPROCESSOR / each;
    return by_threads < by_shared ? by_threads : by_shared;
}

CALL cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, cu_function function, int threads,
                                                 size_t shared)
{
    ENTER();
    const fake_function *f = known(function);
    REFUSE_IF(!f || threads <= 0, CU_ERROR_INVALID_VALUE);
    *count = (int)blocks_at_once(f, (unsigned)threads, shared);
    return CU_SUCCESS;
}

static uint64_t volume(const unsigned *size)
{
    return (uint64_t)size[0] * size[1] * size[2];
}

static bool cluster_allowed(const fake_function *f, uint64_t blocks)
{
    return blocks > 0 && blocks <= (uint64_t)fake_state.largest_cluster &&
           (blocks <= PORTABLE_CLUSTER || f->any_cluster_size);
}

/* 0 or 1: one cluster is all that the fake device holds. */
CALL cuOccupancyMaxActiveClusters(int *count, cu_function function, const cu_launch_config *config)
{
    LOCKED();
    const fake_function *f = known(function);
    REFUSE_IF(!f, FAKE_INVALID_HANDLE);
    *count = cluster_allowed(f, volume(config->grid)) && config->shared <= dynamic_limit(f);
    return CU_SUCCESS;
}

static cu_result check_cluster(const fake_launch *l)
{
    const uint64_t blocks = volume(l->cluster);
    REFUSE_IF(!cluster_allowed(l->function, blocks), FAKE_INVALID_CLUSTER_SIZE);
    for (int i = 0; i < 3; i++)
        REFUSE_IF(l->grid.grid[i] % l->cluster[i] != 0, CU_ERROR_INVALID_VALUE);
    REFUSE_IF(blocks != volume(l->grid.grid), FAKE_NOT_SUPPORTED); /* by the emulator */
    return CU_SUCCESS;
}

/* What a driver refuses before anything runs. */
static cu_result check(const fake_launch *l)
{
    const emu_grid *g = &l->grid;
    const uint64_t threads = volume(g->block);
    REFUSE_IF(!fake_stream_known(l->stream), FAKE_INVALID_HANDLE);
    REFUSE_IF(fake_device_now() != l->function->module->device, FAKE_INVALID_CONTEXT);
    REFUSE_IF(volume(g->grid) == 0 || threads == 0 || !l->args, CU_ERROR_INVALID_VALUE);
    REFUSE_IF(g->grid[0] > INT32_MAX || g->grid[1] > 65535 || g->grid[2] > 65535,
              CU_ERROR_INVALID_VALUE);
    REFUSE_IF(g->block[0] > 1024 || g->block[1] > 1024 || g->block[2] > 64 ||
                  threads > MAX_THREADS || threads > l->function->entry->threads,
              CU_ERROR_INVALID_VALUE);
    REFUSE_IF(g->shared > dynamic_limit(l->function), CU_ERROR_INVALID_VALUE);
    REFUSE_IF(fake_state.devices > 1 &&
                  !fake_memory_reached(l->args, l->function->entry->args_bytes,
                                       l->function->module->device),
              FAKE_ILLEGAL_ADDRESS);
    REFUSE_IF(g->cooperative &&
                  volume(g->grid) >
                      (uint64_t)(FAKE_MULTIPROCESSORS *
                                 blocks_at_once(l->function, (unsigned)threads, g->shared)),
              FAKE_COOPERATIVE_TOO_LARGE);
    return g->cluster ? check_cluster(l) : CU_SUCCESS;
}

static void count_launch(const char *entry)
{
    for (int i = 0; i < FAKE_COUNTS; i++) {
        fake_count *count = &fake_state.counts[i];
        if (!count->entry)
            count->entry = entry;
        if (strcmp(count->entry, entry) == 0) {
            count->launches++;
            return;
        }
    }
}

/* The clock that events read: 10 us per launch, and more for the first launch of a function, which
 * loads its code. */
cu_result fake_run(const fake_launch *l)
{
    fake_function *f = l->function;
    REFUSE_IF(!f->module, FAKE_INVALID_HANDLE);
    REFUSE_IF(fake_state.refused &&
                  (!*fake_state.refused || strcmp(fake_state.refused, f->entry->name) == 0),
              CU_ERROR_INVALID_VALUE);
    fake_state.launches++;
    count_launch(f->entry->name);
    fake_state.clusters += l->grid.cluster;
    fake_state.clock += 10e-6 + (f->launched ? 0 : fake_state.loading);
    f->launched++;
    if (fake_state.not_run && strcmp(fake_state.not_run, f->entry->name) == 0)
        return CU_SUCCESS;
    if (fake_state.wrong_results)
        fake_memory_keep();
    const bool random = f->launched <= RANDOM_LAUNCHES;
    const char *wrong = emu_run(f->entry, &l->grid, l->args, random ? ++seed : EMU_IN_ORDER);
    if (fake_state.wrong_results)
        fake_memory_spoil();
    if (wrong)
        fprintf(stderr, "fake driver: %s: %s\n", f->entry->name, wrong);
    REFUSE_IF(wrong, FAKE_LAUNCH_FAILED);
    /* Static shared memory is known when a block has run: the first launch ends with this error,
     * those after it are refused before they begin. */
    REFUSE_IF(l->grid.shared > dynamic_limit(f), CU_ERROR_INVALID_VALUE);
    return CU_SUCCESS;
}

CALL cuLaunchKernelEx(const cu_launch_config *config, cu_function handle, void **arguments,
                      void **extra)
{
    (void)extra;
    ENTER();
    REFUSE_IF(!known(handle), FAKE_INVALID_HANDLE);
    fake_launch l = {.function = known(handle),
                     .grid = {.shared = config->shared},
                     .stream = config->stream,
                     .args = arguments ? arguments[0] : NULL};
    memcpy(l.grid.grid, config->grid, sizeof l.grid.grid);
    memcpy(l.grid.block, config->block, sizeof l.grid.block);
    for (unsigned i = 0; i < config->attribute_count; i++) {
        const cu_launch_attribute *given = &config->attributes[i];
        l.grid.cooperative |= given->id == CU_LAUNCH_COOPERATIVE && given->value.number;
        l.grid.cluster |= given->id == CU_LAUNCH_CLUSTER;
        if (given->id == CU_LAUNCH_CLUSTER)
            memcpy(l.cluster, given->value.size, sizeof l.cluster);
    }
    const cu_result refused = check(&l);
    REFUSE_IF(refused != CU_SUCCESS, refused);
    if (fake_captured(l.stream))
        return fake_capture_launch(&l);
    fake_state.put++;
    return fake_run(&l);
}

CALL cuLaunchKernel(cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                    unsigned bz, unsigned shared, cu_stream stream, void **arguments, void **extra)
{
    LOCKED();
    const cu_launch_config config = {{gx, gy, gz}, {bx, by, bz}, shared, stream, NULL, 0};
    return cuLaunchKernelEx(&config, f, arguments, extra);
}

CALL cuLaunchCooperativeKernel(cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, cu_stream stream,
                               void **arguments)
{
    LOCKED();
    cu_launch_attribute together = {.id = CU_LAUNCH_COOPERATIVE, .value = {.number = 1}};
    const cu_launch_config config = {{gx, gy, gz}, {bx, by, bz}, shared, stream, &together, 1};
    return cuLaunchKernelEx(&config, f, arguments, NULL);
}

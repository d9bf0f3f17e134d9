#include "fake_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { BLOCKS = 4096, RECORDS = 2048, SLOTS = 64, CAPTURE_ERROR = 900 };

struct fake_module {
    char text[4096];
};

typedef struct fake_function {
    struct fake_module *module;
    char name[64];
    int launched;
    unsigned shared; /* bytes of dynamic shared memory that a launch may ask for */
} fake_function;

typedef struct record { /* one captured launch */
    fake_function *function;
    unsigned grid;
    uint64_t slots[SLOTS];
} record;

typedef struct fake_graph {
    int count;
    record records[RECORDS];
} fake_graph;

static fake_cuda state = {.devices = 1, .fail_at = -1, .memory_limit = INT64_MAX};
static struct {
    char *start;
    size_t bytes;
} blocks[BLOCKS];
static fake_graph *recording;
static fake_function functions[1024];
static int function_count;

EXPORT fake_cuda *fake_cuda_state(void)
{
    return &state;
}

static cu_result may_fail(void)
{
    state.calls++;
    if (state.fail_at < 0)
        return CU_SUCCESS;
    return state.fail_at-- == 0 ? state.fail_with : CU_SUCCESS;
}

#define ENTER()                      \
    do {                             \
        cu_result fate = may_fail(); \
        if (fate != CU_SUCCESS)      \
            return fate;             \
    } while (0)

/* What may not happen while a stream is captured. */
#define NOT_CAPTURED()            \
    do {                          \
        if (state.capturing)      \
            return CAPTURE_ERROR; \
    } while (0)

#define CALL EXPORT cu_result

CALL cuInit(unsigned flags)
{
    (void)flags;
    ENTER();
    return state.devices > 0 ? CU_SUCCESS : CU_ERROR_NO_DEVICE;
}

CALL cuDriverGetVersion(int *version)
{
    ENTER();
    *version = 13000;
    return CU_SUCCESS;
}

CALL cuGetErrorName(cu_result error, const char **text)
{
    *text = error == CU_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == 719                  ? "CUDA_ERROR_LAUNCH_FAILED"
                                            : "CUDA_ERROR_FAKE";
    return CU_SUCCESS;
}

CALL cuGetErrorString(cu_result error, const char **text)
{
    *text = error == CU_ERROR_OUT_OF_MEMORY ? "out of memory" : "unspecified fake failure";
    return CU_SUCCESS;
}

CALL cuDeviceGetCount(int *count)
{
    ENTER();
    *count = state.devices;
    return CU_SUCCESS;
}

CALL cuDeviceGet(cu_device *device, int ordinal)
{
    ENTER();
    *device = ordinal;
    return CU_SUCCESS;
}

CALL cuDeviceGetName(char *name, int size, cu_device device)
{
    ENTER();
    snprintf(name, (size_t)size, "Fake GPU %d", device);
    return CU_SUCCESS;
}

CALL cuDeviceTotalMem_v2(size_t *bytes, cu_device device)
{
    (void)device;
    ENTER();
    *bytes = (size_t)8 << 30;
    return CU_SUCCESS;
}

CALL cuDeviceGetAttribute(int *value, int attribute, cu_device device)
{
    (void)device;
    ENTER();
    *value = attribute == CU_ATTRIBUTE_MULTIPROCESSORS              ? 3
             : attribute == CU_ATTRIBUTE_L2_BYTES                   ? 1 << 20
             : attribute == CU_ATTRIBUTE_THREADS_PER_MULTIPROCESSOR ? 2048
             : attribute == CU_ATTRIBUTE_CAPABILITY_MAJOR           ? 9
             : attribute == CU_ATTRIBUTE_SHARED_PER_BLOCK_OPTIN     ? 232448
                                                                    : 0;
    return CU_SUCCESS;
}

CALL cuDevicePrimaryCtxRetain(cu_context *context, cu_device device)
{
    (void)device;
    ENTER();
    state.alive++;
    *context = (cu_context)&state;
    return CU_SUCCESS;
}

CALL cuDevicePrimaryCtxRelease_v2(cu_device device)
{
    (void)device;
    state.alive--;
    return CU_SUCCESS;
}

CALL cuCtxPushCurrent_v2(cu_context context)
{
    (void)context;
    ENTER();
    state.current++;
    return CU_SUCCESS;
}

CALL cuCtxPopCurrent_v2(cu_context *context)
{
    *context = (cu_context)&state;
    state.current--;
    return CU_SUCCESS;
}

CALL cuCtxSynchronize(void)
{
    ENTER();
    NOT_CAPTURED();
    state.waits++;
    return CU_SUCCESS;
}

CALL cuMemGetInfo_v2(size_t *available, size_t *total)
{
    ENTER();
    *total = (size_t)8 << 30;
    *available =
        state.memory_limit == INT64_MAX ? *total : (size_t)(state.memory_limit - state.memory_used);
    return CU_SUCCESS;
}

CALL cuMemAlloc_v2(cu_pointer *pointer, size_t bytes)
{
    ENTER();
    NOT_CAPTURED();
    if (state.memory_used + (int64_t)bytes > state.memory_limit)
        return CU_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i].start)
            continue;
        void *memory = NULL;
        if (posix_memalign(&memory, 256, bytes) != 0)
            return CU_ERROR_OUT_OF_MEMORY;
        memset(memory, 0xff, bytes);
        blocks[i].start = memory;
        blocks[i].bytes = bytes;
        state.memory_used += (int64_t)bytes;
        state.alive++;
        state.allocations++;
        *pointer = (cu_pointer)(uintptr_t)memory;
        return CU_SUCCESS;
    }
    return CU_ERROR_OUT_OF_MEMORY;
}

CALL cuMemFree_v2(cu_pointer pointer)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i].start && (cu_pointer)(uintptr_t)blocks[i].start == pointer) {
            state.memory_used -= (int64_t)blocks[i].bytes;
            state.alive--;
            free(blocks[i].start);
            blocks[i].start = NULL;
            return CU_SUCCESS;
        }
    }
    return CU_ERROR_INVALID_VALUE;
}

CALL cuMemAllocHost_v2(void **pointer, size_t bytes)
{
    ENTER();
    NOT_CAPTURED();
    *pointer = malloc(bytes);
    state.alive++;
    return CU_SUCCESS;
}

CALL cuMemFreeHost(void *pointer)
{
    free(pointer);
    state.alive--;
    return CU_SUCCESS;
}

static cu_result copy(void *to, const void *from, size_t bytes)
{
    ENTER();
    NOT_CAPTURED();
    state.copies++;
    memcpy(to, from, bytes);
    return CU_SUCCESS;
}

CALL cuMemcpyHtoDAsync_v2(cu_pointer to, const void *from, size_t bytes, cu_stream stream)
{
    (void)stream;
    return copy((void *)(uintptr_t)to, from, bytes);
}

CALL cuMemcpyDtoHAsync_v2(void *to, cu_pointer from, size_t bytes, cu_stream stream)
{
    (void)stream;
    return copy(to, (void *)(uintptr_t)from, bytes);
}

CALL cuMemcpyDtoDAsync_v2(cu_pointer to, cu_pointer from, size_t bytes, cu_stream stream)
{
    (void)stream;
    return copy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
}

CALL cuMemsetD8Async(cu_pointer to, unsigned char value, size_t bytes, cu_stream stream)
{
    (void)stream;
    ENTER();
    memset((void *)(uintptr_t)to, value, bytes);
    return CU_SUCCESS;
}

CALL cuPointerGetAttributes(unsigned count, int *attributes, void **values, cu_pointer pointer)
{
    if (count != 1 || attributes[0] != CU_POINTER_MEMORY_TYPE)
        return CU_ERROR_INVALID_VALUE;
    *(unsigned *)values[0] = 0;
    for (int i = 0; i < BLOCKS; i++) {
        uintptr_t start = (uintptr_t)blocks[i].start;
        if (start && pointer >= start && pointer < start + blocks[i].bytes)
            *(unsigned *)values[0] = CU_MEMORY_DEVICE;
    }
    return CU_SUCCESS;
}

/* Streams and events are numbers; their work is done at once. */
CALL cuStreamCreate(cu_stream *stream, unsigned flags)
{
    (void)flags;
    ENTER();
    *stream = malloc(1);
    state.alive++;
    return CU_SUCCESS;
}

CALL cuStreamDestroy_v2(cu_stream stream)
{
    free(stream);
    state.alive--;
    return CU_SUCCESS;
}

CALL cuStreamSynchronize(cu_stream stream)
{
    (void)stream;
    ENTER();
    NOT_CAPTURED();
    state.waits++;
    return CU_SUCCESS;
}

CALL cuStreamWaitEvent(cu_stream stream, cu_event event, unsigned flags)
{
    (void)stream, (void)event, (void)flags;
    ENTER();
    return CU_SUCCESS;
}

CALL cuStreamBeginCapture_v2(cu_stream stream, int mode)
{
    (void)stream, (void)mode;
    ENTER();
    recording = calloc(1, sizeof *recording);
    state.alive++;
    state.capturing = 1;
    return CU_SUCCESS;
}

CALL cuStreamEndCapture(cu_stream stream, cu_graph *graph)
{
    (void)stream;
    state.capturing = 0;
    *graph = (cu_graph)recording;
    return CU_SUCCESS;
}

CALL cuStreamIsCapturing(cu_stream stream, int *capturing)
{
    (void)stream;
    ENTER();
    *capturing = state.capturing;
    return CU_SUCCESS;
}

CALL cuGraphInstantiateWithFlags(cu_graph_exec *exec, cu_graph graph, unsigned long long flags)
{
    (void)flags;
    ENTER();
    fake_graph *copied = malloc(sizeof *copied);
    memcpy(copied, graph, sizeof *copied);
    state.alive++;
    *exec = (cu_graph_exec)copied;
    return CU_SUCCESS;
}

/* The clock that events read: 10 us a launch, more for one that has to load its code. */
static cu_result run(fake_function *function, unsigned grid, void **arguments)
{
    state.launches++;
    state.clock += 10e-6 + (function->launched++ ? 0 : state.loading);
    return fake_run(function->module, function->name, grid, arguments, state.wrong_results)
               ? CU_SUCCESS
               : 719;
}

CALL cuGraphLaunch(cu_graph_exec exec, cu_stream stream)
{
    (void)stream;
    ENTER();
    fake_graph *graph = (fake_graph *)exec;
    state.graphs++;
    for (int i = 0; i < graph->count; i++) {
        void *arguments[] = {graph->records[i].slots};
        if (run(graph->records[i].function, graph->records[i].grid, arguments) != CU_SUCCESS)
            return 719;
    }
    return CU_SUCCESS;
}

CALL cuGraphExecDestroy(cu_graph_exec exec)
{
    free(exec);
    state.alive--;
    return CU_SUCCESS;
}

CALL cuGraphDestroy(cu_graph graph)
{
    free(graph);
    state.alive--;
    return CU_SUCCESS;
}

CALL cuEventCreate(cu_event *event, unsigned flags)
{
    (void)flags;
    ENTER();
    *event = malloc(sizeof(double));
    state.alive++;
    return CU_SUCCESS;
}

CALL cuEventDestroy_v2(cu_event event)
{
    free(event);
    state.alive--;
    return CU_SUCCESS;
}

CALL cuEventRecord(cu_event event, cu_stream stream)
{
    (void)stream;
    ENTER();
    memcpy(event, &state.clock, sizeof state.clock);
    return CU_SUCCESS;
}

CALL cuEventSynchronize(cu_event event)
{
    (void)event;
    ENTER();
    NOT_CAPTURED();
    return CU_SUCCESS;
}

CALL cuEventElapsedTime(float *milliseconds, cu_event start, cu_event end)
{
    double from, to;
    ENTER();
    memcpy(&from, start, sizeof from);
    memcpy(&to, end, sizeof to);
    *milliseconds = (float)(1e3 * (to - from));
    return CU_SUCCESS;
}

CALL cuModuleLoadData(cu_module *module, const void *image)
{
    ENTER();
    NOT_CAPTURED();
    if (strncmp(image, "FAKE ", 5) != 0)
        return 200; /* invalid image */
    struct fake_module *loaded = calloc(1, sizeof *loaded);
    snprintf(loaded->text, sizeof loaded->text, "%s", (const char *)image);
    state.alive++;
    *module = (cu_module)loaded;
    return CU_SUCCESS;
}

CALL cuModuleUnload(cu_module module)
{
    for (int i = 0; i < function_count; i++)
        if (functions[i].module == (struct fake_module *)module)
            functions[i].module = NULL;
    free(module);
    state.alive--;
    return CU_SUCCESS;
}

CALL cuModuleGetFunction(cu_function *function, cu_module module, const char *name)
{
    ENTER();
    int at = 0;
    for (; at < function_count; at++) /* the same for the same name */
        if (functions[at].module == (struct fake_module *)module &&
            strcmp(functions[at].name, name) == 0) {
            *function = (cu_function)&functions[at];
            return CU_SUCCESS;
        }
    at = 0;
    while (at < function_count && functions[at].module)
        at++;
    if (at == 1024)
        return CU_ERROR_OUT_OF_MEMORY;
    function_count = at == function_count ? at + 1 : function_count;
    functions[at].module = (struct fake_module *)module;
    functions[at].launched = 0;
    functions[at].shared = 48 << 10;
    snprintf(functions[at].name, sizeof functions[at].name, "%s", name);
    *function = (cu_function)&functions[at];
    return CU_SUCCESS;
}

CALL cuFuncGetAttribute(int *value, int attribute, cu_function function)
{
    *value = attribute == CU_FUNCTION_REGISTERS ? 40
             : attribute == CU_FUNCTION_MAX_DYNAMIC_SHARED
                 ? (int)((fake_function *)function)->shared
                 : 0;
    return CU_SUCCESS;
}

CALL cuFuncSetAttribute(cu_function function, int attribute, int value)
{
    ENTER();
    if (attribute == CU_FUNCTION_MAX_DYNAMIC_SHARED)
        ((fake_function *)function)->shared = (unsigned)value;
    return CU_SUCCESS;
}

CALL cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, cu_function function, int threads,
                                                 size_t shared)
{
    (void)function, (void)shared;
    ENTER();
    *count = 2048 / threads;
    return CU_SUCCESS;
}

CALL cuOccupancyMaxActiveClusters(int *count, cu_function function, const cu_launch_config *config)
{
    (void)function;
    *count = config->grid[0] <= 16;
    return CU_SUCCESS;
}

CALL cuLaunchKernel(cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                    unsigned bz, unsigned shared, cu_stream stream, void **arguments, void **extra)
{
    (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)stream, (void)extra;
    ENTER();
    fake_function *function = (fake_function *)f;
    if (shared > function->shared)
        return CU_ERROR_INVALID_VALUE;
    if (!state.capturing)
        return run(function, gx, arguments);
    if (recording->count == RECORDS)
        return CAPTURE_ERROR;
    record *last = &recording->records[recording->count++];
    last->function = function;
    last->grid = gx;
    memcpy(last->slots, arguments[0], sizeof last->slots);
    return CU_SUCCESS;
}

CALL cuLaunchKernelEx(const cu_launch_config *config, cu_function f, void **arguments, void **extra)
{
    return cuLaunchKernel(f, config->grid[0], config->grid[1], config->grid[2], config->block[0],
                          config->block[1], config->block[2], config->shared, config->stream,
                          arguments, extra);
}

CALL cuLaunchCooperativeKernel(cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned shared, cu_stream stream,
                               void **arguments)
{
    return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, arguments, NULL);
}

const char *fake_define_text(const struct fake_module *module, const char *name)
{
    char wanted[64];
    int length = snprintf(wanted, sizeof wanted, " -D%s=", name);
    const char *at = strstr(module->text, wanted);
    return at ? at + length : "";
}

int fake_define(const struct fake_module *module, const char *name)
{
    return atoi(fake_define_text(module, name));
}

/* The part of the CUDA driver API and of NVRTC that Tessera calls, declared here so that no CUDA
 * header is needed to build. Names, argument lists and numbers are those of the published ABI; the
 * symbol column carries the versioned name (cuMemAlloc is exported as cuMemAlloc_v2).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int cu_result;
typedef int cu_device;
typedef uint64_t cu_pointer; /* an address in device memory */
typedef struct cu_context_s *cu_context;
typedef struct cu_stream_s *cu_stream;
typedef struct cu_event_s *cu_event;
typedef struct cu_module_s *cu_module;
typedef struct cu_function_s *cu_function;
typedef struct cu_graph_s *cu_graph;
typedef struct cu_graph_exec_s *cu_graph_exec;

enum {
    CU_SUCCESS = 0,
    CU_ERROR_INVALID_VALUE = 1,
    CU_ERROR_OUT_OF_MEMORY = 2,
    CU_ERROR_NO_DEVICE = 100,
    CU_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
};

enum { /* cuDeviceGetAttribute */
       CU_ATTRIBUTE_MULTIPROCESSORS = 16,
       CU_ATTRIBUTE_MEMORY_CLOCK = 36, /* kHz */
       CU_ATTRIBUTE_MEMORY_BUS = 37,   /* bits */
       CU_ATTRIBUTE_L2_BYTES = 38,
       CU_ATTRIBUTE_THREADS_PER_MULTIPROCESSOR = 39,
       CU_ATTRIBUTE_CAPABILITY_MAJOR = 75,
       CU_ATTRIBUTE_CAPABILITY_MINOR = 76,
       CU_ATTRIBUTE_F32_TO_F64_SPEED = 87,
       CU_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
       CU_ATTRIBUTE_SHARED_PER_BLOCK_OPTIN = 97,
};

enum { /* cuFuncGetAttribute, cuFuncSetAttribute */
       CU_FUNCTION_SHARED_STATIC_BYTES = 1,
       CU_FUNCTION_LOCAL_BYTES = 3,
       CU_FUNCTION_REGISTERS = 4,
       CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
       CU_FUNCTION_ANY_CLUSTER_SIZE = 14,
};

enum { /* cuPointerGetAttributes */
       CU_POINTER_MEMORY_TYPE = 2,
       CU_POINTER_DEVICE_ORDINAL = 9,
       CU_MEMORY_DEVICE = 2,
};

enum {
    CU_STREAM_DEFAULT_FLAGS = 0,
    CU_STREAM_FIRST = -100, /* a priority: the driver takes the highest that there is */
    CU_EVENT_DEFAULT_FLAGS = 0,
    CU_EVENT_NO_TIMING = 2,
    CU_CAPTURE_THREAD_LOCAL = 1,
};

/* cuLaunchKernelEx */
enum { CU_LAUNCH_COOPERATIVE = 2, CU_LAUNCH_CLUSTER = 4, CU_LAUNCH_PROGRAMMATIC_SERIALIZATION = 6 };

typedef struct cu_launch_attribute {
    int id;
    char pad[4];
    union {
        char bytes[64];
        int number;
        unsigned size[3];
    } value;
} cu_launch_attribute;

typedef struct cu_launch_config {
    unsigned grid[3], block[3], shared;
    cu_stream stream;
    cu_launch_attribute *attributes;
    unsigned attribute_count;
} cu_launch_config;

/* X(field, symbol, arguments): every one returns cu_result. */
#define TESS_DRIVER_FUNCTIONS(X)                                                                   \
    X(cuInit, "cuInit", (unsigned flags))                                                          \
    X(cuDriverGetVersion, "cuDriverGetVersion", (int *version))                                    \
    X(cuGetErrorName, "cuGetErrorName", (cu_result error, const char **text))                      \
    X(cuGetErrorString, "cuGetErrorString", (cu_result error, const char **text))                  \
    X(cuDeviceGetCount, "cuDeviceGetCount", (int *count))                                          \
    X(cuDeviceGet, "cuDeviceGet", (cu_device * device, int ordinal))                               \
    X(cuDeviceGetName, "cuDeviceGetName", (char *name, int size, cu_device device))                \
    X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t * bytes, cu_device device))                 \
    X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *value, int attribute, cu_device device)) \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain",                                        \
      (cu_context * context, cu_device device))                                                    \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (cu_device device))               \
    X(cuCtxPushCurrent, "cuCtxPushCurrent_v2", (cu_context context))                               \
    X(cuCtxPopCurrent, "cuCtxPopCurrent_v2", (cu_context * context))                               \
    X(cuCtxSynchronize, "cuCtxSynchronize", (void))                                                \
    X(cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer",                                              \
      (int *can, cu_device device, cu_device peer))                                                \
    X(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", (cu_context peer, unsigned flags))           \
    X(cuMemGetInfo, "cuMemGetInfo_v2", (size_t * free, size_t * total))                            \
    X(cuMemAlloc, "cuMemAlloc_v2", (cu_pointer * pointer, size_t bytes))                           \
    X(cuMemFree, "cuMemFree_v2", (cu_pointer pointer))                                             \
    X(cuMemAllocHost, "cuMemAllocHost_v2", (void **pointer, size_t bytes))                         \
    X(cuMemFreeHost, "cuMemFreeHost", (void *pointer))                                             \
    X(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                                   \
      (cu_pointer to, const void *from, size_t bytes, cu_stream stream))                           \
    X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                                   \
      (void *to, cu_pointer from, size_t bytes, cu_stream stream))                                 \
    X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                                   \
      (cu_pointer to, cu_pointer from, size_t bytes, cu_stream stream))                            \
    X(cuMemsetD8Async, "cuMemsetD8Async",                                                          \
      (cu_pointer to, unsigned char value, size_t bytes, cu_stream stream))                        \
    X(cuPointerGetAttributes, "cuPointerGetAttributes",                                            \
      (unsigned count, int *attributes, void **values, cu_pointer pointer))                        \
    X(cuStreamCreate, "cuStreamCreate", (cu_stream * stream, unsigned flags))                      \
    X(cuStreamCreateWithPriority, "cuStreamCreateWithPriority",                                    \
      (cu_stream * stream, unsigned flags, int priority))                                          \
    X(cuStreamDestroy, "cuStreamDestroy_v2", (cu_stream stream))                                   \
    X(cuStreamSynchronize, "cuStreamSynchronize", (cu_stream stream))                              \
    X(cuStreamWaitEvent, "cuStreamWaitEvent", (cu_stream stream, cu_event event, unsigned flags))  \
    X(cuStreamBeginCapture, "cuStreamBeginCapture_v2", (cu_stream stream, int mode))               \
    X(cuStreamEndCapture, "cuStreamEndCapture", (cu_stream stream, cu_graph * graph))              \
    X(cuStreamIsCapturing, "cuStreamIsCapturing", (cu_stream stream, int *capturing))              \
    X(cuGraphInstantiate, "cuGraphInstantiateWithFlags",                                           \
      (cu_graph_exec * exec, cu_graph graph, unsigned long long flags))                            \
    X(cuGraphLaunch, "cuGraphLaunch", (cu_graph_exec exec, cu_stream stream))                      \
    X(cuGraphExecDestroy, "cuGraphExecDestroy", (cu_graph_exec exec))                              \
    X(cuGraphDestroy, "cuGraphDestroy", (cu_graph graph))                                          \
    X(cuEventCreate, "cuEventCreate", (cu_event * event, unsigned flags))                          \
    X(cuEventDestroy, "cuEventDestroy_v2", (cu_event event))                                       \
    X(cuEventRecord, "cuEventRecord", (cu_event event, cu_stream stream))                          \
    X(cuEventSynchronize, "cuEventSynchronize", (cu_event event))                                  \
    X(cuEventElapsedTime, "cuEventElapsedTime",                                                    \
      (float *milliseconds, cu_event start, cu_event end))                                         \
    X(cuModuleLoadData, "cuModuleLoadData", (cu_module * module, const void *image))               \
    X(cuModuleUnload, "cuModuleUnload", (cu_module module))                                        \
    X(cuModuleGetFunction, "cuModuleGetFunction",                                                  \
      (cu_function * function, cu_module module, const char *name))                                \
    X(cuFuncGetAttribute, "cuFuncGetAttribute", (int *value, int attribute, cu_function function)) \
    X(cuFuncSetAttribute, "cuFuncSetAttribute", (cu_function function, int attribute, int value))  \
    X(cuOccupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                  \
      (int *blocks, cu_function function, int threads, size_t shared))                             \
    X(cuOccupancyClusters, "cuOccupancyMaxActiveClusters",                                         \
      (int *clusters, cu_function function, const cu_launch_config *config))                       \
    X(cuLaunchKernel, "cuLaunchKernel",                                                            \
      (cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,      \
       unsigned bz, unsigned shared, cu_stream stream, void **arguments, void **extra))            \
    X(cuLaunchKernelEx, "cuLaunchKernelEx",                                                        \
      (const cu_launch_config *config, cu_function function, void **arguments, void **extra))      \
    X(cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel",                                      \
      (cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,      \
       unsigned bz, unsigned shared, cu_stream stream, void **arguments))

/* Functions of newer drivers: NULL where the driver lacks them. */
#define TESS_DRIVER_NEWER_FUNCTIONS(X) X(cuFuncLoad, "cuFuncLoad", (cu_function function))

typedef struct nvrtc_program_s *nvrtc_program;

#define TESS_NVRTC_FUNCTIONS(X)                                                              \
    X(nvrtcVersion, (int *major, int *minor))                                                \
    X(nvrtcGetNumSupportedArchs, (int *count))                                               \
    X(nvrtcGetSupportedArchs, (int *archs))                                                  \
    X(nvrtcCreateProgram, (nvrtc_program * program, const char *source, const char *name,    \
                           int headers, const char *const *texts, const char *const *names)) \
    X(nvrtcDestroyProgram, (nvrtc_program * program))                                        \
    X(nvrtcCompileProgram, (nvrtc_program program, int options, const char *const *option))  \
    X(nvrtcGetCUBINSize, (nvrtc_program program, size_t * bytes))                            \
    X(nvrtcGetCUBIN, (nvrtc_program program, char *cubin))                                   \
    X(nvrtcGetPTXSize, (nvrtc_program program, size_t * bytes))                              \
    X(nvrtcGetPTX, (nvrtc_program program, char *ptx))                                       \
    X(nvrtcGetProgramLogSize, (nvrtc_program program, size_t * bytes))                       \
    X(nvrtcGetProgramLog, (nvrtc_program program, char *log))

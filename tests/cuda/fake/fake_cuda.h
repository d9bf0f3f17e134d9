/* A stand-in for libcuda and NVRTC: one shared library, loaded through TESSERA_LIBCUDA and
 * TESSERA_NVRTC, so that the host code runs to the end on a machine without a GPU.
 *
 *     nvrtc.c     a program is compiled for the CPU by the host's C compiler (compile.c)
 *     launch.c    modules, functions, launches: the emulator (tests/cuda/emu) runs them
 *     graph.c     captured launches, replayed in any order that streams and events allow
 *     stream.c    streams and events
 *     memory.c    device memory, which is the heap
 *     device.c    devices and contexts
 *
 * What a real driver refuses is refused: launches beyond a function's limits, copies beyond an
 * allocation, handles that are not alive. Calls are counted, any of them can be made to fail, and
 * what is alive is counted too. Work is done when its call returns.
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdint.h>

#include "cuda/driver/driver_api.h"

/* How often an entry point was launched. */
typedef struct fake_count {
    const char *entry;
    int64_t launches;
} fake_count;

enum { FAKE_COUNTS = 64 };

typedef struct fake_cuda {
    int devices;   /* TESSERA_FAKE_DEVICES when the library is loaded, or 1; FAKE_DEVICES at most */
    int64_t alive; /* allocations, streams, events, modules, retained contexts, programs */
    int64_t calls; /* that may fail */
    int64_t fail_at; /* the call that fails, counted from now; -1: none */
    cu_result fail_with;
    int64_t memory_limit; /* bytes; allocations beyond it fail with out of memory */
    int64_t memory_used;
    int64_t allocations, launches, graphs, copies; /* so far */
    int64_t waits, answers; /* of the host: for streams and contexts; for events */
    int64_t taken;          /* bytes copied to the host */
    int64_t put;  /* launches, copies and memsets that the host called for, outside graphs */
    int64_t done; /* `put` when the host last waited for a stream or a context */
    int64_t compiled, clusters;     /* programs; launches of one cluster */
    fake_count counts[FAKE_COUNTS]; /* by entry point, in the order of their first launches */
    double clock, loading; /* seconds: what events read; the first launch of a function longer */
    int current;           /* depth of the context stack */
    int capturing;
    int wrong_results; /* every double that a launch writes is off by a thousandth */
    int compile_fails;
    int apart;           /* devices do not reach each other's memory */
    int capability;      /* of all devices: 90 for 9.0 */
    int largest_cluster; /* thread blocks that the device holds as one cluster, 16 at most */
    const char *not_run; /* an entry point whose launches are checked but not run */
    const char
        *refused; /* an entry point that cannot be launched: an invalid value; "": none can */
} fake_cuda;

enum {
    FAKE_DEVICES = 16,
    FAKE_MULTIPROCESSORS = 3,
    FAKE_MEMORY_CLOCK = 1000000, /* kHz */
    FAKE_MEMORY_BUS = 512,       /* bits */
    FAKE_THREADS_PER_MULTIPROCESSOR = 2048,
    FAKE_SHARED_PER_MULTIPROCESSOR = 233472,
    FAKE_SHARED_DEFAULT = 49152, /* bytes that a thread block has by default */
    FAKE_SHARED_OPTIN = 232448,  /* bytes that a thread block may ask for */
    FAKE_CAPABILITY = 90,
    FAKE_CLUSTER = 2, /* largest_cluster to begin with: one of 16 x 1024 threads takes
                       * tenths of a second for an iteration of a solver */
};

enum { /* cu_result beyond those of driver_api.h */
       FAKE_INVALID_IMAGE = 200,
       FAKE_INVALID_CONTEXT = 201,
       FAKE_INVALID_HANDLE = 400,
       FAKE_NOT_FOUND = 500,
       FAKE_ILLEGAL_ADDRESS = 700,
       FAKE_LAUNCH_FAILED = 719,
       FAKE_COOPERATIVE_TOO_LARGE = 720,
       FAKE_NOT_SUPPORTED = 801,
       FAKE_CAPTURE_UNSUPPORTED = 900,
       FAKE_CAPTURE_UNJOINED = 904,
       FAKE_CAPTURE_ISOLATION = 905,
       FAKE_CAPTURED_EVENT = 907,
       FAKE_INVALID_CLUSTER_SIZE = 912,
};

fake_cuda *fake_cuda_state(void);

#endif

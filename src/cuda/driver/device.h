/* An open CUDA device and the calls on it.
 *
 * The device is used through its primary context, the one the CUDA runtime uses too, so device
 * pointers of other libraries in the process are ours as well. Every entry into the backend makes
 * that context current (tess_cuda_enter) and then restores the one before (tess_cuda_leave).
 */
#pragma once

#include "cuda/driver/jit.h"
#include "core/sleep.h"
#include "backend/backend.h"

enum { TESS_CUDA_STAGES = 4 };

/* A function that stays loaded until the device closes (module.c); `source` and `entry` are string
 * literals. */
typedef struct tess_cuda_helper_code {
    struct tess_cuda_helper_code *next;
    const char *source, *entry;
    char defines[96];
    cu_module module;
    bool owns_module; /* the first of a module's entries */
    cu_function function;
} tess_cuda_helper_code;

typedef struct tess_cuda {
    tess_ctx *ctx;
    tess_driver driver;
    tess_jit jit;
    char name[24]; /* "cuda:0" */
    int ordinal;
    cu_device handle;
    cu_context context;
    cu_stream stream;  /* the library's own */
    cu_stream uploads; /* of arrays that nobody reads yet: they overtake the work in `stream` */
    int sm;            /* 90: compute capability 9.0 */
    int version;       /* of the driver: 13000 */
    int multiprocessors, threads_per_multiprocessor;
    int f64_ratio;       /* how many times faster f32 is than f64; 0: not known */
    size_t shared_bytes; /* most dynamic shared memory of a thread block */
    size_t l2_bytes, memory_bytes;
    double memory_speed; /* bytes per second by the memory's clock and bus; 0: not known */
    struct tess_cuda_resident *shared; /* layouts of plans that share them (cuda/plan) */
    int refused; /* fresh kernels that gave wrong results on a probe; atomic */
    tess_cuda_helper_code *helpers;
    tess_word loading;            /* `jit` and `helpers` are one thread's at a time */
    volatile unsigned *gate_flag; /* gate.c, pinned: the last gate that was opened */
    unsigned gates;               /* shut so far */
    bool waited;                  /* the next launch follows a wait for an event; atomic */

    /* Copies: the next chunk is copied into one pinned buffer while the others travel. */
    void *stage[TESS_CUDA_STAGES];
    cu_event stage_free[TESS_CUDA_STAGES];
    tess_word staging; /* they are one thread's at a time */
} tess_cuda;

static inline tess_cuda *tess_cuda_of(const tess_device *device)
{
    return device->state;
}

/* TESS_OK, or TESS_ERR_DEVICE with the driver's name and text for the error and the call. */
tess_status tess_cuda_check(const tess_cuda *cuda, cu_result result, const char *call);

/* TESS_TRY(TESS_CU(cuda, cuStreamSynchronize(stream))) */
#define TESS_CU(cuda, call) tess_cuda_check((cuda), (cuda)->driver.call, #call)

tess_status tess_cuda_enter(const tess_cuda *cuda);
void tess_cuda_leave(const tess_cuda *cuda);
/* The same at the end of a function that returns `status`. */
tess_status tess_cuda_leave_with(const tess_cuda *cuda, tess_status status);

/* ---- device.c ---- */

tess_status tess_cuda_open(tess_device *device, const char *rest);
void tess_cuda_close(tess_device *device);

/* Sets the name under which wisdom and performance models are kept: that of a GPU called `gpu` with
 * the state's multiprocessors and caches. */
void tess_cuda_name_model(tess_device *device, const char *gpu);

/* ---- memory.c: all inside enter/leave unless they take a tess_device ---- */

/* `what` names the array in the out-of-memory message. 0 bytes give a valid address. */
tess_status tess_cuda_alloc(tess_cuda *cuda, size_t bytes, const char *what, cu_pointer *out);
void tess_cuda_free(tess_cuda *cuda, cu_pointer pointer); /* 0 is fine */

/* Copies to the device on `stream` through pinned buffers; `from` may be changed on return. */
tess_status tess_cuda_upload(tess_cuda *cuda, cu_pointer to, const void *from, size_t bytes,
                             cu_stream stream);
/* Copies to the host after all work in `stream`, and waits for the copy. */
tess_status tess_cuda_download(tess_cuda *cuda, void *to, cu_pointer from, size_t bytes,
                               cu_stream stream);

/* Whether an address is the device's (device or managed memory), as opposed to the host's. Allowed
 * while a stream is being captured. */
bool tess_cuda_on_device(const tess_cuda *cuda, const void *pointer);

tess_status tess_cuda_memory_alloc(tess_device *device, size_t bytes, void **out);
void tess_cuda_memory_free(tess_device *device, void *pointer);
tess_status tess_cuda_memory_copy_to(tess_device *device, void *to, const void *from, size_t bytes);
tess_status tess_cuda_memory_copy_from(tess_device *device, void *to, const void *from,
                                       size_t bytes);
tess_status tess_cuda_synchronize(tess_device *device);
bool tess_cuda_owns(tess_device *device, const void *pointer);

static inline cu_pointer tess_cuda_address(const void *pointer)
{
    return (cu_pointer)(uintptr_t)pointer;
}

/* Devices and contexts: every device has one context, and a thread's current ones are a stack. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { DEPTH = 64 };

fake_cuda fake_state = {.devices = 1,
                        .fail_at = -1,
                        .memory_limit = INT64_MAX,
                        .capability = FAKE_CAPABILITY,
                        .largest_cluster = FAKE_CLUSTER};

static struct {
    int64_t retained;
    bool reaches[FAKE_DEVICES];
} contexts[FAKE_DEVICES];
static _Thread_local int stack[DEPTH], depth;

static pthread_mutex_t mutex;

void fake_lock(void)
{
    pthread_mutex_lock(&mutex);
}

void fake_unlock(const char *held)
{
    (void)held;
    pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) static void read_environment(void)
{
    const char *text = getenv("TESSERA_FAKE_DEVICES");
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mutex, &recursive);
    if (text && atoi(text) >= 0 && atoi(text) <= FAKE_DEVICES)
        fake_state.devices = atoi(text);
}

EXPORT fake_cuda *fake_cuda_state(void)
{
    return &fake_state;
}

cu_result fake_may_fail(void)
{
    fake_state.calls++;
    if (fake_state.fail_at < 0)
        return CU_SUCCESS;
    return fake_state.fail_at-- == 0 ? fake_state.fail_with : CU_SUCCESS;
}

int fake_device_now(void)
{
    return depth > 0 ? stack[depth - 1] : -1;
}

bool fake_device_reaches(int device, int other)
{
    return device == other || contexts[device].reaches[other];
}

static bool known(cu_device device)
{
    return device >= 0 && device < fake_state.devices && device < FAKE_DEVICES;
}

CALL cuInit(unsigned flags)
{
    (void)flags;
    ENTER();
    return fake_state.devices > 0 ? CU_SUCCESS : CU_ERROR_NO_DEVICE;
}

CALL cuDriverGetVersion(int *version)
{
    ENTER();
    *version = 13000;
    return CU_SUCCESS;
}

CALL cuGetErrorName(cu_result error, const char **text)
{
    *text = error == CU_ERROR_OUT_OF_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == CU_ERROR_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE"
            : error == FAKE_LAUNCH_FAILED     ? "CUDA_ERROR_LAUNCH_FAILED"
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
    *count = fake_state.devices;
    return CU_SUCCESS;
}

CALL cuDeviceGet(cu_device *device, int ordinal)
{
    ENTER();
    REFUSE_IF(!known(ordinal), CU_ERROR_INVALID_VALUE);
    *device = ordinal;
    return CU_SUCCESS;
}

CALL cuDeviceGetName(char *name, int size, cu_device device)
{
    ENTER();
    REFUSE_IF(!known(device), CU_ERROR_INVALID_VALUE);
    snprintf(name, (size_t)size, "Fake GPU %d", device);
    return CU_SUCCESS;
}

CALL cuDeviceTotalMem_v2(size_t *bytes, cu_device device)
{
    ENTER();
    REFUSE_IF(!known(device), CU_ERROR_INVALID_VALUE);
    *bytes = (size_t)8 << 30;
    return CU_SUCCESS;
}

CALL cuDeviceGetAttribute(int *value, int attribute, cu_device device)
{
    ENTER();
    REFUSE_IF(!known(device), CU_ERROR_INVALID_VALUE);
    *value = attribute == CU_ATTRIBUTE_MULTIPROCESSORS ? FAKE_MULTIPROCESSORS
             : attribute == CU_ATTRIBUTE_L2_BYTES      ? 1 << 20
             : attribute == CU_ATTRIBUTE_MEMORY_CLOCK  ? FAKE_MEMORY_CLOCK
             : attribute == CU_ATTRIBUTE_MEMORY_BUS    ? FAKE_MEMORY_BUS
             : attribute == CU_ATTRIBUTE_THREADS_PER_MULTIPROCESSOR
                 ? FAKE_THREADS_PER_MULTIPROCESSOR
             : attribute == CU_ATTRIBUTE_CAPABILITY_MAJOR       ? fake_state.capability / 10
             : attribute == CU_ATTRIBUTE_CAPABILITY_MINOR       ? fake_state.capability % 10
             : attribute == CU_ATTRIBUTE_COOPERATIVE_LAUNCH     ? 1
             : attribute == CU_ATTRIBUTE_SHARED_PER_BLOCK_OPTIN ? FAKE_SHARED_OPTIN
                                                                : 0;
    return CU_SUCCESS;
}

CALL cuDevicePrimaryCtxRetain(cu_context *context, cu_device device)
{
    ENTER();
    REFUSE_IF(!known(device), CU_ERROR_INVALID_VALUE);
    fake_state.alive++;
    contexts[device].retained++;
    *context = (cu_context)&contexts[device];
    return CU_SUCCESS;
}

CALL cuDevicePrimaryCtxRelease_v2(cu_device device)
{
    LOCKED();
    REFUSE_IF(device < 0 || device >= FAKE_DEVICES || contexts[device].retained == 0,
              FAKE_INVALID_CONTEXT);
    if (--contexts[device].retained == 0)
        memset(contexts[device].reaches, 0, sizeof contexts[device].reaches);
    fake_state.alive--;
    return CU_SUCCESS;
}

CALL cuCtxPushCurrent_v2(cu_context context)
{
    ENTER();
    for (int i = 0; i < FAKE_DEVICES && depth < DEPTH; i++) {
        if (context == (cu_context)&contexts[i] && contexts[i].retained > 0) {
            stack[depth++] = i;
            fake_state.current++;
            return CU_SUCCESS;
        }
    }
    return FAKE_INVALID_CONTEXT;
}

CALL cuCtxPopCurrent_v2(cu_context *context)
{
    LOCKED();
    REFUSE_IF(depth == 0, FAKE_INVALID_CONTEXT);
    fake_state.current--;
    *context = (cu_context)&contexts[stack[--depth]];
    return CU_SUCCESS;
}

CALL cuDeviceCanAccessPeer(int *can, cu_device device, cu_device peer)
{
    ENTER();
    REFUSE_IF(!known(device) || !known(peer), CU_ERROR_INVALID_VALUE);
    *can = device != peer && !fake_state.apart;
    return CU_SUCCESS;
}

CALL cuCtxEnablePeerAccess(cu_context peer, unsigned flags)
{
    ENTER();
    IN_CONTEXT();
    (void)flags;
    for (int i = 0; i < FAKE_DEVICES; i++) {
        if (peer != (cu_context)&contexts[i])
            continue;
        bool *reaches = &contexts[fake_device_now()].reaches[i];
        REFUSE_IF(i == fake_device_now() || fake_state.apart, CU_ERROR_INVALID_VALUE);
        REFUSE_IF(*reaches, CU_ERROR_PEER_ACCESS_ALREADY_ENABLED);
        *reaches = true;
        return CU_SUCCESS;
    }
    return FAKE_INVALID_CONTEXT;
}

CALL cuCtxSynchronize(void)
{
    ENTER();
    IN_CONTEXT();
    NOT_CAPTURED();
    fake_state.waits++;
    fake_state.done = fake_state.put;
    return CU_SUCCESS;
}

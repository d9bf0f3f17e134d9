/* Device memory: allocations of the heap, first all NaN. A copy or a memset must lie in one that is
 * alive; what a kernel touches is the address sanitizer's to watch. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { BLOCKS = 4096 };

static struct {
    char *start; /* NULL: free */
    char *kept;  /* fake_memory_keep */
    size_t bytes;
    int device;
} blocks[BLOCKS];
static int used; /* of blocks, free ones in between included */

/* The allocation in which these bytes lie, or -1. */
static int find(cu_pointer pointer, size_t bytes)
{
    for (int i = 0; i < used; i++) {
        uintptr_t start = (uintptr_t)blocks[i].start;
        if (start && pointer >= start && pointer - start <= blocks[i].bytes &&
            bytes <= blocks[i].bytes - (pointer - start))
            return i;
    }
    return -1;
}

bool fake_memory_reached(const void *args, size_t bytes, int device)
{
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        cu_pointer word;
        memcpy(&word, (const char *)args + i, sizeof word);
        const int at = find(word, 1);
        if (at >= 0 && !fake_device_reaches(device, blocks[at].device))
            return false;
    }
    return true;
}

CALL cuMemGetInfo_v2(size_t *available, size_t *total)
{
    ENTER();
    IN_CONTEXT();
    *total = (size_t)8 << 30;
    *available = fake_state.memory_limit == INT64_MAX
                     ? *total
                     : (size_t)(fake_state.memory_limit - fake_state.memory_used);
    return CU_SUCCESS;
}

CALL cuMemAlloc_v2(cu_pointer *pointer, size_t bytes)
{
    ENTER();
    IN_CONTEXT();
    NOT_CAPTURED();
    REFUSE_IF(bytes == 0, CU_ERROR_INVALID_VALUE);
    REFUSE_IF(fake_state.memory_used + (int64_t)bytes > fake_state.memory_limit,
              CU_ERROR_OUT_OF_MEMORY);
    int at = 0;
    while (at < used && blocks[at].start)
        at++;
    void *memory = NULL;
    REFUSE_IF(at == BLOCKS || posix_memalign(&memory, 256, bytes) != 0, CU_ERROR_OUT_OF_MEMORY);
    memset(memory, 0xff, bytes);
    used = at == used ? at + 1 : used;
    blocks[at].start = memory;
    blocks[at].bytes = bytes;
    blocks[at].device = fake_device_now();
    fake_state.memory_used += (int64_t)bytes;
    fake_state.alive++;
    fake_state.allocations++;
    *pointer = (cu_pointer)(uintptr_t)memory;
    return CU_SUCCESS;
}

CALL cuMemFree_v2(cu_pointer pointer)
{
    LOCKED();
    const int at = find(pointer, 1); /* another allocation may end where it begins */
    REFUSE_IF(at < 0 || (cu_pointer)(uintptr_t)blocks[at].start != pointer, CU_ERROR_INVALID_VALUE);
    fake_state.memory_used -= (int64_t)blocks[at].bytes;
    fake_state.alive--;
    free(blocks[at].start);
    blocks[at].start = NULL;
    return CU_SUCCESS;
}

CALL cuMemAllocHost_v2(void **pointer, size_t bytes)
{
    ENTER();
    IN_CONTEXT();
    NOT_CAPTURED();
    *pointer = malloc(bytes);
    fake_state.alive++;
    return CU_SUCCESS;
}

CALL cuMemFreeHost(void *pointer)
{
    LOCKED();
    free(pointer);
    fake_state.alive--;
    return CU_SUCCESS;
}

static cu_result copy(void *to, const void *from, size_t bytes, cu_stream stream)
{
    ENTER();
    REFUSE_IF(!fake_stream_known(stream), FAKE_INVALID_HANDLE);
    fake_state.copies++;
    if (fake_captured(stream))
        return fake_capture_copy(to, from, bytes, stream);
    fake_state.put++;
    memmove(to, from, bytes);
    return CU_SUCCESS;
}

CALL cuMemcpyHtoDAsync_v2(cu_pointer to, const void *from, size_t bytes, cu_stream stream)
{
    LOCKED();
    REFUSE_IF(bytes > 0 && find(to, bytes) < 0, CU_ERROR_INVALID_VALUE);
    return copy((void *)(uintptr_t)to, from, bytes, stream);
}

CALL cuMemcpyDtoHAsync_v2(void *to, cu_pointer from, size_t bytes, cu_stream stream)
{
    LOCKED();
    REFUSE_IF(bytes > 0 && find(from, bytes) < 0, CU_ERROR_INVALID_VALUE);
    fake_state.taken += (int64_t)bytes;
    return copy(to, (void *)(uintptr_t)from, bytes, stream);
}

CALL cuMemcpyDtoDAsync_v2(cu_pointer to, cu_pointer from, size_t bytes, cu_stream stream)
{
    LOCKED();
    REFUSE_IF(bytes > 0 && (find(to, bytes) < 0 || find(from, bytes) < 0), CU_ERROR_INVALID_VALUE);
    return copy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes, stream);
}

cu_result fake_memset(cu_pointer to, unsigned char value, size_t bytes)
{
    REFUSE_IF(bytes > 0 && find(to, bytes) < 0, CU_ERROR_INVALID_VALUE);
    memset((void *)(uintptr_t)to, value, bytes);
    return CU_SUCCESS;
}

CALL cuMemsetD8Async(cu_pointer to, unsigned char value, size_t bytes, cu_stream stream)
{
    ENTER();
    REFUSE_IF(!fake_stream_known(stream), FAKE_INVALID_HANDLE);
    if (fake_captured(stream))
        return fake_capture_memset(to, value, bytes, stream);
    fake_state.put++;
    return fake_memset(to, value, bytes);
}

CALL cuPointerGetAttributes(unsigned count, int *attributes, void **values, cu_pointer pointer)
{
    LOCKED();
    const int at = find(pointer, 1);
    for (unsigned i = 0; i < count; i++) {
        if (attributes[i] == CU_POINTER_MEMORY_TYPE)
            *(unsigned *)values[i] = at < 0 ? 0 : CU_MEMORY_DEVICE;
        else if (attributes[i] == CU_POINTER_DEVICE_ORDINAL)
            *(int *)values[i] = at < 0 ? -2 : blocks[at].device;
        else
            return CU_ERROR_INVALID_VALUE;
    }
    return CU_SUCCESS;
}

void fake_memory_keep(void)
{
    for (int i = 0; i < used; i++) {
        blocks[i].kept = blocks[i].start ? malloc(blocks[i].bytes) : NULL;
        if (blocks[i].kept)
            memcpy(blocks[i].kept, blocks[i].start, blocks[i].bytes);
    }
}

void fake_memory_spoil(void)
{
    for (int i = 0; i < used; i++) {
        for (size_t at = 0; blocks[i].kept && at + 8 <= blocks[i].bytes; at += 8) {
            double now;
            memcpy(&now, blocks[i].start + at, 8);
            if (memcmp(blocks[i].start + at, blocks[i].kept + at, 8) != 0)
                now *= 1.001;
            memcpy(blocks[i].start + at, &now, 8);
        }
        free(blocks[i].kept);
        blocks[i].kept = NULL;
    }
}

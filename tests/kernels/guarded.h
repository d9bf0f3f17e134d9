/* Shared by the kernel tests: arrays that end where a page without access begins, so that a read or
 * a write beyond them is a crash and not a wrong number, and devices. */
#ifndef TEST_GUARDED_H
#define TEST_GUARDED_H

#include "support/support.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct guarded {
    void *data; /* `bytes` bytes up to the forbidden page */
    void *mapping;
    size_t mapped;
} guarded;

static inline guarded guarded_copy(const void *source, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t mapped = (bytes + page - 1) / page * page + page;
    char *base = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(base != MAP_FAILED);
    assert_int_equal(mprotect(base + mapped - page, page, PROT_NONE), 0);
    guarded array = {base + mapped - page - bytes, base, mapped};
    if (bytes > 0)
        memcpy(array.data, source, bytes);
    return array;
}

static inline void guarded_free(guarded array)
{
    munmap(array.mapping, array.mapped);
}

static inline tess_device *test_device(tess_ctx *ctx, const char *name)
{
    tess_device *device = NULL;
    if (tess_device_open(ctx, name, &device) != TESS_OK)
        fail_msg("%s: %s", name, tess_ctx_error(ctx));
    return device;
}

#endif

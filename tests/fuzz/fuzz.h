/* What every fuzz target needs: bytes as a file without touching the disk, and a context that can
 * neither take much memory nor leak. */
#ifndef TESS_FUZZ_H
#define TESS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t fuzz_live;

static inline void *fuzz_allocate(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    void *pointer = NULL;
    if (bytes > (size_t)64 << 20 || posix_memalign(&pointer, alignment, bytes) != 0)
        return NULL;
    fuzz_live++;
    return pointer;
}

static inline void fuzz_release(void *user, void *pointer)
{
    (void)user;
    fuzz_live--;
    free(pointer);
}

static inline tess_ctx *fuzz_begin(void)
{
    tess_ctx *ctx;
    tess_ctx_options options = {.allocator = {fuzz_allocate, fuzz_release, NULL}, .threads = 1};
    if (tess_ctx_create(&options, &ctx) != TESS_OK)
        abort();
    return ctx;
}

/* Ends the context; a leak is a crash. */
static inline void fuzz_end(tess_ctx *ctx)
{
    tess_ctx_destroy(ctx);
    if (fuzz_live != 0)
        abort();
}

/* A file in memory with these bytes; `path` names it until the descriptor is closed. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[64])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ptrdiff_t)size)
        abort();
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

/* A failure must say something, and a success give a valid matrix. */
static inline void fuzz_check(tess_ctx *ctx, tess_status status)
{
    if (status != TESS_OK && tess_ctx_error(ctx)[0] == '\0')
        abort();
    if (status == TESS_ERR_INTERNAL)
        abort();
}

#endif

/* Memory through the context's allocator, with overflow checks and huge pages for large arrays. */
#include <sys/mman.h>

#include "core/core.h"

/* Arrays of this size or more use huge pages: TLB misses then cost more than the memory that
 * rounding up wastes (a few per cent). */
#define HUGE_FROM ((size_t)4 << 20)
#define HUGE_PAGE ((size_t)2 << 20)

tess_status tess_alloc_bytes(tess_ctx *ctx, int64_t count, size_t size, void **out)
{
    size_t bytes = 0;
    if (count < 0 || __builtin_mul_overflow((uint64_t)count, (uint64_t)size, &bytes) ||
        bytes > SIZE_MAX / 2)
        return tess_fail(ctx, TESS_ERR_OVERFLOW,
                         "an array of %lld elements of %zu bytes does not fit in memory",
                         (long long)count, size);
    bool huge = bytes >= HUGE_FROM;
    void *pointer =
        ctx->allocator.allocate(ctx->allocator.user, bytes ? bytes : 1, huge ? HUGE_PAGE : 64);
    if (!pointer)
        return tess_fail(ctx, TESS_ERR_MEMORY, "out of memory: %zu bytes were asked for", bytes);
#ifdef MADV_HUGEPAGE
    if (huge) /* whole huge pages only: the tail may share a page with somebody else's data */
        (void)madvise(pointer, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#endif
    *out = pointer;
    return TESS_OK;
}

tess_status tess_calloc_bytes(tess_ctx *ctx, int64_t count, size_t size, void **out)
{
    TESS_TRY(tess_alloc_bytes(ctx, count, size, out));
    memset(*out, 0, (size_t)count * size);
    return TESS_OK;
}

tess_status tess_resize_bytes(tess_ctx *ctx, void **items, size_t size, int64_t used, int64_t count)
{
    void *resized;
    TESS_TRY(tess_alloc_bytes(ctx, count, size, &resized));
    if (used > 0)
        memcpy(resized, *items, (size_t)used * size);
    tess_free(ctx, *items);
    *items = resized;
    return TESS_OK;
}

tess_status tess_grow_bytes(tess_ctx *ctx, void **items, size_t size, int64_t count,
                            int64_t *capacity)
{
    if (count < *capacity)
        return TESS_OK;
    int64_t more = *capacity > 0 ? 2 * *capacity : 16;
    TESS_TRY(tess_resize_bytes(ctx, items, size, count, more));
    *capacity = more;
    return TESS_OK;
}

void tess_free(tess_ctx *ctx, void *pointer)
{
    if (pointer)
        ctx->allocator.release(ctx->allocator.user, pointer);
}

void tess_free_all(tess_ctx *ctx, void *const *pointers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        tess_free(ctx, pointers[i]);
}

void tess_release(tess_ctx *ctx, void *pointer)
{
    if (ctx)
        tess_free(ctx, pointer);
}

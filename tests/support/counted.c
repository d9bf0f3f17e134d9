#include "support/counted.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

static void *allocate(void *user, size_t bytes, size_t alignment)
{
    counted *c = user;
    if (c->fails_in == 0)
        return NULL;
    if (c->fails_in > 0)
        c->fails_in--;
    void *p = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    c->live += p != NULL;
    c->bytes += (int64_t)malloc_usable_size(p);
    c->peak = c->peak > c->bytes ? c->peak : c->bytes;
    return p;
}

static void release(void *user, void *pointer)
{
    counted *c = user;
    c->live -= pointer != NULL;
    c->bytes -= (int64_t)malloc_usable_size(pointer);
    free(pointer);
}

tess_ctx *counted_ctx(counted *memory)
{
    const tess_ctx_options options = {
        .size = sizeof options, .allocator = {allocate, release, memory}, .threads = 1};
    tess_ctx *ctx;
    *memory = (counted){.fails_in = -1};
    if (tess_ctx_create(&options, &ctx) != TESS_OK)
        abort();
    return ctx;
}

void counted_end(tess_ctx *ctx, counted *memory, int rank)
{
    tess_ctx_destroy(ctx);
    if (memory->live == 0)
        return;
    fprintf(stderr, "part %d leaves %lld allocations\n", rank, (long long)memory->live);
    abort();
}

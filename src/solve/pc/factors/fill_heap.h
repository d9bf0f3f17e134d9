/* A heap of positions, the smallest first: the next column with which a row is eliminated. */
#pragma once

#include "core/core.h"

typedef struct position_heap {
    int64_t *items, count, capacity;
} position_heap;

static inline tess_status push(tess_ctx *ctx, position_heap *heap, int64_t position)
{
    TESS_TRY(TESS_GROW(ctx, &heap->items, heap->count, &heap->capacity));
    int64_t at = heap->count++;
    for (; at > 0 && heap->items[(at - 1) / 2] > position; at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = position;
    return TESS_OK;
}

static inline int64_t pop(position_heap *heap)
{
    const int64_t smallest = heap->items[0], last = heap->items[--heap->count];
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count && heap->items[child + 1] < heap->items[child])
            child++;
        if (heap->items[child] >= last)
            break;
        heap->items[at] = heap->items[child];
    }
    heap->items[at] = last;
    return smallest;
}

/* Contexts of several threads, each with an allocator that fails when it is told to and counts what
 * is left. */
#ifndef TEST_COUNTED_H
#define TEST_COUNTED_H

#include "tessera/tessera.h"

typedef struct counted {
    int64_t fails_in; /* the allocation from now that fails, as do all after it; -1: none */
    int64_t live;
    int64_t bytes, peak; /* held now, and at most so far */
} counted;

/* A context of one thread whose allocations `memory` counts. Aborts if it cannot be created. */
tess_ctx *counted_ctx(counted *memory);
/* Destroys the context, and aborts if an allocation is left. */
void counted_end(tess_ctx *ctx, counted *memory, int rank);

#endif

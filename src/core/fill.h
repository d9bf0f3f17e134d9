/* Structs of the public header that callers pass with their size. */
#pragma once

#include "core/core.h"

/* Copies a struct to the caller's. The caller's may be of an older header and shorter, or of a
 * newer header and longer: fields that the library does not know become 0. */
static inline tess_status tess_fill(void *out, size_t size, const void *ours, size_t our_size)
{
    memset(out, 0, size);
    memcpy(out, ours, tess_min(size, our_size));
    return TESS_OK;
}

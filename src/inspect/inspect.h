/* What the functions of the public header's section Inspection share. */
#pragma once

#include "core/fill.h"

/* Copies a text to the caller's array. Fails if it does not fit. */
static inline tess_status tess_fill_text(tess_ctx *ctx, const char *call, size_t size, char *out,
                                         const char *text)
{
    size_t length = strlen(text);
    if (length >= size)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "%s: the text takes %zu bytes, there are %zu",
                         call, length + 1, size);
    memcpy(out, text, length + 1);
    return TESS_OK;
}

/* A file being written. What its name stands for decides how:
 *
 *     nothing, a regular file     a new file beside it, which takes its name when it is complete: a
 *                                 failure leaves neither a partial file nor a damaged old one
 *     a symbolic link             stays; the same with what it leads to
 *     a device, FIFO or socket    in place
 *     "-", or the same file as    the stream's own descriptor
 *     standard output or error
 *
 * What may not be written is refused before anything is touched, even where its directory would
 * allow to replace it.
 */
#pragma once

#include "core/core.h"

enum { TESS_PATH_MAX = 4096 };

typedef struct tess_output {
    tess_ctx *ctx;
    const char *path; /* as the caller named it */
    int fd;
    char target[TESS_PATH_MAX];    /* what the links at `path` lead to */
    char temporary[TESS_PATH_MAX]; /* "": written in place */
} tess_output;

tess_status tess_output_open(tess_ctx *ctx, const char *path, tess_output *out);
tess_status tess_output_write(tess_output *out, const void *bytes, size_t size);
/* Closes the file. With status = TESS_OK it gets its final name, otherwise it is removed. Returns
 * `status`, or the failure of closing. */
tess_status tess_output_close(tess_output *out, tess_status status);

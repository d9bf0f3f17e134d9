/* Writes to a temporary file, which is renamed at the end. */
#include "matrix/io/output.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static tess_status system_fault(const tess_output *out, const char *what)
{
    char reason[96] = "";
    return tess_fail(out->ctx, TESS_ERR_IO, "%s: %s: %s", out->path, what,
                     strerror_r(errno, reason, sizeof reason));
}

tess_status tess_output_open(tess_ctx *ctx, const char *path, tess_output *out)
{
    *out = (tess_output){.ctx = ctx, .path = path, .fd = -1};
    if (strcmp(path, "-") == 0) {
        out->path = "standard output";
        out->fd = dup(STDOUT_FILENO);
        return out->fd >= 0 ? TESS_OK : system_fault(out, "cannot be written");
    }
    size_t size = strlen(path) + 48;
    TESS_TRY(TESS_ALLOC(ctx, (int64_t)size, &out->temporary));
    for (int attempt = 0; out->fd < 0 && attempt < 1000; attempt++) {
        snprintf(out->temporary, size, "%s.%ld-%d.tmp", path, (long)getpid(), attempt);
        out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (out->fd < 0 && errno != EEXIST)
            break;
    }
    if (out->fd >= 0)
        return TESS_OK;
    tess_status status = system_fault(out, "cannot be created");
    tess_free(ctx, out->temporary);
    return status;
}

tess_status tess_output_write(tess_output *out, const void *bytes, size_t size)
{
    const char *from = bytes;
    while (size > 0) {
        ptrdiff_t put = write(out->fd, from, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return system_fault(out, "cannot be written");
        from += put;
        size -= (size_t)put;
    }
    return TESS_OK;
}

tess_status tess_output_close(tess_output *out, tess_status status)
{
    if (close(out->fd) != 0 && status == TESS_OK)
        status = system_fault(out, "cannot be written");
    if (!out->temporary)
        return status;
    if (status == TESS_OK && rename(out->temporary, out->path) != 0)
        status = system_fault(out, "cannot be created");
    if (status != TESS_OK)
        (void)unlink(out->temporary);
    tess_free(out->ctx, out->temporary);
    return status;
}

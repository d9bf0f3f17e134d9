/* Writes to a temporary file, which is renamed at the end; or in place what has no content to keep.
 */
#include "core/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static tess_status system_fault(const tess_output *out, const char *what)
{
    char reason[96] = "";
    return tess_fail(out->ctx, TESS_ERR_IO, "%s: %s: %s", out->path, what,
                     strerror_r(errno, reason, sizeof reason));
}

/* ---- What the name stands for ---- */

typedef struct place {
    bool exists;
    struct stat old; /* where it exists */
    int stream;      /* the standard stream that it is; -1: none */
    bool beside;     /* a new file is renamed to it */
} place;

/* Writes to `target` the path that the symbolic links at `path` lead to. There may be nothing. */
static bool follow_links(const char *path, char target[TESS_PATH_MAX])
{
    enum { LINKS_MAX = 40 };
    char link[TESS_PATH_MAX];
    errno = ENAMETOOLONG;
    if (snprintf(target, TESS_PATH_MAX, "%s", path) >= TESS_PATH_MAX)
        return false;
    for (int i = 0; i < LINKS_MAX; i++) {
        const ssize_t length = readlink(target, link, sizeof link);
        if (length < 0)
            return errno == EINVAL || errno == ENOENT; /* no link; nothing */
        const char *slash = strrchr(target, '/');
        const size_t directory = link[0] == '/' || !slash ? 0 : (size_t)(slash + 1 - target);
        errno = ENAMETOOLONG;
        if (directory + (size_t)length >= TESS_PATH_MAX)
            return false;
        memcpy(target + directory, link, (size_t)length);
        target[directory + (size_t)length] = '\0';
    }
    errno = ELOOP;
    return false;
}

/* The standard stream that is open on this file; -1: none. Such a file is not replaced, or what the
 * stream still gets would be lost. */
static int stream_of(const struct stat *file)
{
    struct stat open_file;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &open_file) == 0 && open_file.st_dev == file->st_dev &&
            open_file.st_ino == file->st_ino)
            return fd;
    return -1;
}

static tess_status find_place(tess_output *out, place *p)
{
    *p = (place){.stream = -1};
    if (strcmp(out->path, "-") == 0) {
        out->path = "standard output";
        p->stream = STDOUT_FILENO;
        return TESS_OK;
    }
    p->exists = stat(out->path, &p->old) == 0;
    if (!p->exists && (errno != ENOENT || out->path[0] == '\0')) /* no file has an empty name */
        return system_fault(out, "cannot be created");
    if (p->exists && S_ISDIR(p->old.st_mode)) {
        errno = EISDIR;
        return system_fault(out, "cannot be written");
    }
    if (p->exists && faccessat(AT_FDCWD, out->path, W_OK, AT_EACCESS) != 0)
        return system_fault(out, "cannot be written");
    if (p->exists)
        p->stream = stream_of(&p->old);
    p->beside = p->stream < 0 && (!p->exists || S_ISREG(p->old.st_mode));
    return !p->beside || follow_links(out->path, out->target)
               ? TESS_OK
               : system_fault(out, "cannot be created");
}

/* ---- Opening ---- */

/* Opens a new file in the directory of the target. It has the owner and permissions of the file
 * that it will replace, as far as this process may give them. */
static tess_status create_beside(tess_output *out, const place *p)
{
    enum { ATTEMPTS = 1000 };
    for (int attempt = 0; out->fd < 0 && attempt < ATTEMPTS; attempt++) {
        const int length = snprintf(out->temporary, sizeof out->temporary, "%s.%ld-%d.tmp",
                                    out->target, (long)getpid(), attempt);
        errno = ENAMETOOLONG;
        if (length >= (int)sizeof out->temporary)
            break;
        out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (out->fd < 0 && errno != EEXIST)
            break;
    }
    if (out->fd < 0)
        return system_fault(out, "cannot be created");
    if (p->exists) {
        const bool owned = fchown(out->fd, p->old.st_uid, p->old.st_gid) == 0;
        (void)fchmod(out->fd, p->old.st_mode & (owned ? 07777 : 0777));
    }
    return TESS_OK;
}

tess_status tess_output_open(tess_ctx *ctx, const char *path, tess_output *out)
{
    place p;
    *out = (tess_output){.ctx = ctx, .path = path, .fd = -1};
    TESS_TRY(find_place(out, &p));
    if (p.beside)
        return create_beside(out, &p);
    out->fd = p.stream >= 0 ? dup(p.stream) : open(path, O_WRONLY | O_CLOEXEC);
    return out->fd >= 0 ? TESS_OK : system_fault(out, "cannot be written");
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
    if (!out->temporary[0])
        return status;
    if (status == TESS_OK && rename(out->temporary, out->target) != 0)
        status = system_fault(out, "cannot be created");
    if (status != TESS_OK)
        (void)unlink(out->temporary);
    return status;
}

/* ---- Public ---- */

tess_status tess_output_check(tess_ctx *ctx, const char *path)
{
    TESS_NEED(ctx, ctx && path);
    tess_output out = {.ctx = ctx, .path = path, .fd = -1};
    place p;
    TESS_TRY(find_place(&out, &p));
    if (!p.beside) /* opening a FIFO would wait for its reader */
        return TESS_OK;
    TESS_TRY(create_beside(&out, &p));
    (void)close(out.fd);
    (void)unlink(out.temporary);
    return TESS_OK;
}

tess_status tess_output_text(tess_ctx *ctx, const char *path, size_t size, const char *text)
{
    tess_output out;
    TESS_NEED(ctx, ctx && path && (text || size == 0));
    TESS_TRY(tess_output_open(ctx, path, &out));
    return tess_output_close(&out, tess_output_write(&out, text, size));
}

#include "plan/wisdom/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/system.h"

enum { PATH_SIZE = 4096 };

/* How long to wait for another writer's lock. A writer takes milliseconds unless it hangs. */
static const double patience_seconds = 10;

static tess_status fail_errno(tess_ctx *ctx, const char *path)
{
    return tess_fail(ctx, TESS_ERR_IO, "%s: %s; name another file (TESSERA_WISDOM)", path,
                     strerror(errno));
}

/* ---- Reading ---- */

bool tess_kept_is(const tess_kept_kind *kind, const json_t *document)
{
    return json_integer_value(json_object_get(document, kind->key)) == kind->version &&
           json_is_object(json_object_get(document, kind->object));
}

static tess_status load(tess_ctx *ctx, const tess_kept_kind *kind, const char *path, FILE *file,
                        json_t **out)
{
    json_error_t error;
    json_t *document = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    if (!document)
        return tess_fail(ctx, TESS_ERR_FORMAT, "%s is not %s (line %d: %s) and stays as it is: %s",
                         path, kind->name, error.line, error.text, kind->advice);
    if (!tess_kept_is(kind, document)) {
        json_decref(document);
        return tess_fail(ctx, TESS_ERR_FORMAT, "%s is not %s of version %d and stays as it is: %s",
                         path, kind->name, kind->version, kind->advice);
    }
    *out = document;
    return TESS_OK;
}

tess_status tess_kept_read(tess_ctx *ctx, const tess_kept_kind *kind, const char *path,
                           json_t **out)
{
    struct stat about;
    *out = NULL;
    if (stat(path, &about) != 0)
        return errno == ENOENT || errno == ENOTDIR ? TESS_OK : fail_errno(ctx, path);
    if (!S_ISREG(about.st_mode))
        return tess_fail(ctx, TESS_ERR_IO, "%s is not a regular file, so no place for %s: %s", path,
                         kind->name, kind->advice);
    if (about.st_size == 0)
        return TESS_OK;
    FILE *file = fopen(path, "re");
    if (!file)
        return fail_errno(ctx, path);
    tess_status status = load(ctx, kind, path, file, out);
    (void)fclose(file);
    return status;
}

/* ---- Writing ---- */

/* Locks the directory that `path` is in. Where a file system has no locks, the last writer wins. */
static tess_status lock(tess_ctx *ctx, const char *path, int *out)
{
    char parent[PATH_SIZE];
    snprintf(parent, sizeof parent, "%s", path);
    char *slash = strrchr(parent, '/');
    snprintf(slash ? slash + 1 : parent, 2, ".");
    int directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return fail_errno(ctx, path);
    const double start = tess_seconds();
    while (flock(directory, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
        if (tess_seconds() - start > patience_seconds) {
            close(directory);
            return tess_fail(ctx, TESS_ERR_IO,
                             "%s: another process has locked its directory for %.0f s", path,
                             patience_seconds);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    *out = directory;
    return TESS_OK;
}

/* A file beside `path`, open for writing. */
static tess_status begin(tess_ctx *ctx, const char *path, char temporary[PATH_SIZE], int *file)
{
    if (access(path, W_OK) != 0 && errno != ENOENT)
        return fail_errno(ctx, path);
    snprintf(temporary, PATH_SIZE, "%s.XXXXXX", path);
    *file = mkstemp(temporary);
    return *file < 0 ? fail_errno(ctx, path) : TESS_OK;
}

static tess_status write_whole(tess_ctx *ctx, const char *path, const json_t *document)
{
    char temporary[PATH_SIZE];
    int file;
    TESS_TRY(begin(ctx, path, temporary, &file));
    bool written = json_dumpfd(document, file, JSON_INDENT(1) | JSON_SORT_KEYS) == 0;
    written = fchmod(file, 0644) == 0 && written;
    written = close(file) == 0 && written;
    if (written && rename(temporary, path) == 0)
        return TESS_OK;
    tess_status status = fail_errno(ctx, path);
    (void)unlink(temporary);
    return status;
}

/* Whether a file could be written here. */
static tess_status try_to_write(tess_ctx *ctx, const char *path)
{
    char temporary[PATH_SIZE];
    int file;
    TESS_TRY(begin(ctx, path, temporary, &file));
    (void)close(file);
    (void)unlink(temporary);
    return TESS_OK;
}

static tess_status change_locked(tess_ctx *ctx, const tess_kept_kind *kind, const char *path,
                                 tess_kept_edit edit, void *user)
{
    json_t *document;
    bool changed = false;
    TESS_TRY(tess_kept_read(ctx, kind, path, &document));
    if (!document)
        document = json_pack("{s:i, s:{}}", kind->key, kind->version, kind->object);
    tess_status status = TESS_OK;
    if (!document)
        status = tess_fail(ctx, TESS_ERR_MEMORY, "%s: no memory to write it", path);
    else if (!edit)
        status = try_to_write(ctx, path);
    else
        status = edit(user, document, &changed);
    if (status == TESS_OK && changed)
        status = write_whole(ctx, path, document);
    json_decref(document);
    return status;
}

tess_status tess_kept_change(tess_ctx *ctx, const tess_kept_kind *kind, const char *path,
                             tess_kept_edit edit, void *user)
{
    int directory;
    if (strlen(path) >= PATH_SIZE - 8)
        return tess_fail(ctx, TESS_ERR_IO, "%.80s...: the path is too long", path);
    tess_make_directories(path);
    TESS_TRY(lock(ctx, path, &directory));
    tess_status status = change_locked(ctx, kind, path, edit, user);
    (void)close(directory);
    return status;
}

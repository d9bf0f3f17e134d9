#include "plan/wisdom/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/output.h"
#include "core/system.h"

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
    char parent[TESS_PATH_MAX];
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

static tess_status write_whole(tess_ctx *ctx, const char *path, const json_t *document)
{
    tess_output out;
    tess_status status = TESS_OK;
    TESS_TRY(tess_output_open(ctx, path, &out));
    if (json_dumpfd(document, out.fd, JSON_INDENT(1) | JSON_SORT_KEYS) != 0)
        status = fail_errno(ctx, path);
    return tess_output_close(&out, status);
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
        status = tess_output_check(ctx, path);
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
    if (strcmp(path, "-") == 0)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "standard output is no place for %s: name a file",
                         kind->name);
    if (strlen(path) >= TESS_PATH_MAX - 8)
        return tess_fail(ctx, TESS_ERR_IO, "%.80s...: the path is too long", path);
    tess_make_directories(path);
    TESS_TRY(lock(ctx, path, &directory));
    tess_status status = change_locked(ctx, kind, path, edit, user);
    (void)close(directory);
    return status;
}

/* Wisdom on disk: JSON read with suspicion, written whole or not at all. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/wisdom/wisdom.h"

enum { VERSION = 1, PATH_SIZE = 4096 };

/* ---- Reading ---- */

static bool copy_text(const json_t *object, const char *name, char *text, size_t size)
{
    const char *value = json_string_value(json_object_get(object, name));
    if (!value || strlen(value) >= size)
        return false;
    memcpy(text, value, strlen(value) + 1);
    return true;
}

static bool copy_number(const json_t *object, const char *name, double *number)
{
    const json_t *value = json_object_get(object, name);
    *number = json_number_value(value);
    return json_is_number(value) && isfinite(*number) && *number >= 0;
}

static bool parse_entry(const char *key, const json_t *value, tess_wisdom_entry *entry)
{
    char effort[16];
    *entry = (tess_wisdom_entry){0};
    if (strlen(key) >= sizeof entry->key || !json_is_object(value) ||
        !copy_text(value, "format", entry->candidate.format, sizeof entry->candidate.format) ||
        !copy_text(value, "kernel", entry->candidate.kernel, sizeof entry->candidate.kernel) ||
        !copy_text(value, "params", entry->candidate.params, sizeof entry->candidate.params) ||
        !copy_number(value, "seconds", &entry->seconds) ||
        !copy_number(value, "bytes", &entry->bytes) ||
        !copy_text(value, "effort", effort, sizeof effort) || !*entry->candidate.kernel)
        return false;
    if (!copy_text(value, "kernels", entry->kernels, sizeof entry->kernels))
        entry->kernels[0] = '\0'; /* from before there were hashes */
    entry->candidate.shaped = json_is_true(json_object_get(value, "shaped"));
    memcpy(entry->key, key, strlen(key) + 1);
    entry->effort = strcmp(effort, "exhaustive") == 0 ? TESS_EXHAUSTIVE : TESS_MEASURE;
    return true;
}

static tess_status merge_document(struct tess_wisdom *wisdom, const char *path, json_t *document)
{
    json_t *entries = json_object_get(document, "entries"), *value;
    if (json_integer_value(json_object_get(document, "tessera_wisdom")) != VERSION ||
        !json_is_object(entries))
        return tess_fail(wisdom->ctx, TESS_ERR_FORMAT, "%s: not wisdom of version %d, ignored",
                         path, VERSION);
    const char *key;
    json_object_foreach(entries, key, value)
    {
        tess_wisdom_entry entry;
        if (parse_entry(key, value, &entry))
            TESS_TRY(tess_wisdom_put(wisdom, &entry));
        else
            tess_log(wisdom->ctx, "wisdom: %s: entry '%.80s' ignored", path, key);
    }
    return TESS_OK;
}

tess_status tess_wisdom_merge_file(struct tess_wisdom *wisdom, const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT || errno == ENOTDIR
                   ? TESS_OK
                   : tess_fail(wisdom->ctx, TESS_ERR_IO, "%s: %s", path, strerror(errno));
    json_error_t error;
    json_t *document = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    (void)fclose(file);
    if (!document)
        return tess_fail(wisdom->ctx, TESS_ERR_FORMAT, "%s:%d: %s; ignored", path, error.line,
                         error.text);
    tess_status status = merge_document(wisdom, path, document);
    json_decref(document);
    return status;
}

/* ---- Writing ---- */

static json_t *to_json(const struct tess_wisdom *wisdom)
{
    json_t *entries = json_object();
    for (int64_t i = 0; i < wisdom->count; i++) {
        const tess_wisdom_entry *e = &wisdom->entries[i];
        json_t *value = json_pack("{s:s, s:s, s:s, s:f, s:f, s:s, s:s, s:b}", "format",
                                  e->candidate.format, "kernel", e->candidate.kernel, "params",
                                  e->candidate.params, "seconds", e->seconds, "bytes", e->bytes,
                                  "effort", e->effort == TESS_EXHAUSTIVE ? "exhaustive" : "measure",
                                  "kernels", e->kernels, "shaped", (int)e->candidate.shaped);
        if (json_object_set_new(entries, e->key, value) != 0) {
            json_decref(entries);
            return NULL;
        }
    }
    return json_pack("{s:i, s:o}", "tessera_wisdom", VERSION, "entries", entries);
}

/* mkdir -p of the directory a file is in; whether it worked shows when the file is made. */
static void make_directories(const char *path)
{
    char part[PATH_SIZE];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(part, 0777);
        *slash = '/';
    }
}

tess_status tess_json_write(tess_ctx *ctx, const char *path, const json_t *document)
{
    char temporary[PATH_SIZE];
    int length = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    if (length < 0 || (size_t)length >= sizeof temporary)
        return tess_fail(ctx, TESS_ERR_IO, "%.80s...: the path is too long", path);
    make_directories(path);
    tess_status status = TESS_OK;
    int file = mkstemp(temporary);
    if (file < 0) {
        status = tess_fail(ctx, TESS_ERR_IO, "%s: %s", path, strerror(errno));
    } else {
        bool written = json_dumpfd(document, file, JSON_INDENT(1) | JSON_SORT_KEYS) == 0;
        written = fchmod(file, 0644) == 0 && written;
        written = close(file) == 0 && written;
        if (!written || rename(temporary, path) != 0) {
            status = tess_fail(ctx, TESS_ERR_IO, "%s: %s", path, strerror(errno));
            (void)unlink(temporary);
        }
    }
    return status;
}

tess_status tess_wisdom_write_file(const struct tess_wisdom *wisdom, const char *path)
{
    json_t *document = to_json(wisdom);
    if (!document)
        return tess_fail(wisdom->ctx, TESS_ERR_MEMORY, "%s: no memory to write it", path);
    tess_status status = tess_json_write(wisdom->ctx, path, document);
    json_decref(document);
    return status;
}

/* Wisdom as JSON, in a file or as text: read with suspicion. keep.c has the files. */
#include "plan/wisdom/keep.h"
#include "plan/wisdom/wisdom.h"

static const tess_kept_kind kind = {"wisdom", "tessera_wisdom", 1, "entries",
                                    "name another file (TESSERA_WISDOM), or remove it"};

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
        entry->kernels[0] = '\0'; /* the file is older than the hashes */
    entry->candidate.shaped = json_is_true(json_object_get(value, "shaped"));
    memcpy(entry->key, key, strlen(key) + 1);
    const bool all = strcmp(effort, tess_effort_name(TESS_EFFORT_EXHAUSTIVE)) == 0;
    entry->effort = all ? TESS_EFFORT_EXHAUSTIVE : TESS_EFFORT_MEASURE;
    return true;
}

/* `from` names the document in log lines. */
static tess_status merge_document(struct tess_wisdom *wisdom, const char *from, json_t *document,
                                  bool unsaved, int64_t *merged)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(document, kind.object), key, value)
    {
        tess_wisdom_entry entry;
        if (!parse_entry(key, value, &entry)) {
            tess_log(wisdom->ctx, "wisdom: %s: entry '%.80s' ignored", from, key);
            continue;
        }
        entry.unsaved = unsaved;
        TESS_TRY(tess_wisdom_put(wisdom, &entry));
        ++*merged;
    }
    return TESS_OK;
}

tess_status tess_wisdom_merge_file(struct tess_wisdom *wisdom, const char *path)
{
    json_t *document;
    int64_t merged = 0;
    TESS_TRY(tess_kept_read(wisdom->ctx, &kind, path, &document));
    tess_status status = merge_document(wisdom, path, document, false, &merged);
    json_decref(document);
    return status;
}

tess_status tess_wisdom_merge_text(struct tess_wisdom *wisdom, const char *text, int64_t *merged)
{
    json_error_t error;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    tess_status status;
    *merged = 0;
    if (!document)
        return tess_fail(wisdom->ctx, TESS_ERR_FORMAT, "wisdom: line %d: %s", error.line,
                         error.text);
    if (tess_kept_is(&kind, document))
        status = merge_document(wisdom, "text", document, true, merged);
    else
        status = tess_fail(wisdom->ctx, TESS_ERR_FORMAT,
                           "the text is not wisdom of version %d, as tess_wisdom_export writes it",
                           kind.version);
    json_decref(document);
    return status;
}

/* ---- Writing ---- */

/* Puts the entries into a document; only those that no file has, if `unsaved`. */
static tess_status put_entries(const struct tess_wisdom *wisdom, bool unsaved, json_t *document,
                               bool *changed)
{
    json_t *entries = json_object_get(document, kind.object);
    for (int64_t i = 0; i < wisdom->count; i++) {
        const tess_wisdom_entry *e = &wisdom->entries[i];
        if (unsaved && !e->unsaved)
            continue;
        json_t *value =
            json_pack("{s:s, s:s, s:s, s:f, s:f, s:s, s:s, s:b}", "format", e->candidate.format,
                      "kernel", e->candidate.kernel, "params", e->candidate.params, "seconds",
                      e->seconds, "bytes", e->bytes, "effort", tess_effort_name(e->effort),
                      "kernels", e->kernels, "shaped", (int)e->candidate.shaped);
        if (json_object_set_new(entries, e->key, value) != 0)
            return tess_fail(wisdom->ctx, TESS_ERR_MEMORY, "wisdom: no memory to write it");
        *changed = true;
    }
    return TESS_OK;
}

static tess_status edit_save(void *user, json_t *document, bool *changed)
{
    return put_entries(user, true, document, changed);
}

tess_status tess_wisdom_save_file(struct tess_wisdom *wisdom, const char *path)
{
    bool unsaved = false;
    for (int64_t i = 0; i < wisdom->count; i++)
        unsaved = unsaved || wisdom->entries[i].unsaved;
    TESS_TRY(tess_kept_change(wisdom->ctx, &kind, path, unsaved ? edit_save : NULL, wisdom));
    for (int64_t i = 0; i < wisdom->count; i++)
        wisdom->entries[i].unsaved = false;
    return TESS_OK;
}

typedef struct forgetting {
    tess_ctx *ctx;
    const char *part;
    int64_t count; /* classes of the file alone */
} forgetting;

static tess_status edit_forget(void *user, json_t *document, bool *changed)
{
    forgetting *f = user;
    const char *key;
    void *next;
    json_t *value, *entries = json_object_get(document, kind.object);
    json_object_foreach_safe(entries, next, key, value)
    {
        if (!strstr(key, f->part))
            continue;
        f->count += !tess_wisdom_find(f->ctx, key);
        json_object_del(entries, key);
        *changed = true;
    }
    return TESS_OK;
}

tess_status tess_wisdom_forget_file(tess_ctx *ctx, const char *path, const char *part,
                                    int64_t *forgotten)
{
    forgetting f = {.ctx = ctx, .part = part};
    json_t *document;
    TESS_TRY(tess_kept_read(ctx, &kind, path, &document));
    if (document) /* otherwise nothing is there, and no directory is made */
        TESS_TRY(tess_kept_change(ctx, &kind, path, edit_forget, &f));
    json_decref(document);
    *forgotten = f.count;
    return TESS_OK;
}

tess_status tess_wisdom_to_text(const struct tess_wisdom *wisdom, char **text)
{
    tess_ctx *ctx = wisdom->ctx;
    bool changed;
    json_t *document = json_pack("{s:i, s:{}}", kind.key, kind.version, kind.object);
    tess_status status = document ? put_entries(wisdom, false, document, &changed)
                                  : tess_fail(ctx, TESS_ERR_MEMORY, "wisdom: no memory for text");
    char *dumped = status == TESS_OK ? json_dumps(document, JSON_INDENT(1) | JSON_SORT_KEYS) : NULL;
    char *copy = NULL;
    if (dumped)
        status = TESS_ALLOC(ctx, (int64_t)strlen(dumped) + 1, &copy);
    else if (status == TESS_OK)
        status = tess_fail(ctx, TESS_ERR_MEMORY, "wisdom: no memory for its text");
    if (status == TESS_OK) {
        memcpy(copy, dumped, strlen(dumped) + 1);
        *text = copy;
    }
    free(dumped);
    json_decref(document);
    return status;
}

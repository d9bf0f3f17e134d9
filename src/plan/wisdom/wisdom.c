/* Wisdom in memory: keys, lookup, and what a context knows. Files are in file.c. */
#include "plan/wisdom/wisdom.h"

#include "core/system.h"

/* ---- Keys ---- */

/* Rows by their mean number of scalars, and by whether one length stands for all: a row many times
 * the mean, or a spread as large as half the mean, asks for other kernels. */
static void classify_rows(const tess_matrix *A, const char **length, const char **spread)
{
    double rows = A->block_rows > 0 ? (double)A->block_rows : 1, mean = (double)A->blocks / rows;
    double squares = 0, longest = 0;
    for (int64_t i = 0; i < A->block_rows; i++) {
        double blocks = (double)(A->row_offsets[i + 1] - A->row_offsets[i]);
        squares += (blocks - mean) * (blocks - mean);
        longest = tess_max(blocks, longest);
    }
    double scalars = mean * A->block_width;
    /* In steps of four times: of one block size, rows of 7 and of 27 blocks are never in one
     * class. */
    *length = scalars < 16 ? "short" : scalars < 64 ? "medium" : scalars < 256 ? "long" : "longest";
    *spread = sqrt(squares / rows) > 0.5 * mean || longest > 8 * mean ? "irregular" : "regular";
}

/* A matrix that can be stored by half has kernels that others of its sizes lack. */
void tess_wisdom_key(const tess_device *device, const tess_matrix *A, char *key)
{
    const char *length, *spread;
    classify_rows(A, &length, &spread);
    const bool cached = tess_matrix_spmv_bytes(A) <= device->cache_bytes;
    const bool half = A->values && device->backend->stores_half && device->backend->stores_half(A);
    snprintf(key, TESS_WISDOM_KEY, "%s|spmv|%dx%d|%s|%s|%s|%s%s",
             device->model[0] ? device->model : device->backend->name, (int)A->block_height,
             (int)A->block_width, tess_type_name(A->type), length, spread,
             cached ? "cache" : "memory", half ? "|half" : "");
}

/* ---- Entries ---- */

const char *tess_effort_name(tess_effort effort)
{
    static const char *const names[] = {[TESS_EFFORT_MEASURE] = "measure",
                                        [TESS_EFFORT_ESTIMATE] = "estimate",
                                        [TESS_EFFORT_EXHAUSTIVE] = "exhaustive"};
    return names[effort];
}

bool tess_wisdom_is_current(const tess_wisdom_entry *entry, const tess_backend *backend)
{
    return strcmp(entry->kernels, backend->kernels ? backend->kernels : "") == 0;
}

const tess_backend *tess_wisdom_backend(const tess_wisdom_entry *entry)
{
    return tess_backend_named(entry->key, strcspn(entry->key, ",|")); /* as models begin */
}

static tess_wisdom_entry *find(const struct tess_wisdom *wisdom, const char *key)
{
    for (int64_t i = 0; i < wisdom->count; i++)
        if (strcmp(wisdom->entries[i].key, key) == 0)
            return &wisdom->entries[i];
    return NULL;
}

tess_status tess_wisdom_put(struct tess_wisdom *wisdom, const tess_wisdom_entry *entry)
{
    tess_wisdom_entry *known = find(wisdom, entry->key);
    if (!known) {
        TESS_TRY(TESS_GROW(wisdom->ctx, &wisdom->entries, wisdom->count, &wisdom->capacity));
        known = &wisdom->entries[wisdom->count++];
    }
    *known = *entry;
    return TESS_OK;
}

void tess_wisdom_free(struct tess_wisdom *wisdom)
{
    tess_free(wisdom->ctx, wisdom->entries);
    wisdom->entries = NULL;
    wisdom->count = wisdom->capacity = 0;
}

static int64_t drop(struct tess_wisdom *wisdom, const char *part)
{
    int64_t kept = 0, before = wisdom->count;
    for (int64_t i = 0; i < before; i++)
        if (!strstr(wisdom->entries[i].key, part))
            wisdom->entries[kept++] = wisdom->entries[i];
    wisdom->count = kept;
    return before - kept;
}

/* ---- The context's ---- */

bool tess_wisdom_enabled(const tess_ctx *ctx)
{
    const char *named = getenv("TESSERA_WISDOM");
    return ctx->wisdom_keep == TESS_WISDOM_USUAL ? !named || strcmp(named, "off") != 0
                                                 : ctx->wisdom_keep != TESS_WISDOM_OFF;
}

bool tess_wisdom_path(const tess_ctx *ctx, char *path, size_t size)
{
    if (ctx->wisdom_keep == TESS_WISDOM_USUAL)
        return tess_user_path("TESSERA_WISDOM", "/wisdom.json", path, size);
    const char *named = ctx->wisdom_keep == TESS_WISDOM_FILE ? ctx->wisdom_path : "";
    return *named && (size_t)snprintf(path, size, "%s", named) < size;
}

static void destroy(tess_ctx *ctx)
{
    if (ctx->wisdom)
        tess_wisdom_free(ctx->wisdom);
    TESS_FREE(ctx, ctx->wisdom, ctx->wisdom_path);
    ctx->wisdom = NULL;
    ctx->wisdom_path = NULL;
}

tess_status tess_ctx_set_wisdom(tess_ctx *ctx, tess_wisdom_keep keep, const char *path)
{
    char *copy = NULL;
    if (!ctx)
        return TESS_ERR_ARGUMENT;
    if ((int)keep < TESS_WISDOM_USUAL || keep > TESS_WISDOM_OFF)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_ctx_set_wisdom: keep = %d is none of TESS_WISDOM_USUAL, _FILE, "
                         "_MEMORY, _OFF",
                         (int)keep);
    if ((keep == TESS_WISDOM_FILE) != (path && *path))
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_ctx_set_wisdom: a path belongs to TESS_WISDOM_FILE and to nothing "
                         "else");
    if (path) {
        TESS_TRY(TESS_ALLOC(ctx, (int64_t)strlen(path) + 1, &copy));
        memcpy(copy, path, strlen(path) + 1);
    }
    destroy(ctx);
    ctx->destroy_wisdom = destroy;
    ctx->wisdom_keep = keep;
    ctx->wisdom_path = copy;
    return TESS_OK;
}

/* Trouble with wisdom is no failure of the caller's: it goes to the log, and the context's sentence
 * stays. */
static void note(tess_ctx *ctx, const char *what, tess_status status, const tess_kept_error *before)
{
    if (status == TESS_OK)
        return;
    tess_log(ctx, "wisdom: %s%s", what, ctx->error);
    tess_error_restore(ctx, before);
}

static void merge_quietly(struct tess_wisdom *wisdom, const char *path)
{
    tess_kept_error before = tess_error_keep(wisdom->ctx);
    note(wisdom->ctx, "", tess_wisdom_merge_file(wisdom, path), &before);
}

static void read_all(struct tess_wisdom *wisdom)
{
    char path[4096];
    const char *profiles =
        wisdom->ctx->wisdom_keep == TESS_WISDOM_MEMORY ? NULL : getenv("TESSERA_PROFILES");
    while (profiles && *profiles) {
        size_t length = strcspn(profiles, ":");
        if (length > 0 && length < sizeof path) {
            memcpy(path, profiles, length);
            path[length] = '\0';
            merge_quietly(wisdom, path);
        }
        profiles += length + (profiles[length] == ':');
    }
    if (tess_wisdom_path(wisdom->ctx, path, sizeof path))
        merge_quietly(wisdom, path);
}

struct tess_wisdom *tess_wisdom_of(tess_ctx *ctx)
{
    if (!tess_wisdom_enabled(ctx))
        return NULL;
    if (!ctx->wisdom) {
        tess_kept_error before = tess_error_keep(ctx);
        tess_status status = TESS_ALLOC(ctx, 1, &ctx->wisdom);
        note(ctx, "", status, &before);
        if (status != TESS_OK)
            return NULL;
        *ctx->wisdom = (struct tess_wisdom){.ctx = ctx};
        ctx->destroy_wisdom = destroy;
        read_all(ctx->wisdom);
    }
    return ctx->wisdom;
}

const tess_wisdom_entry *tess_wisdom_find(tess_ctx *ctx, const char *key)
{
    const struct tess_wisdom *wisdom = tess_wisdom_of(ctx);
    return wisdom ? find(wisdom, key) : NULL;
}

tess_status tess_wisdom_save(tess_ctx *ctx)
{
    char path[4096];
    if (!ctx)
        return TESS_ERR_ARGUMENT;
    struct tess_wisdom *wisdom = tess_wisdom_of(ctx);
    if (!wisdom || !tess_wisdom_path(ctx, path, sizeof path))
        return TESS_OK;
    return tess_wisdom_save_file(wisdom, path);
}

void tess_wisdom_remember(tess_ctx *ctx, const tess_wisdom_entry *entry)
{
    struct tess_wisdom *wisdom = tess_wisdom_of(ctx);
    tess_wisdom_entry unsaved = *entry;
    if (!wisdom)
        return;
    unsaved.unsaved = true;
    tess_kept_error before = tess_error_keep(ctx);
    tess_status status = tess_wisdom_put(wisdom, &unsaved);
    if (status == TESS_OK)
        status = tess_wisdom_save(ctx);
    note(ctx, "not kept: ", status, &before);
}

tess_status tess_wisdom_forget(tess_ctx *ctx, const char *part, int64_t *forgotten)
{
    char path[4096];
    int64_t in_file = 0, here = 0;
    if (!ctx || !part || !forgotten)
        return tess_null_argument(ctx, __func__);
    struct tess_wisdom *wisdom = tess_wisdom_of(ctx);
    if (wisdom && tess_wisdom_path(ctx, path, sizeof path))
        TESS_TRY(tess_wisdom_forget_file(ctx, path, part, &in_file));
    if (wisdom)
        here = drop(wisdom, part);
    *forgotten = in_file + here;
    return TESS_OK;
}

/* ---- As text ---- */

tess_status tess_wisdom_export(tess_ctx *ctx, char **text)
{
    if (!ctx || !text)
        return tess_null_argument(ctx, __func__);
    struct tess_wisdom empty = {.ctx = ctx}, *wisdom = tess_wisdom_of(ctx);
    return tess_wisdom_to_text(wisdom ? wisdom : &empty, text);
}

tess_status tess_wisdom_import(tess_ctx *ctx, const char *text, int64_t *classes)
{
    int64_t merged;
    if (!ctx || !text)
        return tess_null_argument(ctx, __func__);
    struct tess_wisdom *wisdom = tess_wisdom_of(ctx);
    if (!wisdom)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "wisdom is off: tess_ctx_set_wisdom(ctx, TESS_WISDOM_MEMORY, NULL) keeps "
                         "it in the context");
    TESS_TRY(tess_wisdom_merge_text(wisdom, text, &merged));
    TESS_TRY(tess_wisdom_save(ctx));
    if (classes)
        *classes = merged;
    return TESS_OK;
}

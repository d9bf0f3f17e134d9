/* The context: the options in force, and the sentence of the last failure. */
#include <time.h>

#include "core/core.h"
#include "core/threads.h"

static void *default_allocate(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    void *pointer = NULL;
    return posix_memalign(&pointer, alignment, bytes) == 0 ? pointer : NULL;
}

static void default_release(void *user, void *pointer)
{
    (void)user;
    free(pointer);
}

tess_status tess_ctx_create(const tess_ctx_options *given, tess_ctx **out)
{
    tess_ctx_options taken;
    const tess_ctx_options *options = &taken;
    if (!out)
        return TESS_ERR_ARGUMENT;
    TESS_TRY(TESS_TAKE_OPTIONS(NULL, tess_ctx_options, given, &taken));
    if (options->threads < 0 || options->threads > TESS_THREADS_MAX ||
        !options->allocator.allocate != !options->allocator.release)
        return TESS_ERR_ARGUMENT;

    tess_allocator allocator = options->allocator;
    if (!allocator.allocate)
        allocator = (tess_allocator){default_allocate, default_release, NULL};
    tess_ctx *ctx = allocator.allocate(allocator.user, sizeof *ctx, 64);
    if (!ctx)
        return TESS_ERR_MEMORY;
    *ctx = (tess_ctx){
        .allocator = allocator,
        .threads = options->threads > 0 ? options->threads : tess_default_threads(),
        .progress = options->progress,
        .progress_user = options->progress_user,
        .log = options->log,
        .log_user = options->log_user,
    };
    *out = ctx;
    return TESS_OK;
}

void tess_ctx_destroy(tess_ctx *ctx)
{
    if (!ctx)
        return;
    if (ctx->destroy_wisdom)
        ctx->destroy_wisdom(ctx);
    tess_pool_destroy(ctx);
    ctx->allocator.release(ctx->allocator.user, ctx);
}

const char *tess_ctx_error(const tess_ctx *ctx)
{
    return ctx ? ctx->error : "";
}

tess_status tess_ctx_set_threads(tess_ctx *ctx, int threads)
{
    if (!ctx)
        return TESS_ERR_ARGUMENT;
    if (threads < 0 || threads > TESS_THREADS_MAX)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "threads = %d is outside 0..%d", threads,
                         TESS_THREADS_MAX);
    ctx->threads = threads > 0 ? threads : tess_default_threads();
    return TESS_OK;
}

void tess_ctx_set_progress(tess_ctx *ctx, tess_progress_fn progress, void *user)
{
    if (!ctx)
        return;
    ctx->progress = progress;
    ctx->progress_user = user;
}

int tess_ctx_threads(const tess_ctx *ctx)
{
    return ctx ? ctx->threads : 1;
}

tess_status tess_fail(tess_ctx *ctx, tess_status status, const char *format, ...)
{
    if (ctx) {
        /* The arguments may point into the old text, so the new one is formatted elsewhere
         * first. */
        char text[sizeof ctx->error];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        memcpy(ctx->error, text, sizeof text);
    }
    return status;
}

tess_status tess_null_argument(tess_ctx *ctx, const char *call)
{
    return tess_fail(ctx, TESS_ERR_ARGUMENT, "%s: an argument is NULL", call);
}

void tess_log(tess_ctx *ctx, const char *format, ...)
{
    if (!ctx || !ctx->log)
        return;
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    ctx->log(ctx->log_user, line);
}

double tess_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

tess_status tess_progress(tess_ctx *ctx, const char *what, double done, double total)
{
    if (!ctx->progress)
        return TESS_OK;
    double now = tess_seconds();
    if (now < ctx->progress_next)
        return TESS_OK;
    ctx->progress_next = now + 0.1;
    /* A file that grows while it is read has more bytes than were announced. */
    const double fraction = total > 0 ? tess_min(done / total, 1.0) : -1.0;
    if (ctx->progress(ctx->progress_user, what, fraction) != 0)
        return tess_fail(ctx, TESS_ERR_CANCELLED, "%s: cancelled", what);
    return TESS_OK;
}

tess_kept_error tess_error_keep(const tess_ctx *ctx)
{
    tess_kept_error kept;
    memcpy(kept.text, ctx->error, sizeof kept.text);
    return kept;
}

void tess_error_restore(tess_ctx *ctx, const tess_kept_error *kept)
{
    memcpy(ctx->error, kept->text, sizeof ctx->error);
}

/* Reads text files, plain or gzip (recognised by content), in buffers of whole lines. */
#include "matrix/io/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PACKED = 256 << 10 };

static const char too_long[] = "a line of more than 65536 bytes";

static void keep_fault(tess_text *t, tess_status status, const char *what)
{
    t->fault = status;
    snprintf(t->fault_text, sizeof t->fault_text, "%s", what);
    t->ended = true;
}

/* Reads `bytes` bytes, or fewer at the end of the file. On an error returns -1 and keeps the
 * fault. */
static ptrdiff_t read_bytes(tess_text *t, void *to, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        ptrdiff_t got = read(t->fd, (char *)to + done, bytes - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            char reason[96] = "";
            keep_fault(t, TESS_ERR_IO, strerror_r(errno, reason, sizeof reason));
            return -1;
        }
        if (got == 0)
            break;
        done += (size_t)got;
    }
    t->file_done += (int64_t)done;
    return (ptrdiff_t)done;
}

static void *zlib_allocate(void *user, unsigned count, unsigned size)
{
    tess_ctx *ctx = user;
    return ctx->allocator.allocate(ctx->allocator.user, (size_t)count * size, 64);
}

static void zlib_release(void *user, void *pointer)
{
    tess_free(user, pointer);
}

z_stream tess_zlib_stream(tess_ctx *ctx)
{
    return (z_stream){.zalloc = zlib_allocate, .zfree = zlib_release, .opaque = ctx};
}

static bool refill_packed(tess_text *t)
{
    ptrdiff_t got = read_bytes(t, t->packed, PACKED);
    t->packed_begin = 0;
    t->packed_end = (size_t)tess_max(got, 0);
    return got > 0;
}

/* Returns whether another gzip member follows. After a member there may also be zeros (tape
 * padding), or nothing. */
static bool next_member(tess_text *t)
{
    for (;;) {
        if (t->packed_begin == t->packed_end && !refill_packed(t)) {
            t->ended = true;
            return false;
        }
        unsigned char byte = t->packed[t->packed_begin];
        if (byte == 0x1f)
            break;
        if (byte != 0) {
            keep_fault(t, TESS_ERR_FORMAT, "bytes that are not gzip follow the compressed data");
            return false;
        }
        t->packed_begin++;
    }
    t->stream_ended = false;
    (void)inflateReset(&t->inflater);
    return true;
}

static size_t inflate_bytes(tess_text *t, char *to, size_t bytes)
{
    z_stream *z = &t->inflater;
    size_t done = 0;
    while (done < bytes && !t->ended) {
        if (t->stream_ended && !next_member(t))
            break;
        const bool fed = t->packed_begin < t->packed_end || refill_packed(t);
        if (t->fault != TESS_OK)
            break;
        z->next_in = t->packed + t->packed_begin;
        z->avail_in = (unsigned)(t->packed_end - t->packed_begin);
        z->next_out = (unsigned char *)to + done;
        z->avail_out = (unsigned)(bytes - done);
        int result = inflate(z, Z_NO_FLUSH);
        const size_t before = done;
        t->packed_begin = t->packed_end - z->avail_in;
        done = bytes - z->avail_out;
        if (result == Z_STREAM_END)
            t->stream_ended = true;
        else if (result == Z_MEM_ERROR)
            keep_fault(t, TESS_ERR_MEMORY, "out of memory while decompressing");
        else if (result != Z_OK && result != Z_BUF_ERROR)
            keep_fault(t, TESS_ERR_FORMAT,
                       z->msg ? z->msg : "the gzip data is damaged (checksum or code)");
        else if (!fed && done == before) /* nor is there text in the inflater any more */
            keep_fault(t, TESS_ERR_FORMAT, "the gzip data ends early");
    }
    return done;
}

static size_t plain_bytes(tess_text *t, char *to, size_t bytes)
{
    size_t first = (size_t)tess_min((int64_t)(t->packed_end - t->packed_begin), (int64_t)bytes);
    memcpy(to, t->packed + t->packed_begin, first);
    t->packed_begin += first;
    ptrdiff_t got = first < bytes ? read_bytes(t, to + first, bytes - first) : 0;
    size_t done = first + (size_t)tess_max(got, 0);
    t->ended |= done < bytes;
    return done;
}

void tess_text_fill(tess_text *t)
{
    char *buffer = t->buffer[t->filling];
    const char *other = t->buffer[1 - t->filling];
    size_t carry = t->filled - t->whole;
    memcpy(buffer, other + t->whole, carry);
    t->filled = carry;
    t->whole = 0;
    while (!t->whole && !t->ended) {
        if (t->filled > TESS_LINE_MAX) {
            t->filled = 0;
            keep_fault(t, TESS_ERR_FORMAT, too_long);
            break;
        }
        char *to = buffer + t->filled;
        size_t got = t->gzip ? inflate_bytes(t, to, t->chunk) : plain_bytes(t, to, t->chunk);
        t->filled += got;
        const char *newline = memrchr(to, '\n', got);
        if (newline)
            t->whole = (size_t)(newline - buffer) + 1;
    }
    if (t->ended && t->fault == TESS_OK && t->filled > t->whole) {
        buffer[t->filled++] = '\n'; /* a last line without a newline */
        t->whole = t->filled;
    }
    memset(buffer + t->filled, 0, TESS_TEXT_PAD);
}

tess_status tess_text_swap(tess_text *t)
{
    t->text = t->buffer[t->filling];
    t->length = t->whole;
    t->filling = 1 - t->filling;
    if (t->length > 0 || t->fault == TESS_OK)
        return TESS_OK;
    return tess_fail(t->ctx, t->fault, "%s:%lld: %s", t->path, (long long)t->lines_taken + 1,
                     t->fault_text);
}

tess_status tess_text_line(tess_text *t, char **line)
{
    if (t->length == 0) {
        tess_text_fill(t);
        TESS_TRY(tess_text_swap(t));
    }
    *line = NULL;
    if (t->length == 0)
        return TESS_OK;
    char *end = memchr(t->text, '\n', t->length);
    size_t taken = (size_t)(end - t->text) + 1;
    if (taken > TESS_LINE_MAX + 1)
        return tess_fail(t->ctx, TESS_ERR_FORMAT, "%s:%lld: %s", t->path,
                         (long long)t->lines_taken + 1, too_long);
    *line = t->text;
    while (end > *line && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    *end = '\0';
    t->text += taken;
    t->length -= taken;
    t->lines_taken++;
    return TESS_OK;
}

int64_t tess_text_bound(const tess_text *t)
{
    int64_t bound;
    if (t->file_bytes < 0 || !tess_mul(t->file_bytes, t->gzip ? 1032 : 1, &bound))
        return INT64_MAX; /* deflate compresses 1032 : 1 at best */
    return bound;
}

static tess_status open_file(tess_text *t)
{
    t->fd = open(t->path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (t->fd < 0 || fstat(t->fd, &info) != 0) {
        char reason[96] = "";
        return tess_fail(t->ctx, TESS_ERR_IO, "%s: %s", t->path,
                         strerror_r(errno, reason, sizeof reason));
    }
    if (S_ISDIR(info.st_mode))
        return tess_fail(t->ctx, TESS_ERR_IO, "%s: is a directory, not a file", t->path);
    t->file_bytes = S_ISREG(info.st_mode) ? (int64_t)info.st_size : -1;
    return TESS_OK;
}

tess_status tess_text_open(tess_ctx *ctx, const char *path, size_t chunk, tess_text *t)
{
    *t = (tess_text){.ctx = ctx, .path = path, .fd = -1, .chunk = chunk};
    tess_status status = TESS_OK;
    TESS_TRY_CLEAN(open_file(t));
    /* The buffer need not be larger than the file. */
    int64_t largest = t->file_bytes < 0 ? INT64_MAX : t->file_bytes;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, PACKED, &t->packed));
    if (!refill_packed(t) && t->fault != TESS_OK) {
        status = tess_fail(ctx, t->fault, "%s: %s", path, t->fault_text);
        goto cleanup;
    }
    t->gzip = t->packed_end >= 2 && t->packed[0] == 0x1f && t->packed[1] == 0x8b;
    if (!t->gzip && largest < (int64_t)t->chunk)
        t->chunk = (size_t)largest + 1;
    int64_t bytes = (int64_t)t->chunk + TESS_LINE_MAX + TESS_TEXT_PAD + 8;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, bytes, &t->buffer[0]));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, bytes, &t->buffer[1]));
    if (t->gzip) {
        t->inflater = tess_zlib_stream(ctx);
        if (inflateInit2(&t->inflater, 15 + 16) != Z_OK) {
            t->gzip = false;
            status = tess_fail(ctx, TESS_ERR_MEMORY, "%s: out of memory for decompression", path);
            goto cleanup;
        }
    }
    return TESS_OK;
cleanup:
    tess_text_close(t);
    return status;
}

void tess_text_close(tess_text *t)
{
    if (t->gzip)
        (void)inflateEnd(&t->inflater);
    if (t->fd >= 0)
        close(t->fd);
    TESS_FREE(t->ctx, t->packed, t->buffer[0], t->buffer[1]);
}

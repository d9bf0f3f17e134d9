/* Writes many lines of text in order; they are formatted and compressed in parallel.
 *
 * A round gives every slot PIECE lines. A thread formats them into the slot's text and, for gzip,
 * deflates the text into the slot's packed bytes. Then the slots are written one after the other.
 */
#include "core/threads.h"
#include "matrix/io/output.h"
#include "matrix/io/text.h"

enum { PIECE = 16384, SLOTS_A_THREAD = 2, SLOTS_MAX = 128 };

typedef struct slot {
    char *text, *packed;
    size_t text_bytes, packed_bytes;
    int64_t bad; /* -1: none */
    z_stream deflater;
    bool deflating;
} slot;

static tess_status open_slot(tess_ctx *ctx, slot *s, bool gzip, size_t text_bytes)
{
    TESS_TRY(TESS_ALLOC(ctx, (int64_t)text_bytes, &s->text));
    if (!gzip)
        return TESS_OK;
    s->deflater = tess_zlib_stream(ctx);
    if (deflateInit2(&s->deflater, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return tess_fail(ctx, TESS_ERR_MEMORY, "out of memory for compression");
    s->deflating = true;
    s->packed_bytes = deflateBound(&s->deflater, text_bytes);
    return TESS_ALLOC(ctx, (int64_t)s->packed_bytes, &s->packed);
}

static void close_slot(tess_ctx *ctx, slot *s)
{
    if (s->deflating)
        (void)deflateEnd(&s->deflater);
    TESS_FREE(ctx, s->text, s->packed);
}

static void fill_slot(slot *s, int64_t first, int64_t last, size_t capacity, tess_lines_fn make,
                      const void *user)
{
    s->bad = -1;
    char *end = make(user, first, last, s->text, &s->bad);
    if (!end)
        return;
    s->text_bytes = (size_t)(end - s->text);
    if (!s->deflating)
        return;
    z_stream *z = &s->deflater;
    (void)deflateReset(z);
    z->next_in = (unsigned char *)s->text;
    z->avail_in = (unsigned)s->text_bytes;
    z->next_out = (unsigned char *)s->packed;
    z->avail_out = (unsigned)capacity;
    (void)deflate(z, Z_FINISH); /* the bound makes room for everything */
    s->packed_bytes = capacity - z->avail_out;
}

static tess_status write_round(tess_output *out, slot *slots, int count, int64_t *bad)
{
    for (int i = 0; i < count; i++) {
        slot *s = &slots[i];
        if (s->bad >= 0) {
            *bad = s->bad;
            return TESS_ERR_UNSUPPORTED;
        }
        TESS_TRY(s->deflating ? tess_output_write(out, s->packed, s->packed_bytes)
                              : tess_output_write(out, s->text, s->text_bytes));
    }
    return TESS_OK;
}

struct fill_slots {
    int64_t done;
    slot *slots;
    int64_t count;
    size_t capacity;
    tess_lines_fn make;
    const void *user;
};

static void fill_slots(void *arg, tess_range range)
{
    const struct fill_slots *job = arg;
    for (int i = (int)range.first; i < range.last; i++) {
        int64_t first = (job->done + i) * PIECE, last = first + PIECE;
        fill_slot(&job->slots[i], first, tess_min(last, job->count), job->capacity, job->make,
                  job->user);
    }
}

tess_status tess_output_lines(tess_output *out, bool gzip, int64_t count, size_t line_bytes,
                              tess_lines_fn make, const void *user, int64_t *bad)
{
    tess_ctx *ctx = out->ctx;
    int64_t pieces = tess_ceil_div(count, PIECE), wanted = (int64_t)ctx->threads * SLOTS_A_THREAD;
    int slot_count = (int)tess_min(tess_min(wanted, SLOTS_MAX), pieces);
    size_t text_bytes = (size_t)tess_min(count, PIECE) * line_bytes;
    slot *slots;
    TESS_TRY(TESS_CALLOC(ctx, slot_count, &slots));
    tess_status status = TESS_OK;
    for (int i = 0; i < slot_count; i++)
        TESS_TRY_CLEAN(open_slot(ctx, &slots[i], gzip, text_bytes));
    size_t capacity = slot_count > 0 ? slots[0].packed_bytes : 0;
    for (int64_t done = 0; done < pieces; done += slot_count) {
        int active = (int)tess_min(pieces - done, slot_count);
        tess_for_dynamic(ctx, ctx->threads, active, 1, fill_slots,
                         &(struct fill_slots){done, slots, count, capacity, make, user});
        TESS_TRY_CLEAN(write_round(out, slots, active, bad));
        TESS_TRY_CLEAN(tess_progress(ctx, "writing", (double)done, (double)pieces));
    }
cleanup:
    for (int i = 0; i < slot_count; i++)
        close_slot(ctx, &slots[i]);
    tess_free(ctx, slots);
    return status;
}

/* Blocks taken from another array, by number. */
#include "matrix/matrix.h"

struct take_blocks {
    const int64_t *source;
    size_t bytes;
    const char *from;
    char *to;
};

static void take_blocks(void *arg, tess_range range)
{
    const struct take_blocks *job = arg;
    const size_t bytes = job->bytes;
    for (int64_t k = range.first; k < range.last; k++) {
        char *to = job->to + (size_t)k * bytes;
        if (job->source[k] < 0)
            memset(to, 0, bytes);
        else
            memcpy(to, job->from + (size_t)job->source[k] * bytes, bytes);
    }
}

void tess_take_blocks(tess_ctx *ctx, int64_t count, const int64_t *source, size_t bytes,
                      const void *from, void *to)
{
    tess_for(ctx, count, take_blocks, &(struct take_blocks){source, bytes, from, to});
}

/* Numbers that are written past the caches: x86-64 reads a line before it is written, and numbers
 * that do not stay in a cache until a product wants them are moved a third time for nothing.
 * aarch64 sees by itself that whole lines are written. */
#ifndef TESS_FORMAT_PAST_H
#define TESS_FORMAT_PAST_H

#include <stdbool.h>
#include <string.h>

#include "format/two.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Whether so many bytes leave the caches before they are read again. */
bool tess_leaves_caches(int64_t bytes);

#ifdef __SSE2__
TESS_ALWAYS void tess_put_f64(tess_bits64 *to, tess_bits64 value, const bool past)
{
    if (past)
        _mm_stream_si64((long long *)to, (long long)value);
    else
        *to = value;
}

TESS_ALWAYS void tess_put_f32(tess_bits32 *to, tess_bits32 value, const bool past)
{
    if (past)
        _mm_stream_si32((int *)to, (int)value);
    else
        *to = value;
}

/* `to` is a multiple of 16 bytes when the caches are passed. */
TESS_ALWAYS void tess_put_two_f64(tess_two_bits64 *to, tess_two_bits64 value, const bool past)
{
    if (past)
        _mm_stream_si128((__m128i *)to, (__m128i)value);
    else
        *to = value;
}

TESS_ALWAYS void tess_put_two_f32(tess_two_bits32 *to, tess_two_bits32 value, const bool past)
{
    long long both;
    memcpy(&both, &value, sizeof both);
    if (past)
        _mm_stream_si64((long long *)to, both);
    else
        *to = value;
}

/* After the last: before others may read them. */
TESS_ALWAYS void tess_put_end(const bool past)
{
    if (past)
        _mm_sfence();
}
#else
#define TESS_PLAIN_PUT(name, type)                                     \
    TESS_ALWAYS void name(type *to, const type value, const bool past) \
    {                                                                  \
        (void)past;                                                    \
        *to = value;                                                   \
    }
TESS_PLAIN_PUT(tess_put_f64, tess_bits64)
TESS_PLAIN_PUT(tess_put_f32, tess_bits32)
TESS_PLAIN_PUT(tess_put_two_f64, tess_two_bits64)
TESS_PLAIN_PUT(tess_put_two_f32, tess_two_bits32)

TESS_ALWAYS void tess_put_end(const bool past)
{
    (void)past;
}
#endif

#endif

/* Non-temporal stores, which bypass the caches, for values that leave the caches before a product
 * reads them. A plain store on x86-64 reads the cache line first (write-allocate); a non-temporal
 * store does not. aarch64 detects that whole cache lines are written, so its stores are plain
 * ones. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "cpu/update/pair.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Returns whether `bytes` bytes leave the caches before they are read again. */
bool tess_cpu_exceeds_caches(int64_t bytes);

ALWAYS void tess_store_f64(tess_word_f64 *to, tess_word_f64 value, const bool nontemporal)
{
#ifdef __SSE2__
    if (nontemporal) {
        _mm_stream_si64((long long *)to, (long long)value);
        return;
    }
#endif
    (void)nontemporal;
    *to = value;
}

ALWAYS void tess_store_f32(tess_word_f32 *to, tess_word_f32 value, const bool nontemporal)
{
#ifdef __SSE2__
    if (nontemporal) {
        _mm_stream_si32((int *)to, (int)value);
        return;
    }
#endif
    (void)nontemporal;
    *to = value;
}

/* A non-temporal store of a pair needs `to` to be a multiple of 16 bytes. */
ALWAYS void tess_store_pair_f64(tess_pair_f64 *to, tess_pair_f64 value, const bool nontemporal)
{
#ifdef __SSE2__
    if (nontemporal) {
        _mm_stream_si128((__m128i *)to, (__m128i)value);
        return;
    }
#endif
    (void)nontemporal;
    *to = value;
}

ALWAYS void tess_store_pair_f32(tess_pair_f32 *to, tess_pair_f32 value, const bool nontemporal)
{
#ifdef __SSE2__
    if (nontemporal) {
        long long both;
        memcpy(&both, &value, sizeof both);
        _mm_stream_si64((long long *)to, both);
        return;
    }
#endif
    (void)nontemporal;
    *to = value;
}

/* After the last non-temporal store, before other threads may read. */
ALWAYS void tess_store_fence(const bool nontemporal)
{
#ifdef __SSE2__
    if (nontemporal)
        _mm_sfence();
#endif
    (void)nontemporal;
}

/* AVX-512: 8 doubles or 16 floats. Parts of a vector are loaded and stored by a mask register. A
 * part that fits half a vector is loaded as a vector of half the size: an access of 64 bytes at a
 * multiple of 8 nearly always spans two cache lines. */
#define SIMD_BYTES_F64 64
#define SIMD_BYTES_F32 64
#define SIMD_REGISTERS 32
#define SIMD_FETCH_BYTES 3072
#include <immintrin.h>

#include "cpu/simd/vector.h"

/* Only for an n known at compile time: a branch costs more than it saves. */
#define SIMD_AT_MOST(n, most) (__builtin_constant_p(n) && (n) <= (most))

SIMD_INLINE simd_f64 simd_load_part_f64(const double *p, int n)
{
    const __mmask8 mask = (__mmask8)((1u << n) - 1);
    if (SIMD_AT_MOST(n, 2))
        return (simd_f64)_mm512_zextpd128_pd512(_mm_maskz_loadu_pd(mask, p));
    if (SIMD_AT_MOST(n, 4))
        return (simd_f64)_mm512_zextpd256_pd512(_mm256_maskz_loadu_pd(mask, p));
    return (simd_f64)_mm512_maskz_loadu_pd(mask, p);
}

SIMD_INLINE void simd_store_part_f64(double *p, simd_f64 v, int n)
{
    _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), (__m512d)v);
}

SIMD_INLINE simd_f32 simd_load_part_f32(const float *p, int n)
{
    const __mmask16 mask = (__mmask16)((1u << n) - 1);
    if (SIMD_AT_MOST(n, 4))
        return (simd_f32)_mm512_zextps128_ps512(_mm_maskz_loadu_ps((__mmask8)mask, p));
    if (SIMD_AT_MOST(n, 8))
        return (simd_f32)_mm512_zextps256_ps512(_mm256_maskz_loadu_ps((__mmask8)mask, p));
    return (simd_f32)_mm512_maskz_loadu_ps(mask, p);
}

SIMD_INLINE void simd_store_part_f32(float *p, simd_f32 v, int n)
{
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
}

SIMD_INLINE simd_f64 simd_sums_f64(const simd_f64 *v)
{
    simd_f64 sums = {0};
    SIMD_UNROLL(8)
    for (int i = 0; i < 8; i++)
        sums[i] = _mm512_reduce_add_pd((__m512d)v[i]);
    return sums;
}

SIMD_INLINE simd_f32 simd_sums_f32(const simd_f32 *v)
{
    simd_f32 sums = {0};
    SIMD_UNROLL(16)
    for (int i = 0; i < 16; i++)
        sums[i] = _mm512_reduce_add_ps((__m512)v[i]);
    return sums;
}

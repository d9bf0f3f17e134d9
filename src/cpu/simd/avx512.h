/* AVX-512: 8 doubles or 16 floats, parts by mask register. */
#define SIMD_BYTES_F64 64
#define SIMD_BYTES_F32 64
#define SIMD_REGISTERS 32
#include <immintrin.h>

#include "cpu/simd/vector.h"

SIMD_INLINE simd_f64 simd_load_part_f64(const double *p, int n)
{
    return (simd_f64)_mm512_maskz_loadu_pd((__mmask8)((1u << n) - 1), p);
}

SIMD_INLINE void simd_store_part_f64(double *p, simd_f64 v, int n)
{
    _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), (__m512d)v);
}

SIMD_INLINE simd_f32 simd_load_part_f32(const float *p, int n)
{
    return (simd_f32)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
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

/* AVX2 with FMA: 4 doubles or 8 floats. Parts of a vector are loaded and stored by a mask made from
 * a comparison (constant-folded when n is a constant). */
#define SIMD_BYTES_F64 32
#define SIMD_BYTES_F32 32
#define SIMD_REGISTERS 16
#define SIMD_FETCH_BYTES 3072
#include <immintrin.h>

#include "cpu/simd/vector.h"

SIMD_INLINE __m256i simd_mask_f64(int n)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}

SIMD_INLINE __m256i simd_mask_f32(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

SIMD_INLINE simd_f64 simd_load_part_f64(const double *p, int n)
{
    return (simd_f64)_mm256_maskload_pd(p, simd_mask_f64(n));
}

SIMD_INLINE void simd_store_part_f64(double *p, simd_f64 v, int n)
{
    _mm256_maskstore_pd(p, simd_mask_f64(n), (__m256d)v);
}

SIMD_INLINE simd_f32 simd_load_part_f32(const float *p, int n)
{
    return (simd_f32)_mm256_maskload_ps(p, simd_mask_f32(n));
}

SIMD_INLINE void simd_store_part_f32(float *p, simd_f32 v, int n)
{
    _mm256_maskstore_ps(p, simd_mask_f32(n), (__m256)v);
}

/* Neighbours are added until each 128-bit half holds the sums of its own lanes. */
SIMD_INLINE simd_f64 simd_sums_f64(const simd_f64 *v)
{
    __m256d low = _mm256_hadd_pd((__m256d)v[0], (__m256d)v[1]);
    __m256d high = _mm256_hadd_pd((__m256d)v[2], (__m256d)v[3]);
    return (simd_f64)_mm256_add_pd(_mm256_permute2f128_pd(low, high, 0x20),
                                   _mm256_permute2f128_pd(low, high, 0x31));
}

SIMD_INLINE simd_f32 simd_sums_f32(const simd_f32 *v)
{
    __m256 low = _mm256_hadd_ps(_mm256_hadd_ps((__m256)v[0], (__m256)v[1]),
                                _mm256_hadd_ps((__m256)v[2], (__m256)v[3]));
    __m256 high = _mm256_hadd_ps(_mm256_hadd_ps((__m256)v[4], (__m256)v[5]),
                                 _mm256_hadd_ps((__m256)v[6], (__m256)v[7]));
    return (simd_f32)_mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20),
                                   _mm256_permute2f128_ps(low, high, 0x31));
}

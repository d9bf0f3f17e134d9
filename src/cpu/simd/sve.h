/* SVE at a vector length of 256 bits (-msve-vector-bits=256): 4 doubles or 8 floats, parts by
 * predicate. Processors with another length use NEON, which has all that 128 bits offer. */
#define SIMD_BYTES_F64 32
#define SIMD_BYTES_F32 32
#define SIMD_REGISTERS 32
#include <arm_sve.h>

#include "cpu/simd/vector.h"

typedef svfloat64_t simd_sve_f64 __attribute__((arm_sve_vector_bits(256)));
typedef svfloat32_t simd_sve_f32 __attribute__((arm_sve_vector_bits(256)));

SIMD_INLINE simd_f64 simd_load_part_f64(const double *p, int n)
{
    simd_sve_f64 v = svld1_f64(svwhilelt_b64_s32(0, n), p);
    return (simd_f64)v;
}

SIMD_INLINE void simd_store_part_f64(double *p, simd_f64 v, int n)
{
    svst1_f64(svwhilelt_b64_s32(0, n), p, (simd_sve_f64)v);
}

SIMD_INLINE simd_f32 simd_load_part_f32(const float *p, int n)
{
    simd_sve_f32 v = svld1_f32(svwhilelt_b32_s32(0, n), p);
    return (simd_f32)v;
}

SIMD_INLINE void simd_store_part_f32(float *p, simd_f32 v, int n)
{
    svst1_f32(svwhilelt_b32_s32(0, n), p, (simd_sve_f32)v);
}

SIMD_INLINE simd_f64 simd_sums_f64(const simd_f64 *v)
{
    simd_f64 sums = {0};
    SIMD_UNROLL(4)
    for (int i = 0; i < 4; i++)
        sums[i] = svaddv_f64(svptrue_b64(), (simd_sve_f64)v[i]);
    return sums;
}

SIMD_INLINE simd_f32 simd_sums_f32(const simd_f32 *v)
{
    simd_f32 sums = {0};
    SIMD_UNROLL(8)
    for (int i = 0; i < 8; i++)
        sums[i] = svaddv_f32(svptrue_b32(), (simd_sve_f32)v[i]);
    return sums;
}

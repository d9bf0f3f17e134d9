/* Partial loads and stores lane by lane, for ISAs without masked memory instructions. */
#pragma once

#include "cpu/simd/vector.h"

SIMD_INLINE simd_f64 simd_load_part_f64(const double *p, int n)
{
    simd_f64 v = {0};
    for (int i = 0; i < n; i++)
        v[i] = p[i];
    return v;
}

SIMD_INLINE simd_f32 simd_load_part_f32(const float *p, int n)
{
    simd_f32 v = {0};
    for (int i = 0; i < n; i++)
        v[i] = p[i];
    return v;
}

SIMD_INLINE void simd_store_part_f64(double *p, simd_f64 v, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = v[i];
}

SIMD_INLINE void simd_store_part_f32(float *p, simd_f32 v, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = v[i];
}

SIMD_INLINE simd_f64 simd_sums_f64(const simd_f64 *v)
{
    simd_f64 sums = {0};
    for (int i = 0; i < SIMD_BYTES_F64 / 8; i++)
        for (int lane = 0; lane < SIMD_BYTES_F64 / 8; lane++)
            sums[i] += v[i][lane];
    return sums;
}

SIMD_INLINE simd_f32 simd_sums_f32(const simd_f32 *v)
{
    simd_f32 sums = {0};
    for (int i = 0; i < SIMD_BYTES_F32 / 4; i++)
        for (int lane = 0; lane < SIMD_BYTES_F32 / 4; lane++)
            sums[i] += v[i][lane];
    return sums;
}

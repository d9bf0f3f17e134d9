/* aarch64 Advanced SIMD: 2 doubles or 4 floats. */
#define SIMD_BYTES_F64 16
#define SIMD_BYTES_F32 16
#define SIMD_REGISTERS 32
#define SIMD_LANE_FACTORS 1
#define SIMD_WHOLE(vector) __asm__("" : "+w"(vector))
#define SIMD_CLEAR(vector) __asm__ volatile("movi %0.2d, #0" : "=w"(vector))
#include <arm_neon.h>

#include "cpu/simd/vector.h"

SIMD_INLINE simd_f64 simd_load_part_f64(const double *p, int n)
{
    (void)n; /* 1 is the only part of 2 */
    return (simd_f64){p[0], 0};
}

SIMD_INLINE void simd_store_part_f64(double *p, simd_f64 v, int n)
{
    (void)n;
    p[0] = v[0];
}

SIMD_INLINE simd_f32 simd_load_part_f32(const float *p, int n)
{
    if (n == 1)
        return (simd_f32){p[0], 0, 0, 0};
    float32x4_t low = vcombine_f32(vld1_f32(p), vdup_n_f32(0));
    return (simd_f32)(n == 2 ? low : vld1q_lane_f32(p + 2, low, 2));
}

SIMD_INLINE void simd_store_part_f32(float *p, simd_f32 v, int n)
{
    if (n == 1) {
        p[0] = v[0];
        return;
    }
    vst1_f32(p, vget_low_f32((float32x4_t)v));
    if (n == 3)
        p[2] = v[2];
}

/* One instruction where the compiler makes three. In cache the number of instructions counts. */
SIMD_INLINE const void *simd_row(const void *x, int32_t row, const int bytes)
{
    const void *at;
    __asm__("smaddl %0, %w1, %w2, %3" : "=r"(at) : "r"(row), "r"(bytes), "r"(x));
    return at;
}

/* Names the instruction, and keeps the order of the source. The compiler alone moves sums between
 * registers, and then this processor's four multipliers reach half of their throughput
 * (Neoverse-V1, 8 vectors times 3 x 3 blocks: 14 cycles per block instead of 19.5). */
#define SIMD_FMLA(sum, v, factors, form, n) \
    __asm__ volatile("fmla %0." form ", %1." form ", %2." n : "+w"(sum) : "w"(v), "w"(factors))

SIMD_INLINE simd_f64 simd_add_lane_f64(simd_f64 sum, simd_f64 v, simd_f64 factors, const int lane)
{
    if (lane == 0)
        SIMD_FMLA(sum, v, factors, "2d", "d[0]");
    else
        SIMD_FMLA(sum, v, factors, "2d", "d[1]");
    return sum;
}

SIMD_INLINE simd_f32 simd_add_lane_f32(simd_f32 sum, simd_f32 v, simd_f32 factors, const int lane)
{
    if (lane == 0)
        SIMD_FMLA(sum, v, factors, "4s", "s[0]");
    else if (lane == 1)
        SIMD_FMLA(sum, v, factors, "4s", "s[1]");
    else if (lane == 2)
        SIMD_FMLA(sum, v, factors, "4s", "s[2]");
    else
        SIMD_FMLA(sum, v, factors, "4s", "s[3]");
    return sum;
}

SIMD_INLINE simd_f64 simd_add_product_f64(simd_f64 sum, simd_f64 v, simd_f64 w)
{
    SIMD_FMLA(sum, v, w, "2d", "2d");
    return sum;
}

SIMD_INLINE simd_f32 simd_add_product_f32(simd_f32 sum, simd_f32 v, simd_f32 w)
{
    SIMD_FMLA(sum, v, w, "4s", "4s");
    return sum;
}

SIMD_INLINE simd_f64 simd_between_f64(simd_f64 v, simd_f64 w)
{
    return (simd_f64)vextq_f64((float64x2_t)v, (float64x2_t)w, 1);
}

SIMD_INLINE simd_f32 simd_between_f32(simd_f32 v, simd_f32 w)
{
    return (simd_f32)vextq_f32((float32x4_t)v, (float32x4_t)w, 3);
}

SIMD_INLINE simd_f64 simd_sums_f64(const simd_f64 *v)
{
    return (simd_f64)vpaddq_f64((float64x2_t)v[0], (float64x2_t)v[1]);
}

SIMD_INLINE simd_f32 simd_sums_f32(const simd_f32 *v)
{
    return (simd_f32)vpaddq_f32(vpaddq_f32((float32x4_t)v[0], (float32x4_t)v[1]),
                                vpaddq_f32((float32x4_t)v[2], (float32x4_t)v[3]));
}

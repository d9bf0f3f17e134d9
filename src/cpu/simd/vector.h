/* The thin vector layer, common part: a vector is a GNU C vector of SIMD_BYTES_F64 (doubles) or
 * SIMD_BYTES_F32 (floats) bytes, so that + and * and broadcasting a scalar are the language's own,
 * and a*b + c becomes one fused instruction where the processor has one (-ffp-contract=fast).
 *
 * An ISA header sets the two sizes and SIMD_REGISTERS, includes this file, and adds what the
 * language cannot say:
 *     simd_load_part_f64(p, n)      n of W lanes from p, the rest zero, nothing else touched
 *     simd_store_part_f64(p, v, n)  the first n lanes of v, nothing else touched
 *     simd_sums_f64(v)              the vector whose lane i is the sum of the lanes of v[i], i < W
 * and the same for f32. n is mostly a compile-time constant. SIMD_LANE_FACTORS 1 says that a vector
 * times one lane of another is one instruction; such an ISA has forms of its own of
 *     simd_add_lane_f64(sum, v, factors, lane)   sum + v * factors[lane]
 *     simd_add_product_f64(sum, v, w)            sum + v * w
 *     simd_row(x, row, bytes)                    x + row * bytes
 *     simd_between_f64(v, w)                     the last lane of v, then all but the last of w
 */
#pragma once

#include <stdint.h>

#ifndef SIMD_LANE_FACTORS
#define SIMD_LANE_FACTORS 0
#endif

/* Keeps a vector whose lanes are used in one register. Without it the compiler keeps the lanes in
 * registers of their own too. */
#ifndef SIMD_WHOLE
#define SIMD_WHOLE(vector) (void)(vector)
#endif

/* Sets the vector to zeros by an instruction of its own. Without it the compiler copies a zero. */
#ifndef SIMD_CLEAR
#define SIMD_CLEAR(vector) ((vector) = (__typeof__(vector)){0})
#endif

/* How many bytes ahead of their use values are prefetched; 0: never. Without it a core of Emerald
 * Rapids has too few loads in flight. On Neoverse-V1 it hurts at any distance.
 *
 *     Emerald Rapids, 16 cores   3 x 3      4 x 4
 *     not prefetched             137 GB/s   136 GB/s
 *     1 KB ahead                 156 GB/s   153 GB/s
 *     3 KB ahead                 160 GB/s   154 GB/s
 */
#ifndef SIMD_FETCH_BYTES
#define SIMD_FETCH_BYTES 0
#endif

#define SIMD_INLINE static inline __attribute__((always_inline, unused))

/* The pragma takes constants only. Loops longer than the number are unrolled by it. */
#if defined(__clang__)
#define SIMD_UNROLL(n) _Pragma("unroll")
#else
#define SIMD_PRAGMA(text) _Pragma(#text)
#define SIMD_UNROLL(n) SIMD_PRAGMA(GCC unroll n)
#endif

/* Keeps the address as a value of its own. Without it the compiler builds each address of an
 * unrolled loop from scratch, which took as many instructions as the arithmetic. */
#define SIMD_ADDRESS(pointer) __asm__("" : "+r"(pointer))

/* Prefetches the cache lines of the `bytes` bytes that will be read after those at `values`. */
SIMD_INLINE void simd_fetch(const void *values, const int bytes)
{
    SIMD_UNROLL(32)
    for (int i = 0; SIMD_FETCH_BYTES > 0 && i < bytes; i += 64)
        __builtin_prefetch((const char *)values + SIMD_FETCH_BYTES + i);
}

typedef double simd_f64 __attribute__((vector_size(SIMD_BYTES_F64)));
typedef float simd_f32 __attribute__((vector_size(SIMD_BYTES_F32)));
typedef double simd_unaligned_f64 __attribute__((vector_size(SIMD_BYTES_F64), aligned(8)));
typedef float simd_unaligned_f32 __attribute__((vector_size(SIMD_BYTES_F32), aligned(4)));

SIMD_INLINE simd_f64 simd_load_f64(const double *p)
{
    return *(const simd_unaligned_f64 *)p;
}

SIMD_INLINE simd_f32 simd_load_f32(const float *p)
{
    return *(const simd_unaligned_f32 *)p;
}

SIMD_INLINE void simd_store_f64(double *p, simd_f64 v)
{
    *(simd_unaligned_f64 *)p = v;
}

SIMD_INLINE void simd_store_f32(float *p, simd_f32 v)
{
    *(simd_unaligned_f32 *)p = v;
}

#if !SIMD_LANE_FACTORS
SIMD_INLINE simd_f64 simd_add_lane_f64(simd_f64 sum, simd_f64 v, simd_f64 factors, const int lane)
{
    return sum + v * factors[lane];
}

SIMD_INLINE simd_f32 simd_add_lane_f32(simd_f32 sum, simd_f32 v, simd_f32 factors, const int lane)
{
    return sum + v * factors[lane];
}

SIMD_INLINE simd_f64 simd_add_product_f64(simd_f64 sum, simd_f64 v, simd_f64 w)
{
    return sum + v * w;
}

SIMD_INLINE simd_f32 simd_add_product_f32(simd_f32 sum, simd_f32 v, simd_f32 w)
{
    return sum + v * w;
}

SIMD_INLINE simd_f64 simd_between_f64(simd_f64 v, simd_f64 w)
{
    const int last = SIMD_BYTES_F64 / 8 - 1;
    for (int i = last; i > 0; i--)
        w[i] = w[i - 1];
    w[0] = v[last];
    return w;
}

SIMD_INLINE simd_f32 simd_between_f32(simd_f32 v, simd_f32 w)
{
    const int last = SIMD_BYTES_F32 / 4 - 1;
    for (int i = last; i > 0; i--)
        w[i] = w[i - 1];
    w[0] = v[last];
    return w;
}

SIMD_INLINE const void *simd_row(const void *x, int32_t row, const int bytes)
{
    return (const char *)x + (int64_t)row * bytes;
}
#endif

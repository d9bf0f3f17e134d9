/* Scalars as words, and pairs of them as vectors of 16 or 8 bytes at any address: copies and
 * comparisons of blocks have to keep up with the memory, and bits need no arithmetic.
 *
 * FIRSTS(a, b) is a0 b0 and SECONDS(a, b) is a1 b1: one instruction each (zip1 and zip2 on aarch64,
 * unpcklpd and unpckhpd on x86-64).
 *
 * Templates of this directory (*.inc.c) are included once for each precision, with SUFFIX (f64 or
 * f32) and its WORD and PAIR.
 */
#pragma once

#include <stdint.h>

#define ALWAYS static inline __attribute__((always_inline))

typedef uint64_t __attribute__((may_alias)) tess_word_f64;
typedef uint32_t __attribute__((may_alias)) tess_word_f32;
typedef uint64_t __attribute__((may_alias, vector_size(16), aligned(8))) tess_pair_f64;
typedef uint32_t __attribute__((may_alias, vector_size(8), aligned(4))) tess_pair_f32;

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define NAME(stem) PASTE(stem, SUFFIX)
#define WORD NAME(tess_word)
#define PAIR NAME(tess_pair)

#define FIRSTS(a, b) ((PAIR){(a)[0], (b)[0]})
#define SECONDS(a, b) ((PAIR){(a)[1], (b)[1]})

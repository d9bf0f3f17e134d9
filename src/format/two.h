/* Two scalars at once, as vectors of 16 or 8 bytes that may lie anywhere: what loops over blocks
 * are made of where copying and comparing has to keep up with the memory.
 *
 * first_of(a, b) is a0 b0 and second_of(a, b) is a1 b1: an instruction each (zip1 and zip2 on
 * aarch64, unpcklpd and unpckhpd on x86-64).
 */
#ifndef TESS_FORMAT_TWO_H
#define TESS_FORMAT_TWO_H

#include <stdint.h>

#define TESS_ALWAYS static inline __attribute__((always_inline))

typedef uint64_t __attribute__((may_alias)) tess_bits64;
typedef uint32_t __attribute__((may_alias)) tess_bits32;
typedef uint64_t __attribute__((may_alias, vector_size(16), aligned(8))) tess_two_bits64;
typedef uint32_t __attribute__((may_alias, vector_size(8), aligned(4))) tess_two_bits32;

#define TESS_FIRST_OF(two, a, b) ((two){(a)[0], (b)[0]})
#define TESS_SECOND_OF(two, a, b) ((two){(a)[1], (b)[1]})

#endif

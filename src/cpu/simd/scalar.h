/* One lane: plain C, for every processor. */
#define SIMD_BYTES_F64 8
#define SIMD_BYTES_F32 4
#define SIMD_REGISTERS 16
#include "cpu/simd/lanes.h"

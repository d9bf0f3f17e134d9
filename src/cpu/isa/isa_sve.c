/* Kernels for aarch64 processors with 256-bit SVE. */
#include "cpu/kernel.h"

#if defined(__ARM_FEATURE_SVE) && __ARM_FEATURE_SVE_BITS == 256
#include "cpu/simd/sve.h"
#define ISA sve
#define ISA_INDEX TESS_CPU_SVE
#define ISA_TABLE tess_cpu_sve
#include "cpu/isa/isa.inc.c"
#else
const tess_cpu_kernel_table tess_cpu_sve = {0};
#endif

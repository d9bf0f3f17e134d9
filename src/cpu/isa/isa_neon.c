/* Kernels for every aarch64 processor. */
#include "cpu/kernel.h"

#if defined(__ARM_NEON) && defined(__aarch64__)
#include "cpu/simd/neon.h"
#define ISA neon
#define ISA_INDEX TESS_CPU_NEON
#define ISA_TABLE tess_cpu_neon
#include "cpu/isa/isa.inc.c"
#else
const tess_cpu_kernel_table tess_cpu_neon = {0};
#endif

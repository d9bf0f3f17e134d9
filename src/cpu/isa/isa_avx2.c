/* Kernels for x86-64 processors with AVX2 and FMA. */
#include "cpu/kernel.h"

#if defined(__AVX2__) && defined(__FMA__)
#include "cpu/simd/avx2.h"
#define ISA avx2
#define ISA_INDEX TESS_CPU_AVX2
#define ISA_TABLE tess_cpu_avx2
#include "cpu/isa/isa.inc.c"
#else
const tess_cpu_kernel_table tess_cpu_avx2 = {0};
#endif

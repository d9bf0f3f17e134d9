/* Kernels for x86-64 processors with AVX-512. */
#include "cpu/kernel.h"

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__)
#include "cpu/simd/avx512.h"
#define ISA avx512
#define KERNELS_NO_HALF_SPMV
#define ISA_INDEX TESS_CPU_AVX512
#define ISA_TABLE tess_cpu_avx512
#include "cpu/isa/isa.inc.c"
#else
const tess_cpu_kernel_table tess_cpu_avx512 = {0};
#endif

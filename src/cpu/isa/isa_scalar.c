/* Kernels in plain C, for every processor. */
#include "cpu/simd/scalar.h"
#define KERNELS_BASIC
#define ISA scalar
#define ISA_INDEX TESS_CPU_SCALAR
#define ISA_TABLE tess_cpu_scalar
#include "cpu/isa/isa.inc.c"

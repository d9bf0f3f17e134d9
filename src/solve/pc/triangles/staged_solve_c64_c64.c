/* Solves by stages: double-precision factors on double-precision vectors, of complex numbers. */
#define real double
#define held double
#define PAIRS
#define SWEEP tess_staged_sweep_c64_c64
#include "solve/pc/triangles/staged_solve.inc"

/* Solves by stages: single-precision factors on double-precision vectors, of complex numbers. */
#define real double
#define held float
#define PAIRS
#define SWEEP tess_staged_sweep_c64_c32
#include "solve/pc/triangles/staged_solve.inc"

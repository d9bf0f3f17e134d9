/* Solves by stages: single-precision factors on single-precision vectors, of complex numbers. */
#define real float
#define held float
#define PAIRS
#define SWEEP tess_staged_sweep_c32_c32
#include "solve/pc/triangles/staged_solve.inc"

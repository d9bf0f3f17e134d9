/* Solves by stages: double-precision factors on double-precision vectors. */
#define real double
#define held double
#define SWEEP tess_staged_sweep_f64_f64
#include "solve/pc/triangles/staged_solve.inc"

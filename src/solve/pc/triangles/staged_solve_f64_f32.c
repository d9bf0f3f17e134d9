/* Solves by stages: single-precision factors on double-precision vectors. */
#define real double
#define held float
#define SWEEP tess_staged_sweep_f64_f32
#include "solve/pc/triangles/staged_solve.inc"

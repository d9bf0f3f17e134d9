/* Solves by stages: single-precision factors on single-precision vectors. */
#define real float
#define held float
#define SWEEP tess_staged_sweep_f32_f32
#include "solve/pc/triangles/staged_solve.inc"

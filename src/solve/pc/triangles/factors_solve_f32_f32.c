/* Triangular solves: single-precision factors on single-precision vectors. */
#define real float
#define held float
#define SOLVE tess_factors_solve_f32_f32
#include "solve/pc/triangles/factors_solve.inc"

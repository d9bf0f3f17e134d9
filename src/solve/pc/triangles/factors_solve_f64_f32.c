/* Triangular solves: single-precision factors on double-precision vectors. */
#define real double
#define held float
#define SOLVE tess_factors_solve_f64_f32
#include "solve/pc/triangles/factors_solve.inc"

/* Triangular solves: double-precision factors on double-precision vectors. */
#define real double
#define held double
#define SOLVE tess_factors_solve_f64_f64
#include "solve/pc/triangles/factors_solve.inc"

/* Triangular solves: single-precision factors on single-precision vectors, of complex numbers. */
#define real float
#define held float
#define PAIRS
#define SOLVE tess_factors_solve_c32_c32
#include "solve/pc/triangles/factors_solve.inc"

/* Triangular solves: single-precision factors on double-precision vectors, of complex numbers. */
#define real double
#define held float
#define PAIRS
#define SOLVE tess_factors_solve_c64_c32
#include "solve/pc/triangles/factors_solve.inc"

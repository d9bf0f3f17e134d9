/* Triangular solves: double-precision factors on double-precision vectors, of complex numbers. */
#define real double
#define held double
#define PAIRS
#define SOLVE tess_factors_solve_c64_c64
#include "solve/pc/triangles/factors_solve.inc"

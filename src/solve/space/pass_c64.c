/* Passes on vectors of pairs in double precision. */
#define real double
#define PASS tess_pass_c64
#define REAL_PASS tess_pass_f64
#include "solve/space/pass_complex.inc"

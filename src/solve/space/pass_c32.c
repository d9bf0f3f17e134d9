/* Passes on vectors of pairs in single precision. */
#define real float
#define PASS tess_pass_c32
#define REAL_PASS tess_pass_f32
#include "solve/space/pass_complex.inc"

/* Passes on vectors in double precision. */
#define real double
#define PASS tess_pass_f64
#include "solve/space/pass.inc"

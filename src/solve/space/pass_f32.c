/* Passes on vectors in single precision. */
#define real float
#define PASS tess_pass_f32
#include "solve/space/pass.inc"

/* What to try after a solve that did not end as wished. */
#ifndef TESSERA_ADVICE_H
#define TESSERA_ADVICE_H

#include <stdbool.h>

#include <tessera/tessera.h>

/* The advice, in the command's options. `symmetric`: the method takes symmetric matrices and
 * preconditioners alone. `complex`: A is complex, which not all options take. NULL: the system was
 * solved. */
const char *solve_advice(tess_reason reason, bool symmetric, bool complex);

#endif

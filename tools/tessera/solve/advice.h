/* What to try after a solve that did not end as wished. */
#ifndef TESSERA_ADVICE_H
#define TESSERA_ADVICE_H

#include <tessera/tessera.h>

/* The advice, in the command's options. NULL: the system was solved. */
const char *solve_advice(tess_reason reason);

#endif

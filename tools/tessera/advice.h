/* What to try after a solve that did not end as wished. */
#ifndef TESSERA_ADVICE_H
#define TESSERA_ADVICE_H

#include <tessera/tessera.h>

/* In the command's words; NULL: it is solved. */
const char *solve_advice(tess_reason reason);

#endif

/* What an iteration of conjugate gradients takes, beside a product and the solver's passes.
 *
 * The passes are what an iteration costs beside the product in a plan with the kernel that the
 * library would choose. That kernel is asked for by name, lest a GPU do all iterations of a small
 * system in one launch, which has no product apart. */
#ifndef BENCH_PAPERS_CG_PASSES_H
#define BENCH_PAPERS_CG_PASSES_H

#include "../internal.h"

typedef struct cg_passes {
    double product, iteration; /* of the plan */
    double passes;             /* of the library's own choice */
    double predicted;          /* the model's iteration; 0: it knows nothing of the kernel */
    char kernel[64];           /* of the library's own choice */
} cg_passes;

/* `b`: a right-hand side in the host's memory. What cannot be timed because CG ends too soon stays
 * 0.
 */
tess_status cg_passes_time(tess_plan *plan, const double *b, cg_passes *out);

#endif

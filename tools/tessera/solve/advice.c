/* The advice of each reason. */
#include "advice.h"

#include <stddef.h>

const char *solve_advice(tess_reason reason, bool symmetric, bool complex)
{
    switch (reason) {
    case TESS_REASON_CONVERGED:
    case TESS_REASON_ZERO_RHS:
        return NULL;
    case TESS_REASON_ITERATION_LIMIT:
        return symmetric ? "try a larger --max-iterations, or --pc ic0"
                         : "try a larger --max-iterations, or --pc ilu0";
    case TESS_REASON_DIVERGED:
        return "try --method auto, or --method gmres --pc ilut";
    case TESS_REASON_BREAKDOWN:
        return "try --method gmres, or --method auto";
    case TESS_REASON_STAGNATED:
        return symmetric ? "try --pc ick, --method auto, or a larger --tol"
               : complex ? "try --pc ilu0 or ilut, --method auto, or a larger --tol"
                         : "try --pc ilu0 or ilut, --options scale=match, or a larger --tol";
    case TESS_REASON_INDEFINITE:
        return "try --method minres for a symmetric matrix, bicgstab or gmres for others";
    case TESS_REASON_NOT_FINITE:
        return "look for NaN and infinity in the matrix and in b; where there are none, try "
               "--method auto";
    case TESS_REASON_CANCELLED:
        return symmetric ? "the best x so far was kept: let it run on, or try --pc ic0"
                         : "the best x so far was kept: let it run on, or try --pc ilu0";
    case TESS_REASON_LEAST_SQUARES:
        return "no x solves it: look at b, or take this x with the smallest |b - Ax| (--out)";
    }
    return "try --method auto";
}

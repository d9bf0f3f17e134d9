/* What the files of GMRES share: vectors, slots and the host's part of a cycle.
 *
 *     gmres_lists.c     the lists of steps      gmres.c   the small problem, and the descriptors
 *     gmres_complex.c   the small problem of complex systems
 *     deflate.c         which vectors a restart of dgmres keeps
 *
 * Vectors of the space: W, then V_0 .. V_m, then Z (one, or Z_0 .. Z_{m-1} for fgmres and dgmres),
 * then D_0 .. D_{k-1} of dgmres.
 */
#pragma once

#include "solve/methods/method.h"

enum { W = TESS_V_OWN, V };
/* Slots:
 *     WW, NN              |w|^2 and |v_{j+1}|^2
 *     LEFT                bounds what is left of v_{j+1} along the basis, in roundings
 *     LIMIT               the value of LEFT that is too large
 *     MARGIN, NN_MARGIN   positive while LEFT and NN are good enough
 *     BEFORE, AFTER       the squared residual before and after this iteration
 *     HIGH, TURN, LENGTH  of this iteration's rotation
 *     FIRST ...           m + 1 coefficients h of w, or y at the end of a cycle
 *     ...                 m + 1: h / h_n, or the coefficients of the second orthogonalisation
 *     ...                 m cosines, m sines
 *     ...                 dgmres: m coefficients for each of its k vectors
 */
enum {
    NORM = TESS_S_OWN,
    INVERSE,
    UNIT,
    WW,
    NN,
    LEFT,
    LIMIT,
    MARGIN,
    NN_MARGIN,
    BEFORE,
    AFTER,
    HIGH,
    TURN,
    LENGTH,
    KEEP,  /* dgmres: 1 where there are vectors kept from the last cycle, else 0 ... */
    FRESH, /* ... and 1 - KEEP */
    FIRST
};

typedef struct gmres_state {
    tess_steps *finish; /* m lists: x from j + 1 vectors */
    tess_steps *mend;   /* m lists: v_{j+1} from w once more */
    tess_steps deflate; /* dgmres: D from Z, by the coefficients in the slots */
    double *small;      /* dgmres: 2 m m, for singular vectors */
    double *R;          /* column j at R + j (m + 1): H after rotations, upper triangular */
    double *cosine, *sine;
    double *g; /* the rotated right-hand side, m + 1 */
    /* Complex systems: R and the cosines. g_j is then the last entry before rotation j, which is
     * real. */
    tess_complex *complex_R, *complex_cosine;
    int to_mend; /* vectors from this one on are mended in any case */
} gmres_state;

/* ---- gmres_lists.c ---- */

void tess_gmres_size(const tess_solve_options *options, int *vectors, int *slots, int64_t *cycle);
void tess_gmres_build(tess_solver *solver);
/* Writes the list that makes v_{j+1} again, orthogonalised twice and with its measured norm. w is
 * still in the space, unless a device has begun the next iteration before it was told (`anew`). */
void tess_gmres_build_mend(const tess_solver *solver, tess_steps *s, int j, bool anew);
/* x = x + sum y_i z_i, y in the slots from FIRST. */
void tess_gmres_build_finish(const tess_solver *solver, tess_steps *s, int count);

/* The first slot of dgmres's coefficients; the first vector D. */
static inline int tess_gmres_coefficients(const tess_solve_options *options)
{
    return FIRST + 2 * ((int)options->restart + 1) + 2 * (int)options->restart;
}

static inline int tess_gmres_kept(const tess_solve_options *options)
{
    return V + 2 * (int)options->restart + 1;
}

/* ---- gmres_complex.c ---- */

/* Rotates column j of H into the triangle. `count`: the number of slots. */
void tess_gmres_rotate_complex(gmres_state *state, int64_t m, int64_t j, const double *slots,
                               int count);
/* Computes y for the first `positions` columns, into the slots from FIRST. */
void tess_gmres_solve_complex(const gmres_state *state, int64_t m, int64_t positions, double *slots,
                              int count);

/* ---- deflate.c ---- */

/* Writes the list D_i = sum of the slots' coefficients times Z_j. */
void tess_gmres_build_deflate(const tess_solver *solver, tess_steps *s);
/* After a whole cycle: computes the coefficients into solver->slots, and runs the list that makes
 * D. */
tess_status tess_gmres_deflate(tess_solver *solver, int system);

/* Deflated restarts (Morgan 1995, with singular vectors in place of eigenvectors): the next cycle's
 * space holds the directions that A M^-1 shrinks most, which a restart would have to find again.
 *
 *     A Z = V H,  H = Q R     the cycle that ended
 *     R g_i = sigma_i h_i     the k smallest sigma
 *     d_i = Z g_i             |A d_i| = sigma_i
 */
#include "solve/methods/gmres.h"

void tess_gmres_build_deflate(const tess_solver *solver, tess_steps *s)
{
    const tess_solve_options *options = &solver->options;
    const int m = (int)options->restart, z = V + m + 1, kept = tess_gmres_kept(options);
    for (int i = 0; i < (int)options->deflate; i++)
        for (int j = 0; j < m; j += TESS_TERMS_MAX - 1) {
            tess_term term[TESS_TERMS_MAX];
            int terms = 0;
            if (j > 0)
                term[terms++] = tess_term_of(1, TESS_ONE, kept + i);
            for (int l = j; l < m && l < j + TESS_TERMS_MAX - 1; l++)
                term[terms++] =
                    tess_term_of(1, tess_gmres_coefficients(options) + i * m + l, z + l);
            tess_step_combine(s, kept + i, terms, term);
        }
}

/* Returns the shortest column of a v that is not taken yet. */
static int64_t find_shortest(const double *a, int64_t m, const bool *taken)
{
    int64_t found = -1;
    double least = 0;
    for (int64_t j = 0; j < m; j++) {
        double square = 0;
        for (int64_t i = 0; i < m; i++)
            square += a[j * m + i] * a[j * m + i];
        if (!taken[j] && (found < 0 || square < least)) {
            found = j;
            least = square;
        }
    }
    return found;
}

tess_status tess_gmres_deflate(tess_solver *solver, int system)
{
    gmres_state *state = solver->state;
    tess_space *space = &solver->space;
    const int64_t m = solver->cycle, first = tess_gmres_coefficients(&solver->options);
    double *a = state->small, *v = a + m * m;
    bool taken[500] = {false}; /* restart= is no larger */
    memset(a, 0, (size_t)(m * m) * sizeof *a);
    for (int64_t j = 0; j < m; j++)
        memcpy(a + j * m, state->R + j * (m + 1), (size_t)(j + 1) * sizeof *a);
    tess_dense_singular(a, m, (int32_t)m, v);
    TESS_TRY(space->ops->read_slots(space, system, solver->slots));
    for (int64_t i = 0; i < solver->options.deflate; i++) {
        const int64_t j = find_shortest(a, m, taken);
        taken[j] = true;
        memcpy(solver->slots + first + i * m, v + j * m, (size_t)m * sizeof *v);
    }
    solver->slots[KEEP] = 1;
    solver->slots[FRESH] = 0;
    TESS_TRY(space->ops->write_slots(space, system, solver->slots));
    return space->ops->run(space, &state->deflate, &system, 1);
}

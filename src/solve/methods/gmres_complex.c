/* The small problem of GMRES on complex systems: min |beta e_1 - H y|. H is complex but for its
 * subdiagonal, which holds norms. Rotation j is unitary:
 *
 *     ( conj(c)  s ) (h_j)   (length)        length = sqrt(|h_j|^2 + h_n^2)
 *     (   -s     c ) (h_n) = (  0   )        c = h_j / length,  s = h_n / length
 *
 * The diagonal of R is real, and so is the last entry of the right-hand side: a rotation turns g_j
 * into conj(c) g_j and -s g_j.
 */
#include "solve/methods/gmres.h"

static tess_complex times(double factor, tess_complex a)
{
    return (tess_complex){factor * a.re, factor * a.im};
}

void tess_gmres_rotate_complex(gmres_state *state, int64_t m, int64_t j, const double *slots,
                               int count)
{
    tess_complex *column = state->complex_R + j * (m + 1), *cosine = state->complex_cosine;
    const double norm = slots[NORM];
    for (int64_t i = 0; i <= j; i++)
        column[i] = (tess_complex){slots[FIRST + i], slots[count + FIRST + i]};
    for (int64_t i = 0; i < j; i++) {
        const tess_complex low = column[i], high = column[i + 1];
        column[i] = tess_complex_sum(tess_complex_product(tess_conjugate(cosine[i]), low),
                                     times(state->sine[i], high));
        column[i + 1] =
            tess_complex_sum(tess_complex_product(cosine[i], high), times(-state->sine[i], low));
    }
    const double length = hypot(hypot(column[j].re, column[j].im), norm);
    cosine[j] = length > 0 ? (tess_complex){column[j].re / length, column[j].im / length}
                           : (tess_complex){0, 0};
    state->sine[j] = length > 0 ? norm / length : 1; /* a column of zeros leaves |r| as it is */
    column[j] = (tess_complex){length, 0};
    state->g[j + 1] = -state->sine[j] * state->g[j];
}

void tess_gmres_solve_complex(const gmres_state *state, int64_t m, int64_t positions, double *slots,
                              int count)
{
    double *re = slots + FIRST, *im = re + count;
    for (int64_t i = positions; i-- > 0;) {
        tess_complex sum = times(state->g[i], tess_conjugate(state->complex_cosine[i]));
        for (int64_t k = i + 1; k < positions; k++) {
            const tess_complex product = tess_complex_product(state->complex_R[k * (m + 1) + i],
                                                              (tess_complex){re[k], im[k]});
            sum = tess_complex_sum(sum, times(-1, product));
        }
        const double pivot = state->complex_R[i * (m + 1) + i].re;
        const bool good = pivot != 0 && isfinite(sum.re / pivot) && isfinite(sum.im / pivot);
        re[i] = good ? sum.re / pivot : 0;
        im[i] = good ? sum.im / pivot : 0;
    }
}

/* Complete factors by SuiteSparse: CHOLMOD for symmetric positive definite matrices, KLU for
 * others.
 *
 * Both libraries are found when the first matrix is factored, as the CUDA driver is: nothing is
 * needed to build. TESSERA_SUITESPARSE names a directory to look in first, or is "off".
 */
#pragma once

#include "core/library.h"
#include "matrix/arrange/arrange.h"

typedef struct tess_direct tess_direct;

/* Succeeds where the library for such a matrix is installed. Otherwise the error says what to
 * install. */
tess_status tess_direct_available(tess_ctx *ctx, bool positive);

/* Limits of the factors; 0: no limit. Factors are refused before any work where the analysis of the
 * pattern predicts more. KLU's factors grow with every exchange of rows, so they are also stopped
 * when they become larger. */
typedef struct tess_direct_limits {
    double bytes, seconds;
} tess_direct_limits;

/* Factors A, which is square. `positive`: A is symmetric and believed to be positive definite.
 * Fails with
 *
 *     TESS_ERR_MATRIX       A is singular or not positive definite
 *     TESS_ERR_UNSUPPORTED  the library is missing, or the factors would go beyond the limits
 *     TESS_ERR_CANCELLED    the context's progress says stop
 *
 * A stop takes effect after the analysis of the pattern, or at the next pivot of the factors. */
tess_status tess_direct_create(tess_ctx *ctx, const tess_matrix *A, bool positive,
                               const tess_direct_limits *limits, tess_direct **out);
/* New values in the same pattern: the order of elimination is kept. */
tess_status tess_direct_update(tess_direct *direct, const tess_matrix *A);
void tess_direct_destroy(tess_direct *direct);

/* z = A^-1 r, or A^-T r; vectors of doubles, which may be the same. */
tess_status tess_direct_solve(tess_direct *direct, bool transpose, const double *r, double *z);
int64_t tess_direct_rows(const tess_direct *direct);
/* Bytes of the factors, as far as the library tells. */
double tess_direct_bytes(const tess_direct *direct);
const char *tess_direct_library_name(const tess_direct *direct); /* "CHOLMOD" or "KLU" */

/* amd.c: orders A, under the arrangement so far, by approximate minimum degree. */
tess_status tess_direct_order(const tess_matrix *A, tess_arrangement *arrangement);

/* ---- What both have: klu.c, cholmod.c ---- */

/* The matrix as compressed columns of its transpose: rows of A, sorted, 64-bit. */
typedef struct tess_direct_arrays {
    int64_t n;
    int64_t *offsets, *indices;
    double *values;
} tess_direct_arrays;

/* A library of SuiteSparse: its title, its package, its files and its functions. */
#define TESS_SUITESPARSE(name, package, files, symbols)                                 \
    {                                                                                   \
        name, "SuiteSparse", package " or libsuitesparse-dev", "choose another method", \
            "TESSERA_SUITESPARSE", files, symbols                                       \
    }

typedef struct tess_direct_library {
    const tess_library *file;
    /* Finds the order of elimination. Fails where the factors would go beyond the limits. */
    tess_status (*analyze)(tess_ctx *ctx, const tess_direct_arrays *A,
                           const tess_direct_limits *limits, void **state);
    /* Computes the factors, on a thread without the context. Afterwards outcome() returns how that
     * ended. */
    void (*factor)(const tess_direct_arrays *A, void *state);
    tess_status (*outcome)(tess_ctx *ctx, void *state);
    /* Called while another thread is in factor(): overwrites numbers so that there is no next
     * pivot, where the library would look for it. The library then returns. */
    void (*stop)(const tess_direct_arrays *A, void *state);
    double (*bytes)(const void *state); /* so far, where factor() is under way */
    tess_status (*solve)(tess_ctx *ctx, void *state, int64_t n, bool transpose, double *z);
    void (*release)(void *state);
} tess_direct_library;

/* Sets a number that another thread is computing with. */
static inline void tess_set_beside(double *number, double value)
{
    __atomic_store(number, &value, __ATOMIC_RELAXED);
}

extern const tess_direct_library tess_direct_klu, tess_direct_cholmod;

/* Fails where factors of so many entries and operations go beyond the limits. `rate`: operations
 * per second that can be relied on. */
tess_status tess_direct_check(tess_ctx *ctx, const char *title, const tess_direct_limits *limits,
                              double entries, double operations, double rate);

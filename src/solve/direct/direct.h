/* Complete factors by SuiteSparse: CHOLMOD for symmetric positive definite matrices, KLU for
 * others.
 *
 * Both libraries are found when the first matrix is factored, as the CUDA driver is: nothing is
 * needed to build. TESSERA_SUITESPARSE names a directory to look in first, or is "off".
 */
#ifndef TESS_DIRECT_H
#define TESS_DIRECT_H

#include "matrix/matrix.h"

typedef struct tess_direct tess_direct;

/* Whether the library for such a matrix is here; otherwise a sentence says what to install. */
tess_status tess_direct_available(tess_ctx *ctx, bool positive);

/* Factors A, which is square. `positive`: A is symmetric and believed to be positive definite.
 * Fails with TESS_ERR_MATRIX where it is singular or not positive definite, with
 * TESS_ERR_UNSUPPORTED where the library is missing. */
tess_status tess_direct_create(tess_ctx *ctx, const tess_matrix *A, bool positive,
                               tess_direct **out);
/* New values in the same pattern: the order of elimination is kept. */
tess_status tess_direct_update(tess_direct *direct, const tess_matrix *A);
void tess_direct_destroy(tess_direct *direct);

/* z = A^-1 r, or A^-T r; vectors of doubles, which may be the same. */
tess_status tess_direct_solve(tess_direct *direct, bool transpose, const double *r, double *z);
int64_t tess_direct_rows(const tess_direct *direct);
/* Bytes of the factors, as far as the library tells. */
double tess_direct_bytes(const tess_direct *direct);
const char *tess_direct_library_name(const tess_direct *direct); /* "CHOLMOD" or "KLU" */

/* ---- What both have: klu.c, cholmod.c ---- */

/* The matrix as compressed columns of its transpose: rows of A, sorted, 64-bit. */
typedef struct tess_direct_arrays {
    int64_t n;
    int64_t *offsets, *indices;
    double *values;
} tess_direct_arrays;

typedef struct tess_direct_library {
    const char *name;
    tess_status (*open)(tess_ctx *ctx);
    tess_status (*factor)(tess_ctx *ctx, const tess_direct_arrays *A, void **state);
    tess_status (*refactor)(tess_ctx *ctx, const tess_direct_arrays *A, void *state);
    tess_status (*solve)(tess_ctx *ctx, void *state, int64_t n, bool transpose, double *z);
    void (*release)(void *state);
    double (*bytes)(const void *state);
} tess_direct_library;

extern const tess_direct_library tess_direct_klu, tess_direct_cholmod;

/* The first of these files that can be loaded; NULL: none. */
void *tess_direct_load(const char *const *names);
/* The symbol into the function pointer at `target`. */
bool tess_direct_symbol(void *library, const char *name, void *target);

#endif

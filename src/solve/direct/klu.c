/* KLU (SuiteSparse): sparse LU with partial pivoting, for matrices of any kind.
 *
 * KLU takes columns, we have rows: it factors A^T, and A x = b is its solve with the transpose. Its
 * struct of settings is only ever filled by klu_l_defaults and handed on, so that its layout, which
 * differs between versions, does not matter.
 */
#include <stdlib.h>

#include "solve/direct/direct.h"

typedef struct klu_settings {
    double opaque[128]; /* a klu_l_common has less than 300 bytes in all versions so far */
} klu_settings;

/* The head of klu_l_numeric, the same in all versions. */
typedef struct klu_numeric_head {
    int64_t n, blocks, lower_entries, upper_entries;
} klu_numeric_head;

typedef struct klu_api {
    int64_t (*defaults)(klu_settings *);
    void *(*analyze)(int64_t, int64_t *, int64_t *, klu_settings *);
    void *(*factor)(int64_t *, int64_t *, double *, void *, klu_settings *);
    int64_t (*solve)(void *, void *, int64_t, int64_t, double *, klu_settings *);
    int64_t (*solve_transposed)(void *, void *, int64_t, int64_t, double *, klu_settings *);
    int64_t (*free_symbolic)(void **, klu_settings *);
    int64_t (*free_numeric)(void **, klu_settings *);
} klu_api;

typedef struct klu_state {
    klu_api api;
    klu_settings settings;
    void *symbolic, *numeric;
} klu_state;

static bool load(klu_api *api)
{
    static const char *const names[] = {"libklu.so.2", "libklu.so.1", "libklu.so", NULL};
    void *library = tess_direct_load(names);
    return library && tess_direct_symbol(library, "klu_l_defaults", &api->defaults) &&
           tess_direct_symbol(library, "klu_l_analyze", &api->analyze) &&
           tess_direct_symbol(library, "klu_l_factor", &api->factor) &&
           tess_direct_symbol(library, "klu_l_solve", &api->solve) &&
           tess_direct_symbol(library, "klu_l_tsolve", &api->solve_transposed) &&
           tess_direct_symbol(library, "klu_l_free_symbolic", &api->free_symbolic) &&
           tess_direct_symbol(library, "klu_l_free_numeric", &api->free_numeric);
}

static tess_status find(tess_ctx *ctx, klu_api *api)
{
    return load(api) ? TESS_OK
                     : tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                                 "KLU (SuiteSparse) is not here: install it (Debian: libklu1 or "
                                 "libsuitesparse-dev), or choose another method");
}

static tess_status open_library(tess_ctx *ctx)
{
    klu_api api;
    return find(ctx, &api);
}

static void release(void *pointer)
{
    klu_state *s = pointer;
    if (!s)
        return;
    if (s->numeric)
        s->api.free_numeric(&s->numeric, &s->settings);
    if (s->symbolic)
        s->api.free_symbolic(&s->symbolic, &s->settings);
    free(s);
}

static tess_status refactor(tess_ctx *ctx, const tess_direct_arrays *A, void *pointer)
{
    klu_state *s = pointer;
    if (s->numeric)
        s->api.free_numeric(&s->numeric, &s->settings);
    s->numeric = s->api.factor(A->offsets, A->indices, A->values, s->symbolic, &s->settings);
    return s->numeric ? TESS_OK
                      : tess_fail(ctx, TESS_ERR_MATRIX,
                                  "KLU could not factor the matrix: it is singular, or memory is "
                                  "short");
}

static tess_status factor(tess_ctx *ctx, const tess_direct_arrays *A, void **out)
{
    klu_state *s = calloc(1, sizeof *s);
    if (!s)
        return tess_fail(ctx, TESS_ERR_MEMORY, "no memory for %zu bytes", sizeof *s);
    tess_status status;
    TESS_TRY_CLEAN(find(ctx, &s->api));
    s->api.defaults(&s->settings);
    s->symbolic = s->api.analyze(A->n, A->offsets, A->indices, &s->settings);
    if (!s->symbolic)
        TESS_TRY_CLEAN(tess_fail(ctx, TESS_ERR_MATRIX,
                                 "KLU could not order the matrix: it is structurally singular, or "
                                 "memory is short"));
    TESS_TRY_CLEAN(refactor(ctx, A, s));
    *out = s;
    return TESS_OK;
cleanup:
    release(s);
    return status;
}

static tess_status solve(tess_ctx *ctx, void *pointer, int64_t n, bool transpose, double *z)
{
    klu_state *s = pointer;
    const int64_t done =
        transpose ? s->api.solve(s->symbolic, s->numeric, n, 1, z, &s->settings)
                  : s->api.solve_transposed(s->symbolic, s->numeric, n, 1, z, &s->settings);
    return done ? TESS_OK : tess_fail(ctx, TESS_ERR_MATRIX, "KLU could not solve");
}

static double bytes(const void *pointer)
{
    const klu_state *s = pointer;
    const klu_numeric_head *head = s->numeric;
    return 16.0 * (double)(head->lower_entries + head->upper_entries);
}

const tess_direct_library tess_direct_klu = {
    .name = "KLU",
    .open = open_library,
    .factor = factor,
    .refactor = refactor,
    .solve = solve,
    .release = release,
    .bytes = bytes,
};

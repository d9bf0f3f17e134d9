/* KLU (SuiteSparse): sparse LU with partial pivoting, for matrices of any kind.
 *
 * KLU takes columns, we have rows: it factors A^T, and A x = b is its solve with the transpose. Its
 * struct of settings is only ever filled by klu_l_defaults and handed on, so that its layout, which
 * differs between versions, does not matter.
 */
#include "solve/direct/direct.h"

typedef struct klu_settings {
    double opaque[128]; /* a klu_l_common has less than 300 bytes in all versions so far */
} klu_settings;

/* The head of klu_l_symbolic, the same in all versions; -1: not known. */
typedef struct klu_symbolic_head {
    double symmetry, operations, lower_entries, upper_entries;
} klu_symbolic_head;

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

static const char *const names[] = {"libklu.so.2", "libklu.so.1", "libklu.so", NULL};
static const tess_direct_function functions[] = {
    {"klu_l_defaults", offsetof(klu_api, defaults)},
    {"klu_l_analyze", offsetof(klu_api, analyze)},
    {"klu_l_factor", offsetof(klu_api, factor)},
    {"klu_l_solve", offsetof(klu_api, solve)},
    {"klu_l_tsolve", offsetof(klu_api, solve_transposed)},
    {"klu_l_free_symbolic", offsetof(klu_api, free_symbolic)},
    {"klu_l_free_numeric", offsetof(klu_api, free_numeric)},
    {NULL, 0},
};
static const tess_direct_file file = {"KLU", "libklu1", names, functions};

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

static tess_status factor(tess_ctx *ctx, const tess_direct_arrays *A,
                          const tess_direct_limits *limits, void **out)
{
    klu_state *s = calloc(1, sizeof *s);
    if (!s)
        return tess_fail(ctx, TESS_ERR_MEMORY, "no memory for %zu bytes", sizeof *s);
    tess_status status;
    TESS_TRY_CLEAN(tess_direct_find(ctx, &file, &s->api));
    s->api.defaults(&s->settings);
    s->symbolic = s->api.analyze(A->n, A->offsets, A->indices, &s->settings);
    if (!s->symbolic)
        TESS_TRY_CLEAN(tess_fail(ctx, TESS_ERR_MATRIX,
                                 "KLU could not order the matrix: it is structurally singular, or "
                                 "memory is short"));
    const klu_symbolic_head *head = s->symbolic;
    TESS_TRY_CLEAN(tess_direct_check(ctx, "KLU", limits,
                                     fmax(0, head->lower_entries) + fmax(0, head->upper_entries),
                                     fmax(0, head->operations), 3e8));
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
    .file = &file,
    .factor = factor,
    .refactor = refactor,
    .solve = solve,
    .release = release,
    .bytes = bytes,
};

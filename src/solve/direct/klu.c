/* KLU (SuiteSparse): sparse LU with partial pivoting, for matrices of any kind.
 *
 * KLU takes columns and the matrix has rows, so KLU factors A^T. A x = b is therefore KLU's solve
 * with the transpose. KLU's struct of settings is declared as in versions 1.1 to 2.3. Where
 * klu_l_defaults shows another layout, the struct is only passed on, and messages say less.
 */
#include "solve/direct/direct.h"

typedef struct klu_settings {
    double tolerance, growth, initial_amd, initial, most_work;
    int64_t btf, ordering, scale;
    void *user_order, *user_data;
    int64_t halt_if_singular, status, reallocations, structural_rank, numerical_rank;
    int64_t singular_column, off_diagonal_pivots;
    double operations, rcond, condition, pivot_growth, work;
    size_t bytes, most_bytes;
    double opaque[104]; /* a klu_l_common has less than 300 bytes in all versions so far */
} klu_settings;

enum { SINGULAR = 1, OUT_OF_MEMORY = -2, TOO_LARGE = -4 }; /* values of `status` */

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
    bool known;     /* the settings have the layout above */
    double counted; /* bytes of the factors, where the layout is not known */
    void *symbolic, *numeric;
} klu_state;

static const char *const names[] = {"libklu.so.2", "libklu.so.1", "libklu.so", NULL};
static const tess_library_function functions[] = {
    {"klu_l_defaults", offsetof(klu_api, defaults)},
    {"klu_l_analyze", offsetof(klu_api, analyze)},
    {"klu_l_factor", offsetof(klu_api, factor)},
    {"klu_l_solve", offsetof(klu_api, solve)},
    {"klu_l_tsolve", offsetof(klu_api, solve_transposed)},
    {"klu_l_free_symbolic", offsetof(klu_api, free_symbolic)},
    {"klu_l_free_numeric", offsetof(klu_api, free_numeric)},
    {NULL, 0},
};
static const tess_library file = TESS_SUITESPARSE("KLU", "libklu1", names, functions);

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

static bool known_layout(const klu_settings *c)
{
    return c->tolerance == 0.001 && c->growth == 1.2 && c->initial_amd == 1.2 && c->initial == 10 &&
           c->most_work == 0 && c->btf == 1 && c->ordering == 0 && c->scale == 2 &&
           !c->user_order && !c->user_data && c->halt_if_singular == 1 && c->bytes == 0 &&
           c->most_bytes == 0;
}

static void factor(const tess_direct_arrays *A, void *pointer)
{
    klu_state *s = pointer;
    if (s->numeric)
        s->api.free_numeric(&s->numeric, &s->settings);
    s->numeric = s->api.factor(A->offsets, A->indices, A->values, s->symbolic, &s->settings);
}

/* Fails with the error that KLU's status stands for. `doing`: what KLU could not do. */
static tess_status find_fault(tess_ctx *ctx, const klu_state *s, const char *doing)
{
    const int64_t status = s->known ? s->settings.status : 0;
    if (status == OUT_OF_MEMORY || status == TOO_LARGE)
        return tess_fail(ctx, TESS_ERR_MEMORY, "KLU ran out of memory");
    return tess_fail(ctx, TESS_ERR_MATRIX, "KLU could not %s the matrix: it is singular%s", doing,
                     status == SINGULAR ? "" : ", or memory is short");
}

static tess_status outcome(tess_ctx *ctx, void *pointer)
{
    klu_state *s = pointer;
    const klu_numeric_head *head = s->numeric;
    if (!head)
        return find_fault(ctx, s, "factor");
    s->counted = 16.0 * (double)(head->lower_entries + head->upper_entries);
    return TESS_OK;
}

/* Overwrites A with zeros. KLU reads A column by column as it goes on, and a column of zeros has no
 * pivot. */
static void stop(const tess_direct_arrays *A, void *pointer)
{
    (void)pointer;
    for (int64_t k = 0; k < A->offsets[A->n]; k++)
        tess_set_beside(&A->values[k], 0);
}

static tess_status analyze(tess_ctx *ctx, const tess_direct_arrays *A,
                           const tess_direct_limits *limits, void **out)
{
    klu_state *s = calloc(1, sizeof *s);
    if (!s)
        return tess_fail(ctx, TESS_ERR_MEMORY, "no memory for %zu bytes", sizeof *s);
    tess_status status;
    TESS_TRY_CLEAN(tess_library_find(ctx, &file, &s->api));
    s->api.defaults(&s->settings);
    s->known = known_layout(&s->settings);
    s->symbolic = s->api.analyze(A->n, A->offsets, A->indices, &s->settings);
    if (!s->symbolic)
        TESS_TRY_CLEAN(find_fault(ctx, s, "order"));
    const klu_symbolic_head *head = s->symbolic;
    TESS_TRY_CLEAN(tess_direct_check(ctx, "KLU", limits,
                                     fmax(0, head->lower_entries) + fmax(0, head->upper_entries),
                                     fmax(0, head->operations), 3e8));
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
    return s->known ? (double)__atomic_load_n(&s->settings.bytes, __ATOMIC_RELAXED) : s->counted;
}

const tess_direct_library tess_direct_klu = {
    .file = &file,
    .analyze = analyze,
    .factor = factor,
    .outcome = outcome,
    .stop = stop,
    .bytes = bytes,
    .solve = solve,
    .release = release,
};

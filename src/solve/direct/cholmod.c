/* CHOLMOD (SuiteSparse): sparse Cholesky factors, for symmetric positive definite matrices.
 *
 * Structs are declared here as far as they are used, so that nothing is needed to build. Their
 * beginnings have been the same in all versions from 3 to 5. After cholmod_l_start the settings'
 * defaults are checked. A library whose defaults lie elsewhere is not used.
 */
#include "solve/direct/direct.h"

typedef struct cholmod_settings {
    double dbound, grow0, grow1;
    size_t grow2, maxrank;
    double supernodal_switch;
    int supernodal, final_asis, final_super, final_ll, final_pack, final_monotonic, final_resymbol;
    double zrelax[3];
    size_t nrelax[3];
    int prefer_zomplex, prefer_upper, quick_return_if_not_posdef, prefer_binary;
    int print, precise, try_catch;
    double opaque[2048]; /* the whole struct has less than 3 KB */
} cholmod_settings;

typedef struct cholmod_matrix {
    size_t nrow, ncol, nzmax;
    void *p, *i, *nz, *x, *z;
    int stype, itype, xtype, dtype, sorted, packed;
} cholmod_matrix;

typedef struct cholmod_vector {
    size_t nrow, ncol, nzmax, d;
    void *x, *z;
    int xtype, dtype;
} cholmod_vector;

/* The head of a cholmod_factor. */
typedef struct cholmod_factor_head {
    size_t n, minor; /* minor < n: the column at which A was not positive definite */
    void *permutation, *column_count, *inverse_permutation;
    size_t nzmax;
    void *p, *i, *x, *z, *nz, *next, *prev;
    size_t nsuper, ssize, xsize;
} cholmod_factor_head;

enum { LONG = 2, REAL = 1, LOWER = -1, SYSTEM_A = 0, SUPERNODAL = 2 };

typedef struct cholmod_api {
    int (*start)(cholmod_settings *);
    int (*finish)(cholmod_settings *);
    cholmod_factor_head *(*analyze)(cholmod_matrix *, cholmod_settings *);
    int (*factorize)(cholmod_matrix *, cholmod_factor_head *, cholmod_settings *);
    cholmod_vector *(*solve)(int, cholmod_factor_head *, cholmod_vector *, cholmod_settings *);
    int (*free_factor)(cholmod_factor_head **, cholmod_settings *);
    int (*free_dense)(cholmod_vector **, cholmod_settings *);
} cholmod_api;

typedef struct cholmod_state {
    cholmod_api api;
    cholmod_settings settings;
    bool started, enough_memory;
    cholmod_factor_head *factor;
} cholmod_state;

static const char *const names[] = {"libcholmod.so.5", "libcholmod.so.4", "libcholmod.so.3",
                                    "libcholmod.so", NULL};
static const tess_library_function functions[] = {
    {"cholmod_l_start", offsetof(cholmod_api, start)},
    {"cholmod_l_finish", offsetof(cholmod_api, finish)},
    {"cholmod_l_analyze", offsetof(cholmod_api, analyze)},
    {"cholmod_l_factorize", offsetof(cholmod_api, factorize)},
    {"cholmod_l_solve", offsetof(cholmod_api, solve)},
    {"cholmod_l_free_factor", offsetof(cholmod_api, free_factor)},
    {"cholmod_l_free_dense", offsetof(cholmod_api, free_dense)},
    {NULL, 0},
};
static const tess_library file = TESS_SUITESPARSE("CHOLMOD", "libcholmod3", names, functions);

static bool known_layout(const cholmod_settings *c)
{
    return c->grow0 == 1.2 && c->grow1 == 1.2 && c->grow2 == 5 && c->maxrank == 8 &&
           c->print == 3 && c->precise == 0 && c->try_catch == 0;
}

static void release(void *pointer)
{
    cholmod_state *s = pointer;
    if (!s)
        return;
    if (s->factor)
        s->api.free_factor(&s->factor, &s->settings);
    if (s->started)
        s->api.finish(&s->settings);
    free(s);
}

/* Returns A as CHOLMOD's matrix. Rows of a symmetric matrix are its columns. CHOLMOD reads the
 * entries on and below the diagonal. */
static cholmod_matrix matrix_of(const tess_direct_arrays *A)
{
    return (cholmod_matrix){.nrow = (size_t)A->n,
                            .ncol = (size_t)A->n,
                            .nzmax = (size_t)A->offsets[A->n],
                            .p = A->offsets,
                            .i = A->indices,
                            .x = A->values,
                            .stype = LOWER,
                            .itype = LONG,
                            .xtype = REAL,
                            .sorted = 1,
                            .packed = 1};
}

static void factor(const tess_direct_arrays *A, void *pointer)
{
    cholmod_state *s = pointer;
    cholmod_matrix matrix = matrix_of(A);
    s->enough_memory = s->api.factorize(&matrix, s->factor, &s->settings) != 0;
}

static tess_status outcome(tess_ctx *ctx, void *pointer)
{
    const cholmod_state *s = pointer;
    if (!s->enough_memory)
        return tess_fail(ctx, TESS_ERR_MEMORY, "CHOLMOD ran out of memory");
    if (s->factor->minor < s->factor->n)
        return tess_fail(ctx, TESS_ERR_MATRIX,
                         "CHOLMOD: the matrix is not positive definite (pivot %zu of %zu in its "
                         "order): try pc=lu without symmetry",
                         s->factor->minor, s->factor->n);
    return TESS_OK;
}

/* Overwrites L with large negative numbers, and is called until the library returns. The numbers
 * leave no positive pivot in the supernode that is being factored, and their squares leave none in
 * the supernodes that it updates. A supernodal factorisation has the memory of all of L from the
 * beginning. */
static void stop(const tess_direct_arrays *A, void *pointer)
{
    cholmod_state *s = pointer;
    double *L = s->factor->nsuper > 0 ? __atomic_load_n(&s->factor->x, __ATOMIC_RELAXED) : NULL;
    (void)A;
    for (size_t i = 0; L && i < s->factor->xsize; i++)
        tess_set_beside(&L[i], -1e200);
}

/* Operations per second that can be relied on. A column of L with c entries takes c^2
 * operations. */
static const double RATE = 1e9;

static void count(const cholmod_factor_head *head, double *entries, double *operations)
{
    const int64_t *column = head->column_count;
    *entries = *operations = 0;
    for (size_t i = 0; i < head->n; i++) {
        *entries += (double)column[i];
        *operations += (double)column[i] * (double)column[i];
    }
}

/* Orders A. Factors that take long are made by supernodes, since a factorisation column by column
 * cannot be stopped. */
static tess_status order(tess_ctx *ctx, const tess_direct_arrays *A,
                         const tess_direct_limits *limits, cholmod_state *s)
{
    cholmod_matrix matrix = matrix_of(A);
    double entries = 0, operations = 0;
    s->factor = s->api.analyze(&matrix, &s->settings);
    if (s->factor)
        count(s->factor, &entries, &operations);
    if (s->factor && s->factor->nsuper == 0 && operations > 0.2 * RATE) {
        s->api.free_factor(&s->factor, &s->settings);
        s->settings.supernodal = SUPERNODAL;
        s->factor = s->api.analyze(&matrix, &s->settings);
    }
    return s->factor ? tess_direct_check(ctx, "CHOLMOD", limits, entries, operations, RATE)
                     : tess_fail(ctx, TESS_ERR_MEMORY, "CHOLMOD could not order the matrix");
}

static tess_status analyze(tess_ctx *ctx, const tess_direct_arrays *A,
                           const tess_direct_limits *limits, void **out)
{
    cholmod_state *s = calloc(1, sizeof *s);
    if (!s)
        return tess_fail(ctx, TESS_ERR_MEMORY, "no memory for %zu bytes", sizeof *s);
    tess_status status;
    TESS_TRY_CLEAN(tess_library_find(ctx, &file, &s->api));
    s->started = s->api.start(&s->settings) != 0;
    if (!s->started || !known_layout(&s->settings))
        TESS_TRY_CLEAN(tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                                 "this version of CHOLMOD is not known here: choose another "
                                 "method"));
    s->settings.print = 0;
    s->settings.try_catch = 1; /* nothing is printed */
    s->settings.quick_return_if_not_posdef = 1;
    s->settings.final_asis = 0; /* L L^T, which only a positive definite matrix has, not L D L^T */
    s->settings.final_ll = 1;
    TESS_TRY_CLEAN(order(ctx, A, limits, s));
    *out = s;
    return TESS_OK;
cleanup:
    release(s);
    return status;
}

static tess_status solve(tess_ctx *ctx, void *pointer, int64_t n, bool transpose, double *z)
{
    cholmod_state *s = pointer;
    (void)transpose; /* A is symmetric */
    cholmod_vector right = {
        .nrow = (size_t)n, .ncol = 1, .nzmax = (size_t)n, .d = (size_t)n, .x = z, .xtype = REAL};
    cholmod_vector *x = s->api.solve(SYSTEM_A, s->factor, &right, &s->settings);
    if (!x)
        return tess_fail(ctx, TESS_ERR_MEMORY, "CHOLMOD ran out of memory");
    memcpy(z, x->x, (size_t)n * sizeof *z);
    s->api.free_dense(&x, &s->settings);
    return TESS_OK;
}

static double bytes(const void *pointer)
{
    const cholmod_state *s = pointer;
    return 8.0 *
           (double)(s->factor->nzmax > s->factor->xsize ? 2 * s->factor->nzmax : s->factor->xsize);
}

const tess_direct_library tess_direct_cholmod = {
    .file = &file,
    .analyze = analyze,
    .factor = factor,
    .outcome = outcome,
    .stop = stop,
    .bytes = bytes,
    .solve = solve,
    .release = release,
};

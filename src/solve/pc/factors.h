/* Triangular factors by blocks: M = L U or M = L D L^T, L with unit diagonal blocks.
 *
 * The rows are cut into consecutive domains. Blocks that couple two domains are dropped, so that
 * different threads factor and solve the domains without waiting. Everything lies in memory in the
 * order in which a solve reads it:
 *
 *     lower    rows of a domain downwards: the blocks left of the diagonal
 *     upper    rows of a domain upwards: the blocks right of the diagonal, then the inverse of the
 *              diagonal block. Place p = first + last - 1 - row of domain first..last-1.
 *     inverse  symmetric factors have no upper; the inverses of D, row by row
 *
 * Factors of a complex matrix are computed as those of its embedding (embed.c), whose blocks are
 * twice as high and wide, and stored as complex blocks. L^T and U^T are then L^H and U^H.
 */
#pragma once

#include "solve/pc/fill.h"
#include "solve/pc/pc.h"

/* The largest height of a block of factors: a vector's block lies on a thread's stack. */
#define TESS_FACTOR_BLOCK_MAX 4096

typedef struct tess_factors {
    int32_t block; /* height of a block; of complex factors that of the embedding */
    int64_t block_rows;
    int domains;
    bool symmetric;
    int64_t *domain_rows;                   /* domains + 1 */
    int64_t *lower_offsets, *upper_offsets; /* block_rows + 1 each; upper by place p */
    int32_t *lower_columns, *upper_columns;
    void *lower, *upper, *inverse; /* of the pc's type */
} tess_factors;

/* Where the numbers of a factorisation are computed: always double, in the layout above. */
typedef struct tess_factor_values {
    double *lower, *upper, *inverse;
} tess_factor_values;

/* The first row that could not be factored. */
typedef struct tess_factor_fault {
    int64_t row; /* INT64_MAX: none */
    int32_t column;
    double pivot;
    bool dropped; /* the matrix's own block is positive definite: a heavier diagonal may help */
} tess_factor_fault;

/* Rows of a domain to be computed once the rows before them are, and scratch. */
typedef struct tess_factor_work {
    int64_t first, last;
    double **place;   /* per column of the domain: its block in the row at hand, or NULL */
    double *dense;    /* 3 b b */
    double *row;      /* the longest row's lower blocks */
    bool positive;    /* diagonal blocks have to be positive definite */
    bool replace;     /* diagonal blocks that cannot be inverted are made heavier ... */
    int64_t replaced; /* ... and counted */
    double shift;     /* ilu0, ic0: the diagonal is multiplied by 1 + shift */
    double omega;     /* ssor */
} tess_factor_work;

/* Computes the rows of `work`, of one domain, from the matrix's present values. */
typedef tess_factor_fault (*tess_factor_fn)(const tess_factors *f, const tess_matrix *A,
                                            const tess_factor_values *v, int domain,
                                            tess_factor_work *work);

/* ilu0.c, ic0.c: the rows of ILU(0) and IC(0), also of factors with fill. */
tess_factor_fault tess_ilu0_rows(const tess_factors *f, const tess_matrix *A,
                                 const tess_factor_values *v, int domain, tess_factor_work *work);
tess_factor_fault tess_ic0_rows(const tess_factors *f, const tess_matrix *A,
                                const tess_factor_values *v, int domain, tess_factor_work *work);

static inline int64_t tess_factor_place(const tess_factors *f, int64_t domain, int64_t row)
{
    return f->domain_rows[domain] + f->domain_rows[domain + 1] - 1 - row;
}

/* Returns the inverse of a row's diagonal block among the values. */
static inline double *tess_factor_inverse(const tess_factors *f, const tess_factor_values *v,
                                          int domain, int64_t row)
{
    const int64_t size = (int64_t)f->block * f->block;
    if (f->symmetric)
        return v->inverse + row * size;
    const int64_t p = tess_factor_place(f, domain, row);
    return v->upper + (f->upper_offsets[p + 1] + p) * size;
}

/* factors_solve_*.c: z = M^-1 r, or M^-T r, on one domain. The names say the types of vectors and
 * factors. r and z may be the same. */
void tess_factors_solve_f64_f64(const tess_factors *f, int domain, bool transpose, const double *r,
                                double *z);
void tess_factors_solve_f64_f32(const tess_factors *f, int domain, bool transpose, const double *r,
                                double *z);
void tess_factors_solve_f32_f32(const tess_factors *f, int domain, bool transpose, const float *r,
                                float *z);

/* The same for complex vectors and factors, which are arrays of pairs. */
void tess_factors_solve_c64_c64(const tess_factors *f, int domain, bool transpose, const double *r,
                                double *z);
void tess_factors_solve_c64_c32(const tess_factors *f, int domain, bool transpose, const double *r,
                                double *z);
void tess_factors_solve_c32_c32(const tess_factors *f, int domain, bool transpose, const float *r,
                                float *z);

/* ---- factors.c: what triangular preconditioners have in common ---- */

/* Returns the bytes in which a block is stored that was computed as `block` x `block` doubles. */
static inline size_t tess_factor_bytes(tess_type type, int32_t block)
{
    const size_t reals = (size_t)block * (size_t)block;
    return (tess_is_complex(type) ? reals / 2 : reals) * tess_type_size(tess_real_type(type));
}

typedef struct tess_triangular {
    tess_factor_fn compute;
    tess_factors *factors;
    struct tess_staged *staged; /* by levels or colours: has the numbers; `factors` the pattern */
    tess_fill fill;             /* its matrix is factored in place of the plan's; {0}: no fill */
    double bytes;               /* read by one application, vectors not counted */
} tess_triangular;

/* Takes the matrix that is factored: the plan's with its present values, or the embedding of a
 * complex one. */
tess_status tess_triangular_take(const tess_plan *plan, tess_matrix *out);
/* Frees what tess_triangular_take has made. */
void tess_triangular_give_back(const tess_plan *plan, tess_matrix *taken);
/* The set_up of a preconditioner whose rows `compute` computes, and its other operations. */
tess_status tess_triangular_set_up(tess_plan *plan, tess_pc *pc, tess_factor_fn compute);
/* Its two parts: the patterns of the factors of A or of a fill, then their numbers from A's
 * values. */
tess_status tess_triangular_prepare(tess_plan *plan, tess_pc *pc, const tess_matrix *A);
tess_status tess_triangular_compute(tess_pc *pc, const tess_matrix *A);
/* The set_up with a fill, which is taken over even when this fails. Factors that the fill brings
 * are used as they are, until the first update. */
tess_status tess_triangular_set_up_fill(tess_plan *plan, tess_pc *pc, tess_fill *fill,
                                        tess_factor_fn compute);
/* What the descriptors of all triangular preconditioners have. */
#define TESS_TRIANGULAR_OPS                                                            \
    .triangular = true, .square_blocks = true, .largest_block = TESS_FACTOR_BLOCK_MAX, \
    .update = tess_triangular_update, .append = tess_pc_append_step,                   \
    .apply = tess_triangular_apply, .bytes = tess_triangular_bytes, .free = tess_triangular_free
tess_status tess_triangular_update(tess_plan *plan, tess_pc *pc);
void tess_triangular_apply(const tess_pc *pc, bool transpose, const void *r, void *z);
double tess_triangular_bytes(const tess_pc *pc);
void tess_triangular_free(tess_pc *pc);

/* Returns the factors by levels or colours; NULL for domains and for a preconditioner without
 * factors. */
static inline struct tess_staged *tess_pc_staged(const tess_pc *pc)
{
    return pc->ops->triangular ? ((const tess_triangular *)pc->state)->staged : NULL;
}

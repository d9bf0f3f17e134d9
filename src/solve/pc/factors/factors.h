/* What triangular preconditioners have in common: their factors are computed by rows, in domains or
 * stages, and applied. How factors lie in memory and how they are solved is in solve/pc/triangles.
 */
#pragma once

#include "solve/pc/factors/fill.h"
#include "solve/pc/triangles/staged.h"

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

typedef struct tess_triangular {
    tess_factor_fn compute;
    tess_factors *factors;
    tess_staged *staged; /* by levels or colours: has the numbers; `factors` the pattern */
    tess_fill fill;      /* its matrix is factored in place of the plan's; {0}: no fill */
    double bytes;        /* read by one application, vectors not counted */
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
static inline tess_staged *tess_pc_staged(const tess_pc *pc)
{
    return pc->ops->triangular ? ((const tess_triangular *)pc->state)->staged : NULL;
}

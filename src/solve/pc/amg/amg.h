/* Smoothed aggregation multigrid on blocks (pc=amg).
 *
 *     level 0   A  b x b blocks        strength.c   which blocks couple strongly
 *        │  P  b x k                   aggregate.c  groups of block rows: coarse block rows
 *     level 1   P'AP  k x k            tentative.c  the modes on each group, orthonormal
 *        │  P  k x k                   prolong.c    P: the tentative prolongator smoothed by A
 *     level 2   k x k                  restrict.c   R = P'
 *        ...                           coarsen.c    from one level to the next
 *                                      hierarchy.c  all levels, new values
 *     bottom    its inverse, dense     bottom.c
 *                                      lanczos.c    the largest eigenvalue
 *                                      smoother.c   Gauss-Seidel and ILU(0) of a level
 *                                      plans.c      the plans of a cycle's products
 *                                      cycle.c      one cycle as steps of a solver
 *                                      device.h     the part of the set-up that a device may do
 *
 * The modes are k vectors that A maps to almost 0, which smoothers cannot reduce. Set-up computes
 * in double precision. The levels that cycles run on are copies in the preconditioner's precision.
 * Only Gauss-Seidel and ILU(0) by domains depend on the number of threads.
 */
#pragma once

#include "solve/pc/pc.h"

enum { TESS_AMG_LEVELS = 24, TESS_AMG_MODES = 32, TESS_AMG_DOMAINS = 64 };

/* The vectors of a level, in the order of their numbers. The finest level, and all levels of
 * V-cycles, have those before AMG_OF_V. Levels of W-cycles have those before AMG_OF_W. */
enum {
    AMG_X,
    AMG_R,
    AMG_D,
    AMG_OF_V,
    AMG_B = AMG_OF_V, /* K: the residual of the two iterations; W: the second correction */
    AMG_OF_W,
    AMG_C = AMG_OF_W, /* K: the first correction ... */
    AMG_AC,           /* ... and A times it */
    AMG_AX,           /* K: A times the second one */
    AMG_LEVEL_VECTORS
};

/* The matrices of a level that cycles multiply with. */
typedef enum tess_amg_matrix {
    AMG_MATRIX_A,
    AMG_MATRIX_P,
    AMG_MATRIX_R,
    AMG_MATRICES
} tess_amg_matrix;

/* The phases of a set-up, whose times are counted. */
enum {
    AMG_MODES,
    AMG_PLANS_OF_A,
    AMG_DIAGONAL,
    AMG_EIGENVALUE,
    AMG_STRENGTH,
    AMG_GROUPS,
    AMG_TENTATIVE,
    AMG_PATTERNS,
    AMG_PLACING, /* patterns to the device, room for its numbers */
    AMG_PROLONG,
    AMG_PRODUCTS,
    AMG_BOTTOM,
    AMG_SMOOTHERS,
    AMG_PLANS_OF_P,
    AMG_PLANS_OF_R,
    AMG_PHASES
};

/* The groups of a level's block rows. */
typedef struct tess_aggregates {
    int64_t count;
    int32_t *of;      /* of each block row; -1: none, the row couples to no other */
    int64_t *offsets; /* count + 1: the members of each, in order */
    int32_t *members;
} tess_aggregates;

/* What the modes of the finest level are made of: the caller's, rigid motions of coordinates, or
 * one constant per component. The arrays are the caller's and only read while levels are built. */
typedef struct tess_mode_source {
    int32_t count, block;      /* modes; scalars, and coordinates, per block row */
    int64_t rows, nodes;       /* scalar rows without padding; block rows */
    const double *given;       /* `count` columns of `rows` scalars; NULL: none */
    const double *coordinates; /* `block` per block row; NULL: none */
    double centre[3];          /* of the coordinates */
} tess_mode_source;

typedef struct tess_amg_level {
    tess_matrix *A; /* f64; level 0: the plan's, or a copy of it in f64 */
    bool owns_A;
    bool elsewhere;  /* A's values are on the device, those here are not set or old */
    float *strength; /* one per block; 0: weak or on the diagonal; < 0: strong for its row alone */
    bool all_strong; /* every block off the diagonal is strong, and the diagonal is stored */
    tess_aggregates aggregates;
    tess_matrix *tentative;  /* orthonormal modes of each group: at most one block per row. Where
                              * the device made them it has no values, and `dead` is NULL */
    bool *dead;              /* per coarse scalar row: its mode depends on others on the group */
    tess_matrix *filtered;   /* A without weak blocks; NULL where all are strong */
    bool plain;              /* the tentative prolongator is the prolongator, P */
    tess_matrix *P, *R, *AP; /* f64 */
    int64_t *R_from;         /* the block of P that each block of R is */
    void *device;            /* the state of device.h, which has the values; NULL: the host has */
    double *inverse;         /* of the diagonal blocks; padding is inverted as the identity */
    bool inverse_elsewhere;  /* the device has it, the one here is not set or old */
    double largest;          /* estimate of the largest eigenvalue of D^-1 A */
    double *modes;           /* k columns of modes_length scalars: A's rows with padding; NULL: the
                                device makes them */
    int64_t modes_length;

    /* For cycles, in the preconditioner's precision. */
    tess_diagonal diagonal; /* Chebyshev's */
    tess_pc smoother;       /* Gauss-Seidel or ILU(0) */
    /* Copies in f32, or patterns whose values the device has; NULL: A, P and R are used. */
    tess_matrix *cycle_A, *cycle_P, *cycle_R;
    void *converted[AMG_MATRICES]; /* f32 values in device memory, once a device computed them */
    tess_plan *plan, *P_plan, *R_plan;
    bool owns_plan;
} tess_amg_level;

typedef struct tess_amg {
    tess_ctx *ctx;
    tess_plan *plan;     /* the caller's, of the finest level */
    tess_device *device; /* the plan's */
    tess_device *host;   /* a CPU for the set-up; opened where the plan's device is none */
    bool owns_host;
    bool symmetric;      /* A is symmetric, and so is the cycle */
    int cycle, smoother; /* tess_amg_cycle, tess_amg_smoother: not AUTO */
    tess_pc_ops sweep;   /* of Gauss-Seidel or ILU(0), with zero pivots replaced */
    int64_t degree;      /* of the polynomial, or sweeps */
    bool plain;          /* every level's tentative prolongator is its prolongator */
    int32_t modes;
    tess_mode_source mode_source;
    int levels;
    tess_amg_level level[TESS_AMG_LEVELS];
    tess_matrix *bottom, *cycle_bottom; /* the last level's inverse; NULL: the level is smoothed */
    bool bottom_elsewhere;              /* the device makes it, the values here are not set */
    void *bottom_converted;             /* in f32, in device memory */
    tess_plan *bottom_plan;
    tess_vector_level vector_level[TESS_AMG_LEVELS + 1];
    int vectors_of[TESS_AMG_LEVELS * (AMG_LEVEL_VECTORS + 1)]; /* level of each vector */
    double seconds[AMG_PHASES], since; /* of the set-up or the last update */
    char text[2048];                   /* what tess_pc_ops.describe says */
} tess_amg;

/* ---- strength.c ---- */

/* Fills level->strength: |A_ij| / sqrt(|A_ii| |A_jj|) in the Frobenius norm. It is 0 where |A_ij|
 * is less than `threshold` times the largest of row i, and negative where it is less only than
 * `threshold` times the largest of row j. Row i then follows row j, but row j does not depend on
 * row i: beside a jump of coefficients. */
tess_status tess_amg_strength(tess_ctx *ctx, double threshold, tess_amg_level *level);
/* level->filtered: A without its weak blocks, which are added to the diagonal. Weak scalars are
 * weighted, so that A times the first mode stays the same. The first function makes the pattern,
 * the second one fills in values. */
tess_status tess_amg_filter(tess_ctx *ctx, tess_amg_level *level);
void tess_amg_filter_values(tess_ctx *ctx, tess_amg_level *level);

/* ---- aggregate.c ---- */

/* Makes the groups of a level whose strengths are known. They depend on the number of domains that
 * its rows are cut into. tess_amg_domains returns that number, at most TESS_AMG_DOMAINS. */
tess_status tess_amg_aggregate(tess_ctx *ctx, const tess_amg_level *level, int domains,
                               tess_aggregates *out);
int tess_amg_domains(const tess_matrix *A);
/* Returns the first row of a domain. */
int64_t tess_amg_domain_row(int64_t rows, int domains, int domain);
void tess_aggregates_free(tess_ctx *ctx, tess_aggregates *aggregates);

/* ---- modes.c ---- */

tess_status tess_amg_find_modes(const tess_pc *pc, const tess_matrix *A, tess_mode_source *source);
/* Makes the modes: `count` columns of nodes * block scalars. */
tess_status tess_amg_make_modes(tess_ctx *ctx, const tess_mode_source *source, double **out);

/* ---- tentative.c ---- */

/* Makes the pattern of level->tentative from the groups. */
tess_status tess_amg_tentative_pattern(tess_ctx *ctx, int32_t modes, tess_amg_level *level);
/* Fills in its values and makes level->dead from level->modes, and the modes of the next level. */
tess_status tess_amg_tentative(tess_ctx *ctx, tess_amg_level *level, double **coarse_modes);
/* Copies a level's modes to the host, or makes them there. */
tess_status tess_amg_need_modes(const tess_amg *amg, tess_amg_level *level);
/* tess_amg_tentative for a level of the hierarchy, whose modes are brought to the host first. */
tess_status tess_amg_tentative_on_host(const tess_amg *amg, tess_amg_level *level);

/* ---- prolong.c ---- */

/* Fills level->inverse; a singular diagonal block gets a generalised inverse. */
tess_status tess_amg_invert_diagonal(tess_ctx *ctx, tess_amg_level *level);
/* omega = 4/3 over the largest eigenvalue. */
double tess_amg_omega(const tess_amg_level *level);
/* Fills the values of level->P = (I - omega D^-1 A) tentative, whose pattern has been made. */
tess_status tess_amg_prolong(tess_ctx *ctx, tess_amg_level *level);

/* ---- lanczos.c ---- */

/* Finds level->largest by a few steps of Lanczos' method with a plan of A, which may be a device's.
 * Where the plan is not f64, the device's own A is used or a plan on the host is made. */
tess_status tess_amg_largest(tess_amg *amg, tess_plan *plan, tess_amg_level *level);

/* ---- smoother.c ---- */

/* Makes or updates level->smoother from the present values of level->plan. */
tess_status tess_amg_smoother_of(const tess_pc *pc, const tess_amg *amg, tess_amg_level *level);

/* ---- restrict.c ---- */

/* The first function makes the pattern of level->R, and R_from, from that of P. The second one
 * fills in R's values. */
tess_status tess_amg_restrict(tess_ctx *ctx, tess_amg_level *level);
void tess_amg_restrict_values(tess_ctx *ctx, tess_amg_level *level);
/* Gives rows of the coarse matrix that are 0 but for rounding a diagonal: the largest of their
 * block, or the size of A there. That keeps the matrix definite. */
void tess_amg_revive(tess_ctx *ctx, const tess_amg_level *level, tess_matrix *coarse);

/* ---- bottom.c ---- */

/* Makes a dense matrix of blocks, whose values are not initialised. */
tess_status tess_amg_dense_pattern(tess_ctx *ctx, int64_t rows, int32_t block, tess_matrix **out);
/* Fills B, whose pattern is dense, with the inverse of A. Where A is singular: with a generalised
 * inverse (bottom.c) or, if A is not symmetric, with the inverse of a matrix nearby. `least` is
 * as for tess_amg_invert_dense. *pivot: what that returns, or 1. */
tess_status tess_amg_invert_bottom(tess_ctx *ctx, const tess_matrix *A, bool symmetric,
                                   double least, tess_matrix *B, double *pivot);
/* Inverts a dense symmetric n x n matrix, column-major, in place, and returns the least pivot that
 * it took once the matrix was scaled to a diagonal of ones. Pivots of at most `least` count as 0,
 * as rounding errors do. `work` has n*n + 2 n doubles. ctx NULL: the calling thread computes alone.
 */
double tess_amg_invert_dense(tess_ctx *ctx, double *a, int64_t n, double least, double *work);

/* ---- hierarchy.c ---- */

tess_status tess_amg_build(tess_plan *plan, tess_pc *pc, tess_amg *amg);
tess_status tess_amg_update(tess_plan *plan, tess_pc *pc, tess_amg *amg);
void tess_amg_clear(tess_amg *amg);
/* Lets the host go on with the level: the device frees its state, and the host gets the inverse
 * diagonal. */
tess_status tess_amg_leave_device(tess_amg *amg, tess_amg_level *level);
/* Hands the level to the host where `status` is TESS_ERR_UNSUPPORTED, and logs the reason. Returns
 * any other status. */
tess_status tess_amg_or_host(tess_amg *amg, tess_amg_level *level, const tess_kept_error *kept,
                             tess_status status);
/* Bring a level's values of A, or its inverse diagonal, to the host, where they are not there
 * yet. */
tess_status tess_amg_need_values(const tess_amg *amg, tess_amg_level *level);
tess_status tess_amg_need_inverse(const tess_amg *amg, tess_amg_level *level);
/* Returns the stored scalars of all levels over those of the finest. */
double tess_amg_complexity(const tess_amg *amg);

/* ---- coarsen.c ---- */

/* Makes the groups, patterns and numbers of a level. next->A stays NULL where that does not pay. */
tess_status tess_amg_coarsen(const tess_pc *pc, tess_amg *amg, double threshold,
                             tess_amg_level *level, tess_amg_level *next);
/* Computes new numbers in the same patterns. A device that has the patterns keeps its numbers to
 * itself. */
tess_status tess_amg_coarsen_values(const tess_pc *pc, tess_amg *amg, tess_amg_level *level,
                                    tess_amg_level *next);
/* Makes the patterns of R and the coarse matrix, and those of level->P and AP where they do not
 * exist. */
tess_status tess_amg_patterns(tess_ctx *ctx, tess_amg_level *level, tess_matrix **coarse);
/* Fails with TESS_ERR_UNSUPPORTED, and marks the level as plain, where A P has so many `blocks`
 * that a smoothed P would make the coarse matrix dense. */
tess_status tess_amg_check_fill(tess_ctx *ctx, tess_amg_level *level, int64_t blocks);

/* ---- plans.c ---- */

/* Makes the plan of a level's A, or gives it new values. `plan` is the caller's, of the finest
 * level. */
tess_status tess_amg_put_matrix(tess_plan *plan, const tess_pc *pc, tess_amg *amg,
                                tess_amg_level *level);
/* Makes or updates all else that cycles need of the levels. */
tess_status tess_amg_put_levels(const tess_pc *pc, tess_amg *amg);
/* Makes the plans of P and R without values, where the device has the values and there are no plans
 * yet. tess_amg_put_levels fills the values in, and makes the plans that need values from the
 * start. */
tess_status tess_amg_plan_transfers(const tess_pc *pc, tess_amg *amg, tess_amg_level *level);

/* ---- amg.c ---- */

void tess_amg_start_clock(tess_amg *amg);
/* Adds the time since the last call, or since the start, to `phase`. */
void tess_amg_count_time(tess_amg *amg, int phase);

/* ---- cycle.c ---- */

/* Fills pc->own: the levels, vectors and slots that cycles need. */
void tess_amg_own(tess_amg *amg, tess_pc *pc);
void tess_amg_append(const tess_pc *pc, tess_steps *steps, int r, int z, bool transpose);

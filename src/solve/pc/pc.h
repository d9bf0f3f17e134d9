/* Preconditioners: an approximation M of A whose inverse is cheap to apply.
 *
 * Two kinds. Diagonal ones (jacobi, bjacobi) are arrays of inverted blocks: applying them is a line
 * of a pass. The others (ssor, ilu0, ic0) are triangular factors with their own solve.
 */
#ifndef TESS_PC_H
#define TESS_PC_H

#include "backend/backend.h"

typedef enum tess_pc_kind {
    TESS_PC_NONE,
    TESS_PC_JACOBI,
    TESS_PC_BJACOBI,
    TESS_PC_SSOR,
    TESS_PC_ILU0,
    TESS_PC_IC0,
    TESS_PCS
} tess_pc_kind;

/* "none", "jacobi", ..., NULL. */
extern const char *const tess_pc_names[TESS_PCS + 1];

/* How the rows of triangular factors are dealt out (levels.h). */
typedef enum tess_pc_schedule {
    TESS_PC_AUTO,    /* domains on a CPU, colours on a GPU */
    TESS_PC_DOMAINS, /* a contiguous range of rows a thread; what couples two ranges is dropped */
    TESS_PC_LEVELS,  /* rows that do not wait for each other at once; the factors are the whole's */
    TESS_PC_COLOURS, /* the same of a matrix reordered so that few stages are enough */
    TESS_PC_SCHEDULES
} tess_pc_schedule;

/* "auto", "domains", "levels", "colours", NULL. */
extern const char *const tess_pc_schedule_names[TESS_PC_SCHEDULES + 1];

/* Largest block that triangular factors are made of: one lies on a thread's stack. */
#define TESS_PC_BLOCK_MAX 4096

typedef struct tess_pc_options {
    int kind;        /* tess_pc_kind */
    bool single;     /* stored in f32 whatever the matrix's type */
    int schedule;    /* tess_pc_schedule */
    int64_t domains; /* 0: one a thread of the device; one by levels or colours */
    bool transpose;  /* M^-T is applied too */
    bool positive;   /* M has to be positive definite where A is */
    double omega;
} tess_pc_options;

/* Inverted diagonal blocks, b x b column-major, one after the other, padding rows the identity. */
typedef struct tess_diagonal {
    tess_type type;
    int32_t block;
    void *blocks;
} tess_diagonal;

typedef struct tess_factors tess_factors;
typedef struct tess_staged tess_staged;

typedef struct tess_pc {
    tess_ctx *ctx;
    tess_pc_options options;
    tess_type vector_type, type; /* of the vectors; of what is stored */
    int threads;                 /* that apply it */
    bool elementwise;            /* a line of a pass: `diagonal`; else `factors` */
    tess_diagonal diagonal;
    tess_factors *factors;
    tess_staged
        *staged;  /* levels and colours: the factors' numbers, their pattern is in `factors` */
    double bytes; /* read by one application, vectors not counted */
    double shift; /* factors are those of A with 1 + shift times its diagonal */
} tess_pc;

/* Computes M for the plan's matrix; a second call on the same pc is a refresh with new values.
 * TESS_ERR_MATRIX names the row of a block that cannot be inverted. */
tess_status tess_pc_create(tess_plan *plan, const tess_pc_options *options, tess_pc *pc);
tess_status tess_pc_refresh(tess_plan *plan, tess_pc *pc);
void tess_pc_destroy(tess_pc *pc);

/* z = M^-1 r (or M^-T r, which options.transpose must have announced) for those that are not
 * elementwise, on the host. */
void tess_pc_apply(const tess_pc *pc, bool transpose, const void *r, void *z);

/* ---- diagonal.c ---- */

tess_status tess_pc_diagonal_compute(tess_plan *plan, tess_pc *pc);

/* ---- dense.c: small dense blocks, column-major, in double ---- */

/* Inverts a in place (partial pivoting). Returns -1, or the column (0..b-1) at which no pivot was
 * found; *pivot is then the largest candidate's magnitude. `work` holds b*b doubles. */
int32_t tess_dense_invert(double *a, int32_t b, double *work, double *pivot);

#endif

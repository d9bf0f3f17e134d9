/* Preconditioners: an approximation M of A whose inverse is cheap to apply.
 *
 * A preconditioner is a constant tess_pc_ops: traits, and functions on a tess_pc whose state is the
 * preconditioner's own. It takes part in a method by appending its steps to the method's list.
 * pcs.def lists all of them.
 */
#pragma once

#include "backend/backend.h"
#include "solve/steps/steps.h"

typedef struct tess_pc tess_pc;
typedef struct tess_pc_ops tess_pc_ops;

/* Which rows of triangular factors are computed at the same time (levels.h). */
typedef enum tess_pc_schedule {
    TESS_PC_AUTO,    /* domains on a CPU, colours on a GPU */
    TESS_PC_DOMAINS, /* one range of rows per thread; blocks between two ranges are dropped */
    TESS_PC_LEVELS,  /* independent rows at once; the whole matrix is factored */
    TESS_PC_COLOURS, /* as LEVELS, of a matrix reordered so that few stages are enough */
    TESS_PC_SCHEDULES
} tess_pc_schedule;

/* "auto", "domains", "levels", "colours", NULL. */
extern const char *const tess_pc_schedule_names[TESS_PC_SCHEDULES + 1];

/* Multigrid: pc=amg. AUTO is what suits the matrix and the method (amg/amg.c). */
typedef enum tess_amg_cycle {
    TESS_CYCLE_AUTO,
    TESS_CYCLE_V, /* every level once */
    TESS_CYCLE_W, /* the coarse level twice, the second time for what the first has left */
    TESS_CYCLE_K, /* two iterations of a Krylov method on the coarse level */
    TESS_CYCLES
} tess_amg_cycle;

typedef enum tess_amg_smoother {
    TESS_SMOOTHER_AUTO,
    TESS_SMOOTHER_CHEBYSHEV, /* a polynomial over block-Jacobi */
    TESS_SMOOTHER_GS,        /* symmetric block Gauss-Seidel: pc=ssor with omega=1 */
    TESS_SMOOTHER_ILU0,
    TESS_SMOOTHERS
} tess_amg_smoother;

typedef enum tess_amg_prolongator {
    TESS_PROLONGATOR_SMOOTHED,
    TESS_PROLONGATOR_PLAIN, /* the tentative one */
    TESS_PROLONGATORS
} tess_amg_prolongator;

/* "auto", ..., NULL; of prolongators "smoothed", "plain", NULL. */
extern const char *const tess_amg_cycle_names[TESS_CYCLES + 1];
extern const char *const tess_amg_smoother_names[TESS_SMOOTHERS + 1];
extern const char *const tess_amg_prolongator_names[TESS_PROLONGATORS + 1];

typedef struct tess_amg_options {
    double
        strength; /* blocks that couple less than this, relative to others of their row, are weak */
    int64_t degree; /* of the smoother's polynomial, or its sweeps; 0: what suits it */
    int64_t bottom; /* most unknowns of a last level with a dense inverse; 0: as many as pay */
    int cycle, smoother, prolongator; /* tess_amg_cycle, tess_amg_smoother, tess_amg_prolongator */
    /* What smoothers cannot reduce, in arrays of the solver's. Either `modes`: mode_count columns,
     * each with one scalar per row of the matrix. Or `coordinates`: `dimensions` of them per block
     * row. NULL: not given. */
    int32_t mode_count, dimensions;
    const double *modes, *coordinates;
} tess_amg_options;

typedef struct tess_pc_options {
    const tess_pc_ops *ops;
    bool single;     /* stored in f32 whatever the matrix's type */
    int schedule;    /* tess_pc_schedule */
    int64_t domains; /* 0: one per thread of the device; one by levels or colours */
    bool transpose;  /* M^-T is applied too */
    bool positive;   /* M has to be positive definite where A is */
    bool magnitude;  /* ... and where A is not: jacobi, bjacobi of |D| */
    bool flexible;   /* M may change from one application to the next */
    double omega;    /* relaxation: ssor */
    int64_t levels;  /* of fill: iluk, ick */
    double drop;     /* ilut: smaller blocks are dropped, relative to their row ... */
    double fill;     /* ... and rows longer than this multiple of A's; iluk, ick: of all blocks */
    double pivot;    /* ilut: columns are exchanged, by whoever makes `given`; 0: never */
    double most_bytes, most_seconds; /* lu: what complete factors may take; 0: no limit */
    tess_amg_options amg;
    struct tess_fill *given;     /* ilut: factors made before, which are taken over; NULL: none */
    const tess_operator *caller; /* of tess_pc_given, read by its set_up */
} tess_pc_options;

/* A length and a precision that vectors of a preconditioner have. */
typedef struct tess_vector_level {
    int64_t rows;
    int32_t block; /* passes cut vectors at multiples of it */
    tess_type type;
} tess_vector_level;

/* What a preconditioner needs of a space beside the method's vectors and slots. Its own are
 * numbered behind the method's: vector i is number first_vector + i. */
typedef struct tess_pc_own {
    const tess_vector_level *level; /* levels 1 .. levels; level 0 is the method's */
    const int *vector_level;        /* of each vector; NULL: all of level 0 */
    int levels, vectors, slots;
    int first_vector, first_slot; /* set by the solver before steps are appended */
} tess_pc_own;

/* Which pivots factors may have. */
typedef enum tess_pc_pivots {
    TESS_PIVOTS_ANY,
    TESS_PIVOTS_POSITIVE_IF_ASKED, /* positive where options.positive, any if that fails */
    TESS_PIVOTS_POSITIVE
} tess_pc_pivots;

struct tess_pc_ops {
    const char *name;
    const char *summary; /* one line for help, no full stop */

    /* ---- Traits ---- */
    const char *keys;      /* "levels,fill": of the options, those that not all take; NULL: none */
    bool identity;         /* M = I: there is nothing to apply */
    bool diagonal;         /* only vector updates and products; the state is a tess_diagonal */
    bool triangular;       /* takes schedule and domains; the state is a tess_triangular */
    bool ordered;          /* ... one domain only, in the order of the rows: no colours */
    bool symmetric;        /* A has to be symmetric, or (amg) its order has to be the same for rows
                              and columns: scale=match, which reorders rows alone, is refused */
    bool unsymmetric;      /* M is not symmetric where A is */
    bool complex;          /* takes complex matrices; a transpose is then the conjugate one */
    bool complete;         /* M = A but for rounding; needs SuiteSparse */
    bool costly;           /* an application takes longer than a product: none is made in vain */
    bool takes_modes;      /* made when it is first needed, as modes may be set until then */
    bool replaces_pivots;  /* pivots that cannot be inverted are replaced */
    bool asks_for_values;  /* set_up and update fetch values to the host where they need them */
    bool square_blocks;    /* A must have them ... */
    int32_t largest_block; /* ... of at most this height; 0: any */
    tess_pc_pivots pivots;

    /* ---- Operations; those of an identity are NULL ---- */

    /* Makes the state, with numbers from the plan's present values. `free` frees what a failure
     * leaves. */
    tess_status (*set_up)(tess_plan *plan, tess_pc *pc);
    /* Computes the numbers from new values in the same pattern. */
    tess_status (*update)(tess_plan *plan, tess_pc *pc);
    /* Appends the steps of z = M^-1 r, or M^-T r. */
    void (*append)(const tess_pc *pc, tess_steps *steps, int r, int z, bool transpose);
    /* Applies M^-1 or M^-T at once, to vectors of the host; NULL where no PRECONDITION step is
     * appended. */
    void (*apply)(const tess_pc *pc, bool transpose, const void *r, void *z);
    /* What was made, as lines for a person; NULL: there is nothing to say. Lives as long as pc. */
    const char *(*describe)(const tess_pc *pc);
    /* Bytes read by one application, vectors not counted. */
    double (*bytes)(const tess_pc *pc);
    void (*free)(tess_pc *pc);
};

struct tess_pc {
    tess_ctx *ctx;
    const tess_pc_ops *ops;
    tess_pc_options options;
    tess_type vector_type, type; /* of the vectors; of what is stored */
    int threads;                 /* that apply it */
    double growth;               /* |M^-1 e| |A|, e all ones, largest entries: triangular; else 0 */
    double shift;                /* factors are those of A with 1 + shift times its diagonal */
    bool varies;                 /* M changes from one application to the next */
    bool part;                   /* A is a part's own block of a larger matrix */
    tess_pc_own own;
    void *state;
};

/* All preconditioners, in the order of pcs.def, and their names; NULL after the last. */
extern const tess_pc_ops *const tess_pcs[];
extern const char *const tess_pc_names[];

#define PC(name, file) extern const tess_pc_ops tess_pc_##name;
#include "solve/pc/pcs.def"

/* given.c: the caller's preconditioner, which is in no list; and whether one of its calls has
 * failed. */
extern const tess_pc_ops tess_pc_given;
tess_status tess_pc_given_status(const tess_pc *pc);
/* Returns the caller's operator, or NULL where the preconditioner is one of ours. */
const tess_operator *tess_pc_given_operator(const tess_pc *pc);

/* Computes M for the plan's matrix. TESS_ERR_MATRIX names the row of a block that cannot be
 * inverted. options->transpose announces M^-T. */
tess_status tess_pc_set_up(tess_plan *plan, const tess_pc_options *options, tess_pc *pc);
/* Factors of which |M^-1 e| |A| is larger are called unstable (Chow and Saad 1997): they may be far
 * from the factors of any matrix near A. */
#define TESS_PC_UNSTABLE 1e12

/* Computes M again from new values in the same pattern. */
tess_status tess_pc_update_values(tess_plan *plan, tess_pc *pc);
void tess_pc_tear_down(tess_pc *pc);

/* Numbers the preconditioner's own vectors and slots behind *vectors and *slots of the method's,
 * which then count both. */
void tess_pc_place(tess_pc *pc, int *vectors, int *slots);

/* Appends z = M^-1 r. Returns the vector that holds M^-1 r: z, or r where M is the identity. */
int tess_pc_append(const tess_pc *pc, tess_steps *steps, int r, int z);
int tess_pc_append_transpose(const tess_pc *pc, tess_steps *steps, int r, int z);

/* Returns what to try where a diagonal block cannot be inverted, for this pc's types. */
const char *tess_pc_without_pivots(const tess_pc *pc);

/* Returns the plan's matrix with its present values, which are only ever read. */
tess_matrix tess_plan_present(const tess_plan *plan);
/* Sets plan->values to the newest values in host memory. */
static inline tess_status tess_plan_host_values(tess_plan *plan)
{
    const tess_backend *backend = plan->device->backend;
    return backend->host_values ? backend->host_values(plan) : TESS_OK;
}

/* Returns `status`. Of a part: the failure of the first part that has one, if any. Collective
 * there. */
static inline tess_status tess_pc_agree(tess_plan *plan, tess_status status)
{
    const tess_backend *backend = plan->device->backend;
    return backend->agree ? backend->agree(plan, status) : status;
}

/* An `append` of one PRECONDITION step. */
void tess_pc_append_step(const tess_pc *pc, tess_steps *steps, int r, int z, bool transpose);

/* ---- diagonal.c: a state that is a tess_diagonal ---- */

/* Allocates the state with blocks of size b, without numbers. */
tess_status tess_diagonal_allocate(tess_plan *plan, tess_pc *pc, int32_t b);
/* Computes the inverses of A's diagonal blocks. */
tess_status tess_diagonal_update(tess_plan *plan, tess_pc *pc);
/* Stores block `row` from b x b doubles; a complex block from the 2b x 2b doubles of its
 * embedding. */
void tess_diagonal_put(tess_diagonal *diagonal, int64_t row, const double *block);
/* Fails for a block row: no pivot in a column of its block, the largest is `pivot`. */
tess_status tess_diagonal_fault(const tess_pc *pc, int64_t row, int32_t column, double pivot);
void tess_diagonal_append(const tess_pc *pc, tess_steps *steps, int r, int z, bool transpose);
double tess_diagonal_bytes(const tess_pc *pc);
void tess_diagonal_free(tess_pc *pc);

/* ---- embed.c: complex matrices as real ones ---- */

/* Returns the real matrix of twice as many rows and columns, without values: a + bi is the 2 x 2
 * block of a, b in the first column and -b, a in the second. Products, inverses and conjugate
 * transposes of complex blocks are products, inverses and transposes of real ones. The even columns
 * of a real block are the complex block, as it lies in memory. Pattern and arrays are A's own. */
tess_matrix tess_embedding(const tess_matrix *A);
/* The same with values, which the caller frees. */
tess_status tess_embed(tess_ctx *ctx, const tess_matrix *A, tess_matrix *out);
/* Embeds block k alone. */
void tess_embed_block(const tess_matrix *A, int64_t k, double *to);
/* Copies the even ones of `columns` columns, of `height` reals each, to a complex array from its
 * scalar `at` on. */
void tess_embed_take_back(const double *from, int64_t columns, int64_t height, tess_type type,
                          void *to, int64_t at);

/* ---- dense.c, singular.c: small dense blocks, column-major, in double ---- */

/* Inverts a in place (partial pivoting). Returns -1, or the column (0..b-1) at which no pivot was
 * found; *pivot is then the largest candidate's magnitude. `work` holds b*b doubles. */
int32_t tess_dense_invert(double *a, int32_t b, double *work, double *pivot);
/* Inverts |a|, the positive definite square root of a^T a, for a symmetric a, in the same way. */
int32_t tess_dense_invert_magnitude(double *a, int32_t b, double *work, double *pivot);
/* Computes the singular values of a, b x b with columns `stride` apart, and its right singular
 * vectors v. a becomes a v, whose columns are orthogonal and as long as the singular values. */
void tess_dense_singular(double *a, int64_t stride, int32_t b, double *v);

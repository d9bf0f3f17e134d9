/* What the files of the plug-in share. */
#ifndef TESSERA_PETSC_PLUGIN_H
#define TESSERA_PETSC_PLUGIN_H

#include "tessera_petsc.h"

#include <petsc/private/matimpl.h>
#include <tessera/tessera.h>

/* ---- The library's context and devices, one set per process (plugin.c) ----------------------- */

PETSC_INTERN PetscErrorCode tess_petsc_context(tess_ctx **ctx);
/* The device of that name, opened once. "auto" is chosen for A, on a CPU or a GPU. */
PETSC_INTERN PetscErrorCode tess_petsc_device(const char *name, const tess_matrix *A,
                                              tess_device **device);
/* Objects that live in the context. What outlives PetscFinalize keeps it. */
PETSC_INTERN void tess_petsc_count(int more);

/* A call of the library in the form of PETSc's calls: its message becomes PETSc's error. */
#define TessCall(ctx, call)                                                             \
    do {                                                                                \
        tess_status tess_call_ = (call);                                                \
        PetscCheck(tess_call_ == TESS_OK, PETSC_COMM_SELF, tess_petsc_code(tess_call_), \
                   "Tessera: %s", tess_ctx_error(ctx));                                 \
    } while (0)
PETSC_INTERN PetscErrorCode tess_petsc_code(tess_status status);

/* ---- One process's matrix (seq.c) ------------------------------------------------------------ */

/* An AIJ matrix prepared for products: the plan, and which state of the matrix it is of. */
typedef struct seq_tessera {
    struct _MatOps parent;           /* AIJ's operations */
    PetscErrorCode (*retrieve)(Mat); /* AIJ's MatRetrieveValues */
    tess_matrix *blocks;             /* its values in blocks; NULL: nothing is prepared */
    tess_plan *plan;
    PetscObjectState state, pattern; /* of A when `blocks` was filled and when it was made */
    PetscInt plans, updates;         /* that were made so far */
} seq_tessera;

PETSC_EXTERN PetscErrorCode MatCreate_SeqTessera(Mat A);
/* A, a plain SEQAIJ, becomes a SEQTESSERA, and back. */
PETSC_INTERN PetscErrorCode tess_petsc_seq_adopt(Mat A);
PETSC_INTERN PetscErrorCode tess_petsc_seq_release(Mat A);
/* The values of A, whose storage is AIJ's, as Tessera's CSR matrix. */
PETSC_INTERN PetscErrorCode tess_petsc_csr(Mat A, tess_ctx *ctx, tess_matrix **csr);
/* A's plan with A's present values. *plan = NULL if A has no entries. */
PETSC_INTERN PetscErrorCode tess_petsc_plan(Mat A, tess_plan **plan);

/* ---- The options of a matrix (options.c) ----------------------------------------------------- */

typedef struct mat_choice {
    char device[64], format[32], kernel[64], params[128];
    PetscEnum effort;
    PetscInt block; /* 0: the matrix's own, or chosen */
} mat_choice;

PETSC_INTERN PetscErrorCode tess_petsc_read_options(Mat A, mat_choice *choice);
PETSC_INTERN PetscErrorCode tess_petsc_options(Mat A, PetscOptionItems *PetscOptionsObject);

/* ---- Several processes' matrix (mpi.c) and what both share (convert.c) ----------------------- */

PETSC_EXTERN PetscErrorCode MatCreate_MPITessera(Mat A);
PETSC_INTERN PetscErrorCode tess_petsc_mpi_adopt(Mat A);
PETSC_INTERN PetscErrorCode tess_petsc_mpi_release(Mat A);
/* Whether A is of a type of several processes, as it may be on one process too. */
PETSC_INTERN PetscErrorCode tess_petsc_is_parallel(Mat A, PetscBool *parallel);
/* A as a new AIJ matrix. */
PETSC_INTERN PetscErrorCode tess_petsc_to_aij(Mat A, Mat *out);
/* Any matrix that PETSc can make AIJ becomes ours. */
PETSC_INTERN PetscErrorCode tess_petsc_convert_from(Mat A, MatType type, MatReuse reuse, Mat *out);
/* Ours becomes plain AIJ. */
PETSC_INTERN PetscErrorCode tess_petsc_convert_to_aij(Mat A, MatType type, MatReuse reuse,
                                                      Mat *out);

/* ---- Products with dense matrices (product.c) ------------------------------------------------ */

/* Composed with our matrices: sets how they are multiplied with SEQDENSE and MPIDENSE. */
PETSC_INTERN PetscErrorCode tess_petsc_product_seq(Mat C);
PETSC_INTERN PetscErrorCode tess_petsc_product_mpi(Mat C);

/* ---- Preconditioners (pc.c) ------------------------------------------------------------------ */

typedef struct pc_choice {
    char type[32], params[128], device[64];
    PetscInt block; /* 0: the matrix's own */
} pc_choice;

/* A preconditioner of the rows and columns that a process owns. */
typedef struct pc_tessera {
    pc_choice choice;
    MatNullSpace motions; /* of PCSetCoordinates; NULL: none */
    PetscInt moved;       /* the coordinates of this process's points: rows of a motion */
    tess_matrix *blocks;  /* NULL: nothing is made, as where a process has no rows */
    tess_plan *plan;
    tess_preconditioner *made;
    PetscInt setups, updates; /* that were made so far */
} pc_tessera;

PETSC_EXTERN PetscErrorCode PCCreate_Tessera(PC pc);

#endif

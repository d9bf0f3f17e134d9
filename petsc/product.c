/* C = A B with a dense B: one product with several vectors (SpMM).
 *
 * PETSc's own functions for AIJ make C. Its values are computed here. On several processes the rows
 * of B that others own are fetched first, column by column, into an array of ghosts x columns.
 * Other products of ours with dense matrices stay AIJ's. */
#include "plugin.h"

#include <petscsf.h>

/* C += A B, or C = A B. Arrays are column-major. */
static PetscErrorCode multiply(Mat A, PetscInt columns, const PetscScalar *B, PetscInt ldb,
                               PetscBool add, PetscScalar *C, PetscInt ldc)
{
    tess_ctx *ctx;
    tess_plan *plan;
    MatInfo info;

    PetscFunctionBegin;
    PetscCall(tess_petsc_context(&ctx));
    PetscCall(tess_petsc_plan(A, &plan));
    if (columns == 0)
        PetscFunctionReturn(0);
    if (plan) {
        TessCall(ctx, tess_spmm(plan, columns, TESS_ORDER_COLUMN_MAJOR, 1.0, B, PetscMax(ldb, 1),
                                add ? 1.0 : 0.0, C, PetscMax(ldc, 1)));
        PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
        PetscCall(PetscLogFlops(2.0 * info.nz_used * columns));
    } else if (!add) {
        for (PetscInt j = 0; j < columns; j++)
            PetscCall(PetscArrayzero(C + (ptrdiff_t)j * ldc, A->rmap->n));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode numeric_seq(Mat A, Mat B, Mat C)
{
    const PetscScalar *from;
    PetscScalar *to;
    PetscInt ldb, ldc;

    PetscFunctionBegin;
    PetscCall(MatDenseGetLDA(B, &ldb));
    PetscCall(MatDenseGetLDA(C, &ldc));
    PetscCall(MatDenseGetArrayRead(B, &from));
    PetscCall(MatDenseGetArrayWrite(C, &to));
    PetscErrorCode failed = multiply(A, B->cmap->N, from, ldb, PETSC_FALSE, to, ldc);
    PetscCall(MatDenseRestoreArrayWrite(C, &to));
    PetscCall(MatDenseRestoreArrayRead(B, &from));
    PetscCall(failed);
    PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* The rows of B that this process's off-diagonal part needs. */
static PetscErrorCode fetch_ghosts(Mat A, PetscInt columns, const PetscScalar *B, PetscInt ldb,
                                   PetscInt *count, PetscScalar **ghosts)
{
    const PetscInt *rows;
    PetscSF sf;

    PetscFunctionBegin;
    PetscCall(MatGetGhosts(A, count, &rows));
    PetscCall(PetscMalloc1((size_t)*count * (size_t)columns, ghosts));
    PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &sf));
    PetscCall(PetscSFSetGraphLayout(sf, A->cmap, *count, NULL, PETSC_OWN_POINTER, rows));
    for (PetscInt j = 0; j < columns; j++) {
        const PetscScalar *from = B + (ptrdiff_t)j * ldb;
        PetscScalar *to = *ghosts + (ptrdiff_t)j * *count;
        PetscCall(PetscSFBcastBegin(sf, MPIU_SCALAR, from, to, MPI_REPLACE));
        PetscCall(PetscSFBcastEnd(sf, MPIU_SCALAR, from, to, MPI_REPLACE));
    }
    PetscCall(PetscSFDestroy(&sf));
    PetscFunctionReturn(0);
}

static PetscErrorCode numeric_mpi(Mat A, Mat B, Mat C)
{
    Mat diagonal, off_diagonal;
    const PetscScalar *from;
    PetscScalar *to, *ghosts;
    PetscInt ldb, ldc, count;
    const PetscInt columns = B->cmap->N;

    PetscFunctionBegin;
    PetscCall(MatMPIAIJGetSeqAIJ(A, &diagonal, &off_diagonal, NULL));
    PetscCall(MatDenseGetLDA(B, &ldb));
    PetscCall(MatDenseGetLDA(C, &ldc));
    PetscCall(MatDenseGetArrayRead(B, &from));
    PetscCall(MatDenseGetArrayWrite(C, &to));
    PetscCall(fetch_ghosts(A, columns, from, ldb, &count, &ghosts));
    PetscCall(multiply(diagonal, columns, from, ldb, PETSC_FALSE, to, ldc));
    PetscCall(multiply(off_diagonal, columns, ghosts, count, PETSC_TRUE, to, ldc));
    PetscCall(PetscFree(ghosts));
    PetscCall(MatDenseRestoreArrayWrite(C, &to));
    PetscCall(MatDenseRestoreArrayRead(B, &from));
    PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* ---- PETSc's queries before a product -------------------------------------------------------- */

/* C's composed function: AIJ's for the symbolic part. */
static const char kept_as[] = "tessera_symbolic_of_aij";

static PetscErrorCode symbolic(Mat A, Mat B, PetscReal fill, Mat C)
{
    PetscErrorCode (*of_aij)(Mat, Mat, PetscReal, Mat) = NULL;
    PetscBool parallel;

    PetscFunctionBegin;
    PetscCall(PetscObjectQueryFunction((PetscObject)C, kept_as, &of_aij));
    PetscCall((*of_aij)(A, B, fill, C));
    PetscCall(PetscStrbeginswith(((PetscObject)A)->type_name, "mpi", &parallel));
    C->ops->matmultnumeric = parallel ? numeric_mpi : numeric_seq;
    PetscFunctionReturn(0);
}

/* Makes AIJ's choice, found with B under `name`. For A B, this file computes the values. */
static PetscErrorCode choose(Mat C, const char *name)
{
    PetscErrorCode (*of_aij)(Mat) = NULL;

    PetscFunctionBegin;
    PetscCall(PetscObjectQueryFunction((PetscObject)C->product->B, name, &of_aij));
    if (!of_aij)
        PetscFunctionReturn(0); /* PETSc then multiplies column by column */
    PetscCall((*of_aij)(C));
    if (C->product->type == MATPRODUCT_AB && C->ops->matmultsymbolic) {
        PetscCall(PetscObjectComposeFunction((PetscObject)C, kept_as, C->ops->matmultsymbolic));
        C->ops->matmultsymbolic = symbolic;
    }
    PetscFunctionReturn(0);
}

PetscErrorCode tess_petsc_product_seq(Mat C)
{
    PetscFunctionBegin;
    PetscCall(choose(C, "MatProductSetFromOptions_seqaij_seqdense_C"));
    PetscFunctionReturn(0);
}

PetscErrorCode tess_petsc_product_mpi(Mat C)
{
    PetscFunctionBegin;
    PetscCall(choose(C, "MatProductSetFromOptions_mpiaij_mpidense_C"));
    PetscFunctionReturn(0);
}

/* Conversions to and from Tessera's matrices. AIJ is in the middle: a matrix that PETSc can convert
 * to AIJ becomes ours when its operations are replaced. */
#include "plugin.h"

/* The names of most types begin with "seq" or "mpi". Others, such as a nest, are what their
 * communicator is. */
PetscErrorCode tess_petsc_is_parallel(Mat A, PetscBool *parallel)
{
    const char *type = ((PetscObject)A)->type_name;
    PetscMPIInt processes;
    PetscBool alone;

    PetscFunctionBegin;
    PetscCall(PetscStrbeginswith(type, "mpi", parallel));
    PetscCall(PetscStrbeginswith(type, "seq", &alone));
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &processes));
    if (!alone && processes > 1)
        *parallel = PETSC_TRUE;
    PetscFunctionReturn(0);
}

static PetscErrorCode is_plain_aij(Mat A, PetscBool *plain)
{
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompareAny((PetscObject)A, plain, MATSEQAIJ, MATMPIAIJ, ""));
    PetscFunctionReturn(0);
}

/* Calls the converter by the name under which MatConvert finds it. MatConvert itself obeys
 * -matconvert_type, by which this function may have been called. */
PetscErrorCode tess_petsc_to_aij(Mat A, Mat *out)
{
    PetscErrorCode (*converter)(Mat, MatType, MatReuse, Mat *) = NULL;
    char name[128];
    PetscBool plain, parallel;

    PetscFunctionBegin;
    PetscCall(is_plain_aij(A, &plain));
    PetscCall(tess_petsc_is_parallel(A, &parallel));
    MatType type = parallel ? MATMPIAIJ : MATSEQAIJ;
    if (plain) {
        PetscCall(MatDuplicate(A, MAT_COPY_VALUES, out));
        PetscFunctionReturn(0);
    }
    PetscCall(
        PetscSNPrintf(name, sizeof name, "MatConvert_%s_%s_C", ((PetscObject)A)->type_name, type));
    PetscCall(PetscObjectQueryFunction((PetscObject)A, name, &converter));
    if (converter)
        PetscCall((*converter)(A, type, MAT_INITIAL_MATRIX, out));
    else
        PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, out));
    PetscFunctionReturn(0);
}

static PetscErrorCode adopt(Mat A)
{
    PetscBool parallel;

    PetscFunctionBegin;
    PetscCall(tess_petsc_is_parallel(A, &parallel));
    PetscCall(parallel ? tess_petsc_mpi_adopt(A) : tess_petsc_seq_adopt(A));
    PetscFunctionReturn(0);
}

PetscErrorCode tess_petsc_convert_from(Mat A, MatType type, MatReuse reuse, Mat *out)
{
    PetscBool plain;
    Mat made;

    PetscFunctionBegin;
    (void)type; /* ours, by one of its names */
    PetscCall(is_plain_aij(A, &plain));
    if (reuse == MAT_INPLACE_MATRIX && plain) {
        PetscCall(adopt(A));
        PetscFunctionReturn(0);
    }
    PetscCall(tess_petsc_to_aij(A, &made));
    if (reuse ==
        MAT_REUSE_MATRIX) { /* PETSc's converter from SBAIJ breaks a matrix that is used again */
        PetscCall(MatCopy(made, *out, DIFFERENT_NONZERO_PATTERN));
        PetscCall(MatDestroy(&made));
        PetscFunctionReturn(0);
    }
    PetscCall(adopt(made));
    if (reuse == MAT_INPLACE_MATRIX)
        PetscCall(MatHeaderReplace(A, &made));
    else
        *out = made;
    PetscFunctionReturn(0);
}

static PetscErrorCode release(Mat A)
{
    PetscBool parallel;
    Mat parts[2];

    PetscFunctionBegin;
    PetscCall(tess_petsc_is_parallel(A, &parallel));
    if (!parallel) {
        PetscCall(tess_petsc_seq_release(A));
        PetscFunctionReturn(0);
    }
    PetscCall(MatMPIAIJGetSeqAIJ(A, &parts[0], &parts[1], NULL));
    for (int i = 0; i < 2; i++)
        if (parts[i])
            PetscCall(tess_petsc_seq_release(parts[i]));
    PetscCall(tess_petsc_mpi_release(A));
    PetscFunctionReturn(0);
}

PetscErrorCode tess_petsc_convert_to_aij(Mat A, MatType type, MatReuse reuse, Mat *out)
{
    PetscFunctionBegin;
    (void)type;
    if (reuse == MAT_REUSE_MATRIX) {
        PetscCall(MatCopy(A, *out, DIFFERENT_NONZERO_PATTERN));
        PetscFunctionReturn(0);
    }
    if (reuse == MAT_INITIAL_MATRIX)
        PetscCall(MatDuplicate(A, MAT_COPY_VALUES, out));
    PetscCall(release(*out));
    PetscFunctionReturn(0);
}

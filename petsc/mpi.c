/* MATMPITESSERA: an AIJ matrix of several processes whose two local parts are MATSEQTESSERA.
 *
 * A process's rows are two matrices: the columns it owns, and the columns of others that it needs,
 * numbered without gaps. MPIAIJ multiplies with the first while PETSc's VecScatter brings the
 * entries of x for the second. Both products are plans of Tessera's; all else is MPIAIJ's.
 *
 *     A->spptr   mpi_tessera: MPIAIJ's operations
 */
#include "plugin.h"

typedef PetscErrorCode (*preallocation_fn)(Mat, PetscInt, const PetscInt *, PetscInt,
                                           const PetscInt *);

typedef struct mpi_tessera {
    struct _MatOps parent;
    preallocation_fn preallocate; /* MPIAIJ's */
} mpi_tessera;

/* The local parts of A that are plain AIJ become ours, and take A's prefix of options. */
static PetscErrorCode adopt_parts(Mat A)
{
    Mat parts[2];

    PetscFunctionBegin;
    PetscCall(MatMPIAIJGetSeqAIJ(A, &parts[0], &parts[1], NULL));
    for (int i = 0; i < 2; i++) {
        PetscBool plain;
        if (!parts[i])
            continue;
        PetscCall(PetscObjectTypeCompare((PetscObject)parts[i], MATSEQAIJ, &plain));
        if (plain)
            PetscCall(tess_petsc_seq_adopt(parts[i]));
        PetscCall(MatSetOptionsPrefix(parts[i], ((PetscObject)A)->prefix));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode preallocate(Mat A, PetscInt d_nz, const PetscInt *d_nnz, PetscInt o_nz,
                                  const PetscInt *o_nnz)
{
    mpi_tessera *m = (mpi_tessera *)A->spptr;

    PetscFunctionBegin;
    PetscCall((*m->preallocate)(A, d_nz, d_nnz, o_nz, o_nnz));
    PetscCall(adopt_parts(A));
    PetscFunctionReturn(0);
}

/* Some of MPIAIJ's functions replace a local part by a new one. */
static PetscErrorCode assembly_end(Mat A, MatAssemblyType mode)
{
    mpi_tessera *m = (mpi_tessera *)A->spptr;

    PetscFunctionBegin;
    PetscCall((*m->parent.assemblyend)(A, mode));
    PetscCall(adopt_parts(A));
    PetscFunctionReturn(0);
}

static PetscErrorCode destroy(Mat A)
{
    PetscFunctionBegin;
    PetscCall(tess_petsc_mpi_release(A));
    PetscCall((*A->ops->destroy)(A));
    PetscFunctionReturn(0);
}

static PetscErrorCode compose(Mat A, preallocation_fn preallocation, PetscBool ours)
{
    PetscFunctionBegin;
    PetscCall(
        PetscObjectComposeFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", preallocation));
    PetscCall(PetscObjectComposeFunction((PetscObject)A,
                                         "MatConvert_" MATMPITESSERA "_" MATMPIAIJ "_C",
                                         ours ? tess_petsc_convert_to_aij : NULL));
    PetscCall(PetscObjectComposeFunction(
        (PetscObject)A, "MatProductSetFromOptions_" MATMPITESSERA "_" MATMPIDENSE "_C",
        ours ? tess_petsc_product_mpi : NULL));
    PetscFunctionReturn(0);
}

PetscErrorCode tess_petsc_mpi_adopt(Mat A)
{
    mpi_tessera *m;

    PetscFunctionBegin;
    PetscCall(PetscNew(&m));
    m->parent = *A->ops;
    PetscCall(
        PetscObjectQueryFunction((PetscObject)A, "MatMPIAIJSetPreallocation_C", &m->preallocate));
    A->spptr = m;
    A->ops->assemblyend = assembly_end;
    A->ops->setfromoptions = tess_petsc_options;
    A->ops->convertfrom = tess_petsc_convert_from;
    A->ops->destroy = destroy;
    PetscCall(compose(A, preallocate, PETSC_TRUE));
    PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATMPITESSERA));
    PetscCall(adopt_parts(A));
    PetscFunctionReturn(0);
}

/* The local parts stay ours. A caller that needs plain AIJ parts releases them first. */
PetscErrorCode tess_petsc_mpi_release(Mat A)
{
    mpi_tessera *m = (mpi_tessera *)A->spptr;

    PetscFunctionBegin;
    A->ops->assemblyend = m->parent.assemblyend;
    A->ops->setfromoptions = m->parent.setfromoptions;
    A->ops->convertfrom = m->parent.convertfrom;
    A->ops->destroy = m->parent.destroy;
    PetscCall(compose(A, m->preallocate, PETSC_FALSE));
    PetscCall(PetscFree(A->spptr));
    PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATMPIAIJ));
    PetscFunctionReturn(0);
}

PetscErrorCode MatCreate_MPITessera(Mat A)
{
    PetscFunctionBegin;
    PetscCall(MatSetType(A, MATMPIAIJ));
    PetscCall(tess_petsc_mpi_adopt(A));
    PetscFunctionReturn(0);
}

/* The options of a matrix, -mat_tessera_...: docs/petsc.md lists them. */
#include "plugin.h"

static const char *const efforts[] = {"measure", "estimate", "exhaustive", "TessEffort", "", NULL};

/* Reads the options of a matrix; where PETSc prints its help, that is printed. */
static PetscErrorCode read_options(PetscOptionItems *PetscOptionsObject, mat_choice *c)
{
    PetscFunctionBegin;
    PetscOptionsHeadBegin(PetscOptionsObject, "Tessera matrix options");
    PetscCall(PetscOptionsString("-mat_tessera_device", "cpu, cuda, cuda:1, auto", NULL, c->device,
                                 c->device, sizeof c->device, NULL));
    PetscCall(PetscOptionsEnum("-mat_tessera_effort", "How kernels are chosen", NULL, efforts,
                               c->effort, &c->effort, NULL));
    PetscCall(PetscOptionsString("-mat_tessera_format", "Storage; empty: chosen", NULL, c->format,
                                 c->format, sizeof c->format, NULL));
    PetscCall(PetscOptionsString("-mat_tessera_kernel", "Kernel; empty: chosen", NULL, c->kernel,
                                 c->kernel, sizeof c->kernel, NULL));
    PetscCall(PetscOptionsString("-mat_tessera_params", "Its parameters; empty: chosen", NULL,
                                 c->params, c->params, sizeof c->params, NULL));
    PetscCall(PetscOptionsBoundedInt("-mat_tessera_block_size", "0: the matrix's own, or chosen",
                                     NULL, c->block, &c->block, NULL, 0));
    PetscOptionsHeadEnd();
    PetscFunctionReturn(0);
}

static void default_choice(mat_choice *c)
{
    *c = (mat_choice){.device = "cpu"};
}

/* Options are read again when a plan is made, because PETSc never calls MatSetFromOptions on
 * matrices that it makes itself, such as the levels of a multigrid. */
PetscErrorCode tess_petsc_read_options(Mat A, mat_choice *c)
{
    PetscFunctionBegin;
    default_choice(c);
    PetscObjectOptionsBegin((PetscObject)A);
    PetscCall(read_options(PetscOptionsObject, c));
    PetscOptionsEnd();
    PetscFunctionReturn(0);
}

/* Names the options: -help prints them. */
PetscErrorCode tess_petsc_options(Mat A, PetscOptionItems *PetscOptionsObject)
{
    mat_choice ignored;

    PetscFunctionBegin;
    (void)A;
    default_choice(&ignored);
    PetscCall(read_options(PetscOptionsObject, &ignored));
    PetscFunctionReturn(0);
}

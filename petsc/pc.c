/* PCTESSERA: Tessera's preconditioners for PETSc's solvers.
 *
 * A process's preconditioner is made of the rows and columns that it owns, as PCBJACOBI's are: on
 * one process that is the whole matrix. Its entries are copied into blocks of the matrix's own
 * block size. New values in the same pattern are copied into these blocks, and the preconditioner
 * is computed again without a new set-up.
 *
 *     pc->data   pc_tessera: options, blocks, plan, preconditioner
 */
#include "plugin.h"

#include <petsc/private/pcimpl.h>
#include <string.h>

static void forget(pc_tessera *p)
{
    if (!p->blocks)
        return;
    tess_pc_destroy(p->made);
    tess_plan_destroy(p->plan);
    tess_matrix_destroy(p->blocks);
    p->made = NULL;
    p->plan = NULL;
    p->blocks = NULL;
    tess_petsc_count(-1);
}

/* ---- Modes ----------------------------------------------------------------------------------- */

/* The modes of a null space as columns of `rows` numbers; *count = 0 where there is none. */
static PetscErrorCode modes_of(MatNullSpace space, PetscInt rows, PetscInt *count, double **modes)
{
    PetscBool constant;
    PetscInt vectors, length;
    const Vec *v;

    PetscFunctionBegin;
    *count = 0;
    *modes = NULL;
    if (!space)
        PetscFunctionReturn(0);
    PetscCall(MatNullSpaceGetVecs(space, &constant, &vectors, &v));
    PetscCall(PetscMalloc1((size_t)(vectors + 1) * (size_t)rows, modes));
    for (PetscInt i = 0; constant && i < rows; i++)
        (*modes)[i] = 1.0;
    *count = constant ? 1 : 0;
    for (PetscInt k = 0; k < vectors; k++) {
        const PetscScalar *values;
        PetscCall(VecGetLocalSize(v[k], &length));
        PetscCheck(length == rows, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
                   "Tessera: a vector of the near null space has %d rows here, the matrix %d",
                   (int)length, (int)rows);
        PetscCall(VecGetArrayRead(v[k], &values));
        PetscCall(PetscArraycpy(*modes + (size_t)(*count)++ * (size_t)rows, values, rows));
        PetscCall(VecRestoreArrayRead(v[k], &values));
    }
    PetscFunctionReturn(0);
}

/* Multigrid takes the matrix's near null space, or the rigid motions of PCSetCoordinates where the
 * matrix has as many unknowns for each point as there are coordinates. */
static PetscErrorCode set_modes(PC pc, pc_tessera *p, tess_ctx *ctx, PetscInt rows)
{
    MatNullSpace space;
    PetscInt count;
    double *modes;
    tess_status status = TESS_OK;

    PetscFunctionBegin;
    PetscCall(MatGetNearNullSpace(pc->pmat, &space));
    if (!space && p->moved == rows)
        space = p->motions;
    PetscCall(modes_of(space, rows, &count, &modes));
    if (count)
        status = tess_pc_set_modes(p->made, count, modes, rows);
    PetscCall(PetscFree(modes));
    if (status != TESS_ERR_UNSUPPORTED) /* the others take none */
        TessCall(ctx, status);
    PetscFunctionReturn(0);
}

static PetscErrorCode set_coordinates(PC pc, PetscInt dimensions, PetscInt points, PetscReal *xyz)
{
    pc_tessera *p = (pc_tessera *)pc->data;
    PetscScalar *values;
    Vec places;

    PetscFunctionBegin;
    PetscCall(VecCreate(PetscObjectComm((PetscObject)pc), &places));
    PetscCall(VecSetSizes(places, dimensions * points, PETSC_DETERMINE));
    PetscCall(VecSetBlockSize(places, dimensions));
    PetscCall(VecSetType(places, VECSTANDARD));
    PetscCall(VecGetArrayWrite(places, &values));
    PetscCall(PetscArraycpy(values, xyz, dimensions * points));
    PetscCall(VecRestoreArrayWrite(places, &values));
    PetscCall(MatNullSpaceDestroy(&p->motions));
    PetscCall(MatNullSpaceCreateRigidBody(places, &p->motions));
    p->moved = dimensions * points;
    PetscCall(VecDestroy(&places));
    PetscFunctionReturn(0);
}

/* ---- Set-up ---------------------------------------------------------------------------------- */

/* The entries that this process's preconditioner is made of. */
static PetscErrorCode entries_of(PC pc, tess_ctx *ctx, PetscInt *block, tess_matrix **csr)
{
    PetscBool parallel, aij;
    Mat local = pc->pmat, plain = NULL;

    PetscFunctionBegin;
    PetscCall(tess_petsc_is_parallel(pc->pmat, &parallel));
    if (parallel)
        PetscCall(MatGetDiagonalBlock(pc->pmat, &local));
    PetscCall(MatGetBlockSize(pc->pmat, block));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)local, &aij, MATSEQAIJ, MATSEQTESSERA, ""));
    if (!aij)
        PetscCall(tess_petsc_to_aij(local, &plain));
    PetscErrorCode failed = tess_petsc_csr(aij ? local : plain, ctx, csr);
    PetscCall(MatDestroy(&plain));
    PetscCall(failed);
    PetscFunctionReturn(0);
}

static tess_status create(pc_tessera *p, tess_ctx *ctx, const tess_matrix *csr, tess_device *device,
                          PetscInt block)
{
    char spec[sizeof p->choice.type + sizeof p->choice.params];
    const tess_blocking size = {block, block};
    const tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE};
    const pc_choice *c = &p->choice;
    tess_status status = tess_matrix_to_blocks(ctx, csr, &size, &p->blocks);
    if (status != TESS_OK)
        return status;
    tess_petsc_count(1);
    status = tess_plan_create(ctx, p->blocks, device, &options, &p->plan);
    if (status != TESS_OK)
        return status;
    snprintf(spec, sizeof spec, "%s%s%s", c->type, *c->params ? ":" : "", c->params);
    return tess_pc_create(p->plan, spec, &p->made);
}

/* A matrix of which no such preconditioner can be made is an error only where PETSc wants one: a
 * solver then ends with KSP_DIVERGED_PC_FAILED. */
static PetscErrorCode judge(PC pc, tess_ctx *ctx, tess_status status)
{
    PetscFunctionBegin;
    if (status == TESS_ERR_MATRIX && !pc->erroriffailure) {
        PetscCall(PCSetFailedReason(pc, PC_FACTOR_NUMERIC_ZEROPIVOT));
        PetscCall(PetscInfo(pc, "Tessera: %s\n", tess_ctx_error(ctx)));
        PetscFunctionReturn(0);
    }
    TessCall(ctx, status);
    PetscCall(PCSetFailedReason(pc, PC_NOERROR));
    PetscFunctionReturn(0);
}

static PetscErrorCode make(PC pc, pc_tessera *p, tess_ctx *ctx, const tess_matrix *csr,
                           PetscInt block)
{
    tess_device *device;
    tess_matrix_view view;

    PetscFunctionBegin;
    forget(p);
    tess_matrix_get_view(csr, &view);
    if (view.rows == 0)
        PetscFunctionReturn(0);
    PetscCall(tess_petsc_device(p->choice.device, csr, &device));
    tess_status status = create(p, ctx, csr, device, p->choice.block ? p->choice.block : block);
    p->setups++;
    PetscCall(judge(pc, ctx, status));
    if (p->made)
        PetscCall(set_modes(pc, p, ctx, (PetscInt)view.rows));
    PetscFunctionReturn(0);
}

/* New values in the pattern that there is. *fits = PETSC_FALSE where an entry lies outside it. */
static PetscErrorCode update(PC pc, pc_tessera *p, tess_ctx *ctx, const tess_matrix *csr,
                             PetscBool *fits)
{
    PetscFunctionBegin;
    tess_status status = tess_matrix_update(ctx, p->blocks, csr);
    *fits = (PetscBool)(status != TESS_ERR_PATTERN);
    if (!*fits)
        PetscFunctionReturn(0);
    TessCall(ctx, status);
    p->updates++;
    status = tess_pc_update(p->made, NULL);
    if (status != TESS_OK)
        forget(p); /* what is left of it is no preconditioner */
    PetscCall(judge(pc, ctx, status));
    PetscFunctionReturn(0);
}

static PetscErrorCode prepare(PC pc, pc_tessera *p, tess_ctx *ctx, const tess_matrix *csr,
                              PetscInt block)
{
    PetscBool fits = PETSC_FALSE;

    PetscFunctionBegin;
    if (p->made && pc->setupcalled && pc->flag != DIFFERENT_NONZERO_PATTERN)
        PetscCall(update(pc, p, ctx, csr, &fits));
    if (!fits)
        PetscCall(make(pc, p, ctx, csr, block));
    PetscFunctionReturn(0);
}

static PetscErrorCode set_up(PC pc)
{
    pc_tessera *p = (pc_tessera *)pc->data;
    tess_ctx *ctx;
    tess_matrix *csr;
    PetscInt block;

    PetscFunctionBegin;
    PetscCall(tess_petsc_context(&ctx));
    PetscCall(entries_of(pc, ctx, &block, &csr));
    PetscErrorCode failed = prepare(pc, p, ctx, csr, block);
    tess_matrix_destroy(csr);
    PetscCall(failed);
    PetscFunctionReturn(0);
}

/* ---- Application ----------------------------------------------------------------------------- */

/* Makes the same PETSc calls on every process, with rows or without: PETSc counts them. */
static PetscErrorCode apply_either(PC pc, PetscBool transpose, Vec r, Vec z)
{
    pc_tessera *p = (pc_tessera *)pc->data;
    tess_ctx *ctx;
    const PetscScalar *from;
    PetscScalar *to;
    PetscInt rows;
    tess_status status = TESS_OK;

    PetscFunctionBegin;
    PetscCall(tess_petsc_context(&ctx));
    PetscCall(VecGetLocalSize(z, &rows));
    PetscCall(VecGetArrayRead(r, &from));
    PetscCall(VecGetArrayWrite(z, &to));
    if (p->made)
        status = transpose ? tess_pc_apply_transpose(p->made, from, to)
                           : tess_pc_apply(p->made, from, to);
    else
        for (PetscInt i = 0; i < rows; i++)
            to[i] = PETSC_INFINITY; /* there is no preconditioner, which ends a solver */
    PetscCall(VecRestoreArrayWrite(z, &to));
    PetscCall(VecRestoreArrayRead(r, &from));
    TessCall(ctx, status);
    PetscFunctionReturn(0);
}

static PetscErrorCode apply(PC pc, Vec r, Vec z)
{
    PetscFunctionBegin;
    PetscCall(apply_either(pc, PETSC_FALSE, r, z));
    PetscFunctionReturn(0);
}

static PetscErrorCode apply_transpose(PC pc, Vec r, Vec z)
{
    PetscFunctionBegin;
    PetscCall(apply_either(pc, PETSC_TRUE, r, z));
    PetscFunctionReturn(0);
}

/* ---- The type -------------------------------------------------------------------------------- */

/* -pc_tessera_type, which must be one of the library's names. */
static PetscErrorCode read_type(PetscOptionItems *PetscOptionsObject, pc_choice *c)
{
    const char *names[64];
    PetscInt count = 0, index = 0;
    PetscBool set;

    PetscFunctionBegin;
    while (count < (PetscInt)(sizeof names / sizeof *names) && tess_solve_pc_name(count)) {
        names[count] = tess_solve_pc_name(count);
        count++;
    }
    PetscCall(PetscOptionsEList("-pc_tessera_type", "Preconditioner", NULL, names, count, c->type,
                                &index, &set));
    if (set)
        PetscCall(PetscStrncpy(c->type, names[index], sizeof c->type));
    PetscFunctionReturn(0);
}

static PetscErrorCode set_from_options(PC pc, PetscOptionItems *PetscOptionsObject)
{
    pc_tessera *p = (pc_tessera *)pc->data;
    pc_choice *c = &p->choice;
    const pc_choice before = *c;

    PetscFunctionBegin;
    PetscOptionsHeadBegin(PetscOptionsObject, "Tessera preconditioner options");
    PetscCall(read_type(PetscOptionsObject, c));
    PetscCall(PetscOptionsString("-pc_tessera_params", "Its keys: levels=2,schedule=levels", NULL,
                                 c->params, c->params, sizeof c->params, NULL));
    PetscCall(PetscOptionsString("-pc_tessera_device", "cpu, cuda, cuda:1, auto", NULL, c->device,
                                 c->device, sizeof c->device, NULL));
    PetscCall(PetscOptionsBoundedInt("-pc_tessera_block_size", "0: the matrix's own", NULL,
                                     c->block, &c->block, NULL, 0));
    PetscOptionsHeadEnd();
    if (strcmp(before.type, c->type) != 0 || strcmp(before.params, c->params) != 0 ||
        strcmp(before.device, c->device) != 0 || before.block != c->block)
        pc->setupcalled = 0; /* the next PCSetUp makes it anew */
    PetscFunctionReturn(0);
}

/* Lines of the library's, each with the viewer's indentation. */
static PetscErrorCode print_lines(PetscViewer viewer, const char *text)
{
    PetscFunctionBegin;
    while (*text) {
        const int length = (int)strcspn(text, "\n");
        PetscCall(PetscViewerASCIIPrintf(viewer, "  %.*s\n", length, text));
        text += length + (text[length] == '\n');
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode view(PC pc, PetscViewer viewer)
{
    pc_tessera *p = (pc_tessera *)pc->data;
    const pc_choice *c = &p->choice;
    tess_matrix_view blocks;
    PetscBool text;

    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &text));
    if (!text)
        PetscFunctionReturn(0);
    PetscCall(PetscViewerASCIIPrintf(viewer, "  Tessera's %s%s%s, device %s\n", c->type,
                                     *c->params ? ": " : "", c->params, c->device));
    if (p->made) { /* of the first process, as PETSc's own views are */
        tess_matrix_get_view(p->blocks, &blocks);
        PetscCall(PetscViewerASCIIPrintf(
            viewer, "  first process: %d rows, blocks of %d x %d, %d set-ups, %d updates\n",
            (int)blocks.rows, (int)blocks.block_height, (int)blocks.block_width, (int)p->setups,
            (int)p->updates));
        PetscCall(print_lines(viewer, tess_pc_describe(p->made)));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode reset(PC pc)
{
    pc_tessera *p = (pc_tessera *)pc->data;

    PetscFunctionBegin;
    forget(p);
    PetscCall(MatNullSpaceDestroy(&p->motions));
    PetscFunctionReturn(0);
}

static PetscErrorCode destroy(PC pc)
{
    PetscFunctionBegin;
    PetscCall(reset(pc));
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSetCoordinates_C", NULL));
    PetscCall(PetscFree(pc->data));
    PetscFunctionReturn(0);
}

PetscErrorCode PCCreate_Tessera(PC pc)
{
    pc_tessera *p;

    PetscFunctionBegin;
    PetscCall(PetscNew(&p));
    p->choice = (pc_choice){.type = "ilu0", .device = "cpu"};
    pc->data = p;
    pc->ops->setup = set_up;
    pc->ops->apply = apply;
    pc->ops->applytranspose = apply_transpose;
    pc->ops->setfromoptions = set_from_options;
    pc->ops->view = view;
    pc->ops->reset = reset;
    pc->ops->destroy = destroy;
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSetCoordinates_C", set_coordinates));
    PetscFunctionReturn(0);
}

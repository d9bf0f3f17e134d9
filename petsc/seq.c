/* MATSEQTESSERA: an AIJ matrix whose products go through a plan of Tessera's.
 *
 * AIJ's storage stays, for assembly and for all that is not a product. Beside it lie the same
 * values in blocks, made at the first product. A product looks at two counters of PETSc's first:
 * when the matrix's pattern has changed, a new plan is made; when its values have, they are copied
 * into the plan's pattern.
 *
 *     A->data    AIJ's rows, columns and values
 *     A->spptr   seq_tessera: AIJ's operations, blocks, plan
 */
#include "plugin.h"

/* ---- Plan and values ------------------------------------------------------------------------- */

/* AIJ's storage is rows of increasing columns. */
PetscErrorCode tess_petsc_csr(Mat A, tess_ctx *ctx, tess_matrix **csr)
{
    const PetscInt *rows, *columns;
    const PetscScalar *values;
    PetscInt count;
    PetscBool done;
    tess_status status;

    PetscFunctionBegin;
    PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &count, &rows, &columns, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "AIJ's arrays cannot be had");
    PetscCall(MatSeqAIJGetArrayRead(A, &values));
    status =
        tess_matrix_from_csr_i32(ctx, TESS_F64, A->rmap->n, A->cmap->n, rows, columns, values, csr);
    PetscCall(MatSeqAIJRestoreArrayRead(A, &values));
    PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &count, &rows, &columns, &done));
    TessCall(ctx, status);
    PetscFunctionReturn(0);
}

static void forget_plan(seq_tessera *s)
{
    if (!s->blocks)
        return;
    tess_plan_destroy(s->plan);
    tess_matrix_destroy(s->blocks);
    s->plan = NULL;
    s->blocks = NULL;
    tess_petsc_count(-1);
}

/* The matrix's own block size, if its blocks are nearly full; otherwise what the library chooses.
 */
static PetscErrorCode to_blocks(Mat A, tess_ctx *ctx, const tess_matrix *csr, tess_device *device,
                                PetscInt asked, tess_matrix **blocks)
{
    const double most_filling = 1.1; /* stored scalars for each entry */
    tess_blocking size = {asked, asked};
    tess_matrix_view view, source;

    PetscFunctionBegin;
    if (!asked)
        size = (tess_blocking){PetscAbs(A->rmap->bs), PetscAbs(A->cmap->bs)};
    if (size.rows > 1 || size.cols > 1) {
        TessCall(ctx, tess_matrix_to_blocks(ctx, csr, &size, blocks));
        tess_matrix_get_view(*blocks, &view);
        tess_matrix_get_view(csr, &source);
        double stored = (double)view.blocks * size.rows * size.cols;
        if (asked || stored <= most_filling * (double)source.blocks)
            PetscFunctionReturn(0);
        tess_matrix_destroy(*blocks);
        *blocks = NULL;
    }
    if (!asked)
        TessCall(ctx, tess_choose_blocking(ctx, csr, device, &size));
    TessCall(ctx, tess_matrix_to_blocks(ctx, csr, &size, blocks));
    PetscFunctionReturn(0);
}

static const char *or_null(const char *text)
{
    return *text ? text : NULL;
}

static PetscErrorCode make_plan(Mat A, seq_tessera *s, tess_ctx *ctx, tess_matrix *csr)
{
    mat_choice c;
    tess_device *device;
    tess_matrix *blocks = NULL;
    tess_status status;

    PetscFunctionBegin;
    PetscCall(tess_petsc_read_options(A, &c));
    PetscCall(tess_petsc_device(c.device, csr, &device));
    PetscCall(to_blocks(A, ctx, csr, device, c.block, &blocks));
    const tess_plan_options options = {.effort = (tess_effort)c.effort,
                                       .format = or_null(c.format),
                                       .kernel = or_null(c.kernel),
                                       .params = or_null(c.params)};
    status = tess_plan_create(ctx, blocks, device, &options, &s->plan);
    if (status != TESS_OK)
        tess_matrix_destroy(blocks);
    TessCall(ctx, status);
    s->blocks = blocks;
    s->plans++;
    tess_petsc_count(1);
    PetscCall(PetscInfo(A, "Tessera: %s\n", tess_plan_explain(s->plan)));
    PetscFunctionReturn(0);
}

/* New values in the plan's pattern. *fits = PETSC_FALSE where an entry lies outside it. */
static PetscErrorCode update_values(seq_tessera *s, tess_ctx *ctx, const tess_matrix *csr,
                                    PetscBool *fits)
{
    tess_matrix_view view;
    tess_status status;

    PetscFunctionBegin;
    status = tess_matrix_update(ctx, s->blocks, csr);
    *fits = (PetscBool)(status != TESS_ERR_PATTERN);
    if (!*fits)
        PetscFunctionReturn(0);
    TessCall(ctx, status);
    tess_matrix_get_view(s->blocks, &view);
    TessCall(ctx, tess_plan_update_values(s->plan, view.values));
    s->updates++;
    PetscFunctionReturn(0);
}

static PetscErrorCode prepare(Mat A, seq_tessera *s, tess_ctx *ctx, tess_matrix *csr)
{
    PetscBool fits = PETSC_FALSE;

    PetscFunctionBegin;
    if (s->blocks && s->pattern == A->nonzerostate)
        PetscCall(update_values(s, ctx, csr, &fits));
    if (!fits) {
        forget_plan(s);
        PetscCall(make_plan(A, s, ctx, csr));
    }
    PetscFunctionReturn(0);
}

PetscErrorCode tess_petsc_plan(Mat A, tess_plan **plan)
{
    seq_tessera *s = (seq_tessera *)A->spptr;
    PetscObjectState state;
    tess_ctx *ctx;
    tess_matrix *csr;
    MatInfo info;

    PetscFunctionBegin;
    PetscCall(PetscObjectStateGet((PetscObject)A, &state));
    if (!s->blocks || s->state != state || s->pattern != A->nonzerostate) {
        PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
        if (info.nz_used == 0.0) {
            forget_plan(s);
            *plan = NULL;
            PetscFunctionReturn(0);
        }
        PetscCall(tess_petsc_context(&ctx));
        PetscCall(tess_petsc_csr(A, ctx, &csr));
        PetscErrorCode failed = prepare(A, s, ctx, csr);
        tess_matrix_destroy(csr);
        PetscCall(failed);
        s->state = state;
        s->pattern = A->nonzerostate;
    }
    *plan = s->plan;
    PetscFunctionReturn(0);
}

/* ---- Products -------------------------------------------------------------------------------- */

/* z = A x + beta y, or with A's transpose. y and z may be the same. */
static PetscErrorCode product(Mat A, PetscBool transpose, Vec x, Vec y, Vec z)
{
    tess_ctx *ctx;
    tess_plan *plan;
    const PetscScalar *from;
    PetscScalar *to;
    tess_status status;
    MatInfo info;
    const double beta = y ? 1.0 : 0.0;

    PetscFunctionBegin;
    PetscCall(tess_petsc_context(&ctx));
    PetscCall(tess_petsc_plan(A, &plan));
    if (y && y != z)
        PetscCall(VecCopy(y, z));
    if (!plan) {
        if (!y)
            PetscCall(VecSet(z, 0.0));
        PetscFunctionReturn(0);
    }
    PetscCall(VecGetArrayRead(x, &from));
    PetscCall(y ? VecGetArray(z, &to) : VecGetArrayWrite(z, &to));
    status = transpose ? tess_spmv_transpose(plan, 1.0, from, beta, to)
                       : tess_spmv(plan, 1.0, from, beta, to);
    PetscCall(y ? VecRestoreArray(z, &to) : VecRestoreArrayWrite(z, &to));
    PetscCall(VecRestoreArrayRead(x, &from));
    TessCall(ctx, status);
    PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
    PetscCall(PetscLogFlops(2.0 * info.nz_used));
    PetscFunctionReturn(0);
}

static PetscErrorCode mult(Mat A, Vec x, Vec y)
{
    return product(A, PETSC_FALSE, x, NULL, y);
}

static PetscErrorCode mult_add(Mat A, Vec x, Vec y, Vec z)
{
    return product(A, PETSC_FALSE, x, y, z);
}

static PetscErrorCode mult_transpose(Mat A, Vec x, Vec y)
{
    return product(A, PETSC_TRUE, x, NULL, y);
}

static PetscErrorCode mult_transpose_add(Mat A, Vec x, Vec y, Vec z)
{
    return product(A, PETSC_TRUE, x, y, z);
}

/* ---- The type -------------------------------------------------------------------------------- */

static void install(Mat A, seq_tessera *s);

static void uninstall(Mat A, const seq_tessera *s)
{
    A->ops->mult = s->parent.mult;
    A->ops->multadd = s->parent.multadd;
    A->ops->multtranspose = s->parent.multtranspose;
    A->ops->multtransposeadd = s->parent.multtransposeadd;
    A->ops->assemblyend = s->parent.assemblyend;
    A->ops->setfromoptions = s->parent.setfromoptions;
    A->ops->convertfrom = s->parent.convertfrom;
    A->ops->destroy = s->parent.destroy;
}

/* AIJ's own assembly_end may replace operations by those for nodes with equal rows. */
static PetscErrorCode assembly_end(Mat A, MatAssemblyType mode)
{
    seq_tessera *s = (seq_tessera *)A->spptr;

    PetscFunctionBegin;
    uninstall(A, s);
    PetscErrorCode failed = (*A->ops->assemblyend)(A, mode);
    install(A, s);
    PetscCall(failed);
    PetscFunctionReturn(0);
}

/* Of a plain AIJ matrix. */
static PetscErrorCode (*destroy_aij)(Mat);

static PetscErrorCode find_destroy(void)
{
    Mat plain;

    PetscFunctionBegin;
    if (destroy_aij)
        PetscFunctionReturn(0);
    PetscCall(MatCreate(PETSC_COMM_SELF, &plain));
    PetscCall(MatSetType(plain, MATSEQAIJ));
    destroy_aij = plain->ops->destroy;
    PetscCall(MatDestroy(&plain));
    PetscFunctionReturn(0);
}

/* Factors in place (MatLUFactor) are those of a plain matrix, which PETSc puts in A's place: A then
 * has our operations, and nothing else of ours. */
static PetscErrorCode destroy(Mat A)
{
    PetscFunctionBegin;
    if (A->spptr) {
        PetscCall(tess_petsc_seq_release(A));
        PetscCall((*A->ops->destroy)(A));
    } else {
        PetscCall((*destroy_aij)(A));
    }
    PetscFunctionReturn(0);
}

static void install(Mat A, seq_tessera *s)
{
    s->parent = *A->ops;
    A->ops->mult = mult;
    A->ops->multadd = mult_add;
    A->ops->multtranspose = mult_transpose;
    A->ops->multtransposeadd = mult_transpose_add;
    A->ops->assemblyend = assembly_end;
    A->ops->setfromoptions = tess_petsc_options;
    A->ops->convertfrom = tess_petsc_convert_from;
    A->ops->destroy = destroy;
}

/* AIJ's own does not count as a change of the matrix. */
static PetscErrorCode retrieve_values(Mat A)
{
    const seq_tessera *s = (const seq_tessera *)A->spptr;

    PetscFunctionBegin;
    PetscCall((*s->retrieve)(A));
    PetscCall(PetscObjectStateIncrease((PetscObject)A));
    PetscFunctionReturn(0);
}

static PetscErrorCode compose(Mat A, const seq_tessera *s, PetscBool ours)
{
    PetscFunctionBegin;
    PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatRetrieveValues_C",
                                         ours ? retrieve_values : s->retrieve));
    PetscCall(PetscObjectComposeFunction((PetscObject)A,
                                         "MatConvert_" MATSEQTESSERA "_" MATSEQAIJ "_C",
                                         ours ? tess_petsc_convert_to_aij : NULL));
    PetscCall(PetscObjectComposeFunction(
        (PetscObject)A, "MatProductSetFromOptions_" MATSEQTESSERA "_" MATSEQDENSE "_C",
        ours ? tess_petsc_product_seq : NULL));
    PetscFunctionReturn(0);
}

PetscErrorCode tess_petsc_seq_adopt(Mat A)
{
    seq_tessera *s;

    PetscFunctionBegin;
    PetscCall(find_destroy());
    PetscCall(PetscNew(&s));
    install(A, s);
    A->spptr = s;
    PetscCall(PetscObjectQueryFunction((PetscObject)A, "MatRetrieveValues_C", &s->retrieve));
    PetscCall(compose(A, s, PETSC_TRUE));
    PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATSEQTESSERA));
    PetscFunctionReturn(0);
}

PetscErrorCode tess_petsc_seq_release(Mat A)
{
    seq_tessera *s = (seq_tessera *)A->spptr;

    PetscFunctionBegin;
    uninstall(A, s);
    forget_plan(s);
    PetscCall(compose(A, s, PETSC_FALSE));
    PetscCall(PetscFree(A->spptr));
    PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATSEQAIJ));
    PetscFunctionReturn(0);
}

PetscErrorCode MatCreate_SeqTessera(Mat A)
{
    PetscFunctionBegin;
    PetscCall(MatSetType(A, MATSEQAIJ));
    PetscCall(tess_petsc_seq_adopt(A));
    PetscFunctionReturn(0);
}

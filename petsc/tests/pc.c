/* Tessera's preconditioners in PETSc: the same whatever type the matrix has, PETSc's own where
 * PETSc has the same one, and updated where the pattern stayed.
 *
 * usage: pc [-count 6] [-seed 1] */
#include "support.h"

#include <petsc/private/pcimpl.h>

/* A matrix with a dominant diagonal, so that every preconditioner can be made of it. */
static PetscErrorCode dominant_matrix(uint64_t seed, shape size, int symmetric, MatType type,
                                      Mat *A)
{
    PetscReal norm;

    PetscFunctionBegin;
    PetscCall(random_matrix(&seed, size, symmetric, type, A));
    PetscCall(MatNorm(*A, NORM_INFINITY, &norm));
    PetscCall(MatShift(*A, 2.0 * norm));
    PetscFunctionReturn(0);
}

static PetscErrorCode make_pc(Mat A, const char *type, const char *options, PC *pc)
{
    PetscFunctionBegin;
    PetscCall(PetscOptionsClear(NULL));
    PetscCall(PetscOptionsInsertString(NULL, options));
    PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
    PetscCall(PCSetOperators(*pc, A, A));
    PetscCall(PCSetType(*pc, type));
    PetscCall(PCSetFromOptions(*pc));
    PetscCall(PCSetUp(*pc));
    PetscFunctionReturn(0);
}

static PetscErrorCode make_ours(Mat A, const char *name, const char *more, PC *pc)
{
    char options[256];

    PetscFunctionBegin;
    PetscCall(
        PetscSNPrintf(options, sizeof options, "-pc_tessera_type %s %s", name, more ? more : ""));
    PetscCall(make_pc(A, PCTESSERA, options, pc));
    PetscFunctionReturn(0);
}

/* Both applied to one vector: the same up to `rounding` of the largest number. */
static PetscErrorCode check_equal(uint64_t *seed, const char *what, PC expected, PC found,
                                  PetscReal rounding)
{
    Vec r, a, b;
    PetscReal largest;
    Mat A;

    PetscFunctionBegin;
    PetscCall(PCGetOperators(expected, &A, NULL));
    PetscCall(MatCreateVecs(A, &r, &a));
    PetscCall(VecDuplicate(a, &b));
    PetscCall(fill(seed, r));
    for (int transpose = 0; transpose < 2; transpose++) {
        PetscBool can = PETSC_TRUE, sor = PETSC_FALSE;
        if (transpose) {
            PetscCall(PCApplyTransposeExists(expected, &can));
            PetscCall(PetscObjectTypeCompare((PetscObject)expected, PCSOR, &sor));
        }
        if (!can || sor) /* PCSOR says it can, and fails where the matrix is not symmetric */
            continue;
        PetscCall(VecSet(b, NAN)); /* must not be read */
        PetscCall(transpose ? PCApplyTranspose(expected, r, a) : PCApply(expected, r, a));
        PetscCall(transpose ? PCApplyTranspose(found, r, b) : PCApply(found, r, b));
        PetscCall(VecNorm(a, NORM_INFINITY, &largest));
        PetscCall(compare(what, a, b, rounding * largest));
    }
    PetscCall(VecDestroy(&r));
    PetscCall(VecDestroy(&a));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

/* Returns whether a preconditioner can be had at all: lu needs SuiteSparse. */
static PetscBool can_be_had(const char *name)
{
    const int64_t rows[] = {0, 1};
    const int32_t column = 0;
    const double one = 1.0;
    tess_ctx *ctx = NULL;
    tess_matrix *A = NULL;
    tess_device *device = NULL;
    tess_plan *plan = NULL;
    tess_preconditioner *pc = NULL;
    const tess_status status = tess_ctx_create(NULL, &ctx) ||
                                       tess_device_open(ctx, "cpu", &device) ||
                                       tess_matrix_from_csr(ctx, TESS_F64, 1, 1, rows, &column,
                                                            &one, TESS_OWNERSHIP_COPY, &A) ||
                                       tess_plan_create(ctx, A, device, NULL, &plan)
                                   ? TESS_ERR_INTERNAL
                                   : tess_pc_create(plan, name, &pc);
    tess_pc_destroy(pc);
    tess_plan_destroy(plan);
    tess_matrix_destroy(A);
    tess_device_close(device);
    tess_ctx_destroy(ctx);
    return (PetscBool)(status != TESS_ERR_UNSUPPORTED);
}

/* BAIJ, SBAIJ and our matrices give what AIJ gives, for every name in the library's list. Types of
 * several processes are of one process too. */
static PetscErrorCode check_types(uint64_t *seed, shape size)
{
    static const char *const types[] = {MATBAIJ,   MATSBAIJ,    MATTESSERA,
                                        MATMPIAIJ, MATMPISBAIJ, MATMPITESSERA};
    const uint64_t values = random_bits(seed);
    Mat aij, other;
    PC expected, found;

    PetscFunctionBegin;
    PetscCall(dominant_matrix(values, size, 1, MATAIJ, &aij));
    for (int i = 0; tess_solve_pc_name(i); i++) {
        const char *name = tess_solve_pc_name(i);
        if (!can_be_had(name))
            continue;
        PetscCall(make_ours(aij, name, NULL, &expected));
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            char what[64];
            PetscCall(PetscSNPrintf(what, sizeof what, "%s of %s", name, types[t]));
            PetscCall(dominant_matrix(values, size, 1, types[t], &other));
            PetscCall(make_ours(other, name, NULL, &found));
            PetscCall(check_equal(seed, what, expected, found, 1e-14));
            PetscCall(PCDestroy(&found));
            PetscCall(MatDestroy(&other));
        }
        PetscCall(PCDestroy(&expected));
    }
    PetscCall(MatDestroy(&aij));
    PetscFunctionReturn(0);
}

/* Those that PETSc has too. AIJ's are of scalars, BAIJ's of blocks. */
static const struct {
    const char *type, *pc, *options, *ours, *more;
    int symmetric;
} known[] = {
    {MATAIJ, PCJACOBI, "", "jacobi", "", 0},
    {MATAIJ, PCPBJACOBI, "", "bjacobi", "", 0},
    {MATBAIJ, PCPBJACOBI, "", "bjacobi", "", 0},
    {MATAIJ, PCBJACOBI, "-sub_pc_type ilu", "ilu0", "domains=1", 0},
    {MATBAIJ, PCBJACOBI, "-sub_pc_type ilu", "ilu0", "domains=1", 0},
    {MATBAIJ, PCBJACOBI, "-sub_pc_type ilu", "ilu0", "schedule=levels", 0},
    {MATAIJ, PCBJACOBI, "-sub_pc_type ilu -sub_pc_factor_levels 2", "iluk", "levels=2,domains=1",
     0},
    {MATAIJ, PCBJACOBI, "-sub_pc_type icc", "ic0", "domains=1", 1},
    {MATAIJ, PCSOR, "-pc_sor_local_symmetric", "ssor", "domains=1", 0},
};

static PetscErrorCode check_known(uint64_t *seed, shape size)
{
    PetscFunctionBegin;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        const PetscBool scalars =
            (PetscBool)(!strcmp(known[k].type, MATAIJ) && strcmp(known[k].pc, PCPBJACOBI) != 0);
        char more[128], what[64];
        Mat A;
        PC theirs, ours;
        PetscCall(PetscSNPrintf(more, sizeof more, "%s %s %s",
                                *known[k].more ? "-pc_tessera_params" : "", known[k].more,
                                scalars ? "-pc_tessera_block_size 1" : ""));
        PetscCall(PetscSNPrintf(what, sizeof what, "%s and PETSc's %s of %s", known[k].ours,
                                known[k].pc, known[k].type));
        PetscCall(
            PetscOptionsInsertString(NULL, "-mat_no_inode")); /* with them, sor is by blocks */
        PetscCall(dominant_matrix(random_bits(seed), size, known[k].symmetric, known[k].type, &A));
        PetscCall(make_pc(A, known[k].pc, known[k].options, &theirs));
        PetscCall(make_ours(A, known[k].ours, more, &ours));
        PetscCall(check_equal(seed, what, theirs, ours, 1e-13));
        PetscCall(PCDestroy(&theirs));
        PetscCall(PCDestroy(&ours));
        PetscCall(MatDestroy(&A));
    }
    PetscFunctionReturn(0);
}

/* New values are an update, and the result is that of a preconditioner made of them. A new pattern
 * is a set-up. */
static PetscErrorCode check_updates(uint64_t *seed, shape size)
{
    Mat A;
    PC kept, fresh;
    pc_tessera *p;
    PetscInt setups;

    PetscFunctionBegin;
    PetscCall(dominant_matrix(random_bits(seed), size, 1, MATAIJ, &A));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (int i = 0; tess_solve_pc_name(i); i++) {
        const char *name = tess_solve_pc_name(i);
        if (!can_be_had(name))
            continue;
        PetscCall(make_ours(A, name, NULL, &kept));
        p = (pc_tessera *)kept->data;
        setups = p->setups;
        PetscCall(MatScale(A, 1.5));
        PetscCall(PCSetUp(kept));
        PetscCheck(p->setups == setups && p->updates == setups, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                   "%s: %s: new values made %d set-ups and %d updates", test_case, name,
                   (int)p->setups, (int)p->updates);
        PetscCall(make_ours(A, name, NULL, &fresh));
        PetscCall(check_equal(seed, name, fresh, kept, 1e-14));
        PetscCall(PCDestroy(&fresh));
        PetscCall(PCDestroy(&kept));
    }
    PetscCall(make_ours(A, "ilu0", NULL, &kept));
    p = (pc_tessera *)kept->data;
    setups = p->setups;
    for (PetscInt i = A->rmap->rstart; i < A->rmap->rend; i++) {
        const PetscInt j = A->rmap->rend - 1 - (i - A->rmap->rstart);
        PetscCall(MatSetValue(A, i, j, 0.25, ADD_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(PCSetUp(kept));
    PetscCall(make_ours(A, "ilu0", NULL, &fresh));
    PetscCall(check_equal(seed, "a new pattern", fresh, kept, 1e-14));
    PetscCall(PCDestroy(&fresh));
    PetscCall(PCDestroy(&kept));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

/* Coordinates say nothing of a matrix with more or fewer unknowns for each point. */
static PetscErrorCode check_coordinates(uint64_t *seed, PetscInt unknowns)
{
    shape whole = {.block = unknowns, .local_rows = 40, .local_cols = 40};
    PetscMPIInt processes;
    PetscReal xyz[3 * 40];
    Mat A;
    PC with, without;

    PetscFunctionBegin;
    MPI_Comm_size(PETSC_COMM_WORLD, &processes);
    whole.rows = whole.cols = 40 * processes;
    for (int i = 0; i < 3 * 40; i++)
        xyz[i] = random_value(seed);
    PetscCall(dominant_matrix(random_bits(seed), whole, 1, MATAIJ, &A));
    PetscCall(make_ours(A, "amg", NULL, &without));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &with));
    PetscCall(PCSetOperators(with, A, A));
    PetscCall(PCSetType(with, PCTESSERA));
    PetscCall(PCSetFromOptions(with));
    PetscCall(PCSetCoordinates(with, unknowns == 1 ? 3 : 2, 40, xyz));
    PetscCall(PCSetUp(with));
    PetscCall(check_equal(seed, "coordinates of other unknowns", without, with, 0.0));
    PetscCall(PCDestroy(&with));
    PetscCall(PCDestroy(&without));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

/* Factors in the place of one of our matrices: it has our operations, and is destroyed. */
static PetscErrorCode check_in_place(uint64_t *seed, shape size)
{
    PetscMPIInt processes;
    Mat A;
    Vec b, x, y;
    PC pc;

    PetscFunctionBegin;
    MPI_Comm_size(PETSC_COMM_WORLD, &processes);
    if (processes > 1)
        PetscFunctionReturn(0);
    PetscCall(dominant_matrix(random_bits(seed), size, 1, MATTESSERA, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1.0));
    PetscCall(MatMult(A, b, x));
    PetscCall(make_pc(A, PCLU, "-pc_factor_in_place", &pc));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(PCApply(pc, x, y));
    PetscCall(PCDestroy(&pc));
    PetscCall(compare("factors in place", b, y, 1e-12));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

static PetscErrorCode set_diagonal(Mat A, PetscScalar third)
{
    PetscInt first, last;

    PetscFunctionBegin;
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt i = first; i < last; i++)
        PetscCall(MatSetValue(A, i, i, i == 2 ? third : 1.0 + i, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* A matrix that has no preconditioner ends a solver with PETSc's reason, at the first set-up and
 * where new values are such. */
static PetscErrorCode check_failure(PetscBool updated)
{
    Mat A;
    Vec b, x;
    KSP ksp;
    KSPConvergedReason reason;

    PetscFunctionBegin;
    PetscCall(PetscOptionsClear(NULL));
    PetscCall(PetscOptionsInsertString(NULL, "-pc_type tessera -pc_tessera_type jacobi"));
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, 4, 4, PETSC_DETERMINE, PETSC_DETERMINE, 1, NULL, 0,
                           NULL, &A));
    PetscCall(set_diagonal(A, updated ? 3.0 : 0.0));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1.0));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    if (updated) {
        PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "the solver ended with %s",
                   KSPConvergedReasons[reason]);
        PetscCall(set_diagonal(A, 0.0));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(KSPGetConvergedReason(ksp, &reason));
    }
    PetscCheck(reason == KSP_DIVERGED_PC_FAILED, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
               "a zero on the diagonal: the solver ended with %s", KSPConvergedReasons[reason]);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscInt count = 6, first = 1;

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(TesseraPetscRegister());
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &first, NULL));
    for (PetscInt number = first; number < first + count; number++) {
        uint64_t seed = (uint64_t)number;
        const shape size = random_shape(&seed, 1);
        PetscCall(PetscSNPrintf(test_case, sizeof test_case, "seed %d: blocks of %d", (int)number,
                                (int)size.block));
        if (size.rows == 0)
            continue;
        PetscCall(check_types(&seed, size));
        PetscCall(check_known(&seed, size));
        PetscCall(check_updates(&seed, size));
        PetscCall(check_in_place(&seed, size));
        PetscCall(check_coordinates(&seed, number % 2 ? 1 : 3));
    }
    PetscCall(check_failure(PETSC_FALSE));
    PetscCall(check_failure(PETSC_TRUE));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d random matrices: preconditioned\n", (int)count));
    PetscCall(PetscOptionsClear(NULL));
    PetscCall(PetscFinalize());
    return 0;
}

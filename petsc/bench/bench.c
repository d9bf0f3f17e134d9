/* MatMult and CG of PETSc's AIJ and BAIJ and of Tessera's matrices, on the same matrix in one run.
 *
 * usage: petsc_bench -input gen:elasticity:n=24 [-rounds 45] [-cpu_time] and the options of the
 * plug-in
 *
 * The types take turns in every round. Prints one line of JSON: for each type the least seconds of
 * a product and of a solve of all rounds, as a busy machine only adds, and the iterations. CG has
 * PETSc's own preconditioner of inverted diagonal blocks (pbjacobi) in all of them, so that they
 * differ by their products alone. */
#include "tessera_petsc.h"

#include <petscksp.h>
#include <tessera/tessera.h>
#include <time.h>

enum { TYPES = 3, MAX_ROUNDS = 101 };
static const char *const types[TYPES] = {MATAIJ, MATBAIJ, MATTESSERA};

typedef struct contest {
    Mat A[TYPES];
    KSP ksp[TYPES];
    Vec x, y;
    PetscReal product[TYPES][MAX_ROUNDS], solve[TYPES][MAX_ROUNDS];
    PetscInt iterations[TYPES];
} contest;

#define Tess(call)                                                                               \
    do {                                                                                         \
        tess_status tess_ = (call);                                                              \
        PetscCheck(tess_ == TESS_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", tess_ctx_error(ctx)); \
    } while (0)

/* Room for the blocks of this process's block rows: in the columns it owns, and in the others. */
static PetscErrorCode preallocate(const tess_matrix_view *view, PetscInt local, Mat A)
{
    PetscInt last = local, *own, *other;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Scan(&local, &last, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    const PetscInt first = last - local;
    PetscCall(PetscCalloc2(local, &own, local, &other));
    for (PetscInt i = first; i < last; i++)
        for (int64_t k = view->row_offsets[i]; k < view->row_offsets[i + 1]; k++) {
            const PetscInt j = view->columns[k];
            (j >= first && j < last ? own : other)[i - first]++;
        }
    PetscCall(MatXAIJSetPreallocation(A, view->block_height, own, other, NULL, NULL));
    PetscCall(PetscFree2(own, other));
    PetscFunctionReturn(0);
}

/* This process's rows of the matrix, which every process makes as a whole. */
static PetscErrorCode fill(tess_ctx *ctx, const tess_matrix *source, MatType type, Mat *A)
{
    tess_matrix_view view;
    PetscInt first, last;

    PetscFunctionBegin;
    tess_matrix_get_view(source, &view);
    PetscCheck(view.block_height == view.block_width && view.type == TESS_F64, PETSC_COMM_WORLD,
               PETSC_ERR_SUP, "the matrix must have square blocks in double precision");
    const PetscInt b = view.block_height;
    PetscScalar *values;
    PetscCall(PetscMalloc1((size_t)(view.blocks * b * b), &values));
    Tess(tess_matrix_export_values(ctx, source, TESS_ORDER_ROW_MAJOR, values));
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscInt local = PETSC_DECIDE, blocks = (PetscInt)view.block_rows;
    PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &local, &blocks));
    PetscCall(MatSetSizes(*A, local * b, local * b, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(MatSetBlockSize(*A, b));
    PetscCall(MatSetType(*A, type));
    PetscCall(preallocate(&view, local, *A));
    PetscCall(MatGetOwnershipRange(*A, &first, &last));
    for (PetscInt i = first / b; i < last / b; i++)
        for (int64_t k = view.row_offsets[i]; k < view.row_offsets[i + 1]; k++)
            PetscCall(MatSetValuesBlocked(*A, 1, &i, 1, &view.columns[k], values + k * b * b,
                                          INSERT_VALUES));
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(PetscFree(values));
    PetscFunctionReturn(0);
}

static PetscErrorCode make_solver(Mat A, KSP *ksp)
{
    PC pc;

    PetscFunctionBegin;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
    PetscCall(KSPSetOperators(*ksp, A, A));
    PetscCall(KSPSetType(*ksp, KSPCG));
    PetscCall(KSPGetPC(*ksp, &pc));
    PetscCall(PCSetType(pc, PCPBJACOBI));
    PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 2000));
    PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetUp(*ksp));
    PetscFunctionReturn(0);
}

/* -cpu_time: seconds of this process's CPU time, for one process with one thread on a busy machine.
 */
static PetscBool cpu_time = PETSC_FALSE;

static double now(void)
{
    struct timespec t;
    clock_gettime(cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static PetscErrorCode time_products(Mat A, Vec x, Vec y, PetscInt count, PetscReal *seconds)
{
    PetscFunctionBegin;
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    const double begun = now();
    for (PetscInt i = 0; i < count; i++)
        PetscCall(MatMult(A, x, y));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    *seconds = (now() - begun) / count;
    PetscFunctionReturn(0);
}

static PetscErrorCode time_solve(contest *c, int type, PetscReal *seconds)
{
    PetscFunctionBegin;
    PetscCall(VecSet(c->x, 1.0));
    PetscCall(VecSet(c->y, 0.0));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    const double begun = now();
    PetscCall(KSPSolve(c->ksp[type], c->x, c->y));
    *seconds = now() - begun;
    PetscCall(KSPGetIterationNumber(c->ksp[type], &c->iterations[type]));
    PetscFunctionReturn(0);
}

static PetscErrorCode compete(contest *c, PetscInt rounds)
{
    PetscReal once;
    PetscInt count;

    PetscFunctionBegin;
    for (int t = 0; t < TYPES; t++) { /* plans are made here */
        PetscCall(time_products(c->A[t], c->x, c->y, 1, &once));
        PetscCall(time_products(c->A[t], c->x, c->y, 3, &once));
    }
    count = (PetscInt)PetscMax(1, PetscMin(1000, 0.003 / once));
    PetscCallMPI(MPI_Bcast(&count, 1, MPIU_INT, 0, PETSC_COMM_WORLD));
    for (PetscInt r = 0; r < rounds; r++)
        for (int t = 0; t < TYPES; t++) {
            const int type = (int)(t + r) % TYPES;
            PetscCall(VecSet(c->x, 1.0));
            PetscCall(time_products(c->A[type], c->x, c->y, count, &c->product[type][r]));
            if (r % 5 == 0)
                PetscCall(time_solve(c, type, &c->solve[type][r / 5]));
        }
    PetscFunctionReturn(0);
}

static PetscErrorCode report(contest *c, const char *input, const tess_matrix *source,
                             PetscInt rounds)
{
    tess_matrix_view view;
    PetscMPIInt ranks;

    PetscFunctionBegin;
    tess_matrix_get_view(source, &view);
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    PetscCall(PetscPrintf(
        PETSC_COMM_WORLD,
        "{\"input\": \"%s\", \"processes\": %d, \"rows\": %lld, \"block\": %d, \"blocks\": %lld",
        input, ranks, (long long)view.rows, (int)view.block_height, (long long)view.blocks));
    for (int t = 0; t < TYPES; t++) {
        PetscCall(PetscSortReal(rounds, c->product[t]));
        PetscCall(PetscSortReal((rounds + 4) / 5, c->solve[t]));
        PetscCall(PetscPrintf(
            PETSC_COMM_WORLD, ", \"%s\": {\"product\": %.4g, \"solve\": %.4g, \"iterations\": %d}",
            types[t], (double)c->product[t][0], (double)c->solve[t][0], (int)c->iterations[t]));
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "}\n"));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    static contest c;
    char input[256] = "gen:elasticity:n=16";
    PetscInt rounds = 45;
    tess_ctx *ctx;
    tess_matrix *source;

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(TesseraPetscRegister());
    PetscCall(PetscOptionsGetString(NULL, NULL, "-input", input, sizeof input, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-rounds", &rounds, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-cpu_time", &cpu_time, NULL));
    rounds = PetscMax(3, PetscMin(rounds, MAX_ROUNDS));
    PetscCheck(tess_ctx_create(NULL, &ctx) == TESS_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "context");
    Tess(tess_matrix_input(ctx, input, &source));
    for (int t = 0; t < TYPES; t++) {
        PetscCall(fill(ctx, source, types[t], &c.A[t]));
        PetscCall(make_solver(c.A[t], &c.ksp[t]));
    }
    PetscCall(MatCreateVecs(c.A[0], &c.x, &c.y));
    PetscCall(compete(&c, rounds));
    PetscCall(report(&c, input, source, rounds));
    for (int t = 0; t < TYPES; t++) {
        PetscCall(KSPDestroy(&c.ksp[t]));
        PetscCall(MatDestroy(&c.A[t]));
    }
    PetscCall(VecDestroy(&c.x));
    PetscCall(VecDestroy(&c.y));
    tess_matrix_destroy(source);
    tess_ctx_destroy(ctx);
    PetscCall(PetscFinalize());
    return 0;
}

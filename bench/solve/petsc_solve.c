/* PETSc's solvers on BAIJ matrices, MPI ranks as threads: see peer_solve.h.
 *
 *     mpirun -n 2 --bind-to core petsc-solve FILE BLOCK TOL REPS METHOD:PC ...
 *
 * bjacobi is PETSc's pbjacobi, ilu0 its bjacobi: one ILU(0) a rank. amg is GAMG, with rigid motions
 * where there are coordinates, amg_other hypre's BoomerAMG; both take AIJ, whose conversion is not
 * counted. The stopping test is on the unpreconditioned residual; the true residual is recomputed.
 */
#include <petscksp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "peer_solve.h"

static void check(PetscErrorCode error)
{
    if (error)
        MPI_Abort(PETSC_COMM_WORLD, (int)error);
}

/* `modes`: rigid motions, NULL without coordinates. */
static void load(const char *path, int block, Mat *A, Vec *b, MatNullSpace *modes)
{
    PetscViewer file;
    check(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_READ, &file));
    check(MatCreate(PETSC_COMM_WORLD, A));
    check(MatSetType(*A, MATBAIJ));
    check(MatSetBlockSize(*A, block));
    check(MatLoad(*A, file));
    check(MatCreateVecs(*A, NULL, b));
    check(VecLoad(*b, file));
    *modes = NULL;
    if (block == 3) {
        Vec places;
        check(VecDuplicate(*b, &places));
        check(VecSetBlockSize(places, block));
        check(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
        const PetscErrorCode missing = VecLoad(places, file);
        check(PetscPopErrorHandler());
        if (!missing)
            check(MatNullSpaceCreateRigidBody(places, modes));
        check(VecDestroy(&places));
    }
    check(PetscViewerDestroy(&file));
}

static double true_residual(Mat A, Vec x, Vec b)
{
    Vec r;
    double residual, norm;
    check(VecDuplicate(b, &r));
    check(MatMult(A, x, r));
    check(VecAYPX(r, -1, b));
    check(VecNorm(r, NORM_2, &residual));
    check(VecNorm(b, NORM_2, &norm));
    check(VecDestroy(&r));
    return residual / norm;
}

static double now(void)
{
    MPI_Barrier(PETSC_COMM_WORLD);
    return MPI_Wtime();
}

static KSP make_solver(Mat A, const char *method, const char *pc_name, double tol)
{
    KSP ksp;
    PC pc;
    check(KSPCreate(PETSC_COMM_WORLD, &ksp));
    check(KSPSetOperators(ksp, A, A));
    check(KSPSetType(ksp, strcmp(method, "bicgstab") == 0 ? KSPBCGS : method));
    check(KSPGetPC(ksp, &pc));
    check(PCSetType(pc, strcmp(pc_name, "ilu0") == 0        ? PCBJACOBI
                        : strcmp(pc_name, "amg") == 0       ? PCGAMG
                        : strcmp(pc_name, "amg_other") == 0 ? PCHYPRE
                                                            : PCPBJACOBI));
    if (strcmp(method, "cg") == 0)
        check(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    else
        check(KSPSetPCSide(ksp, PC_RIGHT));
    check(KSPSetTolerances(ksp, tol, 0, PETSC_DEFAULT, 10000));
    check(KSPSetFromOptions(ksp));
    check(KSPSetUp(ksp));
    check(KSPSetUpOnBlocks(ksp));
    return ksp;
}

static void solve(Mat A, Vec b, double tol, int reps, const char *method, const char *pc)
{
    char version[32];
    int rank, ranks;
    Vec x;
    PetscInt iterations = 0;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    snprintf(version, sizeof version, "%d.%d.%d", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR,
             PETSC_VERSION_SUBMINOR);
    peer_report report = {
        .peer = strcmp(pc, "amg") == 0         ? "PETSc GAMG"
                : strcmp(pc, "amg_other") == 0 ? "PETSc hypre"
                                               : "PETSc",
        .version = version,
        .method = method,
        .pc = pc,
        .threads = ranks,
        .reps = reps < PEER_REPS_MAX ? reps : PEER_REPS_MAX,
    };
    check(VecDuplicate(b, &x));
    for (int rep = 0; rep < report.reps; rep++) {
        check(VecSet(x, 0));
        const double start = now();
        KSP ksp = make_solver(A, method, pc, tol);
        const double ready = now();
        check(KSPSolve(ksp, b, x));
        report.solve[rep] = now() - ready;
        report.setup[rep] = ready - start;
        check(KSPGetIterationNumber(ksp, &iterations));
        check(KSPDestroy(&ksp));
    }
    report.iterations = (long)iterations;
    report.true_residual = true_residual(A, x, b);
    if (rank == 0)
        peer_print(&report);
    check(VecDestroy(&x));
}

int main(int argc, char **argv)
{
    Mat A, scalar = NULL;
    Vec b;
    MatNullSpace modes;
    check(PetscInitialize(&argc, &argv, NULL, NULL));
    if (argc < 6) {
        fprintf(stderr, "usage: petsc-solve FILE BLOCK TOL REPS METHOD:PC ...\n");
        return 2;
    }
    load(argv[1], atoi(argv[2]), &A, &b, &modes);
    for (int i = 5; i < argc; i++) {
        char *colon = strchr(argv[i], ':');
        if (!colon)
            continue;
        *colon = '\0';
        const bool multigrid = strncmp(colon + 1, "amg", 3) == 0;
        if (multigrid && !scalar) {
            check(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &scalar));
            if (modes)
                check(MatSetNearNullSpace(scalar, modes));
        }
        solve(multigrid ? scalar : A, b, atof(argv[3]), atoi(argv[4]), argv[i], colon + 1);
    }
    check(MatDestroy(&A));
    check(MatDestroy(&scalar));
    check(MatNullSpaceDestroy(&modes));
    check(VecDestroy(&b));
    return PetscFinalize();
}

/* PETSc's solvers on a system written by tessera_bench_solve --dump: one line a solver.
 *
 *     mpirun -n 2 --bind-to core petsc-solve FILE BLOCK TOL METHOD PC [METHOD PC ...]
 *
 * METHOD and PC are PETSc's names (cg pbjacobi, bcgs bjacobi: one block a rank, ILU(0) in each).
 * The stopping test is on the unpreconditioned residual, as ours; the true residual is recomputed.
 */
#include <petscksp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(PetscErrorCode error)
{
    if (error)
        MPI_Abort(PETSC_COMM_WORLD, (int)error);
}

static void load(const char *path, int block, Mat *A, Vec *b)
{
    PetscViewer file;
    check(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_READ, &file));
    check(MatCreate(PETSC_COMM_WORLD, A));
    check(MatSetType(*A, MATBAIJ));
    check(MatSetBlockSize(*A, block));
    check(MatLoad(*A, file));
    check(MatCreateVecs(*A, NULL, b));
    check(VecLoad(*b, file));
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

/* The best of three solves, the set-up of the first. */
static void solve(Mat A, Vec b, double tol, const char *method, const char *pc_name)
{
    KSP ksp;
    PC pc;
    Vec x;
    double best = 1e30;
    PetscInt iterations = 0;
    check(VecDuplicate(b, &x));
    check(KSPCreate(PETSC_COMM_WORLD, &ksp));
    check(KSPSetOperators(ksp, A, A));
    check(KSPSetType(ksp, method));
    check(KSPGetPC(ksp, &pc));
    check(PCSetType(pc, pc_name));
    if (strcmp(method, "cg") == 0)
        check(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    else
        check(KSPSetPCSide(ksp, PC_RIGHT));
    check(KSPSetTolerances(ksp, tol, 0, PETSC_DEFAULT, 10000));
    check(KSPSetFromOptions(ksp));
    MPI_Barrier(PETSC_COMM_WORLD);
    double start = MPI_Wtime();
    check(KSPSetUp(ksp));
    check(KSPSetUpOnBlocks(ksp));
    MPI_Barrier(PETSC_COMM_WORLD);
    double setup = MPI_Wtime() - start;
    for (int round = 0; round < 3; round++) {
        check(VecSet(x, 0));
        MPI_Barrier(PETSC_COMM_WORLD);
        start = MPI_Wtime();
        check(KSPSolve(ksp, b, x));
        MPI_Barrier(PETSC_COMM_WORLD);
        double seconds = MPI_Wtime() - start;
        best = seconds < best ? seconds : best;
    }
    check(KSPGetIterationNumber(ksp, &iterations));
    double residual = true_residual(A, x, b);
    char name[64];
    snprintf(name, sizeof name, "petsc %s:pc=%s", method, pc_name);
    check(PetscPrintf(PETSC_COMM_WORLD,
                      "%-36s %5d its  setup %.3f s  solve %.3f s  %.3f ms/it  true %.2e\n", name,
                      (int)iterations, setup, best,
                      1e3 * best / (double)(iterations > 0 ? iterations : 1), residual));
    check(KSPDestroy(&ksp));
    check(VecDestroy(&x));
}

int main(int argc, char **argv)
{
    Mat A;
    Vec b;
    check(PetscInitialize(&argc, &argv, NULL, NULL));
    if (argc < 6) {
        fprintf(stderr, "usage: petsc-solve FILE BLOCK TOL METHOD PC [METHOD PC ...]\n");
        return 2;
    }
    load(argv[1], atoi(argv[2]), &A, &b);
    for (int i = 4; i + 1 < argc; i += 2)
        solve(A, b, atof(argv[3]), argv[i], argv[i + 1]);
    check(MatDestroy(&A));
    check(VecDestroy(&b));
    return PetscFinalize();
}

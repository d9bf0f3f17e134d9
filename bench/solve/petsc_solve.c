/* PETSc's solvers on BAIJ matrices, MPI ranks as threads: see peer_solve.h.
 *
 *     mpirun -n 2 --bind-to core petsc-solve FILE BLOCK TOL REPS METHOD:PC ...
 *
 * amg has rigid motions where there are coordinates. Multigrid takes AIJ, whose conversion is not
 * counted. The true residual is recomputed. petsc_ksp.h has the names.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "peer_solve.h"
#include "petsc_ksp.h"

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

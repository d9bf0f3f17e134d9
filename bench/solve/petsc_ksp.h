/* A solver of PETSc by the names of the bench: pc bjacobi is PETSc's pbjacobi, ilu0 its bjacobi
 * with one ILU(0) a rank, amg is GAMG, amg_other hypre's BoomerAMG. The stopping test is on the
 * unpreconditioned residual. */
#ifndef BENCH_PETSC_KSP_H
#define BENCH_PETSC_KSP_H

#include <petscksp.h>
#include <string.h>

static inline void check(PetscErrorCode error)
{
    if (error)
        MPI_Abort(PETSC_COMM_WORLD, (int)error);
}

static inline KSP make_solver(Mat A, const char *method, const char *pc_name, double tol)
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

#endif

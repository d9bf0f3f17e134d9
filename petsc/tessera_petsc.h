/* Tessera's types for PETSc, by name. docs/petsc.md explains them.
 *
 * A program that is not to be compiled again loads them with -dll_append libtessera_petsc.so. A
 * program that links the library calls TesseraPetscRegister() after PetscInitialize(). */
#ifndef TESSERA_PETSC_H
#define TESSERA_PETSC_H

#include <petscmat.h>
#include <petscpc.h>

#if defined(PETSC_USE_COMPLEX) || !defined(PETSC_USE_REAL_DOUBLE)
#error "Tessera's types need a PETSc of real double precision: Debian's petsc-dev"
#endif
#if defined(PETSC_USE_64BIT_INDICES)
#error "Tessera's types need a PETSc with 32-bit indices: Debian's petsc-dev, not petsc64-dev"
#endif

/* The names of the first two begin with AIJ's: to PETSc they are AIJ matrices that multiply in
 * another way, so that all that takes an AIJ matrix takes them. */
#define MATSEQTESSERA "seqaijtessera"
#define MATMPITESSERA "mpiaijtessera"
#define MATTESSERA "tessera" /* the first on one process, the second on several */
#define PCTESSERA "tessera"  /* Tessera's preconditioners */

/* Makes the types known. To call it again does no harm. */
PETSC_EXTERN PetscErrorCode TesseraPetscRegister(void);

#endif

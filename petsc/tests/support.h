/* What the tests of the plug-in share: random matrices, and the comparison of a matrix of ours with
 * its AIJ twin. */
#ifndef TESSERA_PETSC_TESTS_SUPPORT_H
#define TESSERA_PETSC_TESTS_SUPPORT_H

#include "plugin.h"

#include <stdint.h>

/* What is being tested, for messages: set before each step. */
extern char test_case[512];

/* The same numbers on every process. */
uint64_t random_bits(uint64_t *seed);
PetscInt random_below(uint64_t *seed, PetscInt n);
PetscScalar random_value(uint64_t *seed);

/* Block rows and columns in all and of this process. */
typedef struct shape {
    PetscInt block, rows, cols, local_rows, local_cols;
} shape;

shape random_shape(uint64_t *seed, int square);
/* A random block matrix of that type, assembled by blocks. symmetric: A = A^T. */
PetscErrorCode random_matrix(uint64_t *seed, shape size, int symmetric, MatType type, Mat *A);

/* Random numbers, |x| <= 1. */
PetscErrorCode fill(uint64_t *seed, Vec x);
/* Fails unless |expected - found| <= bound; `found` becomes the difference. */
PetscErrorCode compare(const char *what, Vec expected, Vec found, PetscReal bound);

/* Returns whether every process owns the same rows as columns. */
PetscBool is_square(Mat A);
/* Fails unless both give the same products, transposed products, diagonals and dense products, up
 * to rounding: 2 (n + 2) eps |A| |x|. */
PetscErrorCode check_same(uint64_t *seed, Mat aij, Mat ours);
/* Plans made and values updated so far in the local parts of ours. */
PetscErrorCode count_plans(Mat ours, PetscInt *plans, PetscInt *updates);

#endif

#include "support.h"

char test_case[512] = "";

uint64_t random_bits(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

PetscInt random_below(uint64_t *seed, PetscInt n)
{
    return (PetscInt)(random_bits(seed) % (uint64_t)n);
}

PetscScalar random_value(uint64_t *seed)
{
    return (double)(random_bits(seed) >> 11) * 0x1p-52 - 1.0;
}

shape random_shape(uint64_t *seed, int square)
{
    shape s;
    PetscMPIInt rank, size;
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &size);
    s.block = 1 + random_below(seed, 6);
    s.rows = s.cols = 0;
    for (int r = 0; r < size; r++) {
        PetscInt rows = random_below(seed, 40);
        PetscInt cols = square ? rows : random_below(seed, 40);
        s.rows += rows;
        s.cols += cols;
        if (r == rank) {
            s.local_rows = rows;
            s.local_cols = cols;
        }
    }
    return s;
}

/* Blocks at random places; every process draws all of them and sets those of its own rows. */
static PetscErrorCode set_blocks(uint64_t *seed, shape s, int symmetric, PetscInt first, Mat A)
{
    const PetscInt wanted = 4 * s.rows + random_below(seed, 40);
    PetscScalar block[36], mirror[36];
    PetscBool half;

    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &half, MATSEQSBAIJ, MATMPISBAIJ, ""));
    for (PetscInt k = 0; s.rows && s.cols && k < wanted + s.rows; k++) {
        PetscInt i = k < s.rows ? k : random_below(seed, s.rows);
        PetscInt j = k < s.rows ? k % s.cols : random_below(seed, s.cols);
        for (PetscInt v = 0; v < s.block * s.block; v++)
            block[v] = random_value(seed);
        for (PetscInt v = 0; v < s.block * s.block; v++)
            mirror[v] = block[v % s.block * s.block + v / s.block];
        if (symmetric && i == j)
            for (PetscInt v = 0; v < s.block * s.block; v++)
                block[v] = 0.5 * (block[v] + mirror[v]);
        if (i >= first && i < first + s.local_rows && !(half && j < i))
            PetscCall(MatSetValuesBlocked(A, 1, &i, 1, &j, block, ADD_VALUES));
        if (symmetric && i != j && j >= first && j < first + s.local_rows && !(half && i < j))
            PetscCall(MatSetValuesBlocked(A, 1, &j, 1, &i, mirror, ADD_VALUES));
    }
    PetscFunctionReturn(0);
}

PetscErrorCode random_matrix(uint64_t *seed, shape s, int symmetric, MatType type, Mat *A)
{
    PetscInt first;

    PetscFunctionBegin;
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, s.local_rows * s.block, s.local_cols * s.block, PETSC_DETERMINE,
                          PETSC_DETERMINE));
    PetscCall(MatSetBlockSize(*A, s.block));
    PetscCall(MatSetType(*A, type));
    PetscCall(MatSetFromOptions(*A));
    PetscCall(MatSetUp(*A));
    PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(MatGetOwnershipRange(*A, &first, NULL));
    PetscCall(set_blocks(seed, s, symmetric, first / s.block, *A));
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* ---- Comparison ------------------------------------------------------------------------------ */

PetscErrorCode fill(uint64_t *seed, Vec x)
{
    PetscInt n, first;
    PetscScalar *values;
    uint64_t own;

    PetscFunctionBegin;
    PetscCall(VecGetLocalSize(x, &n));
    PetscCall(VecGetOwnershipRange(x, &first, NULL));
    own = random_bits(seed) + (uint64_t)first;
    PetscCall(VecGetArrayWrite(x, &values));
    for (PetscInt i = 0; i < n; i++)
        values[i] = random_value(&own);
    PetscCall(VecRestoreArrayWrite(x, &values));
    PetscFunctionReturn(0);
}

PetscErrorCode compare(const char *what, Vec expected, Vec found, PetscReal bound)
{
    PetscReal error;

    PetscFunctionBegin;
    PetscCall(VecAXPY(found, -1.0, expected));
    PetscCall(VecNorm(found, NORM_INFINITY, &error));
    PetscCheck(error <= bound, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s differs by %g > %g",
               test_case, what, (double)error, (double)bound);
    PetscFunctionReturn(0);
}

/* Rounding of a product: |x| <= 1, and the terms of a sum are at most as many as columns. */
static PetscErrorCode bound_of(Mat A, NormType type, PetscInt terms, PetscReal *bound)
{
    PetscFunctionBegin;
    PetscCall(MatNorm(A, type, bound));
    *bound = 2.0 * (terms + 2) * PETSC_MACHINE_EPSILON * (*bound + 1.0);
    PetscFunctionReturn(0);
}

static PetscErrorCode check_products(uint64_t *seed, Mat A, Mat B, PetscReal rows, PetscReal cols)
{
    Vec x, y, z, ya, yb, xa, xb;

    PetscFunctionBegin;
    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(VecDuplicate(y, &ya));
    PetscCall(VecDuplicate(y, &yb));
    PetscCall(VecDuplicate(x, &xa));
    PetscCall(VecDuplicate(x, &xb));
    PetscCall(VecDuplicate(x, &z));
    PetscCall(fill(seed, x));
    PetscCall(fill(seed, y));
    PetscCall(fill(seed, z));
    PetscCall(VecSet(yb, NAN)); /* must not be read */
    PetscCall(MatMult(A, x, ya));
    PetscCall(MatMult(B, x, yb));
    PetscCall(compare("MatMult", ya, yb, rows));
    PetscCall(MatMultAdd(A, x, y, ya));
    PetscCall(MatMultAdd(B, x, y, yb));
    PetscCall(compare("MatMultAdd", ya, yb, rows));
    PetscCall(VecCopy(y, yb));
    PetscCall(MatMultAdd(B, x, yb, yb));
    PetscCall(compare("MatMultAdd in place", ya, yb, rows));
    PetscCall(MatMultTranspose(A, y, xa));
    PetscCall(MatMultTranspose(B, y, xb));
    PetscCall(compare("MatMultTranspose", xa, xb, cols));
    PetscCall(MatMultTransposeAdd(A, y, z, xa));
    PetscCall(MatMultTransposeAdd(B, y, z, xb));
    PetscCall(compare("MatMultTransposeAdd", xa, xb, cols));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
    PetscCall(VecDestroy(&ya));
    PetscCall(VecDestroy(&yb));
    PetscCall(VecDestroy(&xa));
    PetscCall(VecDestroy(&xb));
    PetscFunctionReturn(0);
}

static PetscErrorCode check_dense(uint64_t *seed, Mat A, Mat B, PetscReal bound)
{
    Mat X, YA, YB;
    Vec column;
    PetscReal error;

    PetscFunctionBegin;
    PetscInt columns = 1 + random_below(seed, 7);
    PetscCall(
        MatCreateDense(PETSC_COMM_WORLD, A->cmap->n, PETSC_DECIDE, A->cmap->N, columns, NULL, &X));
    for (PetscInt j = 0; j < columns; j++) {
        PetscCall(MatDenseGetColumnVecWrite(X, j, &column));
        PetscCall(fill(seed, column));
        PetscCall(MatDenseRestoreColumnVecWrite(X, j, &column));
    }
    PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
    PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &YA));
    PetscCall(MatMatMult(B, X, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &YB));
    for (int again = 0; again < 2; again++) {
        PetscCall(MatAXPY(YB, -1.0, YA, SAME_NONZERO_PATTERN));
        PetscCall(MatNorm(YB, NORM_INFINITY, &error));
        PetscCheck(error <= columns * bound, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
                   "%s: MatMatMult differs by %g > %g", test_case, (double)error,
                   (double)(columns * bound));
        PetscCall(MatMatMult(B, X, MAT_REUSE_MATRIX, PETSC_DEFAULT, &YB));
    }
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&YA));
    PetscCall(MatDestroy(&YB));
    PetscFunctionReturn(0);
}

static PetscErrorCode check_diagonal(Mat A, Mat B)
{
    Vec da, db;

    PetscFunctionBegin;
    PetscCall(MatCreateVecs(A, NULL, &da));
    PetscCall(VecDuplicate(da, &db));
    PetscCall(MatGetDiagonal(A, da));
    PetscCall(MatGetDiagonal(B, db));
    PetscCall(compare("MatGetDiagonal", da, db, 0.0));
    PetscCall(VecDestroy(&da));
    PetscCall(VecDestroy(&db));
    PetscFunctionReturn(0);
}

PetscBool is_square(Mat A)
{
    PetscBool same = PETSC_FALSE;
    PetscCallAbort(PETSC_COMM_WORLD, PetscLayoutCompare(A->rmap, A->cmap, &same));
    return same;
}

PetscErrorCode check_same(uint64_t *seed, Mat aij, Mat ours)
{
    PetscReal rows, cols;
    PetscBool is_ours;
    PetscInt m, n;
    Mat a, b;

    PetscFunctionBegin;
    PetscCall(
        PetscObjectTypeCompareAny((PetscObject)ours, &is_ours, MATSEQTESSERA, MATMPITESSERA, ""));
    PetscCheck(is_ours, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: the matrix is a %s", test_case,
               ((PetscObject)ours)->type_name);
    PetscCall(MatGetSize(aij, &m, &n));
    PetscCall(bound_of(aij, NORM_INFINITY, n, &rows));
    PetscCall(bound_of(aij, NORM_1, m, &cols));
    PetscCall(check_products(seed, aij, ours, rows, cols));
    PetscCall(check_dense(seed, aij, ours, rows));
    if (is_square(aij)) {
        PetscCall(check_diagonal(aij, ours));
        PetscCall(MatGetDiagonalBlock(aij, &a));
        PetscCall(MatGetDiagonalBlock(ours, &b));
        PetscCall(MatEqual(a, b, &is_ours));
        PetscCheck(is_ours, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: diagonal block", test_case);
    }
    PetscFunctionReturn(0);
}

PetscErrorCode count_plans(Mat ours, PetscInt *plans, PetscInt *updates)
{
    PetscBool parallel;
    Mat parts[2] = {ours, NULL};

    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)ours, MATMPITESSERA, &parallel));
    if (parallel)
        PetscCall(MatMPIAIJGetSeqAIJ(ours, &parts[0], &parts[1], NULL));
    *plans = *updates = 0;
    for (int i = 0; i < 2; i++)
        if (parts[i]) {
            *plans += ((seq_tessera *)parts[i]->spptr)->plans;
            *updates += ((seq_tessera *)parts[i]->spptr)->updates;
        }
    PetscFunctionReturn(0);
}

/* Matrices of Tessera's type do what AIJ matrices do: random matrices are made in every way there
 * is, changed by random operations on both, and compared after each.
 *
 * usage: matrix [-count 40] [-seed 1] and the options of the plug-in */
#include "support.h"

/* ---- Ways to make one ------------------------------------------------------------------------ */

typedef enum { FROM_AIJ, FROM_BAIJ, FROM_SBAIJ, ASSEMBLED, WAYS } way;
static const char *const way_names[] = {"aij", "baij", "sbaij", "assembled"};
static const char *const way_types[] = {MATAIJ, MATBAIJ, MATSBAIJ, MATTESSERA};

/* Makes aij and ours with the same values. */
static PetscErrorCode make_pair(uint64_t *seed, way from, int square, Mat *aij, Mat *ours)
{
    const shape size = random_shape(seed, square || from == FROM_SBAIJ);
    const uint64_t values = random_bits(seed);
    const PetscInt reuse = random_below(seed, 3);
    uint64_t again = values;
    Mat source;

    PetscFunctionBegin;
    PetscCall(random_matrix(&again, size, from == FROM_SBAIJ, MATAIJ, aij));
    again = values;
    PetscCall(random_matrix(&again, size, from == FROM_SBAIJ, way_types[from], &source));
    if (from == ASSEMBLED) {
        *ours = source;
        PetscFunctionReturn(0);
    }
    PetscCall(PetscStrlcat(test_case,
                           reuse == 0   ? " in place"
                           : reuse == 1 ? " new"
                                        : " again",
                           sizeof test_case));
    if (reuse == 0) {
        PetscCall(MatConvert(source, MATTESSERA, MAT_INPLACE_MATRIX, &source));
        *ours = source;
        PetscFunctionReturn(0);
    }
    PetscCall(MatConvert(source, MATTESSERA, MAT_INITIAL_MATRIX, ours));
    if (reuse == 2) {
        PetscCall(MatScale(source, 3.0));
        PetscCall(MatScale(*aij, 3.0));
        PetscCall(MatConvert(source, MATTESSERA, MAT_REUSE_MATRIX, ours));
    }
    PetscCall(MatDestroy(&source));
    PetscFunctionReturn(0);
}

/* ---- Operations ------------------------------------------------------------------------------ */

/* Each does the same to A for the same seed. A may become another matrix. */
typedef PetscErrorCode (*operation_fn)(uint64_t *seed, Mat *A);

static PetscErrorCode scale(uint64_t *seed, Mat *A)
{
    return MatScale(*A, random_value(seed));
}

static PetscErrorCode shift(uint64_t *seed, Mat *A)
{
    return is_square(*A) ? MatShift(*A, random_value(seed)) : 0;
}

static PetscErrorCode diagonal_scale(uint64_t *seed, Mat *A)
{
    Vec left, right;
    PetscScalar l = random_value(seed), r = random_value(seed);

    PetscFunctionBegin;
    PetscCall(MatCreateVecs(*A, &right, &left));
    PetscCall(VecSet(left, l));
    PetscCall(VecSet(right, r));
    PetscCall(MatDiagonalScale(*A, left, right));
    PetscCall(VecDestroy(&left));
    PetscCall(VecDestroy(&right));
    PetscFunctionReturn(0);
}

static PetscErrorCode zero_rows(uint64_t *seed, Mat *A)
{
    PetscInt rows[3];

    PetscFunctionBegin;
    if ((*A)->rmap->N == 0 || !is_square(*A))
        PetscFunctionReturn(0);
    for (int i = 0; i < 3; i++)
        rows[i] = random_below(seed, (*A)->rmap->N);
    PetscCall(random_below(seed, 2) ? MatZeroRows(*A, 1, rows, 2.0, NULL, NULL)
                                    : MatZeroRowsColumns(*A, 1, rows, 2.0, NULL, NULL));
    PetscFunctionReturn(0);
}

static PetscErrorCode add_values(uint64_t *seed, Mat *A)
{
    PetscFunctionBegin;
    PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (int k = 0; k < 5 && (*A)->rmap->N && (*A)->cmap->N; k++) {
        PetscInt i = random_below(seed, (*A)->rmap->N), j = random_below(seed, (*A)->cmap->N);
        PetscScalar value = random_value(seed);
        if (i >= (*A)->rmap->rstart && i < (*A)->rmap->rend)
            PetscCall(MatSetValues(*A, 1, &i, 1, &j, &value, ADD_VALUES));
    }
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

static PetscErrorCode add_matrix(uint64_t *seed, Mat *A)
{
    Mat other;
    PetscScalar factor = random_value(seed);

    PetscFunctionBegin;
    PetscCall(MatDuplicate(*A, MAT_COPY_VALUES, &other));
    PetscCall(MatAXPY(*A, factor, other, SAME_NONZERO_PATTERN));
    PetscCall(add_values(seed, &other));
    PetscCall(MatAXPY(*A, factor, other, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatCopy(other, *A, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatDestroy(&other));
    PetscFunctionReturn(0);
}

static PetscErrorCode duplicate(uint64_t *seed, Mat *A)
{
    Mat other;

    PetscFunctionBegin;
    PetscCall(MatDuplicate(*A, MAT_COPY_VALUES, &other));
    PetscCall(MatScale(*A, random_value(seed)));
    PetscCall(MatDestroy(A));
    *A = other;
    PetscFunctionReturn(0);
}

static PetscErrorCode transpose(uint64_t *seed, Mat *A)
{
    Mat other;

    PetscFunctionBegin;
    (void)seed;
    PetscCall(MatTranspose(*A, MAT_INITIAL_MATRIX, &other));
    PetscCall(MatDestroy(A));
    *A = other;
    PetscFunctionReturn(0);
}

static PetscErrorCode zero_entries(uint64_t *seed, Mat *A)
{
    PetscFunctionBegin;
    PetscCall(MatZeroEntries(*A));
    PetscCall(add_values(seed, A));
    PetscFunctionReturn(0);
}

/* Between storing and retrieving values a product takes others. */
static PetscErrorCode retrieve_values(uint64_t *seed, Mat *A)
{
    Mat other;
    Vec x, y;

    PetscFunctionBegin;
    PetscCall(MatDuplicate(*A, MAT_COPY_VALUES, &other));
    PetscCall(MatCreateVecs(other, &x, &y));
    PetscCall(VecSet(x, 1.0));
    PetscCall(MatSetOption(other, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
    PetscCall(MatStoreValues(other));
    PetscCall(MatScale(other, random_value(seed)));
    PetscCall(MatMult(other, x, y));
    PetscCall(MatRetrieveValues(other));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(MatDestroy(A));
    *A = other;
    PetscFunctionReturn(0);
}

static PetscErrorCode there_and_back(uint64_t *seed, Mat *A)
{
    Mat plain;
    PetscBool ours;

    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompareAny((PetscObject)*A, &ours, MATSEQTESSERA, MATMPITESSERA, ""));
    if (!ours)
        PetscFunctionReturn(0);
    (void)seed;
    PetscCall(MatConvert(*A, MATAIJ, MAT_INITIAL_MATRIX, &plain));
    PetscCall(MatConvert(*A, MATAIJ, MAT_INPLACE_MATRIX, A));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)*A, &ours, MATSEQAIJ, MATMPIAIJ, ""));
    PetscCheck(ours, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: not AIJ", test_case);
    PetscCall(MatEqual(*A, plain, &ours));
    PetscCheck(ours, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: not equal", test_case);
    PetscCall(MatDestroy(&plain));
    PetscCall(MatSetType(*A, MATTESSERA));
    PetscFunctionReturn(0);
}

static const struct {
    const char *name;
    operation_fn change;
    int keeps_plan; /* no plan may be made anew */
} operations[] = {
    {"MatScale", scale, 1},
    {"MatShift", shift, 0},
    {"MatDiagonalScale", diagonal_scale, 1},
    {"MatZeroRows", zero_rows, 0},
    {"MatSetValues", add_values, 0},
    {"MatAXPY", add_matrix, 0},
    {"MatDuplicate", duplicate, 0},
    {"MatTranspose", transpose, 0},
    {"MatZeroEntries", zero_entries, 0},
    {"MatRetrieveValues", retrieve_values, 0},
    {"MatConvert", there_and_back, 0},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* ---- Tests ----------------------------------------------------------------------------------- */

static PetscErrorCode change_both(uint64_t *seed, Mat *aij, Mat *ours)
{
    const PetscInt which = random_below(seed, OPERATIONS);
    const uint64_t same = random_bits(seed);
    uint64_t a = same, b = same;
    PetscInt plans, updates, plans_after, updates_after;

    PetscFunctionBegin;
    PetscCall(PetscStrlcat(test_case, " ", sizeof test_case));
    PetscCall(PetscStrlcat(test_case, operations[which].name, sizeof test_case));
    PetscCall(count_plans(*ours, &plans, &updates));
    PetscCall((*operations[which].change)(&a, aij));
    PetscCall((*operations[which].change)(&b, ours));
    PetscCall(check_same(seed, *aij, *ours));
    PetscCall(count_plans(*ours, &plans_after, &updates_after));
    if (operations[which].keeps_plan) {
        PetscCheck(plans_after == plans, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                   "%s: new values made %d plans", test_case, (int)(plans_after - plans));
        PetscCheck(plans == 0 || updates_after > updates, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                   "%s: new values were not updated", test_case);
    }
    PetscFunctionReturn(0);
}

/* A second, equal product makes no new plan and no update. */
static PetscErrorCode check_kept(uint64_t *seed, Mat aij, Mat ours)
{
    PetscInt plans, updates, plans_after, updates_after;

    PetscFunctionBegin;
    PetscCall(count_plans(ours, &plans, &updates));
    PetscCall(check_same(seed, aij, ours));
    PetscCall(count_plans(ours, &plans_after, &updates_after));
    PetscCheck(plans_after == plans && updates_after == updates, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%s: a plan was not kept", test_case);
    PetscFunctionReturn(0);
}

/* A matrix of a type whose name says nothing of processes. */
static PetscErrorCode check_nest(uint64_t *seed, Mat aij)
{
    Mat nest, ours;

    PetscFunctionBegin;
    PetscCall(PetscStrlcat(test_case, " from a nest", sizeof test_case));
    PetscCall(MatCreateNest(PetscObjectComm((PetscObject)aij), 1, NULL, 1, NULL, &aij, &nest));
    PetscCall(MatConvert(nest, MATTESSERA, MAT_INITIAL_MATRIX, &ours));
    PetscCall(check_same(seed, aij, ours));
    PetscCall(MatDestroy(&ours));
    PetscCall(MatDestroy(&nest));
    PetscFunctionReturn(0);
}

static PetscErrorCode one_case(PetscInt number)
{
    uint64_t seed = (uint64_t)number;
    const way from = (way)random_below(&seed, WAYS);
    Mat aij, ours;

    PetscFunctionBegin;
    PetscCall(PetscSNPrintf(test_case, sizeof test_case, "seed %d: from %s", (int)number,
                            way_names[from]));
    PetscCall(make_pair(&seed, from, (int)random_below(&seed, 2), &aij, &ours));
    PetscCall(check_same(&seed, aij, ours));
    PetscCall(check_kept(&seed, aij, ours));
    for (int i = 0; i < 6; i++)
        PetscCall(change_both(&seed, &aij, &ours));
    PetscCall(check_nest(&seed, aij));
    PetscCall(MatDestroy(&aij));
    PetscCall(MatDestroy(&ours));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscInt count = 40, first = 1;

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(TesseraPetscRegister());
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &first, NULL));
    for (PetscInt number = first; number < first + count; number++)
        PetscCall(one_case(number));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d random matrices: as AIJ\n", (int)count));
    PetscCall(PetscFinalize());
    return 0;
}

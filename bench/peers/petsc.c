/* PETSc: BAIJ (blocks), SBAIJ (upper blocks of a symmetric matrix) and AIJ (scalars).
 *
 * PETSc has no threads. It runs under mpirun with one rank per core. Each rank has a contiguous
 * range of block rows with an equal share of the blocks, which is faster than PETSc's default of
 * equal rows. All ranks run the same conversation: rank 0 reads and answers, the others wait
 * asleep. */
#include <petscmat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

enum { BAIJ, AIJ, SBAIJ, VARIANTS };

static Mat matrices[VARIANTS];
static Vec inputs[VARIANTS], outputs[VARIANTS];
static int64_t *first_row; /* ranks + 1 block rows */
static int rank, ranks;

/* Ends the program on an error of PETSc's: the driver sees the adapter leave and says so. */
static void check(PetscErrorCode error)
{
    if (error)
        MPI_Abort(PETSC_COMM_WORLD, (int)error);
}

static void split_rows(const peer_matrix *A)
{
    int64_t row = 0;
    free(first_row);
    first_row = malloc(((size_t)ranks + 1) * sizeof *first_row);
    for (int part = 0; part < ranks; part++) {
        while (row < A->size.block_rows && A->row_offsets[row] * ranks < A->size.blocks * part)
            row++;
        first_row[part] = row;
    }
    first_row[ranks] = A->size.block_rows;
}

/* This rank's block rows in 32 bits, all blocks or the upper ones only; blocks row-major, as
 * PETSc takes them by default. */
typedef struct local_blocks {
    PetscInt *offsets, *columns;
    double *values;
} local_blocks;

static bool take_local_blocks(const peer_matrix *A, bool upper, local_blocks *local)
{
    int64_t first = first_row[rank], last = first_row[rank + 1];
    size_t b = (size_t)A->size.block_height, size = b * b, at = 0;
    size_t count = (size_t)(A->row_offsets[last] - A->row_offsets[first]);
    local->offsets = malloc((size_t)(last - first + 1) * sizeof *local->offsets);
    local->columns = malloc((count + 1) * sizeof *local->columns);
    local->values = malloc((count * size + 1) * sizeof *local->values);
    if (!local->offsets || !local->columns || !local->values)
        return false;
    local->offsets[0] = 0;
    for (int64_t row = first; row < last; row++) {
        for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++) {
            if (upper && A->columns[k] < row)
                continue;
            local->columns[at] = A->columns[k];
            for (size_t i = 0; i < size; i++)
                local->values[at * size + i % b * b + i / b] = A->values[(size_t)k * size + i];
            at++;
        }
        local->offsets[row - first + 1] = (PetscInt)at;
    }
    return true;
}

static const char *load_blocks(const peer_matrix *A, Mat matrix, bool symmetric)
{
    local_blocks local = {0};
    PetscInt b = (PetscInt)A->size.block_height;
    bool good = take_local_blocks(A, symmetric, &local);
    if (good) {
        if (symmetric && ranks == 1)
            check(MatSeqSBAIJSetPreallocationCSR(matrix, b, local.offsets, local.columns,
                                                 local.values));
        else if (symmetric)
            check(MatMPISBAIJSetPreallocationCSR(matrix, b, local.offsets, local.columns,
                                                 local.values));
        else if (ranks == 1)
            check(MatSeqBAIJSetPreallocationCSR(matrix, b, local.offsets, local.columns,
                                                local.values));
        else
            check(MatMPIBAIJSetPreallocationCSR(matrix, b, local.offsets, local.columns,
                                                local.values));
    }
    free(local.offsets);
    free(local.columns);
    free(local.values);
    return good ? NULL : "out of memory";
}

static const char *load_scalars(const peer_matrix *A, Mat matrix)
{
    peer_csr csr;
    if (!peer_make_csr(A, first_row[rank], first_row[rank + 1], &csr))
        return "too large for 32-bit offsets";
    if (ranks == 1)
        check(MatSeqAIJSetPreallocationCSR(matrix, csr.offsets, csr.columns, csr.values));
    else
        check(MatMPIAIJSetPreallocationCSR(matrix, csr.offsets, csr.columns, csr.values));
    peer_free_csr(&csr);
    return NULL;
}

static const char *load(int variant, const peer_matrix *A)
{
    static const char *const types[] = {MATBAIJ, MATAIJ, MATSBAIJ};
    if (A->size.rows != A->size.cols || A->size.block_height != A->size.block_width)
        return "the adapter takes square matrices with square blocks only";
    if (A->size.blocks * A->size.block_height * A->size.block_width > INT32_MAX)
        return "too large for 32-bit offsets";
    if (variant == SBAIJ && !peer_is_symmetric(A))
        return "the matrix is not symmetric";
    split_rows(A);
    PetscInt local = (PetscInt)((first_row[rank + 1] - first_row[rank]) * A->size.block_height);
    Mat matrix;
    check(MatCreate(PETSC_COMM_WORLD, &matrix));
    check(MatSetSizes(matrix, local, local, PETSC_DETERMINE, PETSC_DETERMINE));
    check(MatSetBlockSize(matrix, (PetscInt)(variant == AIJ ? 1 : A->size.block_height)));
    check(MatSetType(matrix, types[variant]));
    const char *reason =
        variant == AIJ ? load_scalars(A, matrix) : load_blocks(A, matrix, variant == SBAIJ);
    if (reason)
        return reason;
    if (variant == SBAIJ)
        check(MatSetOption(matrix, MAT_SYMMETRIC, PETSC_TRUE));
    check(MatCreateVecs(matrix, &inputs[variant], &outputs[variant]));
    double *x;
    check(VecGetArray(inputs[variant], &x));
    memcpy(x, A->x + first_row[rank] * A->size.block_height, (size_t)local * sizeof *x);
    check(VecRestoreArray(inputs[variant], &x));
    matrices[variant] = matrix;
    return NULL;
}

static void multiply(int variant)
{
    MPI_Barrier(PETSC_COMM_WORLD);
    check(MatMult(matrices[variant], inputs[variant], outputs[variant]));
    MPI_Barrier(PETSC_COMM_WORLD);
}

static void result(int variant, double *y)
{
    Vec whole;
    VecScatter gather;
    check(VecScatterCreateToZero(outputs[variant], &gather, &whole));
    check(VecScatterBegin(gather, outputs[variant], whole, INSERT_VALUES, SCATTER_FORWARD));
    check(VecScatterEnd(gather, outputs[variant], whole, INSERT_VALUES, SCATTER_FORWARD));
    if (rank == 0) {
        const double *values;
        PetscInt count;
        check(VecGetLocalSize(whole, &count));
        check(VecGetArrayRead(whole, &values));
        memcpy(y, values, (size_t)count * sizeof *y);
        check(VecRestoreArrayRead(whole, &values));
    }
    check(VecScatterDestroy(&gather));
    check(VecDestroy(&whole));
}

/* MPI's own waiting spins at full speed, which would take a core from the measured library. So the
 * ranks look for the next line every millisecond and sleep in between. */
static bool read_line(char *line, size_t size)
{
    if (rank == 0 && !fgets(line, (int)size, stdin))
        snprintf(line, size, "quit\n");
    MPI_Request request;
    int arrived = 0;
    MPI_Ibcast(line, (int)size, MPI_CHAR, 0, PETSC_COMM_WORLD, &request);
    for (;;) {
        MPI_Test(&request, &arrived, MPI_STATUS_IGNORE);
        if (arrived)
            return true;
        usleep(1000);
    }
}

int main(int argc, char **argv)
{
    static const char *const variants[] = {"baij", "aij", "sbaij", NULL};
    char version[64];
    check(PetscInitialize(&argc, &argv, NULL, NULL));
    MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
    MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
    snprintf(version, sizeof version, "%d.%d.%d", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR,
             PETSC_VERSION_SUBMINOR);
    peer_library library = {.name = "petsc",
                            .version = version,
                            .threads = ranks,
                            .variants = variants,
                            .load = load,
                            .multiply = multiply,
                            .result = result,
                            .read_line = read_line,
                            .silent = rank != 0};
    int status = peer_main(&library);
    check(PetscFinalize());
    return status;
}

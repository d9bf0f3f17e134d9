/* The matrix on all ranks: whole for the ways of one process, in contiguous rows for ranks, and the
 * same rows for PETSc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../solve/petsc_ksp.h"
#include "contest.h"

void must(contest *c, tess_status status)
{
    if (status == TESS_OK)
        return;
    fprintf(stderr, "rank %d: %s %s\n", c->rank, tess_ctx_error(c->ctx), tess_ctx_error(c->alone));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *reserve(contest *c, int64_t count, size_t size)
{
    void *memory = calloc((size_t)count + 1, size);
    if (!memory) {
        fprintf(stderr, "rank %d: no memory for %lld numbers\n", c->rank, (long long)count);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* This rank's block rows, values by rows of a block: what tess_part_create and PETSc take. */
typedef struct own_rows {
    int64_t first, count, *offsets, *columns;
    const double *values;
} own_rows;

static own_rows rows_of(contest *c, const double *values)
{
    const tess_matrix_view *v = &c->sizes;
    tess_partition *partition;
    own_rows mine = {0};
    must(c, tess_partition_create(c->ctx, c->A, c->ranks, NULL, &partition));
    for (int r = 0; r < c->rank; r++)
        mine.first += partition->parts[r].block_rows;
    mine.count = partition->parts[c->rank].block_rows;
    const int64_t at = v->row_offsets[mine.first];
    const int64_t blocks = v->row_offsets[mine.first + mine.count] - at;
    mine.offsets = reserve(c, mine.count + 1, sizeof *mine.offsets);
    mine.columns = reserve(c, blocks, sizeof *mine.columns);
    for (int64_t i = 0; i <= mine.count; i++)
        mine.offsets[i] = v->row_offsets[mine.first + i] - at;
    for (int64_t k = 0; k < blocks; k++)
        mine.columns[k] = v->columns[at + k];
    mine.values = values + at * v->block_height * v->block_height;
    tess_partition_destroy(partition);
    return mine;
}

static void make_part(contest *c, const own_rows *mine)
{
    const tess_part_view view = {.type = TESS_F64,
                                 .rows = mine->count * c->sizes.block_height,
                                 .block = c->sizes.block_height,
                                 .order = TESS_ORDER_ROW_MAJOR,
                                 .row_offsets = mine->offsets,
                                 .columns = mine->columns,
                                 .values = mine->values};
    must(c, tess_part_create(c->ctx, &c->comm, &view, &c->part));
    must(c, tess_part_get_info(c->part, sizeof c->info, &c->info));
}

static void make_petsc(contest *c, const own_rows *mine)
{
    const PetscInt b = c->sizes.block_height, rows = (PetscInt)mine->count * b;
    PetscInt *offsets = reserve(c, mine->count + 1, sizeof *offsets);
    PetscInt *columns = reserve(c, mine->offsets[mine->count], sizeof *columns);
    for (int64_t i = 0; i <= mine->count; i++)
        offsets[i] = (PetscInt)mine->offsets[i];
    for (int64_t k = 0; k < mine->offsets[mine->count]; k++)
        columns[k] = (PetscInt)mine->columns[k];
    check(MatCreate(PETSC_COMM_WORLD, &c->mat));
    check(MatSetSizes(c->mat, rows, rows, PETSC_DETERMINE, PETSC_DETERMINE));
    check(MatSetType(c->mat, MATMPIBAIJ));
    check(MatMPIBAIJSetPreallocationCSR(c->mat, b, offsets, columns, mine->values));
    check(MatCreateVecs(c->mat, &c->petsc_x, &c->petsc_b));
    free(offsets);
    free(columns);
}

/* The devices and plans of the two ways of one process. */
static void make_alone(contest *c)
{
    char name[2][64];
    size_t at = (size_t)snprintf(name[PARTS], sizeof name[PARTS], "cpu:1");
    snprintf(name[THREADS], sizeof name[THREADS], "cpu:%d", c->ranks);
    for (int r = 1; r < c->ranks && at + 3 < sizeof name[PARTS]; r++)
        at += (size_t)snprintf(name[PARTS] + at, sizeof name[PARTS] - at, ",1");
    for (int w = 0; w < RANKS; w++) {
        must(c, tess_device_open(c->alone, name[w], &c->device[w]));
        must(c, tess_plan_create(c->alone, c->A, c->device[w], NULL, &c->plan[w]));
    }
}

/* Makes b = A times ones, for every work, by the reference backend. */
static void make_vectors(contest *c)
{
    tess_device *device;
    tess_plan *plan;
    c->b = reserve(c, c->info.rows, sizeof *c->b);
    c->x = reserve(c, c->info.rows, sizeof *c->x);
    if (c->rank == 0) {
        c->whole_b = reserve(c, c->sizes.rows, sizeof *c->whole_b);
        c->whole_x = reserve(c, c->sizes.rows, sizeof *c->whole_x);
        c->truth = reserve(c, c->sizes.rows, sizeof *c->truth);
        for (int64_t i = 0; i < c->sizes.rows; i++)
            c->whole_x[i] = 1 + (double)(i * 7919 % 1009) / 1009;
        must(c, tess_device_open(c->ctx, "ref", &device));
        must(c, tess_plan_create(c->ctx, c->A, device, NULL, &plan));
        must(c, tess_spmv(plan, 1, c->whole_x, 0, c->whole_b));
        must(c, tess_spmv(plan, 1, c->whole_b, 0, c->truth));
        tess_plan_destroy(plan);
        tess_device_close(device);
    }
    must(c, tess_part_deal_vector(c->part, c->whole_b, c->b));
    double *petsc;
    check(VecGetArray(c->petsc_b, &petsc));
    memcpy(petsc, c->b, (size_t)c->info.rows * sizeof *c->b);
    check(VecRestoreArray(c->petsc_b, &petsc));
}

void set_up(contest *c)
{
    must(c, tess_matrix_input(c->ctx, c->input, &c->A));
    tess_matrix_get_view(c->A, &c->sizes);
    const int64_t b = c->sizes.block_height;
    if (c->sizes.type != TESS_F64 || c->sizes.rows != c->sizes.cols || c->sizes.block_width != b ||
        c->sizes.rows % b != 0) {
        fprintf(stderr, "%s: a square matrix of square blocks in f64 is needed\n", c->input);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    double *values = reserve(c, c->sizes.blocks * b * b, sizeof *values);
    must(c, tess_matrix_export_values(c->ctx, c->A, TESS_ORDER_ROW_MAJOR, values));
    own_rows mine = rows_of(c, values);
    make_part(c, &mine);
    make_petsc(c, &mine);
    free(mine.offsets);
    free(mine.columns);
    free(values);
    if (c->rank > 0) {
        tess_matrix_destroy(c->A);
        c->A = NULL;
    }
    make_vectors(c);
    must(c, tess_device_open(c->ctx, "cpu:1", &c->device[RANKS]));
    must(c, tess_plan_create_part(c->part, c->device[RANKS], NULL, &c->plan[RANKS]));
    meet();
    if (c->rank == 0)
        make_alone(c);
    meet();
}

void tear_down(contest *c)
{
    for (int w = PETSC - 1; w >= 0; w--) {
        tess_plan_destroy(c->plan[w]);
        tess_device_close(c->device[w]);
    }
    tess_part_destroy(c->part);
    tess_matrix_destroy(c->A);
    check(MatDestroy(&c->mat));
    check(VecDestroy(&c->petsc_b));
    check(VecDestroy(&c->petsc_x));
    free(c->b), free(c->x), free(c->whole_b), free(c->whole_x), free(c->truth);
}

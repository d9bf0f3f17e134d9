/* Assembly on the ranks of MPI: a chain of springs with 3 unknowns per node. Most elements are
 * computed on ranks that do not own their rows. Then one rank makes a mistake, and all ranks report
 * it.
 *
 * Element e couples nodes e and e + 1 by (k, -k; -k, k) with k = (e + 1) I: A times the vector
 * whose node n has n + 1 is known. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/tessera_mpi.h"

enum { NODES = 41, BLOCK = 3 };

static int rank, size, bad;

static void check(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "rank %d of %d: %s\n", rank, size, what);
    bad = 1;
}

static void add_spring(tess_part_builder *builder, int64_t e, double times)
{
    const int64_t nodes[2] = {e, e + 1};
    double dense[4 * BLOCK * BLOCK] = {0};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int c = 0; c < BLOCK; c++)
                dense[(i * BLOCK + c) * 2 * BLOCK + j * BLOCK + c] =
                    times * (i == j ? 1 : -1) * (double)(e + 1);
    check(tess_part_builder_add(builder, 2, nodes, 2, NULL, dense, TESS_ORDER_ROW_MAJOR) == TESS_OK,
          "an element is refused");
}

/* Deals the elements out one by one, so that few of them are computed where their rows are. */
static void add_all(tess_part_builder *builder, double times)
{
    for (int64_t e = 0; e + 1 < NODES; e++)
        if ((e + 1) % size == rank)
            add_spring(builder, e, times);
}

/* Row n of A x with x_n = n + 1: the springs n - 1 and n, of strength n and n + 1. */
static double expected(int64_t n)
{
    return (n > 0 ? (double)n : 0) - (n + 1 < NODES ? (double)(n + 1) : 0);
}

static void check_product(tess_plan *plan, int64_t first, int64_t count, double times)
{
    double *x = calloc((size_t)(count * BLOCK + 1), sizeof *x);
    double *y = calloc((size_t)(count * BLOCK + 1), sizeof *y);
    for (int64_t i = 0; i < count * BLOCK; i++)
        x[i] = (double)(first + i / BLOCK + 1);
    check(tess_spmv(plan, 1, x, 0, y) == TESS_OK, "the product fails");
    for (int64_t i = 0; i < count * BLOCK; i++)
        check(fabs(y[i] - times * expected(first + i / BLOCK)) < 1e-10, "y is wrong");
    free(x);
    free(y);
}

/* Checks that all ranks report the last rank's mistake. */
static void check_mistake(tess_ctx *ctx, tess_part_builder *builder)
{
    const int64_t row = NODES, column = 0;
    const double dense[BLOCK * BLOCK] = {0};
    tess_part *part;
    char words[64];
    if (rank == size - 1)
        (void)tess_part_builder_add(builder, 1, &row, 1, &column, dense, TESS_ORDER_ROW_MAJOR);
    check(tess_part_builder_finish(builder, &part) == TESS_ERR_ARGUMENT, "the mistake is accepted");
    snprintf(words, sizeof words, "block row %d is outside 0..%d", NODES, NODES - 1);
    check(strstr(tess_ctx_error(ctx), words) != NULL, tess_ctx_error(ctx));
    snprintf(words, sizeof words, "part %d of %d", size - 1, size);
    check(size == 1 || strstr(tess_ctx_error(ctx), words), tess_ctx_error(ctx));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int64_t first = NODES * (int64_t)rank / size;
    const int64_t count = NODES * (int64_t)(rank + 1) / size - first;
    tess_ctx *ctx;
    tess_comm comm;
    tess_device *device = NULL;
    tess_part_builder *builder = NULL;
    tess_part *part = NULL;
    tess_plan *plan = NULL;
    if (tess_ctx_create(NULL, &ctx) != TESS_OK ||
        tess_mpi_comm_open(ctx, MPI_COMM_WORLD, &comm) != TESS_OK ||
        tess_device_open(ctx, "cpu:1", &device) != TESS_OK ||
        tess_part_builder_create(ctx, &comm, TESS_F64, count * BLOCK, BLOCK, &builder) != TESS_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    add_all(builder, 1);
    if (tess_part_builder_finish(builder, &part) != TESS_OK ||
        tess_plan_create_part(part, device, NULL, &plan) != TESS_OK) {
        fprintf(stderr, "%s\n", tess_ctx_error(ctx));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    check_product(plan, first, count, 1);
    add_all(builder, 2.5);
    check(tess_part_builder_update(builder, plan) == TESS_OK, "new values are refused");
    check_product(plan, first, count, 2.5);
    check_mistake(ctx, builder);
    tess_plan_destroy(plan);
    tess_part_destroy(part);
    tess_part_builder_destroy(builder);
    tess_device_close(device);
    tess_mpi_comm_close(&comm);
    tess_ctx_destroy(ctx);
    int any;
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return any;
}

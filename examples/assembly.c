/* A cantilever of bars, assembled by two threads from 4 x 4 element matrices, under its own weight.
 *
 *     clamped  o---o---o---o   Every square has its four sides and both diagonals. A node has two
 *     at x = 0 | X | X | X |   unknowns, its displacement, so the matrix has 2 x 2 blocks.
 *              o---o---o---o
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

enum { LONG = 60, HIGH = 6, THREADS = 2 }; /* squares, and who assembles them */

/* Node (i, j) as a block row; -1 where it is clamped, which add_element skips. */
static int64_t node(int i, int j)
{
    return i == 0 ? -1 : (int64_t)(i - 1) * (HIGH + 1) + j;
}

/* A bar from (i, j) along (di, dj): stiffness d d^T / |d|^3, and the opposite between its ends. */
static tess_status add_bar(tess_inserter *mine, int i, int j, int di, int dj)
{
    const int64_t ends[2] = {node(i, j), node(i + di, j + dj)};
    const double d[2] = {di, dj}, length = hypot(di, dj);
    double element[16]; /* row-major: unknowns of the first end, then of the second */
    for (int row = 0; row < 4; row++)
        for (int col = 0; col < 4; col++)
            element[4 * row + col] =
                (row / 2 == col / 2 ? 1 : -1) * d[row % 2] * d[col % 2] / pow(length, 3);
    return tess_inserter_add_element(mine, 2, ends, 2, NULL, element, TESS_ORDER_ROW_MAJOR);
}

typedef struct share {
    tess_inserter *mine;
    int first, last; /* columns of nodes */
} share;

static void *assemble(void *user)
{
    const share *s = user;
    tess_status status = TESS_OK; /* a failure stays in the inserter: finish reports it */
    for (int i = s->first; i < s->last && status == TESS_OK; i++)
        for (int j = 0; j <= HIGH && status == TESS_OK; j++) {
            if (j < HIGH)
                status = add_bar(s->mine, i, j, 0, 1);
            if (i < LONG)
                status = add_bar(s->mine, i, j, 1, 0);
            if (i < LONG && j < HIGH)
                status = add_bar(s->mine, i, j, 1, 1);
            if (i < LONG && j > 0)
                status = add_bar(s->mine, i, j, 1, -1);
        }
    return NULL;
}

static tess_status build(tess_ctx *ctx, tess_matrix **A)
{
    const int64_t rows = 2 * (int64_t)LONG * (HIGH + 1);
    tess_builder *builder;
    tess_status status = tess_builder_create(ctx, TESS_F64, rows, rows, 2, 2, THREADS, &builder);
    if (status != TESS_OK)
        return status;
    pthread_t threads[THREADS];
    share shares[THREADS];
    for (int t = 0; t < THREADS; t++) {
        shares[t] = (share){tess_builder_inserter(builder, t), (LONG + 1) * t / THREADS,
                            (LONG + 1) * (t + 1) / THREADS};
        if (pthread_create(&threads[t], NULL, assemble, &shares[t]) != 0)
            abort();
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    status = tess_builder_finish(builder, A);
    tess_builder_destroy(builder);
    return status;
}

int main(void)
{
    enum { ROWS = 2 * LONG * (HIGH + 1) };
    static double weight[ROWS], x[ROWS];
    tess_ctx *ctx = NULL;
    tess_matrix *A = NULL;
    tess_device *device = NULL;
    tess_plan *plan = NULL;
    tess_result result;
    for (int i = 0; i < ROWS; i += 2)
        weight[i + 1] = -1e-6; /* every node pulls down */
    if (tess_ctx_create(NULL, &ctx) != TESS_OK)
        return 1;
    int ok = build(ctx, &A) == TESS_OK && tess_device_open(ctx, "cpu", &device) == TESS_OK &&
             tess_plan_create(ctx, A, device, NULL, &plan) == TESS_OK &&
             tess_solve(plan, "cg:pc=bjacobi,tol=1e-10", weight, x, &result) == TESS_OK;
    if (ok)
        printf("%s: %s\nthe tip sinks by %.4f\n", tess_reason_name(result.reason), result.text,
               -x[2 * node(LONG, HIGH) + 1]);
    else
        fprintf(stderr, "assembly: %s\n", tess_ctx_error(ctx));
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    tess_ctx_destroy(ctx);
    return ok && result.reason == TESS_REASON_CONVERGED ? 0 : 1;
}

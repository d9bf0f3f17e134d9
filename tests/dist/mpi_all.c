/* On the ranks of MPI: every product form by every partition, and every method with every
 * preconditioner on ranges drawn at random, each against one part and twice with the same bits.
 * Then faults on one rank, which all ranks report.
 *
 *     mpirun -n N dist_mpi_all              on processors
 *     mpirun -n N dist_mpi_all DEVICE STEP  on DEVICE: one matrix in the default form and another
 * one, each method with every STEP-th preconditioner
 *
 * All ranks generate the whole matrix and know the whole vectors. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/tessera_mpi.h"

enum { RANKS = 64 };

static int rank, size, bad;
static tess_ctx *ctx;
static tess_comm comm;
static tess_device *device, *host;
static const tess_plan_options guess = {.size = sizeof guess, .effort = TESS_EFFORT_ESTIMATE};

static void check(int good, const char *what, const char *which)
{
    if (good)
        return;
    fprintf(stderr, "rank %d of %d: %s: %s (%s)\n", rank, size, which, what, tess_ctx_error(ctx));
    bad = 1;
}

/* The same numbers on all ranks. */
static double *draw(int64_t count, unsigned seed)
{
    double *v = malloc((size_t)(count + 1) * sizeof *v);
    uint64_t state = 0x9e3779b97f4a7c15u * (seed + 1);
    for (int64_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        v[i] = (double)(int64_t)(state >> 11) / (double)(1LL << 52) - 1;
    }
    return v;
}

static tess_matrix *generate(const char *spec, tess_matrix_view *view)
{
    tess_matrix *A;
    void *b = NULL;
    if (tess_matrix_generate(ctx, spec, &A, &b) != TESS_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    tess_release(ctx, b);
    tess_matrix_get_view(A, view);
    return A;
}

static double largest(const double *a, const double *b, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs(a[i] - (b ? b[i] : 0)));
    return most;
}

/* ---- Products ---- */

enum { FORWARD, TRANSPOSED, WITH_DOT, SEVERAL, PRODUCTS };

static tess_status multiply(tess_plan *plan, int product, const double *x, double *y, double *dot)
{
    switch (product) {
    case FORWARD:
        return tess_spmv(plan, 1.5, x, 0, y);
    case TRANSPOSED:
        return tess_spmv_transpose(plan, -1, x, 0, y);
    case WITH_DOT:
        return tess_spmv_dot(plan, 1, x, 0, y, x, dot);
    default:
        return tess_spmm(plan, 2, TESS_ORDER_ROW_MAJOR, 2, x, 2, 0, y, 2);
    }
}

/* One product of the ranks against that of a plan of the whole matrix, twice the same bits. */
static void compare(tess_plan *plan, tess_plan *whole, int product, int64_t n, int64_t rows,
                    const int64_t *mine, const char *which)
{
    const int k = product == SEVERAL ? 2 : 1;
    double *x = draw(n * k, 3), *expected = draw(n * k, 4), dot[3] = {0};
    double *my_x = draw(rows * k, 5), *y = draw(rows * k, 6), *again = draw(rows * k, 7);
    for (int64_t i = 0; i < rows; i++)
        memcpy(my_x + i * k, x + mine[i] * k, (size_t)k * sizeof *x);
    check(multiply(whole, product, x, expected, &dot[0]) == TESS_OK, "the whole product", which);
    check(multiply(plan, product, my_x, y, &dot[1]) == TESS_OK, "the product fails", which);
    check(multiply(plan, product, my_x, again, &dot[2]) == TESS_OK, "the product fails", which);
    check(memcmp(y, again, (size_t)(rows * k) * sizeof *y) == 0 && dot[1] == dot[2],
          "other bits the second time", which);
    const double size_of_y = largest(expected, NULL, n * k);
    double error = fabs(dot[1] - dot[0]) / ((double)n * (size_of_y + 1));
    for (int64_t i = 0; i < rows; i++)
        error = fmax(error, largest(y + i * k, expected + mine[i] * k, k) / (size_of_y + 1));
    check(error <= 1e-13, "y differs from the whole product's", which);
    free(x), free(expected), free(my_x), free(y), free(again);
}

/* With `step` 1, every partition and form. */
static void all_products(const char *spec, int step)
{
    tess_matrix_view v;
    tess_matrix *A = generate(spec, &v);
    tess_plan *whole, *plan;
    check(tess_plan_create(ctx, A, host, &guess, &whole) == TESS_OK, "no plan", spec);
    int forms = 0;
    while (tess_product_form_name(forms))
        forms++;
    for (int p = 0; tess_partition_name(p) && (step == 1 || p < 2); p++) {
        const char *partition = tess_partition_name(p);
        tess_part *part;
        tess_part_info info;
        char which[128];
        const tess_status dealt =
            tess_part_deal_by(ctx, &comm, rank == 0 ? A : NULL, partition, &part);
        if (dealt == TESS_ERR_UNSUPPORTED && p >= 2)
            continue; /* METIS or SCOTCH is missing */
        check(dealt == TESS_OK, "dealing out", spec);
        tess_part_get_info(part, sizeof info, &info);
        int64_t *mine = malloc((size_t)(info.rows + 1) * sizeof *mine);
        check(tess_part_get_rows(part, mine) == TESS_OK, "which rows", spec);
        for (int f = 0; f <= forms; f += step > 1 ? 2 + p : 1) {
            tess_plan_options options = guess;
            options.form = f < forms ? tess_product_form_name(f) : "shuffle:lambda=2";
            snprintf(which, sizeof which, "%s, %s, %s", spec, partition, options.form);
            check(tess_plan_create_part(part, device, &options, &plan) == TESS_OK, "no plan",
                  which);
            for (int product = 0; product < PRODUCTS; product++)
                compare(plan, whole, product, v.rows, info.rows, mine, which);
            tess_plan_destroy(plan);
        }
        free(mine);
        tess_part_destroy(part);
    }
    tess_plan_destroy(whole);
    tess_matrix_destroy(A);
}

/* ---- Solves ---- */

/* Ranges of block rows drawn at random, empty ones included. */
static void draw_ranges(int64_t block_rows, unsigned seed, int64_t firsts[RANKS + 1])
{
    double *at = draw(size, seed);
    firsts[0] = 0;
    for (int r = 1; r < size; r++) {
        firsts[r] = (int64_t)((at[r] + 1) / 2 * (double)(block_rows + 1));
        for (int i = r; i > 1 && firsts[i - 1] > firsts[i]; i--) {
            const int64_t kept = firsts[i];
            firsts[i] = firsts[i - 1];
            firsts[i - 1] = kept;
        }
    }
    firsts[size] = block_rows;
    free(at);
}

static tess_status take_rows(const tess_matrix_view *v, const int64_t *firsts, tess_part **part)
{
    const int64_t first = firsts[rank], count = firsts[rank + 1] - first;
    const int64_t at = v->row_offsets[first], blocks = v->row_offsets[first + count] - at;
    int64_t *offsets = malloc((size_t)(count + 1) * sizeof *offsets);
    int64_t *columns = malloc((size_t)(blocks + 1) * sizeof *columns);
    for (int64_t i = 0; i <= count; i++)
        offsets[i] = v->row_offsets[first + i] - at;
    for (int64_t k = 0; k < blocks; k++)
        columns[k] = v->columns[at + k];
    const int64_t area = (int64_t)v->block_height * v->block_width;
    const tess_part_view rows = {.type = TESS_F64,
                                 .rows = count * v->block_height,
                                 .block = v->block_height,
                                 .order = TESS_ORDER_COLUMN_MAJOR,
                                 .row_offsets = offsets,
                                 .columns = columns,
                                 .values = (const double *)v->values + at * area};
    const tess_status status = tess_part_create(ctx, &comm, &rows, part);
    free(offsets), free(columns);
    return status;
}

/* |b - A x| / |b| by the whole matrix. */
static double residual_of(tess_plan *whole, int64_t n, const double *b, const double *x)
{
    double *r = malloc((size_t)n * sizeof *r), rr = 0, bb = 0;
    memcpy(r, b, (size_t)n * sizeof *r);
    check(tess_spmv(whole, -1, x, 1, r) == TESS_OK, "the whole product", "a residual");
    for (int64_t i = 0; i < n; i++) {
        rr += r[i] * r[i];
        bb += b[i] * b[i];
    }
    free(r);
    return sqrt(rr / bb);
}

static tess_status solve_twice(tess_plan *plan, const char *spec, int64_t rows, const double *b,
                               double *x, tess_result *result)
{
    double *again = calloc((size_t)(rows + 1), sizeof *again);
    tess_solver *solver;
    tess_result second;
    memset(x, 0, (size_t)rows * sizeof *x);
    tess_status status = tess_solver_create(plan, spec, &solver);
    if (status == TESS_OK) {
        status = tess_solver_solve(solver, b, x, result);
        if (status == TESS_OK)
            status = tess_solver_solve(solver, b, again, &second);
        check(status != TESS_OK || memcmp(x, again, (size_t)rows * sizeof *x) == 0,
              "other bits the second time", spec);
        tess_solver_destroy(solver);
    }
    free(again);
    return status;
}

/* Returns whether one part takes the spec. x is then its solution. */
static int solve_alone(tess_plan *whole, const char *spec, const double *b, double *x, int64_t n)
{
    tess_result result;
    memset(x, 0, (size_t)n * sizeof *x);
    return tess_solve(whole, spec, b, x, &result) == TESS_OK &&
           result.reason == TESS_REASON_CONVERGED;
}

static void solve_on_ranks(const tess_matrix_view *v, tess_plan *whole, const char *spec,
                           unsigned seed, tess_status expected)
{
    const int64_t n = v->rows;
    int64_t firsts[RANKS + 1];
    double *b = draw(n, seed), *alone = draw(n, 1), *x = draw(n, 2), *mine = draw(n, 2);
    tess_part *part;
    tess_plan *plan;
    tess_result result = {0};
    draw_ranges(n / v->block_height, seed, firsts);
    const int64_t first = firsts[rank] * v->block_height;
    const int64_t rows = firsts[rank + 1] * v->block_height - first;
    if (solve_alone(whole, spec, b, alone, n)) {
        check(take_rows(v, firsts, &part) == TESS_OK, "no part", spec);
        check(tess_plan_create_part(part, device, &guess, &plan) == TESS_OK, "no plan", spec);
        check(solve_twice(plan, spec, rows, b + first, mine, &result) == expected,
              "not the status that was expected", spec);
        if (expected == TESS_OK) {
            check(result.reason == TESS_REASON_CONVERGED, result.text, spec);
            check(tess_part_collect_vector(part, mine, rank == 0 ? x : NULL) == TESS_OK,
                  "collecting x", spec);
            check(rank > 0 || residual_of(whole, n, b, x) <= 1.1e-8, "the true residual", spec);
            check(rank > 0 || largest(x, alone, n) <= 1e-6 * largest(alone, NULL, n),
                  "x is not that of one part", spec);
        }
        tess_plan_destroy(plan);
        tess_part_destroy(part);
    }
    free(b), free(alone), free(x), free(mine);
}

static void all_solves(const char *generator, int step)
{
    tess_matrix_view v;
    tess_matrix *A = generate(generator, &v);
    tess_plan *whole;
    check(tess_plan_create(ctx, A, host, &guess, &whole) == TESS_OK, "no plan", generator);
    for (int m = 0; tess_solve_method_name(m); m++) {
        for (int p = m % step; tess_solve_pc_name(p); p += step) {
            char spec[96];
            const char *method = tess_solve_method_name(m), *pc = tess_solve_pc_name(p);
            const int traits = tess_solve_method_traits(m);
            const int needs_whole = traits & TESS_SOLVE_OWN_PC;
            if (step > 1 && (traits | tess_solve_pc_traits(p)) & TESS_SOLVE_COMPLETE)
                continue; /* for processors */
            snprintf(spec, sizeof spec, "%s:pc=%s%s", method, pc,
                     strcmp(pc, "amg") == 0 ? ",bottom=12" : "");
            solve_on_ranks(&v, whole, spec, (unsigned)(20 * m + p),
                           needs_whole && size > 1 ? TESS_ERR_UNSUPPORTED : TESS_OK);
        }
    }
    tess_plan_destroy(whole);
    tess_matrix_destroy(A);
}

/* ---- Faults on one rank ---- */

/* Checks that all ranks have the status, and that the message names the culprit. */
static void check_agreed(tess_status status, tess_status expected, int culprit, const char *which)
{
    char name[32];
    snprintf(name, sizeof name, "part %d of %d", culprit, size);
    check(status == expected, "not the status that was expected", which);
    check(size == 1 || strstr(tess_ctx_error(ctx), name) != NULL, "the culprit is not named",
          which);
}

/* A block of zeros on the diagonal of the last rank's rows. */
static void one_rank_has_no_inverse(const char *generator)
{
    static const char *const specs[] = {"cg:pc=bjacobi", "cg:pc=chebyshev", "lsqr:pc=bjacobi"};
    tess_matrix_view v;
    tess_matrix *A = generate(generator, &v);
    const int64_t block_rows = v.rows / v.block_height, area = v.block_height * v.block_width;
    int64_t firsts[RANKS + 1];
    double *values = malloc((size_t)(v.row_offsets[block_rows] * area) * sizeof *values);
    memcpy(values, v.values, (size_t)(v.row_offsets[block_rows] * area) * sizeof *values);
    for (int64_t k = v.row_offsets[block_rows - 1]; k < v.row_offsets[block_rows]; k++)
        for (int64_t i = 0; v.columns[k] == block_rows - 1 && i < area; i++)
            values[k * area + i] = 0;
    tess_matrix_view spoilt = v;
    spoilt.values = values;
    for (int r = 0; r <= size; r++)
        firsts[r] = block_rows * r / size;
    for (int i = 0; i < 3; i++) {
        tess_part *part;
        tess_plan *plan;
        tess_solver *solver;
        check(take_rows(&spoilt, firsts, &part) == TESS_OK, "no part", specs[i]);
        check(tess_plan_create_part(part, device, &guess, &plan) == TESS_OK, "no plan", specs[i]);
        check_agreed(tess_solver_create(plan, specs[i], &solver), TESS_ERR_MATRIX, size - 1,
                     specs[i]);
        tess_plan_destroy(plan);
        tess_part_destroy(part);
    }
    free(values);
    tess_matrix_destroy(A);
}

/* A product without x on the last rank: no other rank waits for it, and the next one is right. */
static void one_rank_has_no_x(tess_plan *plan, const double *x, double *y)
{
    const int last = rank == size - 1;
    double dot;
    check_agreed(tess_spmv_dot(plan, 1, last ? NULL : x, 0, y, NULL, &dot), TESS_ERR_ARGUMENT,
                 size - 1, "spmv_dot without x");
    const tess_status status = tess_spmv(plan, 1, last ? NULL : x, 0, y);
    check(status == (last ? TESS_ERR_ARGUMENT : TESS_ERR_PART) || (!last && status == TESS_OK),
          "not what the header promises", "spmv without x");
    check(tess_spmv_dot(plan, 1, x, 0, y, NULL, &dot) == TESS_OK, "it fails", "the next product");
}

/* A NaN in one rank's b ends the solve of all. */
static void one_rank_has_a_nan(const char *generator)
{
    tess_matrix_view v;
    tess_matrix *A = generate(generator, &v);
    int64_t firsts[RANKS + 1];
    double *b = draw(v.rows, 1), *x = calloc((size_t)v.rows, sizeof *x);
    tess_part *part;
    tess_plan *plan;
    tess_result result = {0};
    for (int r = 0; r <= size; r++)
        firsts[r] = v.rows / v.block_height * r / size;
    if (rank == size - 1)
        b[0] = NAN;
    check(take_rows(&v, firsts, &part) == TESS_OK, "no part", "a NaN");
    check(tess_plan_create_part(part, device, &guess, &plan) == TESS_OK, "no plan", "a NaN");
    check(tess_solve(plan, "cg:pc=jacobi", b, x, &result) == TESS_OK, "it fails", "a NaN");
    check(result.reason == TESS_REASON_NOT_FINITE, result.text, "a NaN");
    one_rank_has_no_x(plan, b, x);
    tess_plan_destroy(plan);
    tess_part_destroy(part);
    free(b), free(x);
    tess_matrix_destroy(A);
}

int main(int argc, char **argv)
{
    const tess_ctx_options options = {.size = sizeof options, .threads = 1};
    const int step = argc > 2 ? atoi(argv[2]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (tess_ctx_create(&options, &ctx) != TESS_OK ||
        tess_mpi_comm_open(ctx, MPI_COMM_WORLD, &comm) != TESS_OK ||
        tess_device_open(ctx, "cpu:1", &host) != TESS_OK ||
        tess_device_open(ctx, argc > 1 ? argv[1] : "cpu:1", &device) != TESS_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    all_products("random:rows=97,avg=5,r=2,c=2", step);
    if (step == 1) {
        all_products("cdr:n=4", step);
        all_products("stencil7:n=1,b=2", step); /* fewer rows than ranks */
    }
    all_solves("stencil7:n=4,b=2", step);
    one_rank_has_no_inverse("stencil7:n=4,b=2");
    one_rank_has_a_nan("stencil7:n=4,b=2");
    tess_device_close(device);
    tess_device_close(host);
    tess_mpi_comm_close(&comm);
    tess_ctx_destroy(ctx);
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return bad;
}

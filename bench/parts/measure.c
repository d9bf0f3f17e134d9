/* Samples of all ways in turns; each round begins with another way. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../solve/petsc_ksp.h"
#include "contest.h"

void meet(void)
{
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done;
         MPI_Test(&request, &done, MPI_STATUS_IGNORE))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static double now(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

static bool is_alone(way w)
{
    return w == THREADS || w == PARTS;
}

/* ---- Products ---- */

static void multiply(contest *c, way w, int count)
{
    for (int i = 0; i < count; i++)
        if (w == PETSC)
            check(MatMult(c->mat, c->petsc_b, c->petsc_x));
        else if (w == RANKS)
            must(c, tess_spmv(c->plan[w], 1, c->b, 0, c->x));
        else if (c->rank == 0)
            must(c, tess_spmv(c->plan[w], 1, c->whole_b, 0, c->whole_x));
}

/* Seconds of one product, the same on all ranks. */
static double time_products(contest *c, way w, int count)
{
    double seconds = 0;
    meet();
    if (is_alone(w)) {
        const double start = MPI_Wtime();
        multiply(c, w, count);
        seconds = (MPI_Wtime() - start) / count;
        meet();
    } else {
        const double start = now();
        multiply(c, w, count);
        seconds = (now() - start) / count;
    }
    (void)MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return seconds;
}

/* The last result of a way as a whole vector on rank 0. */
static void collect(contest *c, way w)
{
    if (is_alone(w))
        return;
    if (w == PETSC) {
        const double *petsc;
        check(VecGetArrayRead(c->petsc_x, &petsc));
        memcpy(c->x, petsc, (size_t)c->info.rows * sizeof *c->x);
        check(VecRestoreArrayRead(c->petsc_x, &petsc));
    }
    must(c, tess_part_collect_vector(c->part, c->x, c->whole_x));
}

static double product_error(contest *c, way w)
{
    double error = 0, largest = 0;
    collect(c, w);
    for (int64_t i = 0; c->rank == 0 && i < c->sizes.rows; i++) {
        error = fmax(error, fabs(c->whole_x[i] - c->truth[i]));
        largest = fmax(largest, fabs(c->truth[i]));
    }
    return largest > 0 ? error / largest : error;
}

static void measure_products(contest *c, bool with_petsc, record records[WAYS])
{
    const int ways = with_petsc ? WAYS : PETSC;
    int count[WAYS];
    for (int w = 0; w < ways; w++) {
        multiply(c, (way)w, 1);
        const double once = time_products(c, (way)w, 2);
        count[w] = (int)fmin(fmax(ceil(c->seconds / once), 1), 100000);
    }
    for (int round = 0; round < c->rounds; round++) {
        for (int i = 0; i < ways; i++) {
            const int w = (i + round) % ways;
            records[w].seconds[records[w].count++] = time_products(c, (way)w, count[w]);
            if (round == c->rounds - 1)
                records[w].error = product_error(c, (way)w);
        }
    }
}

/* ---- Solves ---- */

/* A spec such as "cg:pc=bjacobi,tol=1e-8" in PETSc's terms. */
typedef struct petsc_spec {
    char method[32], pc[32];
    double tol;
} petsc_spec;

static petsc_spec petsc_of(const char *spec)
{
    petsc_spec s = {.pc = "bjacobi", .tol = 1e-8};
    const char *pc = strstr(spec, "pc="), *tol = strstr(spec, "tol=");
    snprintf(s.method, sizeof s.method, "%.*s", (int)strcspn(spec, ":"), spec);
    if (pc)
        snprintf(s.pc, sizeof s.pc, "%.*s", (int)strcspn(pc + 3, ","), pc + 3);
    if (tol)
        s.tol = strtod(tol + 4, NULL);
    return s;
}

static void solve_by_petsc(contest *c, const char *spec, double seconds[2], long *iterations)
{
    const petsc_spec s = petsc_of(spec);
    PetscInt did;
    check(VecSet(c->petsc_x, 0));
    const double start = now();
    KSP ksp = make_solver(c->mat, s.method, s.pc, s.tol);
    const double ready = now();
    check(KSPSolve(ksp, c->petsc_b, c->petsc_x));
    seconds[1] = now() - ready;
    seconds[0] = ready - start;
    check(KSPGetIterationNumber(ksp, &did));
    check(KSPDestroy(&ksp));
    *iterations = (long)did;
}

static double now_of(way w)
{
    return is_alone(w) ? MPI_Wtime() : now();
}

static void solve_by_us(contest *c, way w, const char *spec, double seconds[2], long *iterations)
{
    double *x = is_alone(w) ? c->whole_x : c->x, *b = is_alone(w) ? c->whole_b : c->b;
    const int64_t rows = is_alone(w) ? c->sizes.rows : c->info.rows;
    tess_solver *solver;
    tess_result result;
    memset(x, 0, (size_t)rows * sizeof *x);
    const double start = now_of(w);
    must(c, tess_solver_create(c->plan[w], spec, &solver));
    const double ready = now_of(w);
    must(c, tess_solver_solve(solver, b, x, &result));
    seconds[1] = now_of(w) - ready;
    seconds[0] = ready - start;
    *iterations = (long)result.iterations;
    tess_solver_destroy(solver);
}

static void solve(contest *c, way w, const char *spec, double seconds[2], long *iterations)
{
    meet();
    if (w == PETSC)
        solve_by_petsc(c, spec, seconds, iterations);
    else if (!is_alone(w) || c->rank == 0)
        solve_by_us(c, w, spec, seconds, iterations);
    meet();
}

/* |b - A x| / |b| of a way's x, by the plan of one device. */
static double true_residual(contest *c, way w)
{
    double residual = 0, norm = 0, *y;
    collect(c, w);
    if (c->rank > 0 || !(y = malloc((size_t)(c->sizes.rows + 1) * sizeof *y)))
        return NAN;
    must(c, tess_spmv(c->plan[THREADS], 1, c->whole_x, 0, y));
    for (int64_t i = 0; i < c->sizes.rows; i++) {
        residual += (c->whole_b[i] - y[i]) * (c->whole_b[i] - y[i]);
        norm += c->whole_b[i] * c->whole_b[i];
    }
    free(y);
    return sqrt(residual / norm);
}

/* A solve is a sample of many products: half the rounds do. */
static void measure_solves(contest *c, const char *spec, bool with_petsc, record records[WAYS])
{
    const int ways = with_petsc ? WAYS : PETSC, rounds = (c->rounds + 1) / 2;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < ways; i++) {
            const int w = (i + round) % ways;
            record *r = &records[w];
            double seconds[2] = {0};
            solve(c, (way)w, spec, seconds, &r->iterations);
            r->setup[r->count] = seconds[0];
            r->seconds[r->count++] = seconds[1];
            if (round == rounds - 1)
                r->error = true_residual(c, (way)w);
        }
    }
}

/* ---- Iterations ---- */

/* The time of a long solve less that of a short one, so that set-up and end do not count. */
static void measure_iterations(contest *c, const char *spec, record records[WAYS])
{
    static const int most[2] = {15, 60};
    for (int round = 0; round < c->rounds; round++) {
        for (int i = 0; i < PETSC; i++) {
            const way w = (way)((i + round) % PETSC);
            double seconds[2][2] = {{0}};
            long did[2] = {0, 0};
            for (int k = 0; k < 2; k++) {
                char limited[160];
                snprintf(limited, sizeof limited, "%s,tol=1e-15,max=%d", spec, most[k]);
                solve(c, w, limited, seconds[k], &did[k]);
            }
            records[w].iterations = did[1];
            if (did[1] > did[0])
                records[w].seconds[records[w].count++] =
                    (seconds[1][1] - seconds[0][1]) / (double)(did[1] - did[0]);
        }
    }
}

void measure(contest *c, const char *work, bool with_petsc, record records[WAYS])
{
    static const char iteration[] = "iteration:";
    if (strcmp(work, "spmv") == 0)
        measure_products(c, with_petsc, records);
    else if (strncmp(work, iteration, sizeof iteration - 1) == 0)
        measure_iterations(c, work + sizeof iteration - 1, records);
    else
        measure_solves(c, work, with_petsc, records);
}

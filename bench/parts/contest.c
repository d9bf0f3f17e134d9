/* tessera_bench_parts: contest.h says what is compared. One JSON object on standard output.
 *
 *     mpirun -n 2 --bind-to none tessera_bench_parts INPUT ROUNDS SECONDS WORK...
 *
 * WORK is "spmv", a solver's spec ("cg:pc=bjacobi,tol=1e-8"), or "iteration:SPEC". SECONDS is how
 * long a sample of products takes at least. PETSc takes part in the solves; "spmv+" has it in
 * products too. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../solve/petsc_ksp.h"
#include "contest.h"

static const char *const names[WAYS] = {"threads", "parts", "ranks", "petsc"};

static void print_times(const char *name, const double *seconds, int count)
{
    printf(", \"%s\": [", name);
    for (int i = 0; i < count; i++)
        printf("%s%.9g", i ? ", " : "", seconds[i]);
    printf("]");
}

static void print_work(const char *work, const record records[WAYS], bool first)
{
    printf("%s{\"work\": \"%s\", \"ways\": {", first ? "" : ", ", work);
    for (int w = 0, said = 0; w < WAYS; w++) {
        const record *r = &records[w];
        if (r->count == 0)
            continue;
        printf("%s\"%s\": {\"iterations\": %ld, \"error\": %.3e", said++ ? ", " : "", names[w],
               r->iterations, isnan(r->error) ? -1.0 : r->error);
        print_times("seconds", r->seconds, r->count);
        if (r->setup[0] > 0)
            print_times("setup_seconds", r->setup, r->count);
        printf("}");
    }
    printf("}}");
}

/* What the model says of an iteration of CG: on one device, and on its parts. */
static void print_prediction(contest *c)
{
    const tess_predict_options options = {.size = sizeof options, .devices = c->ranks, .shared = 1};
    tess_prediction *p;
    must(c, tess_predict(c->alone, c->A, c->device[THREADS], &options, &p));
    printf("\"model\": \"%s\", \"stand_in\": %d, \"density\": %.6f, \"predicted\": [", p->model,
           p->stand_in, p->density);
    for (int64_t i = 0; i < p->solve_count; i++) {
        const tess_predicted_solve *s = &p->solves[i];
        printf("%s{\"devices\": %d, \"iteration\": %.9g, \"spmv\": %.9g, \"halo_bytes\": %.0f}",
               i ? ", " : "", s->devices, s->iteration, s->spmv, s->halo_bytes);
    }
    printf("], ");
    tess_prediction_destroy(p);
}

static void print_kernels(contest *c)
{
    printf("\"kernels\": {");
    for (int w = 0; w < PETSC; w++) {
        tess_plan_info info;
        must(c, tess_plan_get_info(c->plan[w], sizeof info, &info));
        printf("%s\"%s\": \"%s\"", w ? ", " : "", names[w], info.kernel);
    }
    printf("}, ");
}

static void print_head(contest *c)
{
    const tess_matrix_view *v = &c->sizes;
    const double bytes = (double)v->blocks * (8.0 * v->block_height * v->block_height + 4) +
                         (double)v->block_rows * (8 + 16.0 * v->block_height);
    printf("{\"input\": \"%s\", \"ranks\": %d, \"rows\": %lld, \"block\": %d, \"blocks\": %lld, "
           "\"bytes\": %.0f, \"petsc\": \"%d.%d.%d\", ",
           c->input, c->ranks, (long long)v->rows, (int)v->block_height, (long long)v->blocks,
           bytes, PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR);
    print_kernels(c);
    print_prediction(c);
    printf("\"works\": [");
}

static void compete(contest *c, int works, char **work)
{
    set_up(c);
    if (c->rank == 0)
        print_head(c);
    for (int i = 0; i < works; i++) {
        record records[WAYS] = {0};
        const bool products = strncmp(work[i], "spmv", 4) == 0;
        measure(c, products ? "spmv" : work[i], !products || work[i][4] == '+', records);
        if (c->rank == 0)
            print_work(work[i], records, i == 0);
    }
    if (c->rank == 0)
        printf("]}\n");
    tear_down(c);
}

int main(int argc, char **argv)
{
    contest c = {0};
    check(PetscInitialize(&argc, &argv, NULL, NULL));
    MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &c.ranks);
    if (argc < 5 || atoi(argv[2]) < 1 || atoi(argv[2]) > ROUNDS_MAX) {
        fprintf(stderr, "usage: mpirun -n 2 tessera_bench_parts INPUT ROUNDS SECONDS WORK...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    c.input = argv[1];
    c.rounds = atoi(argv[2]);
    c.seconds = strtod(argv[3], NULL);
    const tess_ctx_options one = {.size = sizeof one, .threads = 1};
    const tess_ctx_options all = {.size = sizeof all, .threads = c.ranks};
    if (tess_ctx_create(&one, &c.ctx) != TESS_OK || tess_ctx_create(&all, &c.alone) != TESS_OK ||
        tess_mpi_comm_open(c.ctx, MPI_COMM_WORLD, &c.comm) != TESS_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    compete(&c, argc - 4, argv + 4);
    tess_mpi_comm_close(&c.comm);
    tess_ctx_destroy(c.alone);
    tess_ctx_destroy(c.ctx);
    return PetscFinalize();
}

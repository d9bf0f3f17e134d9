/* tessera-mpi: products and solves on the ranks of an MPI program.
 *
 * Of a .tess file each rank reads its own rows. Other matrices rank 0 reads or generates and deals
 * out. Each rank computes on a device of its own:
 * by default its share of the node's processors. Rank 0 alone prints. */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static const char usage_text[] =
    "usage: mpirun -n N tessera-mpi solve INPUT [options]\n"
    "       mpirun -n N tessera-mpi spmv INPUT [options]\n"
    "\n"
    "INPUT is a Matrix Market or .tess file, or gen:KIND:key=value,...\n"
    "\n"
    "  --solver SPEC   solve: METHOD:key=value,... as tess_solver_create takes it\n"
    "                  (default: cg or gmres, by what products tell of the matrix)\n"
    "  --block B       blocks of B x B (default: what suits the matrix)\n"
    "  --partition P   who has which rows: contiguous (default), cyclic, metis, scotch\n"
    "  --form F        how ranks multiply: halo (default), whole, shuffle, shuffle:lambda=N\n"
    "  --device NAME   what each rank computes on (default: cpu:T, T as --threads says)\n"
    "  --threads T     of each rank (default: its share of the node's processors)\n"
    "  --rhs FILE      solve: b (default: the generator's, or A times ones)\n"
    "  --out FILE      write x, or y, to FILE\n"
    "  --reps R        spmv: products that are timed (default 20)\n"
    "  --json          one JSON object on standard output\n"
    "  --help          this text\n"
    "\n"
    "Exit status: 0 done, 1 not solved, 2 usage, 3 failed.\n";

/* Whether all ranks are well; rank 0 prints the sentence of the first that is not. */
static int all_well(run_state *r, tess_status status)
{
    struct {
        int bad, rank;
    } mine = {status != TESS_OK, r->rank}, worst;
    MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
    if (!worst.bad)
        return 1;
    char text[1024] = "";
    if (r->rank == worst.rank)
        snprintf(text, sizeof text, "%s", tess_ctx_error(r->ctx));
    MPI_Bcast(text, sizeof text, MPI_CHAR, worst.rank, MPI_COMM_WORLD);
    if (r->rank == 0 && text[0])
        fprintf(stderr, "tessera-mpi: %s\n", text);
    return 0;
}

/* ---- Arguments ---- */

static int usage_error(const run_state *r, const char *what, const char *value)
{
    if (r->rank == 0)
        fprintf(stderr, "tessera-mpi: %s%s%s; tessera-mpi --help lists what there is\n", what,
                value ? ": " : "", value ? value : "");
    return EXIT_USAGE;
}

/* A whole number of at least 1. */
static int parse_count(const char *text, int *out)
{
    char *end;
    const long value = strtol(text, &end, 10);
    if (end == text || *end || value < 1 || value > 1 << 20)
        return 0;
    *out = (int)value;
    return 1;
}

static int parse(int argc, char **argv, run_state *r)
{
    static const struct option options[] = {
        {"solver", 1, NULL, 's'},    {"block", 1, NULL, 'b'}, {"device", 1, NULL, 'd'},
        {"threads", 1, NULL, 't'},   {"rhs", 1, NULL, 'r'},   {"out", 1, NULL, 'o'},
        {"reps", 1, NULL, 'n'},      {"json", 0, NULL, 'j'},  {"help", 0, NULL, 'h'},
        {"partition", 1, NULL, 'p'}, {"form", 1, NULL, 'f'},  {NULL, 0, NULL, 0},
    };
    arguments *a = &r->args;
    a->reps = 20;
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        int *count = c == 'b' ? &a->block : c == 't' ? &a->threads : c == 'n' ? &a->reps : NULL;
        const char **text = c == 's'   ? &a->solver
                            : c == 'd' ? &a->device
                            : c == 'r' ? &a->rhs
                            : c == 'o' ? &a->out
                            : c == 'p' ? &a->partition
                            : c == 'f' ? &a->form
                                       : NULL;
        if (c == 'h') {
            if (r->rank == 0)
                fputs(usage_text, stdout);
            return -1;
        }
        if (c == '?')
            return usage_error(r, "unknown option, or one without its value", argv[optind - 1]);
        if (c == 'j')
            a->json = 1;
        else if (text)
            *text = optarg;
        else if (count && !parse_count(optarg, count))
            return usage_error(r, "not a whole number of at least 1", optarg);
    }
    if (argc - optind != 2)
        return usage_error(r, "a command and one INPUT are needed", NULL);
    a->command = argv[optind];
    a->input = argv[optind + 1];
    if (strcmp(a->command, "solve") != 0 && strcmp(a->command, "spmv") != 0)
        return usage_error(r, "unknown command, one of solve, spmv", a->command);
    return EXIT_DONE;
}

/* ---- The matrix ---- */

/* Rank 0's: reads or generates, in blocks. */
static tess_status read_matrix(run_state *r)
{
    const arguments *a = &r->args;
    tess_matrix *A, *blocked;
    tess_status status = strncmp(a->input, "gen:", 4) == 0
                             ? tess_matrix_generate(r->ctx, a->input + 4, &A, &r->whole_b)
                             : tess_matrix_input(r->ctx, a->input, &A);
    if (status != TESS_OK)
        return status;
    r->matrix = A;
    tess_matrix_view view;
    tess_matrix_get_view(A, &view);
    tess_blocking blocking = {a->block, a->block};
    if (a->block == 0) {
        if (view.block_height > 1)
            return TESS_OK;
        status = tess_choose_blocking(r->ctx, A, r->device, &blocking);
        if (status != TESS_OK)
            return status;
    }
    if (blocking.rows != blocking.cols)
        blocking.rows = blocking.cols = 1;
    if (blocking.rows == view.block_height && blocking.cols == view.block_width)
        return TESS_OK;
    status = tess_matrix_to_blocks(r->ctx, A, &blocking, &blocked);
    if (status != TESS_OK)
        return status;
    tess_matrix_destroy(A);
    r->matrix = blocked;
    return TESS_OK;
}

static tess_status open_device(run_state *r)
{
    char name[32];
    int threads = r->args.threads;
    if (threads == 0) {
        const long cores = sysconf(_SC_NPROCESSORS_ONLN);
        threads = cores > r->local_size ? (int)(cores / r->local_size) : 1;
    }
    snprintf(name, sizeof name, "cpu:%d", threads);
    /* What solvers set up with the context's threads is the rank's share too. */
    const tess_status status = tess_ctx_set_threads(r->ctx, threads);
    if (status != TESS_OK)
        return status;
    return tess_device_open(r->ctx, r->args.device ? r->args.device : name, &r->device);
}

static size_t scalar_size(const run_state *r)
{
    return r->info.type == TESS_F64 ? 8 : 4;
}

static void fill_ones(const run_state *r, void *v)
{
    for (int64_t i = 0; i < r->info.rows; i++)
        if (r->info.type == TESS_F64)
            ((double *)v)[i] = 1;
        else
            ((float *)v)[i] = 1;
}

/* b: rank 0's file, else the generator's, else A times ones. All ranks take the same way. */
static tess_status make_rhs(run_state *r, const char **name)
{
    int there = r->whole_b != NULL;
    tess_status status = TESS_OK;
    if (r->rank == 0 && r->args.rhs) {
        int64_t count = 0;
        tess_release(r->ctx, r->whole_b);
        r->whole_b = NULL;
        status = tess_vector_read(r->ctx, r->args.rhs, r->info.type, &count, &r->whole_b);
        if (status == TESS_OK && count != r->info.all_rows) {
            fprintf(stderr, "tessera-mpi: %s has %lld numbers, the matrix %lld rows\n", r->args.rhs,
                    (long long)count, (long long)r->info.all_rows);
            status = TESS_ERR_ARGUMENT;
        }
        there = 1;
    }
    MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
    int bad = status != TESS_OK;
    MPI_Bcast(&bad, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (bad) /* the sentence is in rank 0's context */
        return r->rank == 0 ? status : TESS_OK;
    *name = r->args.rhs ? r->args.rhs : there ? "the generator's" : "A times ones";
    if (there)
        return tess_part_deal_vector(r->part, r->whole_b, r->b);
    fill_ones(r, r->x);
    status = tess_spmv(r->plan, 1, r->x, 0, r->b);
    memset(r->x, 0, (size_t)r->info.rows * scalar_size(r));
    return status;
}

static tess_status write_out(run_state *r, const void *mine)
{
    if (!r->args.out)
        return TESS_OK;
    void *whole = NULL;
    if (r->rank == 0)
        whole = malloc((size_t)(r->info.all_rows + 1) * scalar_size(r));
    tess_status status = tess_part_collect_vector(r->part, mine, whole);
    if (status == TESS_OK && r->rank == 0)
        status = tess_vector_write(r->ctx, r->args.out, r->info.type, r->info.all_rows, whole);
    free(whole);
    return status;
}

/* ---- The two commands ---- */

static int solve(run_state *r)
{
    const char *rhs = "";
    if (!all_well(r, make_rhs(r, &rhs)))
        return EXIT_FAILED;
    tess_solver *solver;
    tess_result result;
    const double started = MPI_Wtime();
    if (!all_well(r, tess_solver_create(r->plan, r->args.solver, &solver)))
        return EXIT_FAILED;
    const double setup = MPI_Wtime() - started;
    const tess_status status = tess_solver_solve(solver, r->b, r->x, &result);
    int exit_status = EXIT_FAILED;
    if (all_well(r, status) && all_well(r, write_out(r, r->x)))
        exit_status =
            report_solve(r, r->args.solver ? r->args.solver : "auto", rhs, &result, setup);
    tess_solver_destroy(solver);
    return exit_status;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int spmv(run_state *r)
{
    double *seconds = malloc((size_t)r->args.reps * sizeof *seconds);
    if (!all_well(r, seconds ? TESS_OK : TESS_ERR_MEMORY))
        return EXIT_FAILED;
    fill_ones(r, r->x);
    tess_status status = tess_spmv(r->plan, 1, r->x, 0, r->b);
    for (int i = 0; status == TESS_OK && i < r->args.reps; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double started = MPI_Wtime();
        status = tess_spmv(r->plan, 1, r->x, 0, r->b);
        const double mine = MPI_Wtime() - started;
        MPI_Allreduce(&mine, &seconds[i], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    int exit_status = EXIT_FAILED;
    if (all_well(r, status) && all_well(r, write_out(r, r->b))) {
        qsort(seconds, (size_t)r->args.reps, sizeof *seconds, compare_doubles);
        report_products(r, seconds[r->args.reps / 2]);
        exit_status = EXIT_DONE;
    }
    free(seconds);
    return exit_status;
}

/* Whether every rank can read its own rows of the file: it has its blocks, and they stay in order.
 */
static int is_ranged(const run_state *r)
{
    const arguments *a = &r->args;
    const size_t length = strlen(a->input);
    return a->block == 0 && (!a->partition || strcmp(a->partition, "contiguous") == 0) &&
           length > 5 && strcmp(a->input + length - 5, ".tess") == 0;
}

/* Whether the part was made; otherwise rank 0 has said why not. */
static int make_part(run_state *r)
{
    if (is_ranged(r)) {
        const tess_status status = tess_part_read(r->ctx, &r->comm, r->args.input, &r->part);
        if (status != TESS_ERR_UNSUPPORTED) /* else its blocks are not square: rank 0 converts */
            return all_well(r, status);
    }
    if (!all_well(r, r->rank == 0 ? read_matrix(r) : TESS_OK))
        return 0;
    const tess_status status =
        tess_part_deal_by(r->ctx, &r->comm, r->matrix, r->args.partition, &r->part);
    tess_matrix_destroy(r->matrix);
    r->matrix = NULL;
    return all_well(r, status);
}

static int work(run_state *r)
{
    if (!all_well(r, open_device(r)) || !make_part(r))
        return EXIT_FAILED;
    tess_part_get_info(r->part, sizeof r->info, &r->info);
    const tess_plan_options options = {.size = sizeof options, .form = r->args.form};
    if (!all_well(r, tess_plan_create_part(r->part, r->device, &options, &r->plan)))
        return EXIT_FAILED;
    r->b = calloc((size_t)r->info.rows + 1, scalar_size(r));
    r->x = calloc((size_t)r->info.rows + 1, scalar_size(r));
    if (!all_well(r, r->b && r->x ? TESS_OK : TESS_ERR_MEMORY))
        return EXIT_FAILED;
    return strcmp(r->args.command, "solve") == 0 ? solve(r) : spmv(r);
}

int main(int argc, char **argv)
{
    run_state r = {0};
    int provided;
    MPI_Comm node;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r.size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, r.rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &r.local_rank);
    MPI_Comm_size(node, &r.local_size);
    MPI_Comm_free(&node);
    int exit_status = parse(argc, argv, &r);
    if (exit_status == EXIT_DONE) {
        const tess_ctx_options options = {.size = sizeof options, .threads = r.args.threads};
        if (tess_ctx_create(&options, &r.ctx) != TESS_OK ||
            tess_mpi_comm_open(r.ctx, MPI_COMM_WORLD, &r.comm) != TESS_OK)
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
        exit_status = work(&r);
        tess_plan_destroy(r.plan);
        tess_part_destroy(r.part);
        tess_matrix_destroy(r.matrix);
        tess_device_close(r.device);
        tess_mpi_comm_close(&r.comm);
        tess_release(r.ctx, r.whole_b);
        free(r.b);
        free(r.x);
        tess_ctx_destroy(r.ctx);
    }
    MPI_Finalize();
    return exit_status < 0 ? EXIT_DONE : exit_status;
}

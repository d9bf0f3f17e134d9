/* The arguments of tessera-mpi. All ranks read the same ones; rank 0 prints. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    "  --device NAME   what each rank computes on (default: cpu:T, T as --threads says);\n"
    "                  cuda: one GPU per rank; cuda:0,2: a node's ranks take these in turn\n"
    "  --threads T     of each rank (default: its share of the node's processors)\n"
    "  --rhs FILE      solve: b (default: the generator's, or A times ones)\n"
    "  --out FILE      write x, or y, to FILE\n"
    "  --reps R        spmv: products that are timed (default 20)\n"
    "  --json          one JSON object on standard output\n"
    "  --help          this text\n"
    "\n"
    "Exit status: 0 done, 1 not solved, 2 usage, 3 failed.\n";

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

static const mpi_command commands[] = {{"solve", solve}, {"spmv", spmv}};

static int parse_options(int argc, char **argv, run_state *r)
{
    static const struct option options[] = {
        {"solver", 1, NULL, 's'},    {"block", 1, NULL, 'b'}, {"device", 1, NULL, 'd'},
        {"threads", 1, NULL, 't'},   {"rhs", 1, NULL, 'r'},   {"out", 1, NULL, 'o'},
        {"reps", 1, NULL, 'n'},      {"json", 0, NULL, 'j'},  {"help", 0, NULL, 'h'},
        {"partition", 1, NULL, 'p'}, {"form", 1, NULL, 'f'},  {NULL, 0, NULL, 0},
    };
    arguments *a = &r->args;
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
    return EXIT_DONE;
}

static int parse_command(const char *name, run_state *r)
{
    char known[80] = "unknown command, one of";
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(name, commands[i].name) == 0)
            r->args.command = &commands[i];
        strcat(strcat(known, i > 0 ? ", " : " "), commands[i].name);
    }
    return r->args.command ? EXIT_DONE : usage_error(r, known, name);
}

int parse_arguments(int argc, char **argv, run_state *r)
{
    arguments *a = &r->args;
    int status = parse_options(argc, argv, r);
    if (status != EXIT_DONE)
        return status;
    if (argc - optind != 2)
        return usage_error(r, "a command and one INPUT are needed", NULL);
    status = parse_command(argv[optind], r);
    if (status != EXIT_DONE)
        return status;
    a->input = argv[optind + 1];
    const char *idle = a->command->run == solve ? (a->reps > 0 ? "--reps" : NULL)
                       : a->solver              ? "--solver"
                       : a->rhs                 ? "--rhs"
                                                : NULL;
    if (idle)
        return usage_error(r, "an option that does nothing here", idle);
    if (a->reps == 0)
        a->reps = 20;
    return EXIT_DONE;
}

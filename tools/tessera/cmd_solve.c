/* tessera solve: A x = b on a device, with progress on a terminal and an account at the end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solve/advice.h"
#include "command.h"
#include "solve/run.h"

typedef struct solve_args {
    solver_args solver;
    const char *out, *history, *plot;
} solve_args;

/* For a rectangular matrix the x with the smallest |b - Ax| is the solution. */
static bool is_rectangular(const tess_matrix *matrix)
{
    return view_of(matrix).rows != view_of(matrix).cols;
}

static int run(cli_app *app, void *arguments)
{
    solve_args *args = arguments;
    solve_run r = {0};
    int exit_status = EXIT_DONE;
    r.matrix = input_system(app, &args->solver.common, args->solver.common.operands[0], &r.b,
                            &exit_status);
    if (r.matrix)
        exit_status = output_check_vector(app, view_of(r.matrix).type, args->out);
    if (r.matrix && exit_status == EXIT_DONE)
        r.device = open_device_for(app, &args->solver.common, r.matrix, &exit_status);
    if (r.device)
        exit_status = create_plan(app, &args->solver.common, r.matrix, r.device, &r.plan);
    if (r.plan) {
        exit_status = solve_system(app, &args->solver.solve, &r);
        if (exit_status == EXIT_DONE) {
            const tess_result *result = &r.report.result;
            exit_status =
                args->solver.common.json
                    ? print_json(app, with_regrouping(&r.report.plan,
                                                      solve_json(r.matrix, r.device, &r.report)))
                    : solve_print(app, r.matrix, r.device, &r.report);
            if (exit_status == EXIT_DONE && args->out)
                exit_status = output_vector(app, view_of(r.matrix).type, view_of(r.matrix).cols,
                                            r.x, args->out);
            if (exit_status == EXIT_DONE && args->history)
                exit_status = solve_write_history(app, result, args->history);
            if (exit_status == EXIT_DONE && args->plot)
                exit_status = solve_write_plot(app, &r, args->plot);
            if (exit_status == EXIT_DONE && !solve_is_solved(result) &&
                !(result->reason == TESS_REASON_LEAST_SQUARES && is_rectangular(r.matrix)))
                exit_status = strncmp(r.spec, "auto", 4) == 0 /* whose text says what to allow */
                                  ? fail(app, EXIT_FAILED, "not solved: %s", result->text)
                                  : fail(app, EXIT_FAILED, "not solved: %s; %s", result->text,
                                         solve_advice(result->reason, solve_is_symmetric(&r),
                                                      is_complex(view_of(r.matrix).type)));
        }
    }
    solve_release(&r);
    return exit_status;
}

static const cli_option options[] = {
    {"out", OPTION_OUTPUT, offsetof(solve_args, out), "FILE",
     "write x to FILE (.mtx, .npy, else text; -: standard output)", 0, 0},
    {"history", OPTION_OUTPUT, offsetof(solve_args, history), "FILE",
     "write |r|/|b| by iteration to FILE (csv)", 0, 0},
    {"plot", OPTION_OUTPUT, offsetof(solve_args, plot), "FILE",
     "draw |r|/|b| by iteration in FILE (svg)", 0, 0},
};

static const cli_rule rules[] = {
    SOLVER_RULES,
    {"coordinates", WITH, "modes"},
    {"params", WITHOUT, "kernel,format"},
    {0},
};

const cli_command command_solve = {
    .name = "solve",
    .operands = "INPUT",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "solve A x = b, say how well and how fast",
    .description =
        "Solves A x = b with a Krylov method from x = 0 and prints why it ended, the number of "
        "iterations, the true residual recomputed from x, and where the time went. Without --rhs, "
        "b is the generated problem's own, or A times a vector of ones for a file; where that is "
        "0, as "
        "for a Laplacian, A times 1 + (i mod 7)/7.\n\n"
        "Without --method and --pc the solver is found by trying (auto): the cheapest that suits "
        "the matrix first, then better preconditioners, scaling and reordering, complete factors "
        "where SuiteSparse is installed. What was tried is printed, with the solver that ended "
        "the search. budget= and memory= of --options bound the seconds (60) and GB (4) that it "
        "takes.\n\n"
        "--solver takes a whole solver as it is printed, SPEC of the library: METHOD:key=value,... "
        "--method, --pc, --tol, --max-iterations and --options make such a SPEC from its parts.\n\n"
        "With --method or --pc alone, or with other keys in --options, a symmetric or Hermitian "
        "matrix is solved with cg, any other with bicgstab, and the preconditioner is the inverse "
        "of the diagonal blocks. Triangular factors are solved in parallel as schedule= says: "
        "domains (ranges of rows, factored separately; on a CPU), levels (rows that do not wait "
        "for each other) or colours (levels after reordering; on a GPU). A system that is not "
        "solved to the tolerance makes the command fail with exit status 1.\n\n"
        "For a matrix that is not square, lsqr finds the x with the smallest |b - Ax|, and |A'r| "
        "says how nearly. A Matrix Market file is stored with the blocks that `tessera info` "
        "recommends where they are square; --block 1 stores plain CSR. Ctrl-C ends the solve with "
        "the best x so far, which --out still gets.\n\n"
        "--kernel, --format and --params name the product of the iterations, as `tessera bench` "
        "lists them: every product of the solve then runs that kernel.",
    .examples =
        "tessera solve gen:elasticity:n=24\n"
        "tessera solve A.mtx.gz --rhs b.mtx --method gmres --pc ilu0 --out x.mtx\n"
        "tessera solve gen:stencil27:n=48,b=4 --device cuda --kernel multi_row --method cg\n"
        "tessera solve gen:cdr:n=32 --pc ilu0 --plot residual.svg",
    .uses = USES_DEVICE | USES_TYPE | USES_BLOCK | USES_SQUARE_BLOCKS | USES_SOLVER | USES_KERNEL,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .rules = rules,
    .choices = solve_choices,
    .args_size = sizeof(solve_args),
    .run = run,
};

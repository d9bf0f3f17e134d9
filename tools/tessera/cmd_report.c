/* tessera report: a page to look at, with the pattern, the blocks, the plan and a solve. */
#include <string.h>

#include "report/page.h"

typedef struct report_args {
    solver_args solver;
    const char *out;
    bool no_solve;
} report_args;

/* What one run needs. All of it is released in one place. */
typedef struct report_run {
    info_run info;
    tuning plan;
    solve_run solve;
    report_facts facts;
} report_run;

/* The matrix in the blocks that were asked for, else in those that are recommended. */
static int make_blocks(cli_app *app, const block_choice *block, report_run *r)
{
    const tess_block_candidate *best = &r->info.facts.blocks->recommended;
    const bool given = block->given && block->rows > 0;
    const tess_blocking blocking = {given            ? block->rows
                                    : best->rows > 0 ? best->rows
                                                     : 1,
                                    given            ? block->cols
                                    : best->cols > 0 ? best->cols
                                                     : 1};
    tess_matrix *blocked;
    TRY_CALL(app, tess_matrix_to_blocks(app->ctx, r->solve.matrix, &blocking, &blocked));
    tess_matrix_destroy(r->solve.matrix);
    r->solve.matrix = blocked;
    return EXIT_DONE;
}

/* Searches even if wisdom knows a choice, because the page shows all that was tried. */
static int make_plan(cli_app *app, const report_args *args, report_run *r)
{
    int exit_status = EXIT_DONE;
    const double started = seconds_now();
    TRY_EXIT(make_blocks(app, &args->solver.common.block, r));
    r->solve.device = open_device_for(app, &args->solver.common, r->solve.matrix, &exit_status);
    if (!r->solve.device)
        return exit_status;
    r->plan = (tuning){.app = app,
                       .device = r->solve.device,
                       .options = {.fresh = 1, .regroup = TESS_REGROUP_OFF},
                       .A = r->solve.matrix};
    TRY_CALL(app, tess_plan_create(app->ctx, r->solve.matrix, r->solve.device, &r->plan.options,
                                   &r->solve.plan));
    r->plan.plan = r->solve.plan;
    r->facts.plan_seconds = seconds_now() - started;
    const tess_matrix_view A = view_of(r->solve.matrix);
    TRY_CALL(app, tess_device_read_speed(r->solve.device, product_bytes(&A), &r->plan.ceiling));
    return EXIT_DONE;
}

static int solve_it(cli_app *app, const report_args *args, report_run *r)
{
    const tess_matrix_view A = view_of(r->solve.matrix);
    if (args->no_solve)
        r->facts.unsolved = "Nothing was solved: --no-solve.";
    else if (A.blocks == 0)
        r->facts.unsolved = "Nothing was solved: the matrix has no entries.";
    else
        TRY_EXIT(solve_system(app, &args->solver.solve, &r->solve));
    if (!r->facts.unsolved)
        r->facts.solve = &r->solve;
    return EXIT_DONE;
}

static int gather(cli_app *app, const report_args *args, report_run *r)
{
    const char *input = args->solver.common.operands[0];
    common_args plain_input = args->solver.common;
    int exit_status = EXIT_DONE;
    double started = seconds_now();
    plain_input.block.given = false; /* the pattern and the advice are of the input as it is */
    r->solve.matrix = input_system(app, &plain_input, input, &r->solve.b, &exit_status);
    if (!r->solve.matrix)
        return exit_status;
    r->facts.read_seconds = seconds_now() - started;
    started = seconds_now();
    TRY_EXIT(info_gather(app, input, r->solve.matrix, false, &r->info));
    r->facts.info_seconds = seconds_now() - started;
    TRY_EXIT(make_plan(app, args, r));
    TRY_EXIT(solve_it(app, args, r));
    r->facts.info = &r->info.facts;
    r->facts.scalars = r->info.scalars;
    r->facts.plan = &r->plan;
    return EXIT_DONE;
}

/* The documents that info, tune and solve print for this matrix, from this run. */
static int print_document(cli_app *app, const report_args *args, const report_run *r)
{
    const char *input = args->solver.common.operands[0];
    json_t *solve = r->facts.solve ? solve_json(r->solve.matrix, r->solve.device, &r->solve.report)
                                   : json_null();
    return print_json(app, json_make("{s:s, s:o, s:o, s:o}", "output", args->out, "info",
                                     info_json(&r->info.facts), "tune", tune_json(&r->plan, input),
                                     "solve", solve));
}

static int run(cli_app *app, void *arguments)
{
    report_args *args = arguments;
    report_run r = {0};
    text_output output;
    if (!args->out)
        return fail(app, EXIT_USAGE, "report: --out is missing: tessera report %s -o report.html",
                    args->solver.common.operands[0]);
    const bool to_stdout = strcmp(args->out, "-") == 0;
    if (to_stdout && args->solver.common.json)
        return fail(app, EXIT_USAGE,
                    "report: --json prints to standard output, as --out - does: "
                    "name a file for one of them");
    int exit_status = gather(app, args, &r);
    if (exit_status == EXIT_DONE) {
        output_begin(&output);
        if (output.file)
            report_page(output.file, &r.facts);
        terminal_clear_progress(app);
        const size_t size = output.file && fflush(output.file) == 0 ? output.size : 0;
        exit_status = output_end(app, &output, args->out);
        char a[TEXT_MAX];
        if (exit_status == EXIT_DONE && args->solver.common.json)
            exit_status = print_document(app, args, &r);
        else if (exit_status == EXIT_DONE && !to_stdout)
            printf("%s: %s\n", args->out, text_bytes((double)size, a));
    }
    solve_release(&r.solve);
    info_release(&r.info);
    return exit_status;
}

static const cli_option options[] = {
    {"out", OPTION_OUTPUT, offsetof(report_args, out), "FILE",
     "write the page to FILE, - to standard output (also -o)", 0, 0},
    {"no-solve", OPTION_FLAG, offsetof(report_args, no_solve), NULL, "solve nothing", 0, 0},
};

static const cli_rule rules[] = {
    SOLVER_RULES,
    {"coordinates", WITH, "modes"},
    {"rhs,solver,method,pc,tol,max-iterations,options,coordinates,modes", WITH, "no-solve"},
    {0},
};

const cli_command command_report = {
    .name = "report",
    .operands = "INPUT",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "a page to look at: pattern, blocks, plan, solve",
    .description =
        "Writes one HTML page about a matrix: its pattern at several zooms down to single blocks, "
        "the lengths of its rows, what each block size costs, the kernels that a search tried on "
        "a roofline and beside their predictions, the residuals of a solve, where the time went, "
        "and the machine. The page needs no network and no scripts, follows the display's light "
        "or dark colours, and has a table beside every picture.\n\n"
        "The matrix is stored in the blocks that `tessera info` recommends, or in those of "
        "--block. The system is that of `tessera solve`, with the same options; a matrix that is "
        "not square gets the x with the smallest |b - Ax|. A system that is not solved is shown "
        "as such and does not fail the command. Ctrl-C during the solve ends the solve, and the "
        "page has what was reached; earlier it ends the command. FILE is written whole or not at "
        "all.\n\n"
        "--json prints the numbers of the page: what `info`, `tune` and `solve` print for this "
        "matrix, from this run.",
    .examples = "tessera report gen:elasticity:n=24 -o report.html\n"
                "tessera report A.mtx.gz --no-solve -o report.html\n"
                "tessera report A.mtx.gz --device cuda --method gmres --pc ilu0 -o report.html",
    .uses = USES_DEVICE | USES_TYPE | USES_BLOCK | USES_SOLVER,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .rules = rules,
    .choices = solve_choices,
    .args_size = sizeof(report_args),
    .run = run,
};

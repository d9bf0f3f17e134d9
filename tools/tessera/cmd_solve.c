/* tessera solve: A x = b on a device, with progress on a terminal and an account at the end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "command.h"
#include "solve_report.h"

typedef struct solve_args {
    common_args common;
    const char *rhs, *method, *pc, *more, *out, *history, *plot, *tol, *coordinates, *modes;
    int64_t max;
} solve_args;

/* What one run needs; all of it is released at one place. */
typedef struct solve_run {
    solve_report report;
    tess_matrix *matrix;
    tess_device *device;
    tess_plan *plan;
    tess_solver *solver;
    void *b, *x;
    double tol; /* where --tol was given */
    char spec[256], pc_text[64];
} solve_run;

/* The right-hand side: a file's, else the generator's (in r->b already), else A times all ones. */
static int make_rhs(cli_app *app, const solve_args *args, solve_run *r)
{
    const tess_matrix_view A = view_of(r->matrix);
    if (args->rhs) {
        free(r->b);
        r->b = NULL;
        TRY_EXIT(input_vector(app, args->rhs, A.type, A.rows, "rows", &r->b));
        r->report.rhs = args->rhs;
    } else if (r->b) {
        r->report.rhs = "the generator's";
    } else {
        r->report.rhs = "A times ones";
        r->b = zero_vector(A.type, A.rows);
        if (!r->b)
            return fail_memory(app);
        for (int64_t i = 0; i < A.cols; i++)
            put_scalar(r->x, A.type, i, 1);
        TRY_CALL(app, tess_spmv(r->plan, 1, r->x, 0, r->b));
    }
    memset(r->x, 0, (size_t)A.cols * type_size(A.type));
    return EXIT_DONE;
}

/* What is not said is found by auto. With a method or pc alone, the other is cg for a symmetric
 * matrix and bicgstab for others, or block-Jacobi where there are square blocks. */
static int make_spec(cli_app *app, const solve_args *args, solve_run *r)
{
    const tess_matrix_view view = view_of(r->matrix), *A = &view;
    const char *method = args->method;
    const bool automatic = method ? strcmp(method, "auto") == 0 : !args->pc && !args->more;
    if (!method && !automatic) {
        tess_symmetry symmetry;
        TRY_CALL(app, tess_matrix_symmetry(app->ctx, r->matrix, &symmetry));
        method = A->rows != A->cols ? "lsqr" : symmetry.asymmetry < 1e-10 ? "cg" : "bicgstab";
    }
    const char *pc = args->pc                            ? args->pc
                     : A->rows != A->cols                ? "none"
                     : A->block_height == A->block_width ? "bjacobi"
                                                         : "jacobi";
    char tol[40] = "", max[40] = "";
    if (args->tol && !parse_real(args->tol, &r->tol))
        return fail(app, EXIT_USAGE, "--tol: '%s' is not a number such as 1e-8", args->tol);
    if (args->tol)
        snprintf(tol, sizeof tol, ",tol=%.15g", r->tol);
    if (args->max != 0)
        snprintf(max, sizeof max, ",max=%lld", (long long)args->max);
    if (automatic || strcmp(method, "direct") == 0)
        pc = args->pc;
    char keys[sizeof r->spec];
    int length = snprintf(keys, sizeof keys, "%s%s%s%s%s%s", pc ? ",pc=" : "", pc ? pc : "", tol,
                          max, args->more ? "," : "", args->more ? args->more : "");
    if (length < (int)sizeof keys)
        length = snprintf(r->spec, sizeof r->spec, "%s%s%s", automatic ? "auto" : method,
                          keys[0] ? ":" : "", keys[0] ? keys + 1 : "");
    if (length >= (int)sizeof r->spec)
        return fail(
            app, EXIT_USAGE,
            "the solver's options are longer than %zu characters: leave out what is the default",
            sizeof r->spec - 1);
    r->report.spec = r->spec;
    return EXIT_DONE;
}

/* Coordinates and modes of files, for preconditioners that take them. */
static int set_modes(cli_app *app, const solve_args *args, solve_run *r)
{
    const tess_matrix_view A = view_of(r->matrix);
    int64_t count;
    void *numbers;
    if (args->coordinates) {
        TRY_EXIT(input_vector(app, args->coordinates, TESS_F64, A.rows, "rows", &numbers));
        const tess_status status = tess_solver_set_coordinates(r->solver, A.block_height, numbers);
        free(numbers);
        TRY_CALL(app, status);
    }
    if (args->modes) {
        TRY_CALL(app, tess_vector_read(app->ctx, args->modes, TESS_F64, &count, &numbers));
        const bool fits = A.rows > 0 && count > 0 && count % A.rows == 0 && count / A.rows < 1000;
        const tess_status status =
            fits ? tess_solver_set_modes(r->solver, (int)(count / A.rows), numbers, A.rows)
                 : TESS_OK;
        tess_release(app->ctx, numbers);
        TRY_CALL(app, status);
        if (!fits)
            return fail(
                app, EXIT_USAGE,
                "%s has %lld elements, which are not columns of the matrix's %lld rows: a mode "
                "has one number a row",
                args->modes, (long long)count, (long long)A.rows);
    }
    return EXIT_DONE;
}

static int solve(cli_app *app, const solve_args *args, solve_run *r)
{
    const tess_matrix_view A = view_of(r->matrix);
    r->x = zero_vector(A.type, A.cols);
    if (!r->x)
        return fail_memory(app);
    TRY_CALL(app, tess_plan_create(app->ctx, r->matrix, r->device, NULL, &r->plan));
    TRY_EXIT(make_rhs(app, args, r));
    TRY_EXIT(make_spec(app, args, r));
    double started = seconds_now();
    terminal_catch_interrupts(app); /* the best x so far is kept */
    TRY_CALL(app, tess_solver_create(r->plan, r->spec, &r->solver));
    TRY_EXIT(set_modes(app, args, r));
    TRY_CALL(app, tess_solver_set_up(r->solver));
    r->report.setup_seconds = seconds_now() - started;
    solve_progress progress = {
        .app = app, .tol = args->tol ? r->tol : 1e-8, .started = seconds_now()};
    tess_solver_set_callback(r->solver, solve_show_progress, &progress);
    TRY_CALL(app, tess_solver_solve(r->solver, r->b, r->x, &r->report.result));
    terminal_end_interrupts(app);
    r->report.solver = r->solver;
    if (tess_solver_spec(r->solver))
        r->report.spec = tess_solver_spec(r->solver);
    terminal_clear_progress(app);
    /* The share of what the device can read, of a working set of the size that a product moves. */
    const double moves = plan_info(r->plan).moves;
    TRY_CALL(app, tess_device_read_speed(r->device, moves > 0 ? moves : product_bytes(&A),
                                         &r->report.ceiling));
    return EXIT_DONE;
}

/* The least |b - Ax| is what is asked of such a matrix. */
static bool is_rectangular(const tess_matrix *matrix)
{
    return view_of(matrix).rows != view_of(matrix).cols;
}

static int run(cli_app *app, void *arguments)
{
    solve_args *args = arguments;
    solve_run r = {0};
    output_divert(app, args->out);
    int exit_status = output_check(app, args->out);
    if (exit_status == EXIT_DONE)
        exit_status = output_check(app, args->history);
    if (exit_status == EXIT_DONE)
        exit_status = output_check(app, args->plot);
    if (exit_status != EXIT_DONE)
        return exit_status;
    r.matrix = input_system(app, &args->common, args->common.operands[0], &r.b, &exit_status);
    if (r.matrix)
        r.device = open_device_for(app, &args->common, r.matrix, &exit_status);
    if (r.device) {
        exit_status = solve(app, args, &r);
        if (exit_status == EXIT_DONE) {
            const tess_result *result = &r.report.result;
            exit_status = args->common.json ? solve_print_json(app, r.matrix, r.device, &r.report)
                                            : solve_print(app, r.matrix, r.device, &r.report);
            if (exit_status == EXIT_DONE && args->out)
                exit_status = output_vector(app, view_of(r.matrix).type, view_of(r.matrix).cols,
                                            r.x, args->out);
            if (exit_status == EXIT_DONE && args->history)
                exit_status = solve_write_history(app, result, args->history);
            if (exit_status == EXIT_DONE && args->plot)
                exit_status = solve_write_plot(app, r.spec, result, args->plot);
            if (exit_status == EXIT_DONE && !solve_is_solved(result) &&
                !(result->reason == TESS_REASON_LEAST_SQUARES && is_rectangular(r.matrix)))
                exit_status = strncmp(r.spec, "auto", 4) == 0 /* which says itself what to allow */
                                  ? fail(app, EXIT_FAILED, "not solved: %s", result->text)
                                  : fail(app, EXIT_FAILED, "not solved: %s; %s", result->text,
                                         solve_advice(result->reason));
        }
    }
    tess_solver_destroy(r.solver);
    tess_plan_destroy(r.plan);
    tess_device_close(r.device);
    free(r.b);
    free(r.x);
    tess_matrix_destroy(r.matrix);
    return exit_status;
}

static const cli_option options[] = {
    {"rhs", OPTION_TEXT, offsetof(solve_args, rhs), "FILE", "take b from FILE", 0, 0},
    {"method", OPTION_TEXT, offsetof(solve_args, method), "NAME",
     "the method (default: auto, found by trying)", 0, 0},
    {"pc", OPTION_TEXT, offsetof(solve_args, pc), "NAME",
     "the preconditioner (default: found by trying)", 0, 0},
    {"tol", OPTION_TEXT, offsetof(solve_args, tol), "T", "stop at |r| <= T |b| (default 1e-8)", 0,
     0},
    {"max-iterations", OPTION_INT, offsetof(solve_args, max), "N",
     "stop after N iterations (default 10000)", 1, 1000000000},
    {"options", OPTION_TEXT, offsetof(solve_args, more), "KEYS",
     "more of the solver's keys: restart=50,side=left,scale=match,order=rcm", 0, 0},
    {"coordinates", OPTION_TEXT, offsetof(solve_args, coordinates), "FILE",
     "pc=amg: where the block rows lie, as many numbers each as the block size", 0, 0},
    {"modes", OPTION_TEXT, offsetof(solve_args, modes), "FILE",
     "pc=amg: vectors that A maps to almost 0, one after the other", 0, 0},
    {"out", OPTION_TEXT, offsetof(solve_args, out), "FILE",
     "write x to FILE (.mtx, .npy, else text; -: standard output)", 0, 0},
    {"history", OPTION_TEXT, offsetof(solve_args, history), "FILE",
     "write |r|/|b| by iteration to FILE (csv)", 0, 0},
    {"plot", OPTION_TEXT, offsetof(solve_args, plot), "FILE", "draw them in FILE (svg)", 0, 0},
};

static const char *choices(const char *option, int i, const char **summary)
{
    const bool method = strcmp(option, "method") == 0;
    if (!method && strcmp(option, "pc") != 0)
        return NULL;
    *summary = method ? tess_solve_method_summary(i) : tess_solve_pc_summary(i);
    return method ? tess_solve_method_name(i) : tess_solve_pc_name(i);
}

const cli_command command_solve = {
    .name = "solve",
    .operands = "INPUT",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "solve A x = b, say how well and how fast",
    .description =
        "Solves A x = b with a Krylov method from x = 0 and prints why it ended, the number of "
        "iterations, the true residual recomputed from x, and where the time went. Without --rhs, "
        "b is the generated problem's own, or A times a vector of ones for a file.\n\n"
        "Without --method and --pc the solver is found by trying (auto): the cheapest that suits "
        "the matrix first, then better preconditioners, scaling and reordering, complete factors "
        "where SuiteSparse is installed. What was tried is printed, with the solver that ended it. "
        "budget= and memory= of --options bound the seconds (60) and GB (4) that it takes.\n\n"
        "With one of them alone, a symmetric matrix is solved with cg, any other with bicgstab, "
        "and the preconditioner is the inverse of the diagonal blocks. Triangular factors are "
        "solved in parallel as schedule= says: domains (ranges of rows apart, on a CPU), levels "
        "(rows that do not wait for each other) or colours (the same, reordered; on a GPU). "
        "A system that is not "
        "solved to the tolerance makes the command fail with exit status 1.\n\n"
        "Of a matrix that is not square the x with the smallest |b - Ax| is found (lsqr), and "
        "|A'r| beside it says how nearly. A Matrix Market file is stored with the blocks that "
        "`tessera info` recommends where they are square; --block 1 stores plain CSR. Ctrl-C ends "
        "the solve with the best x so far, which "
        "--out still gets.",
    .examples = "tessera solve gen:elasticity:n=24\n"
                "tessera solve A.mtx.gz --rhs b.mtx --method gmres --pc ilu0 --out x.mtx\n"
                "tessera solve gen:cdr:n=32 --pc ilu0 --plot residual.svg",
    .uses = USES_DEVICE | USES_TYPE | USES_BLOCK | USES_SQUARE_BLOCKS,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .choices = choices,
    .args_size = sizeof(solve_args),
    .run = run,
};

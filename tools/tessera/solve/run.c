/* A system solved as `tessera solve` and `tessera report` do it: right-hand side, solver, set-up,
 * solve. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

const cli_option solver_options[] = {
    {"rhs", OPTION_TEXT, offsetof(solver_args, solve.rhs), "FILE", "take b from FILE", 0, 0},
    {"method", OPTION_TEXT, offsetof(solver_args, solve.method), "NAME",
     "the method (default: auto, found by trying)", 0, 0},
    {"pc", OPTION_TEXT, offsetof(solver_args, solve.pc), "NAME",
     "the preconditioner (default: found by trying)", 0, 0},
    {"tol", OPTION_TEXT, offsetof(solver_args, solve.tol), "T",
     "stop at |r| <= T |b| (default 1e-8)", 0, 0},
    {"max-iterations", OPTION_INT, offsetof(solver_args, solve.max), "N",
     "stop after N iterations (default 10000; auto: 100000)", 1, 1000000000},
    {"solver", OPTION_TEXT, offsetof(solver_args, solve.spec), "SPEC",
     "the whole solver as it is printed: cg:pc=ic0,tol=1e-6", 0, 0},
    {"options", OPTION_TEXT, offsetof(solver_args, solve.more), "KEYS",
     "more of the solver's keys: restart=50,side=left,scale=match,order=rcm", 0, 0},
    {"coordinates", OPTION_TEXT, offsetof(solver_args, solve.coordinates), "FILE",
     "pc=amg: where the block rows lie, as many numbers each as the block size", 0, 0},
    {"modes", OPTION_TEXT, offsetof(solver_args, solve.modes), "FILE",
     "pc=amg: vectors that A maps to almost 0, one after the other", 0, 0},
};
const size_t solver_option_count = sizeof solver_options / sizeof solver_options[0];

static double largest_size(const void *array, tess_type type, int64_t count)
{
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        const tess_complex value = get_scalar(array, type, i);
        largest = fmax(largest, fmax(fabs(value.re), fabs(value.im)));
    }
    return largest;
}

/* b = A times all ones. Where the rows of A add up to 0, as those of a Laplacian, that b is 0 but
 * for rounding: b is then A times numbers from 1 to 2. */
static int multiply_ones(cli_app *app, const tess_matrix_view *A, solve_run *r)
{
    const int64_t stored = A->blocks * A->block_height * A->block_width;
    r->report.rhs = "A times ones";
    for (int64_t i = 0; i < A->cols; i++)
        put_scalar(r->x, A->type, i, (tess_complex){1, 0});
    TRY_CALL(app, tess_spmv(r->plan, 1, r->x, 0, r->b));
    if (largest_size(r->b, A->type, A->rows) > 1e-6 * largest_size(A->values, A->type, stored))
        return EXIT_DONE;
    r->report.rhs = "A times 1 + (i mod 7)/7, as A times ones is 0";
    for (int64_t i = 0; i < A->cols; i++)
        put_scalar(r->x, A->type, i, (tess_complex){1 + (double)(i % 7) / 7, 0});
    TRY_CALL(app, tess_spmv(r->plan, 1, r->x, 0, r->b));
    return EXIT_DONE;
}

/* The right-hand side: a file's, else the generator's (in r->b already), else A times all ones. */
static int make_rhs(cli_app *app, const solve_options *options, solve_run *r)
{
    const tess_matrix_view A = view_of(r->matrix);
    if (options->rhs) {
        free(r->b);
        r->b = NULL;
        TRY_EXIT(input_vector(app, options->rhs, A.type, A.rows, "rows", &r->b));
        r->report.rhs = options->rhs;
    } else if (r->b) {
        r->report.rhs = "the generator's";
    } else {
        r->b = zero_vector(A.type, A.rows);
        if (!r->b)
            return fail_memory(app);
        TRY_EXIT(multiply_ones(app, &A, r));
    }
    memset(r->x, 0, (size_t)A.cols * type_size(A.type));
    return EXIT_DONE;
}

/* Whether A is symmetric, or of complex numbers Hermitian: what cg takes. */
static int find_symmetry(cli_app *app, const tess_matrix *A, bool *symmetric)
{
    tess_symmetry symmetry;
    int hermitian;
    if (is_complex(view_of(A).type)) {
        TRY_CALL(app, tess_matrix_hermitian(app->ctx, A, &hermitian));
        *symmetric = hermitian;
        return EXIT_DONE;
    }
    TRY_CALL(app, tess_matrix_symmetry(app->ctx, A, &symmetry));
    *symmetric = symmetry.asymmetry < 1e-10;
    return EXIT_DONE;
}

/* Whether all of --options are keys that auto takes. */
static bool suits_auto(const char *keys)
{
    static const char *const taken[] = {"tol=", "atol=", "max=", "budget=", "memory="};
    for (const char *at = keys; at; at = strchr(at, ',')) {
        bool found = false;
        at += *at == ',';
        for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
            found |= strncmp(at, taken[i], strlen(taken[i])) == 0;
        if (!found)
            return false;
    }
    return true;
}

/* The traits of the method that begins the spec. */
static int method_traits(const char *spec)
{
    const size_t length = strcspn(spec, ":");
    for (int i = 0; tess_solve_method_name(i); i++)
        if (strlen(tess_solve_method_name(i)) == length &&
            strncmp(tess_solve_method_name(i), spec, length) == 0)
            return tess_solve_method_traits(i);
    return 0;
}

bool solve_is_symmetric(const solve_run *r)
{
    return method_traits(r->spec) & TESS_SOLVE_SYMMETRIC;
}

/* What is not said is found by auto. With a method or pc alone, or keys of them, the other is cg
 * for a symmetric matrix and bicgstab for others, or block-Jacobi where there are square blocks;
 * `bare`: no preconditioner. Writes the spec to r and its length, which may be more than r has room
 * for, to *length. */
static int join_spec(cli_app *app, const solve_options *options, bool bare, solve_run *r,
                     int *length)
{
    const tess_matrix_view view = view_of(r->matrix), *A = &view;
    const char *method = options->method;
    const bool automatic =
        method ? strcmp(method, "auto") == 0 : !options->pc && suits_auto(options->more);
    if (!method && !automatic) {
        bool symmetric = false;
        TRY_EXIT(find_symmetry(app, r->matrix, &symmetric));
        method = A->rows != A->cols ? "lsqr" : symmetric ? "cg" : "bicgstab";
    }
    const char *pc = options->pc                         ? options->pc
                     : A->rows != A->cols || bare        ? "none"
                     : A->block_height == A->block_width ? "bjacobi"
                                                         : "jacobi";
    char tol[40] = "", max[40] = "";
    double number;
    if (options->tol && !parse_real(options->tol, &number))
        return fail(app, EXIT_USAGE, "--tol: '%s' is not a number such as 1e-8", options->tol);
    if (options->tol)
        snprintf(tol, sizeof tol, ",tol=%.15g", number);
    if (options->max != 0)
        snprintf(max, sizeof max, ",max=%lld", (long long)options->max);
    if (automatic || method_traits(method) & TESS_SOLVE_OWN_PC)
        pc = options->pc;
    char keys[sizeof r->spec];
    *length = snprintf(keys, sizeof keys, "%s%s%s%s%s%s", pc ? ",pc=" : "", pc ? pc : "", tol, max,
                       options->more ? "," : "", options->more ? options->more : "");
    if (*length < (int)sizeof keys)
        *length = snprintf(r->spec, sizeof r->spec, "%s%s%s", automatic ? "auto" : method,
                           keys[0] ? ":" : "", keys[0] ? keys + 1 : "");
    return EXIT_DONE;
}

static int make_spec(cli_app *app, const solve_options *options, bool bare, solve_run *r)
{
    int length = 0;
    if (options->spec)
        length = snprintf(r->spec, sizeof r->spec, "%s", options->spec);
    else
        TRY_EXIT(join_spec(app, options, bare, r, &length));
    if (length >= (int)sizeof r->spec)
        return fail(
            app, EXIT_USAGE,
            "the solver's options are longer than %zu characters: leave out what is the default",
            sizeof r->spec - 1);
    r->report.spec = r->spec;
    return EXIT_DONE;
}

static int set_coordinates(cli_app *app, const char *path, solve_run *r)
{
    const tess_matrix_view A = view_of(r->matrix);
    int64_t count;
    void *numbers;
    TRY_EXIT(input_numbers(app, path, TESS_F64, &count, &numbers));
    const bool fits = count == A.rows;
    const tess_status status =
        fits ? tess_solver_set_coordinates(r->solver, A.block_height, numbers) : TESS_OK;
    free(numbers);
    TRY_CALL(app, status);
    return fits ? EXIT_DONE
                : fail(app, EXIT_USAGE,
                       "--coordinates: %s has %lld numbers and must have %lld: %d for each of the "
                       "%lld "
                       "block rows, one block row after the other",
                       path, (long long)count, (long long)A.rows, A.block_height,
                       (long long)A.block_rows);
}

static int set_modes(cli_app *app, const char *path, solve_run *r)
{
    const tess_matrix_view A = view_of(r->matrix);
    int64_t count;
    void *numbers;
    TRY_EXIT(input_numbers(app, path, TESS_F64, &count, &numbers));
    const bool fits = A.rows > 0 && count > 0 && count % A.rows == 0 && count / A.rows < 1000;
    const tess_status status =
        fits ? tess_solver_set_modes(r->solver, (int)(count / A.rows), numbers, A.rows) : TESS_OK;
    free(numbers);
    TRY_CALL(app, status);
    return fits ? EXIT_DONE
                : fail(app, EXIT_USAGE,
                       "--modes: %s has %lld numbers, which are not columns of %lld: a mode must "
                       "have "
                       "one number for each of the matrix's rows",
                       path, (long long)count, (long long)A.rows);
}

/* The value of a key of "METHOD:key=value,key=value"; `otherwise` where it is not said. */
static double key_value(const char *spec, const char *key, double otherwise)
{
    const size_t length = strlen(key);
    for (const char *at = strpbrk(spec, ":,"); at; at = strpbrk(at + 1, ":,"))
        if (strncmp(at + 1, key, length) == 0 && at[1 + length] == '=')
            return strtod(at + 2 + length, NULL);
    return otherwise;
}

/* Where the diagonal blocks of a preconditioner that nobody asked for are singular, there is none.
 */
static int make_solver(cli_app *app, const solve_options *options, solve_run *r)
{
    const tess_status status = tess_solver_create(r->plan, r->spec, &r->solver);
    if (status != TESS_ERR_MATRIX || options->pc || options->spec ||
        strncmp(r->spec, "auto", 4) == 0)
        return status == TESS_OK ? EXIT_DONE : fail_status(app, status);
    TRY_EXIT(make_spec(app, options, true, r));
    TRY_CALL(app, tess_solver_create(r->plan, r->spec, &r->solver));
    return EXIT_DONE;
}

int solve_system(cli_app *app, const solve_options *options, solve_run *r)
{
    const tess_matrix_view A = view_of(r->matrix);
    r->x = zero_vector(A.type, A.cols);
    if (!r->x)
        return fail_memory(app);
    TRY_EXIT(make_rhs(app, options, r));
    TRY_EXIT(make_spec(app, options, false, r));
    double started = seconds_now();
    terminal_catch_interrupts(app); /* the best x so far is kept */
    TRY_EXIT(make_solver(app, options, r));
    if (options->coordinates)
        TRY_EXIT(set_coordinates(app, options->coordinates, r));
    if (options->modes)
        TRY_EXIT(set_modes(app, options->modes, r));
    TRY_CALL(app, tess_solver_set_up(r->solver));
    r->report.setup_seconds = seconds_now() - started;
    solve_progress progress = {
        .app = app, .tol = key_value(r->spec, "tol", SOLVE_TOL), .started = seconds_now()};
    tess_solver_set_callback(r->solver, solve_show_progress, &progress);
    TRY_CALL(app, tess_solver_solve(r->solver, r->b, r->x, &r->report.result));
    terminal_end_interrupts(app);
    r->report.solver = r->solver;
    if (tess_solver_spec(r->solver))
        r->report.spec = tess_solver_spec(r->solver);
    terminal_clear_progress(app);
    /* The share of what the device can read, of a working set of the size that a product moves. */
    r->report.plan = plan_info(r->plan);
    const double moves = r->report.plan.moves;
    TRY_CALL(app, tess_device_read_speed(r->device, moves > 0 ? moves : product_bytes(&A),
                                         &r->report.ceiling));
    return EXIT_DONE;
}

void solve_release(solve_run *r)
{
    tess_solver_destroy(r->solver);
    tess_plan_destroy(r->plan);
    tess_device_close(r->device);
    free(r->b);
    free(r->x);
    tess_matrix_destroy(r->matrix);
}

double solve_tolerance(const solve_run *r)
{
    const double norm = r->report.result.rhs_norm, least = key_value(r->spec, "atol", 0);
    return fmax(key_value(r->spec, "tol", SOLVE_TOL), norm > 0 ? least / norm : 0);
}

const char *solve_choices(const char *option, int i, const char **summary)
{
    const bool method = strcmp(option, "method") == 0;
    if (!method && strcmp(option, "pc") != 0)
        return NULL;
    *summary = method ? tess_solve_method_summary(i) : tess_solve_pc_summary(i);
    return method ? tess_solve_method_name(i) : tess_solve_pc_name(i);
}

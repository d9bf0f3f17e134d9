/* Solvers as objects: create, refresh, destroy, and the calls that solve. */
#include <math.h>
#include <string.h>

#include "solve/solve.h"

/* Systems that go through one SpMM: beyond these the matrix's share of the traffic is small. */
enum { SYSTEMS_TOGETHER = 16 };

/* Takes back what `make` did. */
static void unmake(tess_solver *solver)
{
    if (solver->options.method->close)
        solver->options.method->close(solver);
    tess_space_close(&solver->space);
    tess_steps_free(&solver->start);
    tess_steps_free(&solver->residual);
    tess_steps_free(&solver->rhs);
    tess_steps_free(&solver->zero);
    for (int64_t i = 0; solver->loop && i < solver->cycle; i++)
        tess_steps_free(&solver->loop[i]);
    tess_free(solver->ctx, solver->loop);
    tess_free(solver->ctx, solver->slots);
    solver->loop = NULL;
    solver->slots = NULL;
    tess_pc_destroy(&solver->pc);
    solver->made = false;
}

void tess_solver_destroy(tess_solver *solver)
{
    if (!solver)
        return;
    if (solver->outer)
        solver->outer->close(solver);
    else
        unmake(solver);
    tess_free(solver->ctx, solver->history);
    tess_free(solver->ctx, solver->modes);
    tess_free(solver->ctx, solver->coordinates);
    tess_free(solver->ctx, solver);
}

/* All lists of steps, and the method's own state. */
static tess_status build(tess_solver *solver)
{
    const tess_steps empty = {.ctx = solver->ctx};
    TESS_TRY(TESS_CALLOC(solver->ctx, solver->cycle, &solver->loop));
    for (int64_t i = 0; i < solver->cycle; i++)
        solver->loop[i] = empty;
    solver->start = solver->residual = solver->rhs = solver->zero = empty;

    tess_step_apply(&solver->residual, TESS_V_X, TESS_V_OWN);
    tess_step_sum(&solver->residual, TESS_V_OWN, 1, TESS_ONE, TESS_V_B, -1, TESS_ONE, TESS_V_OWN);
    tess_step_dot(&solver->residual, TESS_S_RR, TESS_V_OWN, TESS_V_OWN);
    tess_step_dot(&solver->rhs, TESS_S_RR, TESS_V_B, TESS_V_B);
    tess_step_copy(&solver->zero, TESS_V_X, TESS_V_B);
    solver->options.method->build(solver);

    TESS_TRY(tess_steps_finish(&solver->start));
    TESS_TRY(tess_steps_finish(&solver->residual));
    TESS_TRY(tess_steps_finish(&solver->rhs));
    TESS_TRY(tess_steps_finish(&solver->zero));
    for (int64_t i = 0; i < solver->cycle; i++)
        TESS_TRY(tess_steps_finish(&solver->loop[i]));
    return solver->options.method->open ? solver->options.method->open(solver) : TESS_OK;
}

/* The space and what its device makes of the lists. */
static tess_status open_space(tess_solver *solver, int vectors, int slots, int systems,
                              tess_space *space)
{
    const tess_method *method = solver->options.method;
    const tess_steps *const once[] = {&solver->start, &solver->residual, &solver->rhs,
                                      &solver->zero};
    TESS_TRY(tess_space_open(solver->plan, &solver->pc, vectors, slots, systems, space));
    const tess_stretch stretch = {.lists = solver->loop,
                                  .cycle = solver->cycle,
                                  .stops = method->stops,
                                  .stop_count = method->stop_count};
    tess_status status =
        space->ops->prepare ? space->ops->prepare(space, once, 4, &stretch) : TESS_OK;
    if (status != TESS_OK)
        tess_space_close(space);
    return status;
}

/* What goes around the method: the outermost. */
static const tess_outer *outer_of(const tess_solve_options *options)
{
    if (options->automatic)
        return &tess_outer_auto;
    if (options->scale != TESS_SCALE_NONE || options->order != TESS_ORDER_NONE ||
        options->pc.pivot > 0)
        return &tess_outer_arranged;
    return options->inner_single ? &tess_outer_refine : NULL;
}

/* Preconditioner, lists of steps and space. What a failure leaves is taken back by `unmake`. */
static tess_status make(tess_solver *solver)
{
    const tess_method *method = solver->options.method;
    int vectors = method->vectors, slots = method->slots;
    solver->cycle = 1;
    if (method->size)
        method->size(&solver->options, &vectors, &slots, &solver->cycle);
    TESS_TRY(tess_pc_create(solver->plan, &solver->options.pc, &solver->pc));
    solver->pc.own.first_vector = vectors;
    solver->pc.own.first_slot = slots;
    vectors += solver->pc.own.vectors;
    slots += solver->pc.own.slots;
    TESS_TRY(build(solver));
    TESS_TRY(TESS_ALLOC(solver->ctx, slots, &solver->slots));
    TESS_TRY(open_space(solver, vectors, slots, 1, &solver->space));
    solver->made = true;
    return TESS_OK;
}

/* Everything after the solver itself is allocated. A preconditioner that takes modes waits for
 * them. */
static tess_status prepare(tess_solver *solver)
{
    solver->outer = outer_of(&solver->options);
    if (solver->outer)
        return solver->outer->open(solver);
    return solver->options.pc.ops->takes_modes ? TESS_OK : make(solver);
}

tess_status tess_solver_set_up(tess_solver *solver)
{
    if (!solver)
        return TESS_ERR_ARGUMENT;
    if (solver->outer || solver->made)
        return TESS_OK;
    const tess_status status = make(solver);
    if (status != TESS_OK)
        unmake(solver);
    return status;
}

/* The solver that has the preconditioner, or why there is none that takes modes. */
static tess_status find_taker(tess_solver *solver, const char *call, tess_solver **out)
{
    if (solver->outer == &tess_outer_refine)
        solver = solver->inner;
    if (solver->outer || !solver->options.pc.ops->takes_modes)
        return tess_fail(solver->ctx, TESS_ERR_UNSUPPORTED,
                         "%s: %s takes no modes: pc=amg does, without scale= and order=", call,
                         solver->outer ? "a system that is arranged or solved by auto"
                                       : solver->options.pc.ops->name);
    *out = solver;
    return TESS_OK;
}

/* A copy of `count` numbers in place of *kept, all of them finite. */
static tess_status keep_numbers(tess_solver *solver, const char *call, int64_t columns,
                                int64_t length, int64_t ld, const double *from, double **kept)
{
    double *copy;
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < length; i++)
            if (!isfinite(from[j * ld + i]))
                return tess_fail(solver->ctx, TESS_ERR_ARGUMENT,
                                 "%s: number %lld of column %lld is %g", call, (long long)i,
                                 (long long)j, from[j * ld + i]);
    TESS_TRY(TESS_ALLOC(solver->ctx, columns * length, &copy));
    for (int64_t j = 0; j < columns; j++)
        memcpy(copy + j * length, from + j * ld, (size_t)length * sizeof *copy);
    tess_free(solver->ctx, *kept);
    *kept = copy;
    unmake(solver);
    return TESS_OK;
}

tess_status tess_solver_set_modes(tess_solver *solver, int k, const double *modes, int64_t ld)
{
    static const char call[] = "tess_solver_set_modes";
    if (!solver)
        return TESS_ERR_ARGUMENT;
    const int64_t rows = solver->plan->matrix->rows;
    if (k < 1 || !modes || ld < rows)
        return tess_fail(solver->ctx, TESS_ERR_ARGUMENT, "%s: %s", call,
                         k < 1    ? "fewer than one mode"
                         : !modes ? "modes is NULL"
                                  : "ld is less than the matrix's rows");
    TESS_TRY(find_taker(solver, call, &solver));
    TESS_TRY(keep_numbers(solver, call, k, rows, ld, modes, &solver->modes));
    solver->options.pc.amg.modes = solver->modes;
    solver->options.pc.amg.mode_count = k;
    return TESS_OK;
}

tess_status tess_solver_set_coordinates(tess_solver *solver, int dimensions,
                                        const double *coordinates)
{
    static const char call[] = "tess_solver_set_coordinates";
    if (!solver)
        return TESS_ERR_ARGUMENT;
    const tess_matrix *A = solver->plan->matrix;
    if (!coordinates)
        return tess_fail(solver->ctx, TESS_ERR_ARGUMENT, "%s: coordinates is NULL", call);
    if (dimensions < 2 || dimensions > 3 || dimensions != A->block_height ||
        A->rows % dimensions != 0)
        return tess_fail(solver->ctx, TESS_ERR_ARGUMENT,
                         "%s: %d dimensions for blocks of %d x %d: rigid motions need whole blocks "
                         "of 2 x 2 or 3 x 3 and as many dimensions",
                         call, dimensions, (int)A->block_height, (int)A->block_width);
    TESS_TRY(find_taker(solver, call, &solver));
    TESS_TRY(keep_numbers(solver, call, 1, A->rows, A->rows, coordinates, &solver->coordinates));
    solver->options.pc.amg.coordinates = solver->coordinates;
    solver->options.pc.amg.dimensions = dimensions;
    return TESS_OK;
}

const char *tess_solver_describe(const tess_solver *solver)
{
    if (!solver)
        return "";
    if (solver->outer == &tess_outer_refine)
        solver = solver->inner;
    return !solver->outer && solver->made && solver->pc.ops->describe
               ? solver->pc.ops->describe(&solver->pc)
               : "";
}

tess_status tess_solver_create(tess_plan *plan, const char *spec, tess_solver **out)
{
    if (!plan)
        return TESS_ERR_ARGUMENT;
    tess_ctx *ctx = plan->ctx;
    const tess_matrix *A = plan->matrix;
    if (!out)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_solver_create: an argument is NULL");
    if (A->rows != A->cols)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "a solver needs a square matrix, not %lld x %lld",
                         (long long)A->rows, (long long)A->cols);
    tess_solve_options options;
    TESS_TRY(tess_solve_options_parse(ctx, spec ? spec : "auto", &options));
    return tess_solver_open(plan, &options, out);
}

tess_status tess_solver_open(tess_plan *plan, const tess_solve_options *options, tess_solver **out)
{
    tess_solver *solver;
    TESS_TRY(TESS_CALLOC(plan->ctx, 1, &solver));
    solver->ctx = plan->ctx;
    solver->plan = plan;
    solver->options = *options;
    solver->pc.ctx = plan->ctx;
    tess_status status = prepare(solver);
    if (status != TESS_OK) {
        tess_solver_destroy(solver);
        return status;
    }
    *out = solver;
    return TESS_OK;
}

void tess_solver_set_callback(tess_solver *solver, tess_solve_fn callback, void *user)
{
    if (!solver)
        return;
    solver->callback = callback;
    solver->callback_user = user;
}

tess_status tess_solver_refresh(tess_solver *solver)
{
    if (!solver)
        return TESS_ERR_ARGUMENT;
    if (solver->outer)
        return solver->outer->refresh(solver);
    if (!solver->made)
        return tess_solver_set_up(solver);
    TESS_TRY(tess_pc_update_values(solver->plan, &solver->pc));
    return solver->space.ops->refresh ? solver->space.ops->refresh(&solver->space) : TESS_OK;
}

/* A space for at least `systems` systems. */
static tess_status reserve_systems(tess_solver *solver, int systems)
{
    if (systems <= solver->space.systems)
        return TESS_OK;
    tess_space larger;
    TESS_TRY(open_space(solver, solver->space.vectors, solver->space.slots, systems, &larger));
    tess_space_close(&solver->space);
    solver->space = larger;
    return TESS_OK;
}

tess_status tess_solver_solve_many(tess_solver *solver, int k, const void *B, int64_t ldb, void *X,
                                   int64_t ldx, tess_result *results)
{
    if (!solver)
        return TESS_ERR_ARGUMENT;
    const int64_t rows = solver->plan->matrix->rows;
    if (k < 0 || (k > 0 && !results) || (k > 0 && rows > 0 && (!B || !X)))
        return tess_fail(solver->ctx, TESS_ERR_ARGUMENT, "tess_solver_solve_many: %s",
                         k < 0 ? "a negative number of systems" : "an argument is NULL");
    if (k > 1 && (ldb < rows || ldx < rows))
        return tess_fail(solver->ctx, TESS_ERR_ARGUMENT,
                         "tess_solver_solve_many: %s = %lld is less than %lld rows",
                         ldb < rows ? "ldb" : "ldx", (long long)(ldb < rows ? ldb : ldx),
                         (long long)rows);
    const size_t scalar = tess_type_size(solver->plan->matrix->type);
    for (int j = 0; solver->outer && j < k; j++)
        TESS_TRY(solver->outer->solve(solver, (const char *)B + (size_t)(j * ldb) * scalar,
                                      (char *)X + (size_t)(j * ldx) * scalar, &results[j]));
    if (solver->outer)
        return TESS_OK;
    TESS_TRY(tess_solver_set_up(solver));
    /* A method with cycles takes one after the other: its products are a small part of its time,
     * and every system that goes on beside another needs a basis of its own. */
    const int most = solver->cycle > 1 ? 1 : SYSTEMS_TOGETHER;
    for (int first = 0; first < k; first += most) {
        const int count = k - first < most ? k - first : most;
        TESS_TRY(reserve_systems(solver, count));
        TESS_TRY(tess_iterate(solver, count, (const char *)B + (size_t)(first * ldb) * scalar, ldb,
                              (char *)X + (size_t)(first * ldx) * scalar, ldx, results + first));
    }
    return TESS_OK;
}

tess_status tess_solver_solve(tess_solver *solver, const void *b, void *x, tess_result *result)
{
    return tess_solver_solve_many(solver, 1, b, 0, x, 0, result);
}

tess_status tess_solve(tess_plan *plan, const char *spec, const void *b, void *x,
                       tess_result *result)
{
    tess_solver *solver;
    TESS_TRY(tess_solver_create(plan, spec, &solver));
    tess_status status = tess_solver_solve(solver, b, x, result);
    tess_solver_destroy(solver);
    if (status == TESS_OK) {
        result->history = NULL;
        result->history_count = 0;
    }
    return status;
}

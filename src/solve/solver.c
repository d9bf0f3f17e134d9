/* Solvers as objects: create, set up, update, destroy. */
#include "plan/tuner.h"
#include "solve/solve.h"

void tess_solver_unmake(tess_solver *solver)
{
    if (solver->options.method->close)
        solver->options.method->close(solver);
    tess_space_close(&solver->space);
    tess_steps_free(&solver->start);
    tess_steps_free(&solver->residual);
    tess_steps_free(&solver->check);
    tess_steps_free(&solver->rhs);
    tess_steps_free(&solver->zero);
    tess_steps_free(&solver->normal);
    for (int64_t i = 0; solver->loop && i < solver->cycle; i++)
        tess_steps_free(&solver->loop[i]);
    TESS_FREE(solver->ctx, solver->loop, solver->slots);
    solver->loop = NULL;
    solver->slots = NULL;
    tess_pc_tear_down(&solver->pc);
    solver->about[0] = '\0';
    solver->made = false;
}

void tess_solver_destroy(tess_solver *solver)
{
    if (!solver)
        return;
    if (solver->outer)
        solver->outer->close(solver);
    else
        tess_solver_unmake(solver);
    TESS_FREE(solver->ctx, solver->history, solver->first_history, solver->modes,
              solver->coordinates, solver);
}

/* Builds all lists of steps, and the method's own state. */
static tess_status build(tess_solver *solver)
{
    const tess_steps empty = {.ctx = solver->ctx, .real_dots = solver->options.method->symmetric};
    TESS_TRY(TESS_CALLOC(solver->ctx, solver->cycle, &solver->loop));
    for (int64_t i = 0; i < solver->cycle; i++)
        solver->loop[i] = empty;
    solver->start = solver->residual = solver->check = solver->rhs = solver->zero = solver->normal =
        empty;

    tess_residual_build(solver);
    tess_step_dot(&solver->rhs, TESS_S_RR, TESS_V_B, TESS_V_B);
    tess_step_copy(&solver->zero, TESS_V_X, TESS_V_B);
    solver->options.method->build(solver);

    TESS_TRY(tess_steps_finish(&solver->start));
    TESS_TRY(tess_steps_finish(&solver->residual));
    TESS_TRY(tess_steps_finish(&solver->check));
    TESS_TRY(tess_steps_finish(&solver->rhs));
    TESS_TRY(tess_steps_finish(&solver->zero));
    TESS_TRY(tess_steps_finish(&solver->normal));
    for (int64_t i = 0; i < solver->cycle; i++)
        TESS_TRY(tess_steps_finish(&solver->loop[i]));
    return solver->options.method->open ? solver->options.method->open(solver) : TESS_OK;
}

/* Opens the space, whose device prepares the lists. */
static tess_status open_space(tess_solver *solver, int vectors, int slots, int systems,
                              tess_space *space)
{
    const tess_method *method = solver->options.method;
    const tess_steps *const once[] = {&solver->start, &solver->residual, &solver->check,
                                      &solver->rhs,   &solver->zero,     &solver->normal};
    const int count = method->least_squares ? 6 : 5;
    TESS_TRY(tess_space_open(solver->plan, &solver->pc, vectors, slots, systems, space));
    const tess_stretch stretch = {.lists = solver->loop,
                                  .cycle = solver->cycle,
                                  .stops = method->stops,
                                  .stop_count = method->stop_count};
    tess_status status =
        space->ops->prepare ? space->ops->prepare(space, once, count, &stretch) : TESS_OK;
    if (status != TESS_OK)
        tess_space_close(space);
    return status;
}

/* Returns the outermost of the solvers around the method, or NULL where there is none. */
static const tess_outer *outer_of(const tess_solver *solver)
{
    const tess_solve_options *options = &solver->options;
    if (solver->plan->inner)
        return &tess_outer_regrouped;
    if (solver->plan->matrix->rows != solver->plan->matrix->cols)
        return &tess_outer_padded;
    if (options->automatic)
        return &tess_outer_auto;
    if (options->scale != TESS_SCALE_NONE || options->order != TESS_ORDER_NONE ||
        options->pc.pivot > 0)
        return &tess_outer_arranged;
    if (options->inner_single)
        return &tess_outer_refine;
    return solver->plan->device->backend->each_part ? &tess_outer_parts : NULL;
}

/* Computes |A|, which methods of least squares compare with. */
static tess_status find_norm(tess_solver *solver)
{
    return solver->options.method->least_squares ? tess_plan_norm(solver->plan, &solver->norm)
                                                 : TESS_OK;
}

/* Makes the preconditioner, the lists of steps and the space. tess_solver_unmake frees what a
 * failure leaves. */
static tess_status make(tess_solver *solver)
{
    const tess_method *method = solver->options.method;
    int vectors = method->vectors, slots = method->slots;
    solver->cycle = 1;
    if (method->size)
        method->size(&solver->options, &vectors, &slots, &solver->cycle);
    TESS_TRY(tess_parts_set_up_pc(solver));
    tess_pc_place(&solver->pc, &vectors, &slots);
    const tess_status status = build(solver);
    TESS_TRY(method->least_squares ? tess_pc_agree(solver->plan, status) : status);
    TESS_TRY(find_norm(solver));
    TESS_TRY(
        TESS_ALLOC(solver->ctx, tess_reals(solver->plan->matrix->type, slots), &solver->slots));
    TESS_TRY(open_space(solver, vectors, slots, 1, &solver->space));
    solver->made = true;
    return TESS_OK;
}

/* Makes everything but the solver itself. A preconditioner that takes modes is made later, at the
 * first solve, since modes may still be set. */
static tess_status prepare(tess_solver *solver)
{
    solver->outer = outer_of(solver);
    if (solver->outer)
        return solver->outer->open(solver);
    return solver->options.pc.ops->takes_modes ? TESS_OK : make(solver);
}

/* The preconditioner, the norm of A and copies on a device follow the plan's present values. */
static tess_status update_values(tess_solver *solver)
{
    solver->about[0] = '\0';
    TESS_TRY(tess_pc_agree(solver->plan, tess_pc_update_values(solver->plan, &solver->pc)));
    TESS_TRY(find_norm(solver));
    if (!solver->space.ops->update_values)
        return TESS_OK;
    return tess_pc_agree(solver->plan, solver->space.ops->update_values(&solver->space));
}

/* auto on a part: prepares the chosen solver, with the tolerances and the limit of iterations asked
 * for. */
static tess_status prepare_chosen(tess_solver *solver, const char *spec)
{
    tess_solve_options options;
    TESS_TRY(tess_solve_options_parse(solver->ctx, spec, &options));
    options.tol = solver->options.tol;
    options.atol = solver->options.atol;
    options.max = solver->options.max;
    if (solver->chosen)
        tess_solver_unmake(solver);
    solver->options = options;
    solver->chosen = spec;
    return prepare(solver);
}

/* auto on a part: prepares the solver chosen for the present values; one that is prepared and would
 * be chosen again takes them. Where its factors cannot be made, prepares one that does not fail for
 * its pivots. All parts see the same status. */
static tess_status prepare_automatic(tess_solver *solver)
{
    const char *spec;
    TESS_TRY(tess_parts_choose(solver->plan, &spec));
    const tess_kept_error kept = tess_error_keep(solver->ctx);
    const bool again = solver->made && strcmp(spec, solver->chosen) == 0;
    const tess_status status = again ? update_values(solver) : prepare_chosen(solver, spec);
    if (status != TESS_ERR_MATRIX)
        return status;
    tess_log(solver->ctx, "auto: %s", tess_ctx_error(solver->ctx));
    tess_error_restore(solver->ctx, &kept);
    return prepare_chosen(solver, tess_parts_choice_for_any);
}

/* All parts keep a solver, or none does. */
static tess_status update_automatic(tess_solver *solver)
{
    const tess_status status = tess_pc_agree(solver->plan, prepare_automatic(solver));
    if (status != TESS_OK)
        tess_solver_unmake(solver);
    return status;
}

tess_status tess_solver_set_up(tess_solver *solver)
{
    if (!solver)
        return TESS_ERR_ARGUMENT;
    if (solver->outer || solver->made)
        return TESS_OK;
    const tess_status status = tess_pc_agree(solver->plan, make(solver));
    if (status != TESS_OK)
        tess_solver_unmake(solver);
    return status;
}

/* Checks the options that go with the caller's operators: a method, and nothing that needs
 * entries. */
static tess_status check_given(const tess_plan *plan, const tess_solve_options *options,
                               const tess_operator *M)
{
    const bool bare = !options->automatic && options->scale == TESS_SCALE_NONE &&
                      options->order == TESS_ORDER_NONE && !options->inner_single &&
                      options->pc.ops->identity;
    if (M && plan->device->backend->each_part)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "the caller's preconditioner needs whole vectors, and '%s' holds them in "
                         "parts: use a device of one part",
                         plan->device->description);
    if (!bare && (M || plan->device->backend->matrix_free))
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "with the caller's %s a solver takes a method without pc=, scale=, order= "
                         "and inner=: try \"gmres\", or \"cg\" where it is symmetric",
                         M ? "preconditioner" : "operator");
    if (M && (M->rows != plan->matrix->rows || M->type != plan->matrix->type))
        return tess_fail(plan->ctx, TESS_ERR_ARGUMENT,
                         "the preconditioner has %lld rows of %s, the matrix %lld of %s",
                         (long long)M->rows, tess_type_name(M->type), (long long)plan->matrix->rows,
                         tess_type_name(plan->matrix->type));
    return TESS_OK;
}

tess_status tess_solver_create(tess_plan *plan, const char *spec, tess_solver **out)
{
    return tess_solver_create_with(plan, spec, NULL, out);
}

/* Reads what the caller asks for, and refuses what the plan does not take. *taken is a copy of M.
 */
static tess_status read_options(const tess_plan *plan, const char *spec, const tess_operator *M,
                                tess_operator *taken, tess_solve_options *options)
{
    tess_ctx *ctx = plan->ctx;
    const tess_matrix *A = plan->matrix;
    TESS_TRY(tess_solve_options_parse(ctx, spec ? spec : "auto", options));
    if (M)
        TESS_TRY(tess_operator_take(ctx, M, taken));
    TESS_TRY(check_given(plan, options, M ? taken : NULL));
    if (tess_is_complex(A->type))
        TESS_TRY(tess_complex_check(plan, options));
    if (M) {
        options->pc.ops = &tess_pc_given;
        options->pc.caller = taken;
    }
    if (A->rows != A->cols && !options->automatic && !options->method->least_squares)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "%s needs a square matrix, not %lld x %lld: auto and lsqr take any",
                         options->method->name, (long long)A->rows, (long long)A->cols);
    return TESS_OK;
}

tess_status tess_solver_create_with(tess_plan *plan, const char *spec, const tess_operator *M,
                                    tess_solver **out)
{
    tess_operator taken;
    tess_solve_options options;
    if (!plan)
        return TESS_ERR_ARGUMENT;
    const tess_status status = out ? read_options(plan, spec, M, &taken, &options)
                                   : tess_null_argument(plan->ctx, "tess_solver_create");
    TESS_TRY(tess_pc_agree(plan, status));
    return tess_solver_open(plan, &options, out);
}

/* Makes an empty solver, on all parts or on none. */
static tess_status open_empty(tess_plan *plan, tess_solver **out)
{
    tess_solver *solver = NULL;
    tess_status status = tess_plan_follow(plan);
    TESS_THEN(TESS_CALLOC(plan->ctx, 1, &solver));
    status = tess_pc_agree(plan, status);
    return TESS_DELIVER_OR(status, solver, tess_free(plan->ctx, solver), out);
}

tess_status tess_solver_open(tess_plan *plan, const tess_solve_options *options, tess_solver **out)
{
    tess_solver *solver;
    TESS_TRY(open_empty(plan, &solver));
    solver->ctx = plan->ctx;
    solver->plan = plan;
    solver->options = *options;
    solver->pc.ctx = plan->ctx;
    solver->updates = plan->updates;
    tess_status status = tess_parts_check(plan, &solver->options);
    if (status == TESS_OK)
        status = tess_plan_is_part(plan) && options->automatic ? prepare_automatic(solver)
                                                               : prepare(solver);
    status = tess_pc_agree(plan, status);
    if (status != TESS_OK) {
        tess_solver_destroy(solver);
        return status;
    }
    *out = solver;
    return TESS_OK;
}

double tess_solver_growth(const tess_solver *solver)
{
    while (solver && solver->outer)
        solver = solver->inner;
    return solver ? solver->pc.growth : 0;
}

void tess_solver_set_callback(tess_solver *solver, tess_solve_fn callback, void *user)
{
    if (!solver)
        return;
    solver->callback = callback;
    solver->callback_user = user;
}

void tess_solver_pass_on(const tess_solver *solver, tess_solver *inner)
{
    tess_solver_set_callback(inner, solver->callback, solver->callback_user);
    inner->options.tol = solver->options.tol;
    inner->options.atol = solver->options.atol;
    inner->options.max = solver->options.max;
}

tess_status tess_solver_need_idle(tess_solver *solver, const char *call)
{
    if (!solver->solving)
        return TESS_OK;
    return tess_fail(solver->ctx, TESS_ERR_ARGUMENT,
                     "%s: the solver is in the middle of a solve, whose callback may not use it: "
                     "make another one for that",
                     call);
}

static tess_status update(tess_solver *solver, const void *values)
{
    TESS_TRY(values ? tess_plan_update_values(solver->plan, values)
                    : tess_plan_follow(solver->plan));
    const int64_t updates = solver->plan->updates;
    if (solver->outer)
        TESS_TRY(solver->outer->update(solver));
    else if (solver->chosen)
        TESS_TRY(update_automatic(solver));
    else
        TESS_TRY(solver->made ? update_values(solver) : tess_solver_set_up(solver));
    solver->updates = updates;
    return TESS_OK;
}

tess_status tess_solver_update(tess_solver *solver, const void *values)
{
    if (!solver)
        return TESS_ERR_ARGUMENT;
    TESS_TRY(tess_solver_need_idle(solver, __func__));
    return update(solver, values);
}

tess_status tess_solver_follow(tess_solver *solver)
{
    TESS_TRY(tess_plan_follow(solver->plan));
    if (solver->updates == solver->plan->updates)
        return TESS_OK;
    if (solver->outer || solver->chosen)
        return update(solver, NULL);
    if (solver->made)
        TESS_TRY(find_norm(solver));
    solver->updates = solver->plan->updates;
    return TESS_OK;
}

tess_status tess_solver_reserve(tess_solver *solver, int systems)
{
    if (systems <= solver->space.systems)
        return TESS_OK;
    tess_space larger;
    tess_status status =
        open_space(solver, solver->space.vectors, solver->space.slots, systems, &larger);
    const bool opened = status == TESS_OK;
    status = tess_pc_agree(solver->plan, status);
    if (status != TESS_OK && opened)
        tess_space_close(&larger);
    TESS_TRY(status);
    tess_space_close(&solver->space);
    solver->space = larger;
    return TESS_OK;
}

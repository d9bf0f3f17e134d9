/* What a preconditioner may be told beside the matrix: modes and coordinates; and what it says of
 * itself. */
#include "plan/regrouped.h"
#include "solve/solve.h"

/* Returns the innermost solver that has the modes of A: inside outer solvers that keep them. */
static tess_solver *with_modes(const tess_solver *solver)
{
    while (solver->inner && solver->outer->keeps_modes)
        solver = solver->inner;
    return (tess_solver *)(uintptr_t)solver;
}

/* Finds the solver that has the preconditioner. Fails where none takes modes. */
static tess_status find_taker(tess_solver *solver, const char *call, tess_solver **out)
{
    solver = with_modes(solver);
    if ((solver->outer && !solver->outer->parts) || !solver->options.pc.ops->takes_modes)
        return tess_fail(solver->ctx, TESS_ERR_UNSUPPORTED,
                         "%s: %s takes no modes: pc=amg does, without scale= and order=", call,
                         solver->outer ? "a system that is arranged or solved by auto"
                                       : solver->options.pc.ops->name);
    *out = solver;
    return TESS_OK;
}

/* Copies columns of `length` numbers. Fails where one is not finite. */
static tess_status copy_numbers(tess_ctx *ctx, const char *call, int64_t columns, int64_t length,
                                int64_t ld, const double *from, double **out)
{
    double *copy;
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < length; i++)
            if (!isfinite(from[j * ld + i]))
                return tess_fail(ctx, TESS_ERR_ARGUMENT, "%s: number %lld of column %lld is %g",
                                 call, (long long)i, (long long)j, from[j * ld + i]);
    TESS_TRY(TESS_ALLOC(ctx, columns * length, &copy));
    for (int64_t j = 0; length > 0 && j < columns; j++)
        memcpy(copy + j * length, from + j * ld, (size_t)length * sizeof *copy);
    *out = copy;
    return TESS_OK;
}

/* Brings columns into the inner order of a plan that permutes inside. */
static tess_status permute(const tess_plan *plan, int64_t columns, double **numbers)
{
    const int64_t rows = plan->matrix->rows;
    double *permuted;
    TESS_TRY(TESS_ALLOC(plan->ctx, columns * rows, &permuted));
    for (int64_t i = 0; i < columns * rows; i++)
        permuted[i] = (*numbers)[i - i % rows + tess_regrouped_of(plan)->source[0][i % rows]];
    tess_free(plan->ctx, *numbers);
    *numbers = permuted;
    return TESS_OK;
}

tess_status tess_modes_copy(const tess_plan *plan, const char *call, int k, const double *modes,
                            int64_t ld, double **out)
{
    const int64_t rows = plan->matrix->rows;
    double *copy;
    if (k < 1 || (!modes && rows > 0) || ld < rows)
        return tess_fail(plan->ctx, TESS_ERR_ARGUMENT, "%s: %s", call,
                         k < 1       ? "fewer than one mode"
                         : ld < rows ? "ld is less than the matrix's rows"
                                     : "modes is NULL");
    TESS_TRY(copy_numbers(plan->ctx, call, k, rows, ld, modes, &copy));
    const tess_status status = plan->inner ? permute(plan, k, &copy) : TESS_OK;
    return TESS_DELIVER_OR(status, copy, tess_free(plan->ctx, copy), out);
}

/* Replaces *kept by `numbers`, on all parts or on none; `status` is that of copying them here. The
 * preconditioner is made again with them. Collective. */
static tess_status keep(tess_solver *solver, tess_status status, double *numbers, double **kept)
{
    status = tess_pc_agree(solver->plan, status);
    if (status != TESS_OK) {
        tess_free(solver->ctx, numbers);
        return status;
    }
    tess_free(solver->ctx, *kept);
    *kept = numbers;
    tess_solver_unmake(solver);
    return TESS_OK;
}

tess_status tess_solver_set_modes(tess_solver *solver, int k, const double *modes, int64_t ld)
{
    static const char call[] = "tess_solver_set_modes";
    double *copy = NULL;
    if (!solver)
        return TESS_ERR_ARGUMENT;
    const tess_plan *plan = solver->plan;
    TESS_TRY(tess_solver_need_idle(solver, call));
    TESS_TRY(find_taker(solver, call, &solver));
    if (solver->outer && modes && k > 0 && ld >= plan->matrix->rows)
        return tess_together_modes(solver, k, modes, ld);
    const tess_status status = tess_modes_copy(plan, call, k, modes, ld, &copy);
    TESS_TRY(keep(solver, status, copy, &solver->modes));
    solver->options.pc.amg.modes = solver->modes;
    solver->options.pc.amg.mode_count = k;
    return TESS_OK;
}

static tess_status check_coordinates(const tess_solver *solver, const char *call, int dimensions,
                                     const double *coordinates)
{
    const tess_matrix *A = solver->plan->matrix;
    if (!coordinates && A->rows > 0)
        return tess_fail(solver->ctx, TESS_ERR_ARGUMENT, "%s: coordinates is NULL", call);
    if (solver->plan->inner)
        return tess_fail(
            solver->ctx, TESS_ERR_UNSUPPORTED,
            "%s: the plan permutes inside, and coordinates are of A's own blocks: pass "
            "modes, or plan with TESS_REGROUP_OFF",
            call);
    if (dimensions < 2 || dimensions > 3 || dimensions != A->block_height ||
        A->rows % dimensions != 0)
        return tess_fail(solver->ctx, TESS_ERR_ARGUMENT,
                         "%s: %d dimensions for blocks of %d x %d: rigid motions need whole blocks "
                         "of 2 x 2 or 3 x 3 and as many dimensions",
                         call, dimensions, (int)A->block_height, (int)A->block_width);
    return TESS_OK;
}

tess_status tess_solver_set_coordinates(tess_solver *solver, int dimensions,
                                        const double *coordinates)
{
    static const char call[] = "tess_solver_set_coordinates";
    double *copy = NULL;
    if (!solver)
        return TESS_ERR_ARGUMENT;
    tess_plan *plan = solver->plan;
    TESS_TRY(tess_solver_need_idle(solver, call));
    TESS_TRY(tess_pc_agree(plan, check_coordinates(solver, call, dimensions, coordinates)));
    TESS_TRY(find_taker(solver, call, &solver));
    if (solver->outer)
        return tess_together_coordinates(solver, dimensions, coordinates);
    const int64_t rows = plan->matrix->rows;
    const tess_status status = copy_numbers(solver->ctx, call, 1, rows, rows, coordinates, &copy);
    TESS_TRY(keep(solver, status, copy, &solver->coordinates));
    solver->options.pc.amg.coordinates = solver->coordinates;
    solver->options.pc.amg.dimensions = dimensions;
    return TESS_OK;
}

const char *tess_solver_describe(const tess_solver *solver)
{
    if (!solver)
        return "";
    solver = with_modes(solver);
    if (solver->outer && solver->outer->parts)
        solver = tess_together_first(solver);
    if (solver->outer || !solver->made || !solver->pc.ops->describe)
        return "";
    return solver->about[0] ? solver->about : solver->pc.ops->describe(&solver->pc);
}

void tess_solver_tell(tess_solver *solver, const tess_system *system)
{
    const tess_space *space = &solver->space;
    const double gain = system->residual / system->start_residual;
    const int levels = space->pc->own.levels, first = space->level[levels].type != space->type;
    const double *seconds = space->seconds + TESS_TIME_LEVEL, all = space->seconds[TESS_TIME_PC];
    solver->about[0] = '\0';
    if (!solver->pc.ops->describe || levels == 0 || system->iteration == 0 || !(all > 0))
        return;
    tess_append(solver->about, sizeof solver->about, "%s", solver->pc.ops->describe(&solver->pc));
    if (gain > 0 && isfinite(gain))
        tess_append(solver->about, sizeof solver->about, "convergence factor %.3f per iteration\n",
                    pow(gain, 1 / (double)system->iteration));
    tess_append(solver->about, sizeof solver->about, "time by level:");
    for (int i = first; i <= levels; i++)
        tess_append(solver->about, sizeof solver->about, "%s %.1f %%", i > first ? "," : "",
                    100 * seconds[i] / all);
    tess_append(solver->about, sizeof solver->about, "\nmemory of the cycles: %.4g GB/s\n",
                1e-9 * space->moved[TESS_TIME_PC] / all);
}

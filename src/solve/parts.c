/* Solvers of a plan that several parts hold together: what they can do, and what auto chooses.
 */
#include "solve/solve.h"

bool tess_plan_is_part(const tess_plan *plan)
{
    return plan->device->backend->sum != NULL;
}

/* Finds whether there is one part, which has all rows. Collective. */
static tess_status is_alone(tess_plan *plan, bool *alone)
{
    double others = plan->matrix->rows < plan->all_rows;
    TESS_TRY(plan->device->backend->most(plan, &others, 1));
    *alone = others == 0;
    return TESS_OK;
}

/* Checks a method that consists of its preconditioner (direct, amg). On several parts the
 * preconditioner is only an approximation, which a Krylov method can use. */
static tess_status check_method(tess_plan *plan, const tess_method *method)
{
    bool alone;
    TESS_TRY(is_alone(plan, &alone));
    return alone ? TESS_OK
                 : tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                             "%s needs the whole matrix on one part: try gmres:pc=%s, which takes "
                             "each part's own block",
                             method->name, method->pc->name);
}

tess_status tess_parts_check(tess_plan *plan, const tess_solve_options *options)
{
    if (!tess_plan_is_part(plan))
        return TESS_OK;
    const char *what = options->scale != TESS_SCALE_NONE   ? "scale"
                       : options->order != TESS_ORDER_NONE ? "order"
                       : options->pc.pivot > 0             ? "pivot"
                       : options->inner_single             ? "inner=f32"
                                                           : NULL;
    if (what)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "%s needs the whole matrix on one part: try pc=ilu0, which takes each "
                         "part's own block",
                         what);
    return options->method->pc ? check_method(plan, options->method) : TESS_OK;
}

tess_status tess_parts_set_up_pc(tess_solver *solver)
{
    tess_plan *plan = solver->plan;
    tess_pc *pc = &solver->pc;
    tess_status status = tess_pc_set_up(plan, &solver->options.pc, pc);
    if (!tess_plan_is_part(plan))
        return status;
    const bool made = status == TESS_OK;
    status = tess_pc_agree(plan, status);
    double values[2] = {pc->varies, pc->own.slots};
    if (status == TESS_OK)
        status = plan->device->backend->most(plan, values, 2);
    if (status != TESS_OK) {
        if (made)
            tess_pc_tear_down(pc);
        return status;
    }
    pc->varies = values[0] > 0;
    pc->own.slots = (int)values[1];
    return TESS_OK;
}

/* Computes x . (A y). */
static tess_status probe(tess_plan *plan, const void *x, const void *y, void *product, double *dot)
{
    TESS_TRY(tess_spmv(plan, 1, y, 0, product));
    return plan->device->backend->dot(plan, x, product, dot);
}

const char *const tess_parts_choice_for_any = "gmres:pc=ilut,restart=60";

tess_status tess_parts_choose(tess_plan *plan, const char **spec)
{
    TESS_TRY(plan->device->backend->agree(plan, tess_plan_host_values(plan)));
    const tess_matrix A = tess_plan_present(plan);
    const int64_t rows = A.rows;
    char *vectors = NULL;
    const size_t bytes = (size_t)rows * tess_type_size(A.type);
    tess_status status =
        tess_alloc_bytes(plan->ctx, 3 * rows, tess_type_size(A.type), (void **)&vectors);
    TESS_TRY_CLEAN(plan->device->backend->agree(plan, status));
    char *x = vectors, *y = vectors + bytes, *product = vectors + 2 * bytes;
    for (int64_t i = 0; i < rows; i++) {
        tess_put(x, A.type, i, tess_plan_random(plan, 1, i));
        tess_put(y, A.type, i, tess_plan_random(plan, 2, i));
    }
    double xay = 0, yax = 0, sums[2] = {0, !tess_matrix_positive_diagonal(&A)};
    TESS_TRY_CLEAN(probe(plan, x, y, product, &xay));
    TESS_TRY_CLEAN(plan->device->backend->dot(plan, product, product, &sums[0]));
    TESS_TRY_CLEAN(probe(plan, y, x, product, &yax));
    /* |x| |Ay| is about sqrt(n/3) |Ay|. Rounding changes either product by far less than 1e-10 of
     * it. */
    double squares = 0;
    TESS_TRY_CLEAN(plan->device->backend->dot(plan, x, x, &squares));
    TESS_TRY_CLEAN(plan->device->backend->sum(plan, &sums[1], 1));
    const double rounding = A.type == TESS_F64 ? 1e-10 : 1e-4;
    const double difference = (xay - yax) * (xay - yax);
    const bool symmetric = difference <= rounding * rounding * squares * sums[0];
    *spec = symmetric && sums[1] == 0 ? "cg:pc=ic0" : "gmres:pc=ilu0,restart=60";
cleanup:
    tess_free(plan->ctx, vectors);
    return status;
}

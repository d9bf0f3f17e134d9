/* Which solvers take complex matrices: the methods and preconditioners whose descriptors say so.
 */
#include "solve/solve.h"

static bool is_complex_method(int i)
{
    return tess_methods[i]->complex;
}

static bool is_complex_pc(int i)
{
    return tess_pcs[i]->complex;
}

/* Fails: `what` takes no complex matrix, `names` do. */
static tess_status refuse(const tess_plan *plan, const char *what, const char *names)
{
    return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                     "%s takes matrices of f64 and f32, this one is %s: use one of %s", what,
                     tess_type_name(plan->matrix->type), names);
}

tess_status tess_complex_check_pc(const tess_plan *plan, const tess_pc_ops *pc)
{
    char what[64], names[TESS_NAMES_MAX];
    if (pc->complex)
        return TESS_OK;
    tess_name_those(names, sizeof names, tess_solve_pc_name, is_complex_pc);
    snprintf(what, sizeof what, "pc=%s", pc->name);
    return refuse(plan, what, names);
}

tess_status tess_complex_check(const tess_plan *plan, const tess_solve_options *options)
{
    char names[TESS_NAMES_MAX];
    const char *key = options->scale != TESS_SCALE_NONE   ? "scale="
                      : options->order != TESS_ORDER_NONE ? "order="
                      : options->pc.pivot > 0             ? "pivot="
                      : options->inner_single             ? "inner=f32"
                                                          : NULL;
    if (!options->method->complex) {
        tess_name_those(names, sizeof names, tess_solve_method_name, is_complex_method);
        return refuse(plan, options->method->name, names);
    }
    if (key)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "%s takes matrices of f64 and f32, this one is %s: leave it out", key,
                         tess_type_name(plan->matrix->type));
    return tess_complex_check_pc(plan, options->pc.ops);
}

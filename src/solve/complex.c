/* Which solvers take complex matrices: the methods and preconditioners whose descriptors say so.
 */
#include "solve/solve.h"

enum { NAMES_MAX = 160 };

static void name_methods(char *text)
{
    int left = 0;
    for (size_t i = 0; tess_methods[i]; i++)
        left += tess_methods[i]->complex;
    text[0] = '\0';
    for (size_t i = 0; tess_methods[i]; i++)
        if (tess_methods[i]->complex)
            tess_append_name(text, NAMES_MAX, tess_methods[i]->name, --left);
}

static void name_pcs(char *text)
{
    int left = 0;
    for (size_t i = 0; tess_pcs[i]; i++)
        left += tess_pcs[i]->complex;
    text[0] = '\0';
    for (size_t i = 0; tess_pcs[i]; i++)
        if (tess_pcs[i]->complex)
            tess_append_name(text, NAMES_MAX, tess_pcs[i]->name, --left);
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
    char what[64], names[NAMES_MAX];
    if (pc->complex)
        return TESS_OK;
    name_pcs(names);
    snprintf(what, sizeof what, "pc=%s", pc->name);
    return refuse(plan, what, names);
}

tess_status tess_complex_check(const tess_plan *plan, const tess_solve_options *options)
{
    char names[NAMES_MAX];
    const char *key = options->scale != TESS_SCALE_NONE   ? "scale="
                      : options->order != TESS_ORDER_NONE ? "order="
                      : options->pc.pivot > 0             ? "pivot="
                      : options->inner_single             ? "inner=f32"
                                                          : NULL;
    if (!options->method->complex) {
        name_methods(names);
        return refuse(plan, options->method->name, names);
    }
    if (key)
        return tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                         "%s takes matrices of f64 and f32, this one is %s: leave it out", key,
                         tess_type_name(plan->matrix->type));
    return tess_complex_check_pc(plan, options->pc.ops);
}

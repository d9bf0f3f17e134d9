/* Triangular factors of a matrix with fill (fill.h): the set_up that ILU(k), IC(k) and ILUT share.
 */
#include "solve/pc/factors/factor_rows.h"

/* Rows of factors that a fill brings: each block is copied to its place. Where the numbers have
 * overflowed, the first row without an inverse is the fault. */
static tess_factor_fault copy_rows(const tess_factors *f, const tess_matrix *given,
                                   const tess_factor_values *v, int domain, tess_factor_work *work)
{
    for (int64_t row = work->first; row < work->last; row++) {
        load_row(f, given, v, domain, row, 1, NULL);
        const double *inverse = tess_factor_inverse(f, v, domain, row);
        if (isnan(inverse[0]))
            return (tess_factor_fault){.row = row, .pivot = inverse[0]};
    }
    return (tess_factor_fault){.row = INT64_MAX};
}

tess_status tess_triangular_set_up_fill(tess_plan *plan, tess_pc *pc, tess_fill *fill,
                                        tess_factor_fn compute)
{
    tess_triangular *t;
    const tess_status status = TESS_CALLOC(pc->ctx, 1, &t);
    if (status != TESS_OK) {
        tess_fill_free(fill);
        return status;
    }
    pc->state = t;
    t->fill = *fill;
    *fill = (tess_fill){0};
    t->compute = compute;
    TESS_TRY(tess_triangular_prepare(plan, pc, t->fill.matrix));
    if (!t->fill.factors)
        return tess_triangular_compute(pc, t->fill.matrix);
    tess_matrix given = *t->fill.matrix;
    given.type = TESS_F64;
    given.values = t->fill.factors;
    t->compute = copy_rows;
    TESS_TRY(tess_triangular_compute(pc, &given));
    t->compute = compute;
    tess_free(pc->ctx, t->fill.factors);
    t->fill.factors = NULL;
    return TESS_OK;
}

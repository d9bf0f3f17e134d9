/* Symmetric successive over-relaxation by blocks, as triangular factors. */
#include "solve/pc/factors/factor_rows.h"

/* (D + w L) D^-1 (D + w U) = (I + w L D^-1) (D + w U): nothing to eliminate. The usual factor
 * 1 / (w (2 - w)) is left out: no method notices a scaled preconditioner. */
static tess_factor_fault compute(const tess_factors *f, const tess_matrix *A,
                                 const tess_factor_values *v, int domain, tess_factor_work *work)
{
    const int32_t b = f->block;
    const int64_t size = (int64_t)b * b;
    tess_factor_fault fault = {.row = INT64_MAX};
    for (int64_t row = work->first; row < work->last; row++) {
        load_row(f, A, v, domain, row, work->omega, NULL);
        for (int64_t k = f->lower_offsets[row]; k < f->lower_offsets[row + 1]; k++) {
            double *block = v->lower + k * size;
            memcpy(work->dense, block, (size_t)size * sizeof *block);
            multiply(SET, block, work->dense,
                     tess_factor_inverse(f, v, domain, f->lower_columns[k]), b);
        }
        if (!end_row(f, A, v, domain, row, work, &fault))
            return fault;
    }
    return fault;
}

static tess_status set_up(tess_plan *plan, tess_pc *pc)
{
    return tess_triangular_set_up(plan, pc, compute);
}

const tess_pc_ops tess_pc_ssor = {
    .name = "ssor",
    .summary = "symmetric over-relaxation by blocks, with the factor omega",
    .keys = "schedule,domains,omega",
    TESS_TRIANGULAR_OPS,
    .complex = true,
    .set_up = set_up,
};

/* Block ILU(0): M = L U, with blocks where A has them. */
#include "solve/pc/factors/factor_rows.h"

/* Row by row: L_ik = A_ik D_k^-1, then A_ij -= L_ik U_kj where (i, j) is in the pattern. */
INLINE tess_factor_fault ilu0(const tess_factors *f, const tess_matrix *A,
                              const tess_factor_values *v, int domain, tess_factor_work *work,
                              const int32_t b)
{
    const int64_t first = f->domain_rows[domain], size = (int64_t)b * b;
    tess_factor_fault fault = {.row = INT64_MAX};
    for (int64_t row = work->first; row < work->last; row++) {
        load_row(f, A, v, domain, row, 1, work->place);
        shift_diagonal(tess_factor_inverse(f, v, domain, row), b, work->shift);
        for (int64_t k = f->lower_offsets[row]; k < f->lower_offsets[row + 1]; k++) {
            const int64_t column = f->lower_columns[k], q = tess_factor_place(f, domain, column);
            double *block = v->lower + k * size;
            memcpy(work->dense, block, (size_t)size * sizeof *block);
            product_of(SET, block, work->dense, tess_factor_inverse(f, v, domain, column), b);
            for (int64_t j = f->upper_offsets[q]; j < f->upper_offsets[q + 1]; j++) {
                double *target = work->place[f->upper_columns[j] - first];
                if (target)
                    product_of(SUBTRACT, target, block, v->upper + (j + q) * size, b);
            }
        }
        forget_row(f, domain, row, work->place);
        if (!end_row(f, A, v, domain, row, work, &fault))
            return fault;
    }
    return fault;
}

tess_factor_fault tess_ilu0_rows(const tess_factors *f, const tess_matrix *A,
                                 const tess_factor_values *v, int domain, tess_factor_work *work)
{
    switch (f->block) {
    case 1:
        return ilu0(f, A, v, domain, work, 1);
    case 2:
        return ilu0(f, A, v, domain, work, 2);
    case 3:
        return ilu0(f, A, v, domain, work, 3);
    case 4:
        return ilu0(f, A, v, domain, work, 4);
    case 5:
        return ilu0(f, A, v, domain, work, 5);
    default:
        return ilu0(f, A, v, domain, work, f->block);
    }
}

static tess_status set_up(tess_plan *plan, tess_pc *pc)
{
    return tess_triangular_set_up(plan, pc, tess_ilu0_rows);
}

const tess_pc_ops tess_pc_ilu0 = {
    .name = "ilu0",
    .summary = "incomplete LU factors by blocks, without fill-in",
    .keys = "schedule,domains",
    TESS_TRIANGULAR_OPS,
    .complex = true,
    .pivots = TESS_PIVOTS_POSITIVE_IF_ASKED,
    .set_up = set_up,
};

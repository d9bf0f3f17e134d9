/* Block IC(0): M = L D L^T, with blocks where A has them. A should be symmetric: else
 * M is that of a symmetric matrix made from one half of it (factor_rows.h). */
#include "solve/pc/factors/factor_rows.h"

/* M = L D L^T. With S_ik = L_ik D_k, row by row and k upwards:
 *     S_ik = A_ik - sum over m < k of S_im L_km^T,  D_i = A_ii - sum S_im L_im^T.
 * The diagonal of A is multiplied by 1 + shift. */
tess_factor_fault tess_ic0_rows(const tess_factors *f, const tess_matrix *A,
                                const tess_factor_values *v, int domain, tess_factor_work *work)
{
    const int32_t b = f->block;
    const int64_t first = f->domain_rows[domain], size = (int64_t)b * b;
    tess_factor_fault fault = {.row = INT64_MAX};
    for (int64_t row = work->first; row < work->last; row++) {
        const int64_t begin = f->lower_offsets[row], end = f->lower_offsets[row + 1];
        load_row(f, A, v, domain, row, 1, work->place);
        double *diagonal = tess_factor_inverse(f, v, domain, row);
        shift_diagonal(diagonal, b, work->shift);
        for (int64_t k = begin; k < end; k++) {
            const int64_t column = f->lower_columns[k];
            double *block = v->lower + k * size, *scaled = work->row + (k - begin) * size;
            for (int64_t m = f->lower_offsets[column]; m < f->lower_offsets[column + 1]; m++) {
                const double *other = work->place[f->lower_columns[m] - first];
                if (other)
                    multiply(SUBTRACT_TRANSPOSE, block, other, v->lower + m * size, b);
            }
            multiply(SET, scaled, block, tess_factor_inverse(f, v, domain, column), b);
            multiply(SUBTRACT_TRANSPOSE, diagonal, block, scaled, b);
        }
        forget_row(f, domain, row, work->place);
        memcpy(v->lower + begin * size, work->row, (size_t)((end - begin) * size) * sizeof(double));
        if (!end_row(f, A, v, domain, row, work, &fault))
            return fault;
    }
    return fault;
}

static tess_status set_up(tess_plan *plan, tess_pc *pc)
{
    return tess_triangular_set_up(plan, pc, tess_ic0_rows);
}

const tess_pc_ops tess_pc_ic0 = {
    .name = "ic0",
    .summary = "incomplete Cholesky factors by blocks, without fill-in",
    .keys = "schedule,domains",
    TESS_TRIANGULAR_OPS,
    .complex = true,
    .symmetric = true,
    .pivots = TESS_PIVOTS_POSITIVE,
    .set_up = set_up,
};

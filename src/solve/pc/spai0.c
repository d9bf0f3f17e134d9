/* SPAI(0) by blocks: the block diagonal M^-1 for which |I - M^-1 A| is smallest (the root of the
 * sum of squares).
 *
 *     (M^-1)_i = A_ii^T (sum over j of A_ij A_ij^T)^-1
 *
 * It is applied as block-Jacobi is. A row must not be 0, but its diagonal block may be singular.
 * For complex matrices T means the conjugate transpose. Their blocks are computed as real ones of
 * twice the size (tess_embedding), whose transpose is the embedding of the conjugate transpose.
 */
#include "solve/pc/pc.h"

/* sum += a a^T. */
static void add_square(double *sum, const double *a, int32_t b)
{
    for (int32_t l = 0; l < b; l++)
        for (int32_t j = 0; j < b; j++)
            for (int32_t i = 0; i < b; i++)
                sum[j * b + i] += a[l * b + i] * a[l * b + j];
}

static void load(const tess_matrix *A, int64_t k, double *a)
{
    const int64_t size = (int64_t)A->block_height * A->block_width;
    if (tess_is_complex(A->type)) {
        tess_embed_block(A, k, a);
        return;
    }
    for (int64_t i = 0; i < size; i++)
        a[i] = tess_matrix_value(A, k * size + i);
}

/* Adds the identity in the rows of the padding. */
static void add_padding(const tess_matrix *A, int64_t row, int32_t b, double *a)
{
    const int64_t rows = tess_reals(A->type, A->rows);
    for (int32_t i = 0; i < b; i++)
        if (row * b + i >= rows)
            a[i * b + i] = 1;
}

/* Computes row `row` into `out`, b x b reals; work: 2 b b. Returns -1, or the column without a
 * pivot. Rows of the padding become rows of the identity. */
static int32_t find_block(const tess_matrix *A, int64_t row, int32_t b, double *out, double *work,
                          double *pivot)
{
    const size_t size = (size_t)b * (size_t)b;
    double *sum = work, *a = work + size;
    memset(sum, 0, size * sizeof *sum);
    memset(out, 0, size * sizeof *out);
    for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++) {
        load(A, k, a);
        add_square(sum, a, b);
    }
    add_padding(A, row, b, sum);
    const int32_t column = tess_dense_invert(sum, b, a, pivot);
    const int64_t diagonal = tess_matrix_find(A, row, row);
    if (column >= 0)
        return column;
    *pivot = 0;
    if (diagonal < 0)
        return 0;
    load(A, diagonal, a);
    add_padding(A, row, b, a);
    for (int32_t i = 0; i < b; i++)
        for (int32_t j = 0; j < b; j++)
            for (int32_t l = 0; l < b; l++)
                out[j * b + i] += a[i * b + l] * sum[j * b + l];
    for (size_t i = 0; i < size; i++)
        *pivot = fmax(*pivot, fabs(out[i]));
    return *pivot > 0 ? -1 : 0;
}

static tess_status update(tess_plan *plan, tess_pc *pc)
{
    const tess_matrix A = tess_plan_present(plan);
    tess_diagonal *d = pc->state;
    const int32_t b = (int32_t)tess_reals(A.type, d->block);
    const int64_t size = (int64_t)b * b;
    double *scratch, pivot = 0;
    int32_t column = -1;
    int64_t row = 0;
    TESS_TRY(TESS_ALLOC(pc->ctx, 3 * size, &scratch));
    for (row = 0; row < A.block_rows; row++) {
        column = find_block(&A, row, b, scratch, scratch + size, &pivot);
        if (column >= 0)
            break;
        tess_diagonal_put(d, row, scratch);
    }
    tess_free(pc->ctx, scratch);
    return column < 0 ? TESS_OK : tess_diagonal_fault(pc, row, column / (b / d->block), pivot);
}

static tess_status set_up(tess_plan *plan, tess_pc *pc)
{
    TESS_TRY(tess_diagonal_allocate(plan, pc, plan->matrix->block_height));
    return update(plan, pc);
}

const tess_pc_ops tess_pc_spai0 = {
    .name = "spai0",
    .summary = "the block diagonal nearest to the inverse of A (approximate inverse)",
    .diagonal = true,
    .complex = true,
    .square_blocks = true,
    .unsymmetric = true,
    .set_up = set_up,
    .update = update,
    .append = tess_diagonal_append,
    .bytes = tess_diagonal_bytes,
    .free = tess_diagonal_free,
};

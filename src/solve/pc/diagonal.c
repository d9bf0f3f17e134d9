/* Jacobi and block-Jacobi: the inverses of the diagonal's entries or blocks, one array. */
#include <math.h>
#include <string.h>

#include "solve/pc/pc.h"

/* The first block that could not be inverted. */
typedef struct fault {
    int64_t row; /* INT64_MAX: none */
    int32_t column;
    double pivot;
} fault;

/* Block `row` of size b of the diagonal in double, whatever the blocks of the matrix. Rows of the
 * padding become rows of the identity. */
static void get_block(const tess_matrix *A, int64_t row, int32_t b, double *block)
{
    const int32_t r = A->block_height, c = A->block_width;
    for (int32_t j = 0; j < b; j++) {
        for (int32_t i = 0; i < b; i++) {
            const int64_t at_row = row * b + i, at_col = row * b + j;
            double value = at_row == at_col;
            if (at_row < A->rows && at_col < A->cols) {
                int64_t k = tess_matrix_find(A, at_row / r, at_col / c);
                value = k < 0 ? 0 : tess_matrix_value(A, k * r * c + at_col % c * r + at_row % r);
            }
            block[j * b + i] = value;
        }
    }
}

static void put_block(tess_diagonal *diagonal, int64_t row, const double *block)
{
    const int64_t size = (int64_t)diagonal->block * diagonal->block;
    if (diagonal->type == TESS_F64) {
        memcpy((double *)diagonal->blocks + row * size, block, (size_t)size * sizeof *block);
        return;
    }
    float *to = (float *)diagonal->blocks + row * size;
    for (int64_t i = 0; i < size; i++)
        to[i] = (float)block[i];
}

/* Inverts the blocks of one share of the rows, until one cannot be. */
static fault invert_share(const tess_matrix *A, tess_diagonal *diagonal, int64_t first,
                          int64_t last, double *scratch)
{
    const int32_t b = diagonal->block;
    for (int64_t row = first; row < last; row++) {
        double pivot = 0;
        get_block(A, row, b, scratch);
        int32_t column = tess_dense_invert(scratch, b, scratch + (int64_t)b * b, &pivot);
        if (column >= 0)
            return (fault){row, column, pivot};
        put_block(diagonal, row, scratch);
    }
    return (fault){.row = INT64_MAX};
}

/* Inverts all blocks. `scratch` has 2 b b doubles a share. Returns the first fault. */
static fault invert_all(const tess_matrix *A, tess_diagonal *diagonal, int64_t rows, int shares,
                        double *scratch, fault *faults)
{
    const int64_t size = (int64_t)diagonal->block * diagonal->block;
#pragma omp parallel for schedule(static) num_threads(shares)
    for (int share = 0; share < shares; share++)
        faults[share] = invert_share(A, diagonal, rows * share / shares,
                                     rows * (share + 1) / shares, scratch + share * 2 * size);
    for (int share = 0; share < shares; share++)
        if (faults[share].row != INT64_MAX)
            return faults[share];
    return (fault){.row = INT64_MAX};
}

tess_status tess_pc_diagonal_compute(tess_plan *plan, tess_pc *pc)
{
    tess_ctx *ctx = plan->ctx;
    tess_matrix A = *plan->matrix;
    A.values = (void *)(uintptr_t)plan->values; /* only ever read */
    tess_diagonal *diagonal = &pc->diagonal;
    const bool jacobi = pc->options.kind == TESS_PC_JACOBI;
    const int32_t b = jacobi ? 1 : A.block_height;
    const int64_t rows = jacobi ? A.block_rows * A.block_height : A.block_rows;
    const int threads = ctx->threads;
    if (!diagonal->blocks) {
        diagonal->type = pc->type;
        diagonal->block = b;
        TESS_TRY(tess_alloc_bytes(ctx, rows * b * b, tess_type_size(pc->type), &diagonal->blocks));
        pc->bytes = (double)rows * b * b * (double)tess_type_size(pc->type);
    }
    double *scratch;
    fault *faults;
    TESS_TRY(TESS_ALLOC(ctx, (int64_t)threads * 2 * b * b, &scratch));
    tess_status status = TESS_ALLOC(ctx, threads, &faults);
    if (status != TESS_OK) {
        tess_free(ctx, scratch);
        return status;
    }
    fault first = invert_all(&A, diagonal, rows, threads, scratch, faults);
    tess_free(ctx, faults);
    tess_free(ctx, scratch);
    if (first.row == INT64_MAX)
        return TESS_OK;
    if (b == 1)
        return tess_fail(ctx, TESS_ERR_MATRIX, "pc=%s: the diagonal of row %lld is %s",
                         tess_pc_names[pc->options.kind], (long long)first.row,
                         isfinite(first.pivot) ? "0" : "not finite");
    return tess_fail(ctx, TESS_ERR_MATRIX,
                     "pc=%s: the diagonal block of block row %lld (rows %lld..%lld) is %s: no "
                     "pivot in its column %d, the largest is %.3g",
                     tess_pc_names[pc->options.kind], (long long)first.row,
                     (long long)first.row * b, (long long)first.row * b + b - 1,
                     isfinite(first.pivot) ? "singular" : "not finite", (int)first.column,
                     first.pivot);
}

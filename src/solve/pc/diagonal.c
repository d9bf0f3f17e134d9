/* Jacobi and block-Jacobi: the inverses of the diagonal's entries or blocks, one array. Complex
 * blocks are inverted as real ones of twice the size (tess_embedding). */
#include "solve/pc/pc.h"

/* The first block that could not be inverted. */
typedef struct fault {
    int64_t row; /* INT64_MAX: none */
    int32_t column;
    double pivot;
} fault;

/* Reads block `row` of size b of the diagonal in double, whatever the blocks of the matrix. Rows of
 * the padding become rows of the identity. */
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

/* The same for a complex matrix, as 2b x 2b reals. */
static void get_complex_block(const tess_matrix *A, int64_t row, int32_t b, double *block)
{
    const int32_t r = A->block_height, c = A->block_width, n = 2 * b;
    for (int32_t j = 0; j < b; j++) {
        for (int32_t i = 0; i < b; i++) {
            const int64_t at_row = row * b + i, at_col = row * b + j;
            double *at = block + 2 * j * n + 2 * i;
            tess_complex value = {at_row == at_col, 0};
            if (at_row < A->rows && at_col < A->cols) {
                const int64_t k = tess_matrix_find(A, at_row / r, at_col / c);
                value = k < 0
                            ? (tess_complex){0, 0}
                            : tess_matrix_complex_value(A, k * r * c + at_col % c * r + at_row % r);
            }
            at[0] = at[n + 1] = value.re;
            at[1] = value.im;
            at[n] = -value.im;
        }
    }
}

void tess_diagonal_put(tess_diagonal *diagonal, int64_t row, const double *block)
{
    const int64_t size = (int64_t)diagonal->block * diagonal->block;
    if (tess_is_complex(diagonal->type)) {
        const int64_t n = 2 * (int64_t)diagonal->block;
        tess_embed_take_back(block, n, n, diagonal->type, diagonal->blocks, row * size);
        return;
    }
    if (diagonal->type == TESS_F64) {
        memcpy((double *)diagonal->blocks + row * size, block, (size_t)size * sizeof *block);
        return;
    }
    float *to = (float *)diagonal->blocks + row * size;
    for (int64_t i = 0; i < size; i++)
        to[i] = (float)block[i];
}

/* Inverts the blocks of one share of the rows, up to the first that cannot be inverted. */
static fault invert_share(const tess_pc *pc, const tess_matrix *A, int64_t first, int64_t last,
                          double *scratch)
{
    tess_diagonal *diagonal = pc->state;
    const bool complex = tess_is_complex(A->type);
    const int32_t b = diagonal->block, n = complex ? 2 * b : b;
    for (int64_t row = first; row < last; row++) {
        double pivot = 0;
        (complex ? get_complex_block : get_block)(A, row, b, scratch);
        const int32_t column =
            pc->options.magnitude
                ? tess_dense_invert_magnitude(scratch, n, scratch + (int64_t)n * n, &pivot)
                : tess_dense_invert(scratch, n, scratch + (int64_t)n * n, &pivot);
        if (column >= 0)
            return (fault){row, complex ? column / 2 : column, pivot};
        tess_diagonal_put(diagonal, row, scratch);
    }
    return (fault){.row = INT64_MAX};
}

struct invert_some {
    const tess_pc *pc;
    int shares;
    fault *faults;
    const tess_matrix *A;
    int64_t rows;
    double *scratch;
    int64_t size;
};

static void invert_some(void *arg, int share)
{
    const struct invert_some *job = arg;
    job->faults[share] =
        invert_share(job->pc, job->A, job->rows * share / job->shares,
                     job->rows * (share + 1) / job->shares, job->scratch + share * 2 * job->size);
}

/* Inverts all blocks. `scratch` has 2 b b doubles per share, with complex blocks 8 b b. Returns the
 * first fault. */
static fault invert_all(const tess_pc *pc, const tess_matrix *A, int64_t rows, int shares,
                        double *scratch, fault *faults)
{
    const tess_diagonal *diagonal = pc->state;
    const int64_t n = tess_reals(A->type, diagonal->block), size = n * n;
    tess_parallel(pc->ctx, shares, invert_some,
                  &(struct invert_some){pc, shares, faults, A, rows, scratch, size});
    for (int share = 0; share < shares; share++)
        if (faults[share].row != INT64_MAX)
            return faults[share];
    return (fault){.row = INT64_MAX};
}

tess_status tess_diagonal_fault(const tess_pc *pc, int64_t at, int32_t column, double pivot)
{
    const int32_t b = ((const tess_diagonal *)pc->state)->block;
    const long long row = at;
    const char *other = tess_pc_without_pivots(pc);
    if (b == 1)
        return tess_fail(pc->ctx, TESS_ERR_MATRIX,
                         "pc=%s: the diagonal of row %lld is %s: try %s, or auto", pc->ops->name,
                         row, isfinite(pivot) ? "0" : "not finite", other);
    return tess_fail(pc->ctx, TESS_ERR_MATRIX,
                     "pc=%s: the diagonal block of block row %lld (rows %lld..%lld) is %s: no "
                     "pivot in its column %d, the largest is %.3g; try %s, or auto",
                     pc->ops->name, row, row * b, row * b + b - 1,
                     isfinite(pivot) ? "singular" : "not finite", (int)column, pivot, other);
}

tess_status tess_diagonal_update(tess_plan *plan, tess_pc *pc)
{
    tess_ctx *ctx = plan->ctx;
    tess_matrix A = *plan->matrix;
    A.values = (void *)(uintptr_t)plan->values; /* only ever read */
    tess_diagonal *diagonal = pc->state;
    const int32_t b = diagonal->block;
    const int64_t rows = A.block_rows * A.block_height / b;
    const int threads = ctx->threads;
    double *scratch;
    fault *faults;
    const int64_t n = tess_reals(A.type, b);
    TESS_TRY(TESS_ALLOC(ctx, threads * 2 * n * n, &scratch));
    tess_status status = TESS_ALLOC(ctx, threads, &faults);
    if (status == TESS_OK) {
        const fault first = invert_all(pc, &A, rows, threads, scratch, faults);
        tess_free(ctx, faults);
        if (first.row != INT64_MAX)
            status = tess_diagonal_fault(pc, first.row, first.column, first.pivot);
    }
    tess_free(ctx, scratch);
    return status;
}

tess_status tess_diagonal_allocate(tess_plan *plan, tess_pc *pc, int32_t b)
{
    const int64_t scalars = plan->matrix->block_rows * plan->matrix->block_height;
    const size_t size = tess_type_size(pc->type);
    tess_diagonal *diagonal;
    TESS_TRY(TESS_CALLOC(pc->ctx, 1, &diagonal));
    pc->state = diagonal;
    diagonal->type = pc->type;
    diagonal->block = b;
    diagonal->bytes = (size_t)(scalars * b) * size;
    return tess_alloc_bytes(pc->ctx, scalars * b, size, &diagonal->blocks);
}

static tess_status set_up_jacobi(tess_plan *plan, tess_pc *pc)
{
    TESS_TRY(tess_diagonal_allocate(plan, pc, 1));
    return tess_diagonal_update(plan, pc);
}

static tess_status set_up_bjacobi(tess_plan *plan, tess_pc *pc)
{
    TESS_TRY(tess_diagonal_allocate(plan, pc, plan->matrix->block_height));
    return tess_diagonal_update(plan, pc);
}

void tess_diagonal_append(const tess_pc *pc, tess_steps *steps, int r, int z, bool transpose)
{
    tess_step_diagonal(steps, pc->state, r, z, transpose);
}

double tess_diagonal_bytes(const tess_pc *pc)
{
    return (double)((const tess_diagonal *)pc->state)->bytes;
}

void tess_diagonal_free(tess_pc *pc)
{
    tess_diagonal *diagonal = pc->state;
    TESS_FREE(pc->ctx, diagonal->blocks, diagonal);
}

const tess_pc_ops tess_pc_jacobi = {
    .name = "jacobi",
    .summary = "the inverse of the diagonal",
    .diagonal = true,
    .complex = true,
    .set_up = set_up_jacobi,
    .update = tess_diagonal_update,
    .append = tess_diagonal_append,
    .bytes = tess_diagonal_bytes,
    .free = tess_diagonal_free,
};

const tess_pc_ops tess_pc_bjacobi = {
    .name = "bjacobi",
    .summary = "the inverses of the diagonal blocks",
    .diagonal = true,
    .complex = true,
    .square_blocks = true,
    .set_up = set_up_bjacobi,
    .update = tess_diagonal_update,
    .append = tess_diagonal_append,
    .bytes = tess_diagonal_bytes,
    .free = tess_diagonal_free,
};

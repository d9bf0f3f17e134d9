/* Y = alpha A X + beta Y for a symmetric matrix stored by half, by threads: the chunks of
 * symmetric.c, with a window for each vector.
 *
 * The kernels want whole block rows and the vectors of X and Y side by side. An X in another order
 * is copied into scratch first. A Y in another order is computed in scratch and copied back.
 */
#include "cpu/symmetric.h"
#include "cpu/vectors.h"

/* Makes room for `vectors` vectors in the scratch arrays; for X and Y only if `packed`. */
static tess_status reserve(tess_cpu_half *half, int vectors, bool packed)
{
    const tess_matrix *U = half->upper;
    const size_t bytes = tess_type_size(U->type) * (size_t)vectors;
    const int64_t b = U->block_height;
    if (vectors > half->spmm_vectors) {
        tess_cpu_half_free_spmm(half);
        int64_t rows = 0;
        for (int64_t c = 0; c < half->chunk_count; c++)
            rows += half->chunks[c].end - half->chunks[c].last;
        TESS_TRY(tess_alloc_bytes(half->ctx, rows * b, bytes, &half->spmm_windows));
        half->spmm_vectors = vectors;
    }
    const size_t room = tess_type_size(U->type) * (size_t)half->spmm_vectors;
    if (packed && !half->spmm_x)
        TESS_TRY(tess_alloc_bytes(half->ctx, U->block_rows * b, room, &half->spmm_x));
    if (packed && !half->spmm_y)
        TESS_TRY(tess_alloc_bytes(half->ctx, U->block_rows * b, room, &half->spmm_y));
    return TESS_OK;
}

void tess_cpu_half_free_spmm(tess_cpu_half *half)
{
    TESS_FREE(half->ctx, half->spmm_windows, half->spmm_x, half->spmm_y);
    half->spmm_windows = half->spmm_x = half->spmm_y = NULL;
    half->spmm_vectors = 0;
}

/* Chunk c with its window for `vectors` vectors. */
static tess_cpu_chunk chunk_of(const tess_cpu_half *half, int64_t c, int64_t vectors)
{
    tess_cpu_chunk chunk = half->chunks[c];
    int64_t offset = (char *)chunk.window - (char *)half->windows;
    chunk.window = (char *)half->spmm_windows + offset * vectors;
    return chunk;
}

struct product {
    const tess_cpu_half *half;
    tess_cpu_symmetric_spmm_fn kernel;
    const tess_cpu_symmetric_spmm_args *args;
};

static void do_chunks(void *arg, int share)
{
    const struct product *job = arg;
    const int64_t chunks = job->half->chunk_count, shares = job->half->shares;
    for (int64_t c = chunks * share / shares; c < chunks * (share + 1) / shares; c++) {
        const tess_cpu_chunk chunk = chunk_of(job->half, c, job->args->vectors);
        job->kernel(job->args, &chunk);
    }
}

/* Y += windows, for a share of the block rows. */
static void add_windows(void *arg, int share)
{
    const struct product *job = arg;
    const tess_cpu_half *half = job->half;
    const tess_cpu_symmetric_spmm_args *args = job->args;
    const tess_type type = half->upper->type;
    const int64_t b = half->upper->block_height, k = args->vectors, rows = half->upper->block_rows;
    const int64_t first = rows * share / half->shares, last = rows * (share + 1) / half->shares;
    for (int64_t c = 0; c < half->chunk_count; c++) {
        const tess_cpu_chunk chunk = chunk_of(half, c, k);
        const int64_t to = tess_min(chunk.end, last) * b;
        for (int64_t i = tess_max(chunk.last, first) * b; i < to; i++)
            for (int64_t v = 0; v < k; v++)
                tess_cpu_put(args->y, type, i * args->y_row + v, 1,
                             tess_get(chunk.window, type, (i - chunk.last * b) * k + v), 1);
    }
}

static void multiply(const tess_cpu_half *half, tess_cpu_symmetric_spmm_fn kernel,
                     const tess_cpu_symmetric_spmm_args *args)
{
    struct product job = {half, kernel, args};
    tess_parallel(half->ctx, half->shares, do_chunks, &job);
    tess_parallel(half->ctx, half->shares, add_windows, &job);
}

tess_status tess_cpu_half_spmm(tess_cpu_half *half, int k, tess_block_order order, double alpha,
                               const void *X, int64_t ldx, double beta, void *Y, int64_t ldy)
{
    TESS_TRY(tess_cpu_half_make_upper(half));
    const tess_matrix *U = half->upper;
    const bool columns = order == TESS_ORDER_COLUMN_MAJOR;
    const bool packed = columns || U->rows % U->block_height != 0;
    const size_t scalar = tess_type_size(U->type);
    TESS_TRY(reserve(half, tess_min(k, TESS_CPU_SPMM_GROUP), packed));
    for (int first = 0; first < k; first += TESS_CPU_SPMM_GROUP) {
        int count = tess_min(k - first, TESS_CPU_SPMM_GROUP);
        int64_t x_vector = columns ? ldx : 1, y_vector = columns ? ldy : 1;
        tess_cpu_vectors from = {(void *)((uintptr_t)X + (size_t)(first * x_vector) * scalar),
                                 columns ? 1 : ldx, x_vector};
        tess_cpu_vectors to = {(char *)Y + (size_t)(first * y_vector) * scalar, columns ? 1 : ldy,
                               y_vector};
        if (packed)
            tess_cpu_pack(half->ctx, U, &from, count, half->spmm_x, half->shares);
        multiply(half, half->spmm_kernel->symmetric_spmm,
                 &(tess_cpu_symmetric_spmm_args){
                     .row_offsets = U->row_offsets,
                     .columns = U->columns,
                     .values = U->values,
                     .x = packed ? half->spmm_x : from.data,
                     .y = packed ? half->spmm_y : to.data,
                     .x_row = packed ? count : ldx,
                     .y_row = packed ? count : ldy,
                     .vectors = count,
                     .alpha = alpha,
                     .beta = packed ? 0 : beta,
                     .block_size = U->block_height,
                 });
        if (packed)
            tess_cpu_unpack(half->ctx, U->type, U->rows, half->spmm_y, count, &to, beta,
                            half->shares);
    }
    return TESS_OK;
}

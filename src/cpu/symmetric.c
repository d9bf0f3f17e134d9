/* y = alpha A x + beta y for a symmetric matrix stored by half, by threads.
 *
 *     rows      0 ........ | ........ | ........ | ........ n
 *     chunk 0   [ y       ][window]
 *     chunk 1              [ y       ][window ]                 end: farthest column of the chunk
 *     chunk 2                         [ y       ][window]
 *
 * The rows are cut into chunks, and every chunk is done by one thread: it adds to its own rows of
 * y, and to its window what belongs to rows beyond. When all are done the windows are added to y,
 * in the order of the chunks. The chunks depend on the matrix alone, so the result has the same
 * bits for any number of threads.
 */
#include <omp.h>

#include "cpu/cpu.h"
#include "format/symmetric.h"

/* How many chunks: enough for the threads of a machine on which such a matrix is worth
 * distributing, and few enough for the windows to be small beside it. A power of two, so that the
 * usual numbers of threads get equal shares. */
static int64_t wanted_chunks(int64_t bytes)
{
    int64_t chunks = 2;
    for (int64_t limit = 128 * 1024; chunks < 16 && bytes > limit; limit *= 2)
        chunks *= 2;
    for (int64_t limit = 64 * 1024 * 1024; chunks < 128 && bytes > limit; limit *= 4)
        chunks *= 2;
    return chunks;
}

/* Bounds of the chunks, into `chunks` unless it is NULL; returns the rows of all windows together.
 * Rows have offsets[i] .. offsets[i+1]-1 blocks on and above the diagonal; the last block of row i
 * of `M` (the whole matrix or its upper part) is the last of them. */
static int64_t cut(const tess_matrix *M, const int64_t *offsets, int64_t count,
                   tess_cpu_chunk *chunks)
{
    int64_t rows = 0;
    for (int64_t c = 0; c < count; c++) {
        tess_cpu_chunk chunk = {.first = tess_share_row(offsets, M->block_rows, (int)c, (int)count),
                                .last =
                                    tess_share_row(offsets, M->block_rows, (int)c + 1, (int)count)};
        chunk.end = chunk.last;
        for (int64_t i = chunk.first; i < chunk.last; i++)
            if (offsets[i + 1] > offsets[i] && M->columns[M->row_offsets[i + 1] - 1] >= chunk.end)
                chunk.end = (int64_t)M->columns[M->row_offsets[i + 1] - 1] + 1;
        rows += chunk.end - chunk.last;
        if (chunks)
            chunks[c] = chunk;
    }
    return rows;
}

/* Windows of more than half of what is stored would eat up what is saved: then fewer chunks. */
static int64_t choose_chunks(const tess_matrix *M, const int64_t *offsets, int64_t bytes,
                             int64_t *count)
{
    int64_t row_bytes = M->block_height * (int64_t)tess_type_size(M->type), rows;
    *count = wanted_chunks(bytes);
    while ((rows = cut(M, offsets, *count, NULL)) > bytes / 2 / row_bytes && *count > 2)
        *count /= 2;
    return rows;
}

int64_t tess_cpu_window_rows(const tess_matrix *A, const int64_t *offsets)
{
    int64_t block = 4 + (int64_t)tess_type_size(A->type) * A->block_height * A->block_width, count;
    return choose_chunks(A, offsets, block * offsets[A->block_rows], &count);
}

static tess_status make_chunks(tess_cpu_half *half)
{
    const tess_matrix *U = half->upper;
    int64_t bytes = tess_symmetric_bytes(U), row_bytes = U->block_height;
    row_bytes *= (int64_t)tess_type_size(U->type);
    int64_t rows = choose_chunks(U, U->row_offsets, bytes, &half->chunk_count);
    TESS_TRY(TESS_ALLOC(half->ctx, half->chunk_count, &half->chunks));
    cut(U, U->row_offsets, half->chunk_count, half->chunks);
    TESS_TRY(tess_alloc_bytes(half->ctx, rows, (size_t)row_bytes, &half->windows));
    char *next = half->windows;
    for (int64_t c = 0; c < half->chunk_count; c++) {
        half->chunks[c].window = next;
        next += (half->chunks[c].end - half->chunks[c].last) * row_bytes;
    }
    return TESS_OK;
}

tess_status tess_cpu_half_create(const tess_device *device, const tess_matrix *A,
                                 const tess_cpu_kernel *kernel, const tess_cpu_kernel *spmm_kernel,
                                 tess_cpu_half **out)
{
    tess_ctx *ctx = device->ctx;
    tess_status status;
    tess_cpu_half *half;
    TESS_TRY(TESS_CALLOC(ctx, 1, &half));
    half->ctx = ctx;
    half->kernel = kernel;
    half->spmm_kernel = spmm_kernel;
    TESS_TRY_CLEAN(tess_symmetric_create(ctx, A, &half->upper));
    TESS_TRY_CLEAN(make_chunks(half));
    int64_t jobs = half->chunk_count / kernel->streams;
    half->shares = jobs < device->threads ? (int)jobs : device->threads;
    if (A->rows % A->block_height != 0) {
        int64_t padded = A->block_rows * A->block_height;
        TESS_TRY_CLEAN(tess_calloc_bytes(ctx, padded, tess_type_size(A->type), &half->padded_x));
        TESS_TRY_CLEAN(tess_alloc_bytes(ctx, padded, tess_type_size(A->type), &half->padded_y));
    }
    *out = half;
    return TESS_OK;
cleanup:
    tess_cpu_half_destroy(half);
    return status;
}

void tess_cpu_half_destroy(tess_cpu_half *half)
{
    if (!half)
        return;
    tess_matrix_destroy(half->upper);
    tess_free(half->ctx, half->chunks);
    tess_free(half->ctx, half->windows);
    tess_free(half->ctx, half->padded_x);
    tess_free(half->ctx, half->padded_y);
    tess_cpu_half_free_spmm(half);
    tess_free(half->ctx, half);
}

/* y += windows, for the scalars of block rows first .. last-1. */
static void add_windows(const tess_cpu_half *half, void *y, int64_t first, int64_t last)
{
    const int64_t b = half->upper->block_height;
    for (int64_t c = 0; c < half->chunk_count; c++) {
        const tess_cpu_chunk *chunk = &half->chunks[c];
        int64_t from = (chunk->last > first ? chunk->last : first) * b;
        int64_t to = (chunk->end < last ? chunk->end : last) * b, offset = chunk->last * b;
        if (half->upper->type == TESS_F64)
            for (int64_t i = from; i < to; i++)
                ((double *)y)[i] += ((const double *)chunk->window)[i - offset];
        else
            for (int64_t i = from; i < to; i++)
                ((float *)y)[i] += ((const float *)chunk->window)[i - offset];
    }
}

static void multiply(const tess_cpu_half *half, const tess_cpu_symmetric_args *args)
{
    const int shares = half->shares, streams = half->kernel->streams;
    const int64_t jobs = half->chunk_count / streams, rows = half->upper->block_rows;
#pragma omp parallel num_threads(shares) if (shares > 1 && !omp_in_parallel())
    {
        /* The system may give fewer threads than shares. */
        const int threads = omp_get_num_threads(), t = omp_get_thread_num();
        for (int64_t job = jobs * t / threads; job < jobs * (t + 1) / threads; job++)
            half->kernel->symmetric(args, half->chunks + job * streams);
#pragma omp barrier
        add_windows(half, args->y, rows * t / threads, rows * (t + 1) / threads);
    }
}

void tess_cpu_half_spmv(tess_cpu_half *half, double alpha, const void *x, double beta, void *y)
{
    const tess_matrix *U = half->upper;
    const bool ragged = half->padded_x != NULL;
    if (ragged)
        tess_cpu_copy(half->padded_x, x, (size_t)U->cols * tess_type_size(U->type), half->shares);
    multiply(half, &(tess_cpu_symmetric_args){
                       .row_offsets = U->row_offsets,
                       .columns = U->columns,
                       .values = U->values,
                       .x = ragged ? half->padded_x : x,
                       .y = ragged ? half->padded_y : y,
                       .alpha = alpha,
                       .beta = ragged ? 0 : beta,
                       .block_size = U->block_height,
                   });
    if (!ragged)
        return;
#pragma omp parallel for schedule(static) \
    num_threads(half->shares) if (half->shares > 1 && !omp_in_parallel())
    for (int64_t i = 0; i < U->rows; i++)
        tess_cpu_put(y, U->type, i, 1, tess_cpu_get(half->padded_y, U->type, i), beta);
}

/* y = alpha A x + beta y for a symmetric matrix stored by half, by threads.
 *
 *     rows      0 ........ | ........ | ........ | ........ n
 *     chunk 0   [ y       ][window]
 *     chunk 1              [ y       ][window ]                 end: farthest column of the chunk
 *     chunk 2                         [ y       ][window]
 *
 * The rows are cut into chunks, and every chunk is done by one thread. The thread adds to the
 * chunk's own rows of y; what it has for rows beyond goes to the chunk's window. When all chunks
 * are done, the windows are added to y in the order of the chunks. The number of chunks depends on
 * the number of threads. Where the result is to be reproducible, it depends on the matrix alone.
 */
#include "cpu/symmetric.h"
#include "backend/permute.h"
#include "cpu/update/nontemporal.h"
#include "cpu/update/update.h"
#include "cpu/vectors.h"

/* How many chunks: one for each stream of each thread, unless that is too little work for a chunk.
 * More chunks only make more windows, whose rows are written, read again and added: 32 chunks for
 * two threads took 4.82 ms, two or four 4.4 (27 points, b = 3, 460 MB). */
static int64_t chunks_for(int64_t bytes, int threads, int streams)
{
    enum { LEAST_BYTES = 64 * 1024 };
    int64_t most = bytes / LEAST_BYTES / streams;
    return streams * tess_clamp(most, 1, threads);
}

/* The number of chunks by the matrix alone: enough for the threads of any machine on which a matrix
 * of that size is worth distributing. A power of two, so that the usual numbers of threads get
 * equal shares. */
static int64_t chunks_for_any(int64_t bytes)
{
    int64_t chunks = 2;
    for (int64_t limit = 128 * 1024; chunks < 16 && bytes > limit; limit *= 2)
        chunks *= 2;
    for (int64_t limit = 64 * 1024 * 1024; chunks < 128 && bytes > limit; limit *= 4)
        chunks *= 2;
    return chunks;
}

/* The row at which chunk c of `count` begins: a multiple of `lanes`. */
static int64_t bound(const tess_matrix *A, const int64_t *offsets, int64_t c, int64_t count,
                     int lanes)
{
    if (c == count)
        return A->block_rows;
    int64_t row = tess_share_row(offsets, A->block_rows, (int)c, (int)count);
    return row - row % lanes;
}

/* Returns the rows of all windows together. The bounds of the chunks go into `chunks`, unless it is
 * NULL. offsets[i] .. offsets[i+1]-1 are the blocks of row i on and above the diagonal. */
static int64_t cut(const tess_matrix *M, const int64_t *offsets, int64_t count, int lanes,
                   tess_cpu_chunk *chunks)
{
    int64_t rows = 0;
    for (int64_t c = 0; c < count; c++) {
        tess_cpu_chunk chunk = {.first = bound(M, offsets, c, count, lanes),
                                .last = bound(M, offsets, c + 1, count, lanes)};
        chunk.end = chunk.stop = chunk.last;
        chunk.ready = chunk.first;
        for (int64_t i = chunk.first; i < chunk.last; i++)
            if (offsets[i + 1] > offsets[i] && M->columns[M->row_offsets[i + 1] - 1] >= chunk.end)
                chunk.end = (int64_t)M->columns[M->row_offsets[i + 1] - 1] + 1;
        rows += chunk.end - chunk.last;
        if (chunks)
            chunks[c] = chunk;
    }
    return rows;
}

/* Sets the number of chunks, a multiple of `streams`, and returns the rows of all windows. The
 * number is halved while the windows would take more than half of the stored bytes, which would eat
 * up what half storage saves. threads = 0: for any number of threads. */
static int64_t choose_chunks(const tess_matrix *M, const int64_t *offsets, int threads, int streams,
                             int lanes, int64_t *count)
{
    const int64_t scalar = (int64_t)tess_type_size(M->type), row_bytes = M->block_height * scalar;
    const int64_t bytes = (4 + row_bytes * M->block_width) * offsets[M->block_rows];
    int64_t rows, most = bytes / 2 / row_bytes;
    *count = threads > 0 ? chunks_for(bytes, threads, streams) : chunks_for_any(bytes);
    while ((rows = cut(M, offsets, *count, lanes, NULL)) > most && *count > 2 && *count > streams)
        *count = tess_ceil_div(*count / streams, 2) * streams;
    return rows;
}

tess_cpu_half_cut tess_cpu_half_cut_of(const tess_matrix *A, const int64_t *offsets, int threads,
                                       int streams)
{
    int64_t count, bounds[TESS_CPU_STREAMS + 1];
    tess_cpu_half_cut half = {.window_rows =
                                  choose_chunks(A, offsets, threads, streams, 1, &count)};
    for (int64_t c = 0; streams > 1 && c < count; c += streams) {
        for (int s = 0; s <= streams; s++)
            bounds[s] = bound(A, offsets, c + s, count, 1);
        tess_cpu_count_lockstep(offsets, bounds, streams, &half.lockstep);
    }
    return half;
}

static tess_status make_chunks(tess_cpu_half *half, int threads)
{
    const tess_matrix *A = half->whole;
    const int lanes = half->kernel->lanes > 0 ? half->kernel->lanes : 1;
    const int streams = half->kernel->streams;
    const int64_t row_bytes = A->block_height * (int64_t)tess_type_size(A->type);
    const int64_t *offsets = half->mirrors->offsets;
    int64_t rows = choose_chunks(A, offsets, threads, streams, lanes, &half->chunk_count);
    TESS_TRY(TESS_ALLOC(half->ctx, half->chunk_count, &half->chunks));
    cut(A, offsets, half->chunk_count, lanes, half->chunks);
    TESS_TRY(tess_alloc_bytes(half->ctx, rows, (size_t)row_bytes, &half->windows));
    char *next = half->windows;
    for (int64_t c = 0; c < half->chunk_count; c++) {
        half->chunks[c].window = next;
        next += (half->chunks[c].end - half->chunks[c].last) * row_bytes;
    }
    return TESS_OK;
}

/* A ring for each thread. */
static tess_status make_rings(tess_cpu_half *half)
{
    const tess_matrix *A = half->whole;
    const int lanes = half->kernel->lanes;
    half->ring_rows = 2;
    while (half->ring_rows < half->lanes->span + lanes)
        half->ring_rows *= 2;
    half->ring_bytes = (size_t)half->ring_rows * 2 * (size_t)(A->block_height * lanes);
    half->ring_bytes *= tess_type_size(A->type);
    return tess_alloc_bytes(half->ctx, half->shares, half->ring_bytes, &half->rings);
}

tess_status tess_cpu_half_make_upper(tess_cpu_half *half)
{
    tess_matrix *upper;
    if (half->upper)
        return TESS_OK;
    TESS_TRY(tess_symmetric_create(half->ctx, half->whole, half->mirrors, &upper));
    const tess_status status = tess_cpu_update_upper(upper, half->mirrors, half->whole);
    return TESS_DELIVER(status, upper, tess_matrix_destroy, &half->upper);
}

static tess_status make_lanes(tess_cpu_half *half)
{
    TESS_TRY(
        tess_symmetric_lanes_create(half->ctx, half->whole, half->kernel->lanes, &half->lanes));
    return tess_cpu_update_lanes(half->lanes, half->mirrors, half->whole);
}

tess_status tess_cpu_half_create(const tess_device *device, const tess_matrix *A,
                                 const tess_cpu_kernel *kernel, const tess_cpu_kernel *spmm_kernel,
                                 bool reproducible, tess_cpu_half **out)
{
    tess_ctx *ctx = device->ctx;
    tess_status status;
    tess_cpu_half *half;
    TESS_TRY(TESS_CALLOC(ctx, 1, &half));
    half->ctx = ctx;
    half->whole = A;
    half->kernel = kernel;
    half->spmm_kernel = spmm_kernel;
    TESS_TRY_CLEAN(tess_symmetric_mirrors_create(ctx, A, &half->mirrors));
    half->mirrors->nontemporal =
        tess_cpu_exceeds_caches(tess_matrix_stored(A) / 2 * (int64_t)tess_type_size(A->type));
    TESS_TRY_CLEAN(kernel->lanes > 0 ? make_lanes(half) : tess_cpu_half_make_upper(half));
    TESS_TRY_CLEAN(make_chunks(half, reproducible ? 0 : device->threads));
    int64_t jobs = half->chunk_count / kernel->streams;
    half->shares = (int)tess_min(jobs, device->threads);
    if (half->lanes)
        TESS_TRY_CLEAN(make_rings(half));
    if (A->rows % A->block_height != 0) {
        int64_t padded = A->block_rows * A->block_height;
        TESS_TRY_CLEAN(tess_calloc_bytes(ctx, padded, tess_type_size(A->type), &half->padded_x));
        TESS_TRY_CLEAN(tess_alloc_bytes(ctx, padded, tess_type_size(A->type), &half->padded_y));
    }
cleanup:
    return TESS_DELIVER(status, half, tess_cpu_half_destroy, out);
}

tess_status tess_cpu_half_update_values(tess_cpu_half *half)
{
    if (half->lanes)
        TESS_TRY(tess_cpu_update_lanes(half->lanes, half->mirrors, half->whole));
    return half->upper ? tess_cpu_update_upper(half->upper, half->mirrors, half->whole) : TESS_OK;
}

int64_t tess_cpu_half_bytes(const tess_cpu_half *half)
{
    return half->lanes ? tess_symmetric_lanes_bytes(half->lanes, half->whole->type)
                       : tess_symmetric_bytes(half->upper);
}

void tess_cpu_half_destroy(tess_cpu_half *half)
{
    if (!half)
        return;
    tess_matrix_destroy(half->upper);
    tess_symmetric_mirrors_destroy(half->mirrors);
    tess_symmetric_lanes_destroy(half->lanes);
    TESS_FREE(half->ctx, half->rings, half->chunks, half->windows, half->padded_x, half->padded_y);
    tess_cpu_half_free_spmm(half);
    tess_cpu_half_free_fields(half);
    tess_free(half->ctx, half);
}

typedef struct product {
    const tess_cpu_half *half;
    const tess_cpu_symmetric_args *args;
} product;

static void do_chunks(void *arg, int share)
{
    const product *p = arg;
    const tess_cpu_half *half = p->half;
    const tess_range jobs =
        tess_share(half->chunk_count / half->kernel->streams, share, half->shares);
    tess_cpu_symmetric_args own = *p->args;
    if (half->rings)
        own.ring = (char *)half->rings + (size_t)share * half->ring_bytes;
    for (int64_t job = jobs.first; job < jobs.last; job++)
        half->kernel->symmetric(&own, half->chunks + job * half->kernel->streams);
}

/* y += the window, for block rows from .. to-1. */
static void add_window(const product *p, const tess_cpu_chunk *chunk, int64_t from, int64_t to)
{
    const tess_matrix *A = p->half->whole;
    const int64_t b = A->block_height, offset = chunk->last * b;
    void *y = p->args->y;
    if (p->args->by_fields)
        tess_permute_nodes(&(tess_permute){.type = A->type,
                                           .rows = A->rows,
                                           .vectors = 1,
                                           .fields = A->block_height,
                                           .to_fields = true,
                                           .begins = chunk->last,
                                           .from = chunk->window,
                                           .from_row = 1,
                                           .to = y,
                                           .to_row = 1,
                                           .beta = 1},
                           from, to);
    else if (A->type == TESS_F64)
        for (int64_t i = from * b; i < to * b; i++)
            ((double *)y)[i] += ((const double *)chunk->window)[i - offset];
    else
        for (int64_t i = from * b; i < to * b; i++)
            ((float *)y)[i] += ((const float *)chunk->window)[i - offset];
}

/* y += windows, for a share of the block rows. */
static void add_windows(void *arg, int share)
{
    const product *p = arg;
    const tess_range rows = tess_share(p->half->whole->block_rows, share, p->half->shares);
    for (int64_t c = 0; c < p->half->chunk_count; c++) {
        const tess_cpu_chunk *chunk = &p->half->chunks[c];
        add_window(p, chunk, tess_max(chunk->last, rows.first), tess_min(chunk->end, rows.last));
    }
}

tess_cpu_symmetric_args tess_cpu_half_args(const tess_cpu_half *half, double alpha, const void *x,
                                           double beta, void *y)
{
    const tess_matrix *U = half->upper;
    const tess_symmetric_lanes *S = half->lanes;
    return (tess_cpu_symmetric_args){
        .row_offsets = S ? S->offsets : U->row_offsets,
        .columns = S ? S->columns : U->columns,
        .values = S ? S->values[0] : U->values,
        .more_values = S ? S->values[1] : NULL,
        .ring_rows = half->ring_rows,
        .x = x,
        .y = y,
        .alpha = alpha,
        .beta = beta,
        .block_rows = half->whole->block_rows,
        .block_size = half->whole->block_height,
    };
}

void tess_cpu_half_add_windows(const tess_cpu_half *half, const tess_cpu_symmetric_args *args)
{
    tess_parallel(half->ctx, half->shares, add_windows, &(product){half, args});
}

void tess_cpu_half_run(const tess_cpu_half *half, const tess_cpu_symmetric_args *args)
{
    tess_parallel(half->ctx, half->shares, do_chunks, &(product){half, args});
    tess_cpu_half_add_windows(half, args);
}

void tess_cpu_half_spmv(tess_cpu_half *half, double alpha, const void *x, double beta, void *y)
{
    const tess_matrix *A = half->whole;
    const bool ragged = half->padded_x != NULL;
    if (ragged)
        tess_cpu_copy(half->ctx, half->padded_x, x, (size_t)A->cols * tess_type_size(A->type),
                      half->shares);
    const tess_cpu_symmetric_args args = tess_cpu_half_args(
        half, alpha, ragged ? half->padded_x : x, ragged ? 0 : beta, ragged ? half->padded_y : y);
    tess_cpu_half_run(half, &args);
    if (ragged)
        tess_cpu_unpack(half->ctx, A->type, A->rows, half->padded_y, 1,
                        &(tess_cpu_vectors){y, 1, 1}, beta, half->shares);
}

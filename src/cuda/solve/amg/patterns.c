/* Patterns of a product and of a transpose, made on the device. */
#include "cuda/solve/amg/patterns.h"

#include "cuda/solve/amg/coarsen_level.h"

/* The longest rows of C for which the kernels' tables are tried, in turn; and the longest of R. */
static const int64_t row_limits[] = {256, 2048};
enum { TRIES = sizeof row_limits / sizeof *row_limits, LONGEST_OF_R = 8192 };

static tess_status launch(tess_cuda *cuda, tess_cuda_launch *l)
{
    char defines[48];
    snprintf(defines, sizeof defines, "-DTHREADS=%d -DEACH=%d", TESS_PATTERNS_THREADS,
             TESS_PATTERNS_EACH);
    return tess_coarsen_run(cuda, "patterns.cu", defines, l);
}

static tess_status need_array(tess_cuda *cuda, int64_t count, size_t size, uint64_t *to)
{
    return *to ? TESS_OK : tess_cuda_alloc(cuda, (size_t)count * size, "a pattern", to);
}

/* Replaces the sums of thread blocks' lengths by the sums of all lengths before them. *longest is
 * -1 where a length is negative. */
static void sum_blocks(int64_t *sums, int64_t count, int64_t *total, int64_t *longest)
{
    int64_t shortest = 0;
    *total = *longest = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t sum = sums[3 * i];
        *longest = tess_max(*longest, sums[3 * i + 1]);
        shortest = tess_min(shortest, sums[3 * i + 2]);
        sums[i] = *total;
        *total += sum;
    }
    if (shortest < 0)
        *longest = -1;
}

/* `sums` on the host and `device_sums` have three numbers of 64 bits per thread block. */
static tess_status sum_with(tess_cuda *cuda, uint64_t lengths, int64_t count, int64_t *sums,
                            uint64_t device_sums, int64_t *total, int64_t *longest)
{
    tess_cuda_launch l;
    tess_patterns_offsets("measure", lengths, count, device_sums, &l);
    const int64_t blocks = l.grid[0];
    TESS_TRY(launch(cuda, &l));
    TESS_TRY(tess_cuda_download(cuda, sums, device_sums, 3 * (size_t)blocks * sizeof *sums,
                                cuda->stream));
    sum_blocks(sums, blocks, total, longest);
    if (*longest < 0)
        return TESS_OK;
    TESS_TRY(
        tess_cuda_upload(cuda, device_sums, sums, (size_t)blocks * sizeof *sums, cuda->stream));
    tess_patterns_offsets("place", lengths, count, device_sums, &l);
    TESS_TRY(launch(cuda, &l));
    return TESS_CU(cuda, cuStreamSynchronize(cuda->stream));
}

tess_status tess_cuda_sum_lengths(tess_cuda *cuda, uint64_t lengths, int64_t count, int64_t *total,
                                  int64_t *longest)
{
    enum { SPAN = TESS_PATTERNS_THREADS * TESS_PATTERNS_EACH };
    const int64_t sums_count = 3 * tess_ceil_div(count, SPAN);
    int64_t *sums = NULL;
    uint64_t device_sums = 0;
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(cuda->ctx, sums_count, &sums));
    TESS_TRY_CLEAN(need_array(cuda, sums_count, sizeof *sums, &device_sums));
    TESS_TRY_CLEAN(sum_with(cuda, lengths, count, sums, device_sums, total, longest));
cleanup:
    tess_cuda_free(cuda, device_sums);
    tess_free(cuda->ctx, sums);
    return status;
}

/* Turns the lengths, which lie behind the first offset, into offsets. Sets C's blocks and its
 * longest row, which is -1 where a length is negative. */
static tess_status sum_rows(tess_cuda *cuda, tess_coarsen_matrix *C, int64_t *offsets)
{
    const size_t bytes = (size_t)(C->block_rows + 1) * sizeof *offsets;
    TESS_TRY(tess_cuda_sum_lengths(cuda, C->offsets + sizeof *offsets, C->block_rows, &C->blocks,
                                   &C->longest));
    if (C->longest < 0)
        return TESS_OK;
    TESS_TRY(TESS_CU(cuda, cuMemsetD8Async(C->offsets, 0, sizeof *offsets, cuda->stream)));
    return offsets ? tess_cuda_download(cuda, offsets, C->offsets, bytes, cuda->stream) : TESS_OK;
}

tess_status tess_cuda_multiply_pattern(tess_cuda *cuda, const tess_coarsen_matrix *A,
                                       const tess_coarsen_matrix *B, tess_coarsen_matrix *C,
                                       uint64_t owned[2], int64_t *offsets, bool *fits)
{
    tess_cuda_launch l;
    int try = 0;
    TESS_TRY(need_array(cuda, C->block_rows + 1, sizeof *offsets, &owned[0]));
    C->offsets = owned[0];
    for (C->longest = -1; C->longest < 0 && try < TRIES; try++) {
        tess_patterns_multiply(TESS_PATTERNS_COUNT, A, B, C, C->offsets + sizeof *offsets,
                               row_limits[try], &l);
        TESS_TRY(launch(cuda, &l));
        TESS_TRY(sum_rows(cuda, C, offsets));
    }
    *fits = C->longest >= 0;
    if (!*fits)
        return TESS_OK;
    TESS_TRY(need_array(cuda, C->blocks, sizeof(int32_t), &owned[1]));
    C->columns = owned[1];
    tess_patterns_multiply(TESS_PATTERNS_LIST, A, B, C, 0, row_limits[try - 1], &l);
    return launch(cuda, &l);
}

/* Puts the blocks of P into the rows of R. `places` gets a copy of R's offsets. */
static tess_status fill_rows(tess_cuda *cuda, const tess_coarsen_matrix *P,
                             const tess_coarsen_matrix *R, uint64_t places, uint64_t rows,
                             uint64_t numbers, uint64_t from)
{
    const size_t bytes = (size_t)R->block_rows * sizeof(int64_t);
    tess_cuda_launch l;
    TESS_TRY(TESS_CU(cuda, cuMemcpyDtoDAsync(places, R->offsets, bytes, cuda->stream)));
    tess_patterns_transpose("scatter", P, places, rows, numbers, &l);
    TESS_TRY(launch(cuda, &l));
    tess_patterns_order(R, rows, numbers, from, &l);
    TESS_TRY(launch(cuda, &l));
    return TESS_CU(cuda, cuStreamSynchronize(cuda->stream));
}

tess_status tess_cuda_transpose_pattern(tess_cuda *cuda, const tess_coarsen_matrix *P,
                                        tess_coarsen_matrix *R, uint64_t owned[2], uint64_t *from,
                                        int64_t *offsets, bool *fits)
{
    const size_t bytes = (size_t)(R->block_rows + 1) * sizeof *offsets;
    uint64_t places = 0, rows = 0, numbers = 0;
    tess_cuda_launch l;
    tess_status status;
    TESS_TRY(need_array(cuda, R->block_rows + 1, sizeof *offsets, &owned[0]));
    R->offsets = owned[0];
    TESS_TRY(TESS_CU(cuda, cuMemsetD8Async(R->offsets, 0, bytes, cuda->stream)));
    tess_patterns_transpose("tally", P, R->offsets + sizeof *offsets, 0, 0, &l);
    TESS_TRY(launch(cuda, &l));
    TESS_TRY(sum_rows(cuda, R, offsets));
    *fits = R->longest <= LONGEST_OF_R;
    if (!*fits)
        return TESS_OK;
    TESS_TRY(need_array(cuda, R->blocks, sizeof(int32_t), &owned[1]));
    R->columns = owned[1];
    TESS_TRY(need_array(cuda, R->blocks, sizeof(int64_t), from));
    TESS_TRY_CLEAN(need_array(cuda, R->block_rows + 1, sizeof(int64_t), &places));
    TESS_TRY_CLEAN(need_array(cuda, R->blocks, sizeof(int32_t), &rows));
    TESS_TRY_CLEAN(need_array(cuda, R->blocks, sizeof(int64_t), &numbers));
    TESS_TRY_CLEAN(fill_rows(cuda, P, R, places, rows, numbers, *from));
cleanup:
    tess_cuda_free(cuda, places);
    tess_cuda_free(cuda, rows);
    tess_cuda_free(cuda, numbers);
    return status;
}

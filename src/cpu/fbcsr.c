/* y = alpha A x + beta y for blocks of several shapes and a CSR remainder, by threads.
 *
 *     rows       0 .... | .... | .... | .... | .... | .... n     chunks
 *     thread 0   [   pair    ] [   pair    ]
 *     thread 1                               [   pair  ...
 *
 * The rows are cut into chunks small enough for their part of y to stay in the first cache. A chunk
 * is done by one thread: the remainder's row sums and beta y first, then split after split is
 * added; a block that reaches over the chunk's end is read by both chunks, each using its own rows.
 * So each row of y is written by one thread and read from memory once, and no window has to be
 * added. The chunks depend on the matrix alone, so the result has the same bits for any number of
 * threads.
 *
 * A thread walks two chunks in lockstep, as two streams of values: one stream stops at the limit of
 * a core's prefetcher. The two chunks are neighbours, so that they read the same part of x.
 */
#include "cpu/fbcsr.h"
#include "cpu/select.h"

/* Rows of a chunk: a multiple of STEP, so that blocks of usual heights in usual places do not cross
 * its end. No block is higher than STEP, so a block reaches into the next chunk at most. 4096 rows
 * of y fill half of a first-level cache. In a matrix of short rows, every split begins its stream
 * half as often as with 2048 rows (three non-zeros per row: 1.51 -> 1.31 ms). 8192 rows are no
 * faster. */
enum { STEP = TESS_SHAPE_SIDE, CHUNK_ROWS = 4096 };
/* A chunk gets no more rows once it has this many bytes, or this part of the matrix if that is
 * more. */
enum { CHUNK_BYTES = 256 * 1024, CHUNKS_IN_MATRIX = 512 };
enum { LEAST_SHARE_BYTES = 64 * 1024 };
enum { STREAMS = 2 };
enum { FETCH_BYTES = 1024 }; /* of the next split's values */

/* ---- Chunks ---- */

/* Counts the bytes of the matrix in the order of its rows. */
typedef struct sweep {
    const tess_fbcsr *F;
    int64_t next[TESS_FBCSR_SPLITS]; /* first block of each split that is not counted yet */
} sweep;

static int64_t block_bytes(const tess_fbcsr *F, const tess_fbcsr_split *split)
{
    return (int64_t)split->shape.height * split->shape.width * (int64_t)tess_type_size(F->type) + 8;
}

/* Returns the bytes of rows from .. to-1. It is called with consecutive ranges. */
static int64_t sweep_bytes(sweep *s, int64_t from, int64_t to)
{
    const tess_fbcsr *F = s->F;
    int64_t scalar = (int64_t)tess_type_size(F->type);
    int64_t bytes = (F->rest->row_offsets[to] - F->rest->row_offsets[from]) * (scalar + 4) +
                    (to - from) * 2 * scalar;
    for (int i = 0; i < F->splits; i++) {
        const tess_fbcsr_split *split = &F->split[i];
        int64_t first = s->next[i];
        while (s->next[i] < split->blocks && split->rows[s->next[i]] < to)
            s->next[i]++;
        bytes += (s->next[i] - first) * block_bytes(F, split);
    }
    return bytes;
}

/* The first block of a split that begins in `row` or below. */
static int64_t first_block(const tess_fbcsr_split *split, int64_t row)
{
    return tess_lower_bound(split->rows, 0, split->blocks, row);
}

static tess_status make_chunks(tess_cpu_fbcsr *state)
{
    const tess_fbcsr *F = state->F;
    int64_t steps = tess_ceil_div(F->rows, STEP), total = tess_fbcsr_bytes(F);
    int64_t most = tess_max(total / CHUNKS_IN_MATRIX, CHUNK_BYTES);
    TESS_TRY(TESS_ALLOC(state->ctx, steps + 1, &state->first_row));
    TESS_TRY(TESS_ALLOC(state->ctx, steps + 1, &state->bytes_before));
    sweep s = {.F = F};
    int64_t count = 0, bytes = 0, before = 0;
    state->first_row[0] = 0;
    state->bytes_before[0] = 0;
    for (int64_t step = 0; step < steps; step++) {
        int64_t end = tess_min((step + 1) * STEP, F->rows);
        bytes += sweep_bytes(&s, step * STEP, end);
        bool full = end - state->first_row[count] >= CHUNK_ROWS || bytes >= most;
        if (full || end == F->rows) {
            before += bytes;
            bytes = 0;
            state->first_row[++count] = end;
            state->bytes_before[count] = before;
        }
    }
    state->chunks = count;
    return TESS_OK;
}

/* ---- Blocks of the chunks ---- */

static tess_status find_blocks(tess_cpu_fbcsr *state)
{
    const tess_fbcsr *F = state->F;
    const int64_t chunks = state->chunks;
    TESS_TRY(TESS_ALLOC(state->ctx, 2 * F->splits * chunks, &state->blocks));
    for (int s = 0; s < F->splits; s++) {
        int64_t *ranges = state->blocks + 2 * s * chunks, height = F->split[s].shape.height;
        for (int64_t c = 0; c < chunks; c++) {
            ranges[2 * c] = first_block(&F->split[s], state->first_row[c] - height + 1);
            ranges[2 * c + 1] = first_block(&F->split[s], state->first_row[c + 1]);
        }
    }
    return TESS_OK;
}

/* The first chunk of thread `part` of `parts`, which get equal bytes. */
static int64_t first_chunk(const tess_cpu_fbcsr *state, int64_t part, int64_t parts)
{
    const int64_t total = state->bytes_before[state->chunks];
    const int64_t target = total / parts * part + total % parts * part / parts;
    return tess_lower_bound(state->bytes_before, 0, state->chunks, target);
}

/* ---- The remainder ---- */

/* Lists the row of each entry of the remainder, if there are at most half as many entries as rows.
 * The remainder's own kernel is slower then: an empty row costs it as much as an entry. */
static tess_status list_rest(tess_cpu_fbcsr *state)
{
    const tess_matrix *R = state->F->rest;
    if (R->blocks > R->rows / 2)
        return TESS_OK;
    TESS_TRY(TESS_ALLOC(state->ctx, R->blocks, &state->rest_rows));
    for (int64_t row = 0; row < R->rows; row++)
        for (int64_t k = R->row_offsets[row]; k < R->row_offsets[row + 1]; k++)
            state->rest_rows[k] = (int32_t)row;
    return TESS_OK;
}

/* ---- Kernels ---- */

/* The first kernel of the table for the split's shape. */
static const tess_cpu_kernel *split_kernel(tess_cpu_isa isa, tess_type type,
                                           const tess_shape *shape)
{
    const tess_cpu_kernel_table *table = tess_cpu_table(isa);
    for (size_t i = 0; i < table->count; i++) {
        const tess_cpu_kernel *kernel = &table->kernels[i];
        if (kernel->family != TESS_CPU_FBCSR_SPMV ||
            kernel->scalar_bytes != (int)tess_type_size(type))
            continue;
        bool wide = kernel->block_width == 0 || kernel->block_width == shape->width;
        bool fits = kernel->block_height == shape->height && wide &&
                    (shape->height == 1 || kernel->shift == shape->shift);
        if (kernel->block_height == 0 || fits)
            return kernel;
    }
    return NULL;
}

void tess_cpu_fbcsr_kernel_name(tess_cpu_isa isa, tess_type type, char *name, size_t size)
{
    snprintf(name, size, "fbcsr_spmv_%s_%s", tess_type_name(type), tess_cpu_isa_name(isa));
}

tess_status tess_cpu_fbcsr_named(const tess_device *device, tess_type type, const char *kernel,
                                 tess_cpu_isa *out)
{
    const tess_cpu_device *cpu = device->state;
    char name[64] = "";
    for (int isa = (int)cpu->isa; isa >= 0; isa--) {
        if (!tess_cpu_isa_available(&cpu->id, (tess_cpu_isa)isa))
            continue;
        tess_cpu_fbcsr_kernel_name((tess_cpu_isa)isa, type, name, sizeof name);
        *out = (tess_cpu_isa)isa;
        if (!kernel || strcmp(kernel, name) == 0)
            return TESS_OK;
    }
    tess_cpu_fbcsr_kernel_name(cpu->isa, type, name, sizeof name);
    return tess_fail(device->ctx, TESS_ERR_ARGUMENT,
                     "no kernel '%s' for %s in format fbcsr (nearest: '%s')", kernel,
                     tess_type_name(type), name);
}

tess_status tess_cpu_fbcsr_create(const tess_device *device, tess_fbcsr *F, tess_cpu_isa isa,
                                  const tess_cpu_kernel *rest, tess_cpu_fbcsr **out)
{
    tess_status status;
    tess_cpu_fbcsr *state;
    TESS_TRY(TESS_CALLOC(device->ctx, 1, &state));
    state->ctx = device->ctx;
    state->F = F;
    state->rest = rest;
    for (int i = 0; i < F->splits; i++)
        state->kernels[i] = split_kernel(isa, F->type, &F->split[i].shape);
    state->lone = split_kernel(isa, F->type, &(tess_shape){.height = 1, .width = 1});
    TESS_TRY_CLEAN(list_rest(state));
    TESS_TRY_CLEAN(make_chunks(state));
    TESS_TRY_CLEAN(find_blocks(state));
    int64_t most = state->bytes_before[state->chunks] / LEAST_SHARE_BYTES;
    most = tess_min(most, state->chunks);
    state->shares = (int)tess_clamp(most, 1, device->threads);
    *out = state;
    return TESS_OK;
cleanup:
    state->F = NULL; /* still the caller's */
    tess_cpu_fbcsr_destroy(state);
    return status;
}

void tess_cpu_fbcsr_destroy(tess_cpu_fbcsr *state)
{
    if (!state)
        return;
    tess_fbcsr_destroy(state->F);
    tess_fbcsr_sources_destroy(state->sources);
    TESS_FREE(state->ctx, state->rest_rows, state->first_row, state->bytes_before, state->blocks,
              state);
}

/* ---- Products ---- */

static void scale(void *y, tess_type type, int64_t first, int64_t last, double beta)
{
    size_t size = tess_type_size(type);
    if (beta == 0)
        memset((char *)y + (size_t)first * size, 0, (size_t)(last - first) * size);
    else if (type == TESS_F64)
        for (int64_t i = first; i < last; i++)
            ((double *)y)[i] *= beta;
    else
        for (int64_t i = first; i < last; i++)
            ((float *)y)[i] *= (float)beta;
}

/* y = alpha R x + beta y in the rows of a chunk, where R is the remainder. If R has no entries
 * there, or its rows are listed, only y = beta y. */
static void start_chunk(const tess_cpu_fbcsr *state, const tess_cpu_spmv_args *args, int64_t chunk)
{
    const tess_matrix *R = state->F->rest;
    int64_t first = state->first_row[chunk], last = state->first_row[chunk + 1];
    if (state->rest_rows || R->row_offsets[first] == R->row_offsets[last]) {
        scale(args->y, R->type, first, last, args->beta);
        return;
    }
    int64_t bounds[TESS_CPU_STREAMS + 1];
    for (int s = 0; s <= state->rest->streams; s++)
        bounds[s] = first + (last - first) * s / state->rest->streams;
    state->rest->spmv(args, bounds);
}

/* Adds the blocks of one split, times alpha x, to y: blocks ranges[s][0] .. ranges[s][1]-1 of each
 * of `count` chunks, in lockstep. */
static void add_blocks(const tess_cpu_fbcsr *state, const tess_cpu_spmv_args *args,
                       const tess_fbcsr_split *split, const tess_cpu_kernel *kernel,
                       const int64_t *chunks, int count, const int64_t ranges[][2])
{
    const tess_cpu_fbcsr_args blocks = {
        .rows = split->rows,
        .cols = split->cols,
        .values = split->values,
        .x = args->x,
        .y = args->y,
        .alpha = args->alpha,
        .height = split->shape.height,
        .width = split->shape.width,
        .shift = split->shape.shift,
    };
    tess_cpu_fbcsr_piece pieces[STREAMS];
    for (int s = 0; s < count; s++)
        pieces[s] = (tess_cpu_fbcsr_piece){ranges[s][0], ranges[s][1], state->first_row[chunks[s]],
                                           state->first_row[chunks[s] + 1]};
    kernel->fbcsr(&blocks, pieces, count);
}

/* Prefetches the first values and places of the next split's blocks. Every split begins a stream of
 * its own, which the hardware prefetcher notices only after some misses. */
static void fetch_ahead(const tess_fbcsr_split *split, int64_t block, tess_type type)
{
    const size_t line = 64, scalar = tess_type_size(type);
    const char *values =
        (const char *)split->values + (size_t)(block * tess_shape_cells(&split->shape)) * scalar;
    if (block >= split->blocks)
        return;
    for (size_t at = 0; at < FETCH_BYTES; at += line)
        __builtin_prefetch(values + at);
    for (size_t at = 0; at < FETCH_BYTES / 8; at += line) {
        __builtin_prefetch((const char *)(split->rows + block) + at);
        __builtin_prefetch((const char *)(split->cols + block) + at);
    }
}

/* `count` chunks in lockstep. */
static void run_chunks(const tess_cpu_fbcsr *state, const tess_cpu_spmv_args *args,
                       const int64_t *chunks, int count)
{
    const tess_fbcsr *F = state->F;
    const tess_matrix *R = F->rest;
    int64_t ranges[STREAMS][2];
    for (int s = 0; s < count; s++)
        start_chunk(state, args, chunks[s]);
    for (int i = 0; i < F->splits; i++) {
        for (int s = 0; s < count; s++)
            memcpy(ranges[s], state->blocks + 2 * (i * state->chunks + chunks[s]),
                   sizeof ranges[s]);
        for (int s = 0; i + 1 < F->splits && s < count; s++)
            fetch_ahead(&F->split[i + 1], state->blocks[2 * ((i + 1) * state->chunks + chunks[s])],
                        F->type);
        add_blocks(state, args, &F->split[i], state->kernels[i], chunks, count, ranges);
    }
    if (!state->rest_rows || R->blocks == 0)
        return;
    const tess_fbcsr_split lone = {.shape = {.height = 1, .width = 1},
                                   .rows = state->rest_rows,
                                   .cols = R->columns,
                                   .values = R->values};
    for (int s = 0; s < count; s++)
        for (int end = 0; end < 2; end++)
            ranges[s][end] = R->row_offsets[state->first_row[chunks[s] + end]];
    add_blocks(state, args, &lone, state->lone, chunks, count, ranges);
}

static void run_share(const tess_cpu_fbcsr *state, const tess_cpu_spmv_args *args, int64_t share)
{
    const int64_t end = first_chunk(state, share + 1, state->shares);
    for (int64_t at = first_chunk(state, share, state->shares); at < end; at += STREAMS) {
        int64_t chunks[STREAMS];
        int count = 0;
        for (; count < STREAMS && at + count < end; count++)
            chunks[count] = at + count;
        run_chunks(state, args, chunks, count);
    }
}

struct product {
    const tess_cpu_fbcsr *state;
    const tess_cpu_spmv_args *args;
};

static void do_share(void *arg, int share)
{
    const struct product *job = arg;
    run_share(job->state, job->args, share);
}

void tess_cpu_fbcsr_spmv(const tess_cpu_fbcsr *state, double alpha, const void *x, double beta,
                         void *y)
{
    const tess_matrix *R = state->F->rest;
    const tess_cpu_spmv_args args = {
        .row_offsets = R->row_offsets,
        .columns = R->columns,
        .values = R->values,
        .x = x,
        .y = y,
        .alpha = alpha,
        .beta = beta,
        .block_height = 1,
        .block_width = 1,
        .short_rows = tess_cpu_short_rows(R),
    };
    tess_parallel(state->ctx, state->shares, do_share, &(struct product){state, &args});
}

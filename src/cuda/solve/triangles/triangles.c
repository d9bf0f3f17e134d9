/* Cuts triangles into tiles and writes their launches. */
#include "cuda/solve/triangles/triangles.h"

#include "cuda/kernels/support.h"

/* Tiles have 128 to 256 scalar rows where blocks are small. Narrow stages are a chain of latencies,
 * which twelve values in flight per thread shorten. Wide stages need many threads, and eight values
 * in flight leave registers for them. A complex value takes the registers of two.
 *
 *     H200, 27 points, blocks of 3     2 blocks in flight   4 blocks in flight
 *     levels of 2800 threads                1.48 ms              1.08 ms
 *     colours of 192000 threads             0.31 ms              0.37 ms
 */
tess_triangle_tuning tess_triangle_guess(tess_type type, int32_t block, double stage_threads)
{
    const bool wide = stage_threads > 20000;
    const int parts = tess_is_complex(type) ? 2 : 1;
    tess_triangle_tuning t = {.rows = 1, .threads = 256, .wide = 300000};
    while (2 * t.rows * block <= 256)
        t.rows *= 2;
    if (block <= 256)
        t.threads = (t.rows * block + 31) / 32 * 32;
    t.panel = tess_min(block, 8 / parts);
    t.depth = tess_max((wide || block < 3 ? 8 : 12) / parts / block, 1);
    return t;
}

void tess_triangle_defines(const tess_triangle_tuning *tuning, int32_t block, tess_type vector_type,
                           tess_type type, char *text, size_t size)
{
    tess_cuda_scalar_defines(vector_type, false, text, size);
    tess_append(text, size,
                " -DHELD=%zu -DBH=%d -DROWS=%d -DTHREADS=%d -DDEPTH=%d -DPANEL=%d -DBLOCKS=%d "
                "-DAHEAD=%d",
                tess_type_size(tess_real_type(type)), (int)block, tuning->rows, tuning->threads,
                tuning->depth, tuning->panel, 576 / tuning->threads, tuning->ahead);
    if (tuning->nap > 0)
        tess_append(text, size, " -DNAP=%d", tuning->nap);
}

void tess_cuda_triangle_destroy(tess_cuda_triangle *triangle)
{
    if (!triangle)
        return;
    TESS_FREE(triangle->ctx, triangle->segment, triangle->tile, triangle->places, triangle->columns,
              triangle);
}

/* The end of the tile that begins at position `first`, at most `last`. Rows are padded to the
 * tile's longest row. A row that would make the tile half padding begins the next one. */
static int64_t tile_end(const int64_t *offsets, int64_t first, int64_t last, int rows,
                        int64_t *longest)
{
    enum { SPARE = 64 };
    int64_t end = first;
    *longest = 0;
    while (end < last && end < first + rows) {
        const int64_t length = offsets[end + 1] - offsets[end];
        const int64_t most = tess_max(length, *longest);
        if (most * (end + 1 - first) > 2 * (offsets[end + 1] - offsets[first]) + SPARE)
            break;
        *longest = most;
        end++;
    }
    return end;
}

/* The segment of the next stage. A wide stage gets one of its own, successive narrow stages share
 * one. */
static tess_segment *open_segment(tess_cuda_triangle *t, bool wide, int64_t tile)
{
    tess_segment *last = t->segments > 0 ? &t->segment[t->segments - 1] : NULL;
    if (!wide && last && !last->wide) {
        last->waiting = true;
        return last;
    }
    t->segment[t->segments] = (tess_segment){.tile = tile, .wide = wide};
    return &t->segment[t->segments++];
}

/* Cuts one stage, positions first .. last-1, into tiles. Counts the tiles, and writes them once
 * there is memory for them. */
static void cut_stage(const tess_triangle *from, int64_t first, int64_t last, int rows,
                      tess_cuda_triangle *t)
{
    for (int64_t p = first; p < last;) {
        int64_t longest;
        const int64_t end = tile_end(from->offsets, p, last, rows, &longest);
        if (t->tile)
            t->tile[t->tiles] = (tess_tile){t->blocks, (int32_t)p, (int32_t)(end - p)};
        t->blocks += longest * (end - p);
        t->tiles++;
        p = end;
    }
}

/* Cuts all stages into tiles, in the order of the sweep. */
static void cut_stages(const tess_staged *staged, const tess_triangle *from,
                       const tess_triangle_tuning *tuning, tess_cuda_triangle *t)
{
    const tess_stages *s = &staged->stages;
    const int64_t all = staged->block_rows;
    t->tiles = t->blocks = 0;
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t at = t->up ? s->count - 1 - i : i;
        const int64_t first = t->up ? all - s->offsets[at + 1] : s->offsets[at];
        const int64_t last = t->up ? all - s->offsets[at] : s->offsets[at + 1];
        const bool wide = (last - first) * t->block >= tuning->wide;
        tess_segment *segment = t->segment ? open_segment(t, wide, t->tiles) : NULL;
        cut_stage(from, first, last, tuning->rows, t);
        if (segment) {
            segment->end = t->tiles;
            segment->stages++;
        }
    }
}

/* Blocks of each row of a tile, padding included. */
static int64_t tile_length(const tess_cuda_triangle *t, int64_t tile)
{
    const int64_t end = tile + 1 < t->tiles ? t->tile[tile + 1].block : t->blocks;
    return (end - t->tile[tile].block) / t->tile[tile].rows;
}

struct fill_tiles {
    tess_cuda_triangle *t;
    const tess_triangle *from;
    const tess_staged *staged;
};

static void fill_tiles(void *arg, tess_range range)
{
    const struct fill_tiles *job = arg;
    tess_cuda_triangle *t = job->t;
    const tess_triangle *from = job->from;
    for (int64_t i = range.first; i < range.last; i++) {
        const tess_tile *tile = &t->tile[i];
        const int64_t longest = tile_length(t, i);
        for (int32_t r = 0; r < tile->rows; r++) {
            const int64_t position = tile->first + r, begin = from->offsets[position];
            const int64_t length = from->offsets[position + 1] - begin;
            t->places[2 * position] = (int32_t)length;
            t->places[2 * position + 1] =
                job->staged->stages.rows[t->up ? t->rows - 1 - position : position];
            for (int64_t k = 0; k < longest; k++)
                t->columns[tile->block + k * tile->rows + r] =
                    k < length ? from->columns[begin + k] : 0;
        }
    }
}

static void fill_pattern(const tess_staged *staged, const tess_triangle *from,
                         tess_cuda_triangle *t)
{
    tess_for(t->ctx, t->tiles, fill_tiles, &(struct fill_tiles){t, from, staged});
}

tess_status tess_cuda_triangle_create(const tess_staged *staged, const tess_split *split, bool up,
                                      const tess_triangle_tuning *tuning, tess_cuda_triangle **out)
{
    tess_ctx *ctx = staged->ctx;
    const tess_triangle *from = up ? &split->upper : &split->lower;
    tess_cuda_triangle *t;
    TESS_TRY(TESS_CALLOC(ctx, 1, &t));
    t->ctx = ctx;
    t->up = up;
    t->block = tess_staged_height(staged);
    t->type = staged->type;
    t->rows = staged->block_rows;
    cut_stages(staged, from, tuning, t);
    tess_status status;
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, staged->stages.count, &t->segment));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, t->tiles, &t->tile));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 2 * t->rows, &t->places));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, t->blocks, &t->columns));
    cut_stages(staged, from, tuning, t);
    fill_pattern(staged, from, t);
    *out = t;
    return TESS_OK;
cleanup:
    tess_cuda_triangle_destroy(t);
    return status;
}

size_t tess_cuda_triangle_bytes(const tess_cuda_triangle *t, int array)
{
    const size_t block = tess_block_bytes(t->block, t->block, t->type);
    const size_t bytes[TRIANGLE_ARRAYS] = {
        [TRIANGLE_TILES] = (size_t)t->tiles * sizeof *t->tile,
        [TRIANGLE_PLACES] = (size_t)(2 * t->rows) * sizeof *t->places,
        [TRIANGLE_COLUMNS] = (size_t)t->blocks * sizeof *t->columns,
        [TRIANGLE_VALUES] = (size_t)t->blocks * block,
        [TRIANGLE_INVERSE] = t->up ? (size_t)t->rows * block : 0,
    };
    return bytes[array];
}

const void *tess_cuda_triangle_array(const tess_cuda_triangle *t, int array)
{
    const void *const arrays[TRIANGLE_ARRAYS] = {t->tile, t->places, t->columns};
    return arrays[array];
}

/* Copies a block to block k of row r in a tile of `rows` rows, which stores a column of block k of
 * all its rows together. */
static void put_block(const tess_cuda_triangle *t, const void *from, int64_t block, void *to,
                      int64_t start, int64_t k, int64_t rows, int64_t r)
{
    const int64_t b = t->block, lanes = rows * b;
    const size_t size = tess_type_size(t->type);
    for (int64_t j = 0; j < b; j++)
        memcpy((char *)to + (size_t)(start + (k * b + j) * lanes + r * b) * size,
               (const char *)from + (size_t)(block * b * b + j * b) * size, (size_t)b * size);
}

static void clear_block(const tess_cuda_triangle *t, void *to, int64_t start, int64_t k,
                        int64_t rows, int64_t r)
{
    const int64_t b = t->block, lanes = rows * b;
    const size_t size = tess_type_size(t->type);
    for (int64_t j = 0; j < b; j++)
        memset((char *)to + (size_t)(start + (k * b + j) * lanes + r * b) * size, 0,
               (size_t)b * size);
}

struct fill_tile_values {
    const tess_cuda_triangle *t;
    int64_t size;
    const tess_triangle *from;
    void *values;
    const tess_split *split;
    void *inverse;
};

static void fill_tile_values(void *arg, tess_range range)
{
    const struct fill_tile_values *job = arg;
    const tess_cuda_triangle *t = job->t;
    const tess_triangle *from = job->from;
    for (int64_t i = range.first; i < range.last; i++) {
        const tess_tile *tile = &t->tile[i];
        const int64_t longest = tile_length(t, i), at = tile->block * job->size;
        for (int32_t r = 0; r < tile->rows; r++) {
            const int64_t position = tile->first + r, begin = from->offsets[position];
            for (int64_t k = 0; k < longest; k++) {
                if (begin + k < from->offsets[position + 1])
                    put_block(t, from->values, begin + k, job->values, at, k, tile->rows, r);
                else
                    clear_block(t, job->values, at, k, tile->rows, r);
            }
            if (t->up)
                put_block(t, job->split->inverse, t->rows - 1 - position, job->inverse,
                          tile->first * job->size, 0, tile->rows, r);
        }
    }
}

void tess_cuda_triangle_fill(const tess_cuda_triangle *t, const tess_staged *staged,
                             const tess_split *split, void *values, void *inverse)
{
    const tess_triangle *from = t->up ? &split->upper : &split->lower;
    const int64_t size = (int64_t)t->block * t->block;
    tess_for(staged->ctx, t->tiles, fill_tile_values,
             &(struct fill_tile_values){t, size, from, values, split, inverse});
}

/* Thread blocks of a launch whose rows wait: one per tile of ten stages, within bounds. That many
 * thread blocks have loaded their values by the time these are needed. More would only poll, which
 * slows down the thread blocks that others wait for. */
static int64_t waiting_blocks(const tess_segment *s, int multiprocessors)
{
    const int64_t ahead = 10 * (s->end - s->tile) / s->stages;
    const int64_t most = 8 * (int64_t)multiprocessors, least = 64;
    return tess_clamp(ahead, least, most);
}

const char *const tess_triangle_entries[2][2] = {{"triangular_down", "triangular_down_waiting"},
                                                 {"triangular_up", "triangular_up_waiting"}};

void tess_triangle_launch(const tess_cuda_triangle *t, const tess_triangle_tuning *tuning,
                          int64_t segment, const tess_triangle_call *call, int multiprocessors,
                          tess_cuda_launch *out)
{
    const tess_segment *s = &t->segment[segment];
    int64_t grid = s->end - s->tile;
    const int64_t most = tuning->blocks > 0 ? tuning->blocks : waiting_blocks(s, multiprocessors);
    if (s->waiting && grid > most)
        grid = most;
    tess_cuda_launch *run = tess_cuda_launch_start(out, tess_triangle_entries[t->up][s->waiting],
                                                   grid, tuning->threads);
    tess_cuda_add_args(run, call->arrays, TRIANGLE_ARRAYS);
    TESS_CUDA_POINTERS(run, call->in, call->out, call->z,
                       call->tickets + (uint64_t)segment * sizeof(int32_t));
    TESS_CUDA_INTEGERS(run, s->tile, s->end, t->rows, call->scalars);
}

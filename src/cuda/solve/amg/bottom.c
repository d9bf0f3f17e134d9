/* The dense inverse of the bottom's matrix, made on the device. */
#include "cuda/solve/amg/bottom.h"

enum { TILE = TESS_BOTTOM_TILE, THREADS = TESS_BOTTOM_THREADS, OUT = TESS_AMG_BOTTOM_BLOCK };

/* The inverse is worth its work while it takes no longer than the level that it saves. The work is
 * n^3, so 3072 rows are about as many as pay (H200: an inverse of 2508 rows takes 4 ms of set-up
 * and 10 us (f32) or 16 us (f64) of a cycle; a level of as many rows and the next one took 8 ms and
 * a dozen launches). Devices with fewer multiprocessors or slower f64 take fewer rows. */
int64_t tess_cuda_bottom_most(const tess_device *device)
{
    enum { ROWS = 3072, MULTIPROCESSORS = 132, RATIO = 2, LEAST = 500 };
    const tess_cuda *cuda = tess_cuda_of(device);
    const double ratio = tess_max(cuda->f64_ratio, RATIO);
    const double speed = (double)cuda->multiprocessors / MULTIPROCESSORS * (RATIO / ratio);
    return speed >= 1 ? ROWS : tess_max(LEAST, (int64_t)(ROWS * cbrt(speed)));
}

void tess_bottom_defines(char *text, size_t size)
{
    (void)snprintf(text, size, "-DTHREADS=%d -DTILE=%d -DOUT=%d", THREADS, TILE, OUT);
}

static int64_t written(int64_t rows)
{
    const int64_t across = tess_ceil_div(rows, OUT);
    return across * across * OUT * OUT;
}

void tess_bottom_launch(const char *entry, const tess_coarsen_matrix *A,
                        const tess_bottom_arrays *arrays, int64_t step, tess_cuda_launch *launch)
{
    const int64_t across = arrays->across;
    const struct {
        const char *entry;
        int64_t x, y;
    } grids[] = {
        {"scale", tess_ceil_div(across * TILE, THREADS), 1},
        {"place", A->block_rows, 1},
        {"pivot", 1, 1},
        {"column", across, 1},
        {"update", across, across},
        {"write", tess_ceil_div(written(arrays->rows), THREADS), 1},
    };
    size_t i = 0;
    while (strcmp(grids[i].entry, entry) != 0)
        i++;
    tess_cuda_launch_start(launch, entry, grids[i].x, THREADS)->grid[1] = (unsigned)grids[i].y;
    TESS_CUDA_POINTERS(launch, A->offsets, A->columns, A->values, arrays->tiles, arrays->scale,
                       arrays->pivot, arrays->column, arrays->product, arrays->inverse,
                       arrays->failed);
    TESS_CUDA_INTEGERS(launch, arrays->rows, A->height, across, step);
    TESS_CUDA_NUMBERS(launch, arrays->least);
}

static tess_status run(tess_coarsen_level *s, const tess_bottom_arrays *arrays, const char *entry,
                       int64_t step)
{
    char defines[64];
    tess_cuda_launch l;
    tess_bottom_defines(defines, sizeof defines);
    tess_bottom_launch(entry, &s->matrix[COARSEN_COARSE], arrays, step, &l);
    return tess_coarsen_run(s->cuda, "bottom.cu", defines, &l);
}

/* Allocates everything but the result in one piece, and the result. */
static tess_status allocate(tess_coarsen_level *s, tess_bottom_arrays *arrays, cu_pointer *memory)
{
    tess_cuda *cuda = s->cuda;
    const int64_t across = arrays->across, size = (int64_t)TILE * TILE;
    const size_t tiles = (size_t)(across * (across + 1) / 2 * size) * sizeof(double);
    const int64_t more = across * TILE + (2 * across + 1) * size + 1;
    TESS_TRY(tess_coarsen_put_array(cuda, NULL, (int64_t)(tiles + (size_t)more * sizeof(double)), 1,
                                    memory));
    arrays->tiles = *memory;
    arrays->scale = arrays->tiles + tiles;
    arrays->pivot = arrays->scale + (size_t)(across * TILE) * sizeof(double);
    arrays->column = arrays->pivot + (size_t)size * sizeof(double);
    arrays->product = arrays->column + (size_t)(across * size) * sizeof(double);
    arrays->failed = arrays->product + (size_t)(across * size) * sizeof(double);
    if (!s->bottom)
        TESS_TRY(
            tess_coarsen_put_array(cuda, NULL, written(arrays->rows), sizeof(double), &s->bottom));
    arrays->inverse = s->bottom;
    TESS_TRY(TESS_CU(cuda, cuMemsetD8Async(arrays->tiles, 0, tiles, cuda->stream)));
    return TESS_CU(cuda, cuMemsetD8Async(arrays->failed, 0, sizeof(uint32_t), cuda->stream));
}

static tess_status invert(tess_coarsen_level *s, const tess_bottom_arrays *arrays, uint32_t *failed)
{
    TESS_TRY(run(s, arrays, "scale", 0));
    TESS_TRY(run(s, arrays, "place", 0));
    TESS_TRY(run(s, arrays, "pivot", 0));
    for (int64_t step = 0; step < arrays->across; step++) {
        TESS_TRY(run(s, arrays, "column", step));
        TESS_TRY(run(s, arrays, "update", step));
    }
    TESS_TRY(run(s, arrays, "write", 0));
    return tess_cuda_download(s->cuda, failed, arrays->failed, sizeof *failed, s->cuda->stream);
}

static tess_status make(tess_coarsen_level *s, double least, bool *made)
{
    const tess_coarsen_matrix *A = &s->matrix[COARSEN_COARSE];
    const tess_kept_error kept = tess_error_keep(s->cuda->ctx);
    tess_bottom_arrays arrays = {.rows = A->block_rows * A->height, .least = least};
    const bool first = !s->bottom;
    cu_pointer memory = 0;
    uint32_t failed = 0;
    arrays.across = tess_ceil_div(arrays.rows, TILE);
    tess_status status = allocate(s, &arrays, &memory);
    if (status == TESS_OK)
        status = invert(s, &arrays, &failed);
    tess_cuda_free(s->cuda, memory);
    *made = status == TESS_OK && failed == 0;
    if (first && !*made) {
        tess_cuda_free(s->cuda, s->bottom);
        s->bottom = 0;
    }
    if (status == TESS_ERR_UNSUPPORTED) { /* no room */
        tess_error_restore(s->cuda->ctx, &kept);
        return TESS_OK;
    }
    return status;
}

tess_status tess_coarsen_bottom(void *state, double least, bool *made)
{
    tess_coarsen_level *s = state;
    TESS_TRY(tess_cuda_enter(s->cuda));
    return tess_cuda_leave_with(s->cuda, make(s, least, made));
}

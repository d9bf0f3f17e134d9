/* Strength of a level's blocks, measured on the device. */
#include "cuda/solve/amg/strength.h"

void tess_strength_launch(const char *entry, const tess_coarsen_matrix *M,
                          const tess_strength_arrays *arrays, double threshold,
                          tess_cuda_launch *launch)
{
    enum { WARP = 32, ROWS = TESS_STRENGTH_THREADS / WARP };
    tess_cuda_launch_start(launch, entry, tess_ceil_div(M->block_rows, ROWS),
                           TESS_STRENGTH_THREADS);
    TESS_CUDA_POINTERS(launch, M->offsets, M->columns, M->values, arrays->scale, arrays->largest,
                       arrays->strength, arrays->missing);
    TESS_CUDA_INTEGERS(launch, M->block_rows, (int64_t)M->height * M->width);
    TESS_CUDA_NUMBERS(launch, threshold);
}

static tess_status run(tess_cuda *cuda, const tess_coarsen_matrix *M,
                       const tess_strength_arrays *arrays, double threshold)
{
    static const char *const entries[] = {"scale", "norms", "drop"};
    tess_cuda_launch l;
    for (int i = 0; i < 3; i++) {
        tess_strength_launch(entries[i], M, arrays, threshold, &l);
        TESS_TRY(tess_coarsen_run(cuda, "strength.cu", NULL, &l));
    }
    return TESS_OK;
}

/* The strengths stay on the device. */
static tess_status measure(tess_coarsen_level *s, double threshold, tess_amg_level *level)
{
    tess_cuda *cuda = s->cuda;
    const tess_coarsen_matrix *M = &s->matrix[COARSEN_A];
    const size_t scale = (size_t)M->block_rows * sizeof(double);
    const size_t strength = (size_t)M->blocks * sizeof(float);
    uint32_t missing[2];
    if (!s->has_values)
        TESS_TRY(tess_coarsen_bring_values(s, level));
    TESS_TRY(tess_coarsen_put_array(cuda, NULL, (int64_t)(2 * scale + sizeof missing + strength), 1,
                                    &s->strength_memory));
    const cu_pointer memory = s->strength_memory;
    const tess_strength_arrays arrays = {.scale = memory,
                                         .largest = memory + scale,
                                         .missing = memory + 2 * scale,
                                         .strength = memory + 2 * scale + sizeof missing};
    TESS_TRY(TESS_CU(cuda, cuMemsetD8Async(arrays.missing, 0, sizeof missing, cuda->stream)));
    TESS_TRY(run(cuda, M, &arrays, threshold));
    TESS_TRY(tess_cuda_download(cuda, missing, arrays.missing, sizeof missing, cuda->stream));
    level->all_strong = missing[0] == 0 && missing[1] == 0;
    s->strength = arrays.strength;
    return TESS_OK;
}

tess_status tess_cuda_strength(void *state, double threshold, tess_amg_level *level)
{
    tess_coarsen_level *s = state;
    TESS_TRY(tess_cuda_enter(s->cuda));
    return tess_cuda_leave_with(s->cuda, measure(s, threshold, level));
}

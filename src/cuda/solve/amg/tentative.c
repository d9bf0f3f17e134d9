/* The tentative prolongator of a level, made on the device from the groups. */
#include "cuda/solve/amg/tentative.h"

void tess_tentative_launch(const tess_coarsen_matrix *Q, const tess_tentative_arrays *arrays,
                           const double centre[3], tess_cuda_launch *launch)
{
    enum { WARP = 32, GROUPS = TESS_TENTATIVE_THREADS / WARP };
    tess_cuda_launch_start(launch, "tentative", tess_ceil_div(arrays->groups, GROUPS),
                           TESS_TENTATIVE_THREADS);
    TESS_CUDA_POINTERS(launch, arrays->offsets, arrays->members, Q->offsets, Q->values,
                       arrays->given, arrays->coordinates, arrays->coarse, arrays->dead);
    TESS_CUDA_INTEGERS(launch, arrays->groups, Q->height, Q->width, arrays->length);
    TESS_CUDA_NUMBERS(launch, centre[0], centre[1], centre[2]);
}

/* Brings the finest level's given modes or coordinates, which only this operation needs. */
static tess_status bring(tess_cuda *cuda, const tess_mode_source *source, cu_pointer *to)
{
    const double *modes = !source ? NULL : source->given ? source->given : source->coordinates;
    const int64_t count = !modes          ? 0
                          : source->given ? source->count * source->rows
                                          : source->block * source->nodes;
    return tess_coarsen_put_array(cuda, modes, count, sizeof *modes, to);
}

static tess_status run(tess_coarsen_level *s, const tess_mode_source *source, cu_pointer brought,
                       int64_t groups)
{
    static const double nowhere[3] = {0};
    const tess_coarsen_matrix *Q = &s->matrix[COARSEN_Q];
    const tess_tentative_arrays arrays = {
        .offsets = s->groups[0],
        .members = s->groups[1],
        .given = s->above        ? s->above->modes
                 : source->given ? brought
                                 : 0,
        .coordinates = !s->above && source->coordinates ? brought : 0,
        .coarse = s->modes,
        .dead = s->dead,
        .groups = groups,
        .length = s->above ? Q->block_rows * Q->height : source->rows};
    tess_cuda_launch l;
    tess_tentative_launch(Q, &arrays, s->above ? nowhere : source->centre, &l);
    return tess_coarsen_run(s->cuda, "tentative.cu", NULL, &l);
}

/* Copies the groups and the pattern of Q to the device, where the host made them. */
static tess_status need_groups(tess_coarsen_level *s, const tess_amg_level *level)
{
    const tess_aggregates *groups = &level->aggregates;
    tess_coarsen_matrix *Q = &s->matrix[COARSEN_Q];
    if (s->groups[0]) {
        Q->height = level->tentative->block_height;
        Q->width = level->tentative->block_width;
        return TESS_OK;
    }
    TESS_TRY(tess_coarsen_put_array(s->cuda, groups->offsets, groups->count + 1,
                                    sizeof *groups->offsets, &s->groups[0]));
    TESS_TRY(tess_coarsen_put_array(s->cuda, groups->members, groups->offsets[groups->count],
                                    sizeof *groups->members, &s->groups[1]));
    return tess_coarsen_put_pattern(s, COARSEN_Q, level->tentative, NULL);
}

static tess_status make(tess_coarsen_level *s, const tess_mode_source *source,
                        const tess_amg_level *level)
{
    tess_cuda *cuda = s->cuda;
    const tess_aggregates *groups = &level->aggregates;
    const int64_t k = level->tentative->block_width;
    cu_pointer brought = 0;
    tess_status status;
    TESS_TRY(need_groups(s, level));
    TESS_TRY(tess_coarsen_put_values(s, COARSEN_Q));
    TESS_TRY(tess_coarsen_put_array(cuda, NULL, groups->count * k * k, sizeof(double), &s->modes));
    TESS_TRY(tess_coarsen_put_array(cuda, NULL, groups->count * k, 1, &s->dead));
    TESS_TRY_CLEAN(bring(cuda, s->above ? NULL : source, &brought));
    TESS_TRY_CLEAN(run(s, source, brought, groups->count));
    TESS_TRY_CLEAN(TESS_CU(cuda, cuStreamSynchronize(cuda->stream)));
cleanup:
    tess_cuda_free(cuda, s->groups[0]);
    tess_cuda_free(cuda, s->groups[1]);
    s->groups[0] = s->groups[1] = 0;
    tess_cuda_free(cuda, brought);
    return status;
}

tess_status tess_coarsen_tentative(void *state, const tess_mode_source *source,
                                   const tess_amg_level *level)
{
    tess_coarsen_level *s = state;
    TESS_TRY(tess_cuda_enter(s->cuda));
    return tess_cuda_leave_with(s->cuda, make(s, source, level));
}

/* The numbers of given scalars in a layout's order, and the runs that they form. No device is
 * needed here. */
#include "cuda/plan/map.h"

#include "core/threads.h"

static void number_long(void *out, const void *none, int64_t i)
{
    (void)none;
    ((uint64_t *)out)[i] = (uint64_t)i + 1;
}

static void number_short(void *out, const void *none, int64_t i)
{
    (void)none;
    ((uint32_t *)out)[i] = (uint32_t)i + 1;
}

static void number_pair(void *out, const void *none, int64_t i)
{
    (void)none;
    ((uint64_t *)out)[2 * i] = (uint64_t)i + 1;
    ((uint64_t *)out)[2 * i + 1] = 0;
}

tess_status tess_cuda_number_scalars(tess_ctx *ctx, int64_t count, size_t size, void **out)
{
    TESS_TRY(tess_alloc_bytes(ctx, count, size, out));
    tess_for_each(ctx, count, 0,
                  size == 16  ? number_pair
                  : size == 8 ? number_long
                              : number_short,
                  *out, NULL);
    return TESS_OK;
}

int64_t tess_cuda_number_at(const void *numbers, size_t size, int64_t i)
{
    return size == 4 ? ((const uint32_t *)numbers)[i]
                     : (int64_t)((const uint64_t *)numbers)[i * (int64_t)(size / 8)];
}

struct compare_runs {
    const void *numbers;
    size_t size;
    const tess_cuda_map *m;
    int64_t inner, *wrong;
};

static void compare_runs(void *arg, tess_range range)
{
    const struct compare_runs *job = arg;
    const tess_cuda_map *m = job->m;
    int64_t wrong = 0;
    for (int64_t run = range.first; run < range.last; run++) {
        int64_t first = run * m->run, from = tess_cuda_number_at(job->numbers, job->size, first);
        for (int64_t q = 0; q < m->run; q++) {
            int64_t want =
                from + q / job->inner * m->outer_stride + q % job->inner * m->inner_stride;
            wrong +=
                tess_cuda_number_at(job->numbers, job->size, first + q) != (from > 0 ? want : 0);
        }
    }
    tess_take(job->wrong, wrong);
}

/* Whether all numbers of every run follow from its first; a run of padding is all 0. */
static bool follows(tess_ctx *ctx, const void *numbers, size_t size, int64_t count,
                    const tess_cuda_map *m)
{
    int64_t wrong = 0, inner = (int64_t)1 << m->shift;
    tess_for(ctx, tess_ceil_div(count, m->run), compare_runs,
             &(struct compare_runs){numbers, size, m, inner, &wrong});
    return wrong == 0;
}

/* Whether 32 bits hold the distance from a run's first source to its others, as in update.cu. Lines
 * of long rows that lie side by side are further apart. */
static bool reaches(const tess_cuda_map *m, int64_t height)
{
    const int64_t down = (height - 1) * m->outer_stride;
    const int64_t across = (((int64_t)1 << m->shift) - 1) * m->inner_stride;
    return llabs(down) + llabs(across) <= INT32_MAX;
}

tess_cuda_map tess_cuda_runs_of(tess_ctx *ctx, const void *numbers, size_t size, int64_t count,
                                int64_t height)
{
    for (int shift = 2; shift >= 0; shift--) {
        int64_t inner = (int64_t)1 << shift, first = 0;
        tess_cuda_map m = {.run = inner * height, .shift = shift};
        if (m.run == 1 || count % m.run != 0)
            continue;
        while (first < count && tess_cuda_number_at(numbers, size, first) == 0)
            first += m.run;
        if (first == count)
            continue;
        int64_t from = tess_cuda_number_at(numbers, size, first);
        if (inner > 1)
            m.inner_stride = tess_cuda_number_at(numbers, size, first + 1) - from;
        if (height > 1)
            m.outer_stride = tess_cuda_number_at(numbers, size, first + inner) - from;
        if (reaches(&m, height) && follows(ctx, numbers, size, count, &m))
            return m;
    }
    return (tess_cuda_map){.run = 1};
}

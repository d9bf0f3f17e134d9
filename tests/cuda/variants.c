#include "variants.h"

#include <stdio.h>
#include <string.h>

typedef struct shape {
    int32_t r, c;
} shape;

static const shape shapes[] = {
    {1, 1},   {2, 2},   {3, 3},   {4, 4},   {5, 5},     {7, 7},   {8, 8},   {11, 11},
    {16, 16}, {17, 17}, {24, 24}, {32, 32}, {33, 33},   {48, 48}, {64, 64}, {2, 3},
    {4, 1},   {1, 4},   {3, 7},   {20, 6},  {130, 130}, {6, 20},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* A large matrix with a few long rows, so that every parameter may make sense. The ragged ones stop
 * in the middle of the last block column. */
static tess_cuda_problem problem_of(shape s, tess_type type, bool ragged, int number)
{
    static const int vectors[] = {8, 2, 3, 4, 5, 16, 32, 1};
    return (tess_cuda_problem){
        .type = type,
        .block_height = s.r,
        .block_width = s.c,
        .rows = 40000 * (int64_t)s.r,
        .cols = 40000 * (int64_t)s.c - (ragged ? s.c / 2 : 0),
        .block_rows = 40000,
        .block_cols = 40000,
        .blocks = 300000,
        .longest_row = 1000,
        .arch = number % 4 == 3 ? 80 : 90,
        .multiprocessors = 132,
        .shared_limit = 232448,
        .l2_bytes = 1 << 20,
        .scattered = number % 2 ? 1 : 0.1,
        .vectors = vectors[number % 8],
        .row_major = number / 2 % 2,
    };
}

/* Random parameters that fit; the guess when none are found. */
static void draw(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem, uint64_t seed,
                 int *params)
{
    for (uint64_t attempt = 0; attempt < 2000; attempt++) {
        for (int i = 0; i < kernel->param_count; i++) {
            const tess_cuda_param *param = &kernel->params[i];
            params[i] = param->values[tess_random_below(seed + attempt, (uint64_t)i, param->count)];
        }
        if (kernel->fits(problem, params))
            return;
    }
    kernel->guess(problem, params);
}

static bool add(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem, const int *params,
                test_variant *variants, int capacity, int *count)
{
    if (!kernel->fits(problem, params))
        return false;
    if (*count < capacity) {
        test_variant *variant = &variants[*count];
        *variant = (test_variant){.kernel = kernel, .problem = *problem};
        memcpy(variant->params, params, (size_t)kernel->param_count * sizeof *params);
        snprintf(variant->name, sizeof variant->name, "%s_%d", kernel->name, *count);
    }
    ++*count;
    return true;
}

/* One variant for every parameter value that the ones before left out, at a size where it fits. */
static void cover_values(const tess_cuda_kernel *kernel, test_variant *variants, int capacity,
                         int *count)
{
    for (int i = 0; i < kernel->param_count; i++) {
        for (int v = 0; v < kernel->params[i].count; v++) {
            bool seen = false;
            for (int n = 0; n < *count && n < capacity; n++)
                seen |= variants[n].params[i] == kernel->params[i].values[v];
            for (int number = 0; !seen && number < 8 * SHAPES; number++) {
                tess_cuda_problem problem =
                    problem_of(shapes[number % SHAPES], number % 2 ? TESS_F32 : TESS_F64, false,
                               number / SHAPES);
                int params[TESS_CUDA_PARAMS];
                kernel->guess(&problem, params);
                params[i] = kernel->params[i].values[v];
                seen = add(kernel, &problem, params, variants, capacity, count);
            }
        }
    }
}

int test_variants(const tess_cuda_kernel *kernel, test_variant *variants, int capacity)
{
    int count = 0;
    for (int s = 0; s < SHAPES; s++) {
        for (int single = 0; single < 2; single++) {
            if (single && s % 2 != 0)
                continue; /* f32 at every other shape */
            int number = s + single;
            tess_cuda_problem problem =
                problem_of(shapes[s], single ? TESS_F32 : TESS_F64, s % 3 == 1, number);
            int params[TESS_CUDA_PARAMS];
            if (number % 3 == 0)
                kernel->guess(&problem, params);
            else
                draw(kernel, &problem, (uint64_t)(1000 * s + single), params);
            add(kernel, &problem, params, variants, capacity, &count);
        }
    }
    cover_values(kernel, variants, capacity, &count);
    return count;
}

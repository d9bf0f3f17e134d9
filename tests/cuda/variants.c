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

/* Shapes of format fbcsr: every kind of code, alone and together. The low thresholds find blocks in
 * small random matrices too. */
static const char *const shape_lists[] = {
    "diagonal:8@0.3/row:8@0.3/column:8@0.3/antidiagonal:8@0.2",
    "diagonal:32@0.2",
    "antidiagonal:16@0.1/4x4@0.2",
    "column:32@0.1/2x2@0.5",
    "row:32@0.1/diagonal:4@0.5",
    "row:5@0.3/row:16@0.2/row:37@0.1",
    "32x32@0.02/3x3@0.3",
    "8x8@0.1/16x16@0.03/row:4@0.5",
    "4x3+1@0.3/5x2-1@0.3/33x1+1@0.2",
    "2x8@0.3/8x2@0.3/6x3@0.3/7x11@0.1/20x6@0.1/row:2/column:2/diagonal:2",
    "diagonal:64@0.1/40x33@0.01",
    "5x3@0.3/6x6@0.1",
    "8x5@0.1",
};
enum { SHAPE_LISTS = sizeof shape_lists / sizeof *shape_lists };

/* A large matrix with a few long rows, so that every parameter may make sense. The ragged ones stop
 * in the middle of the last block column. */
static tess_cuda_problem problem_of(shape s, tess_type type, bool ragged, int number)
{
    static const int vectors[] = {8, 2, 3, 4, 5, 16, 32, 1};
    tess_cuda_problem problem = {
        .type = type,
        .block_height = s.r,
        .block_width = s.c,
        .rows = 40000 * (int64_t)s.r,
        .cols = 40000 * (int64_t)s.c - (ragged ? s.c / 2 : 0),
        .block_rows = 40000,
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
    snprintf(problem.shapes, sizeof problem.shapes, "%s", shape_lists[number % SHAPE_LISTS]);
    return problem;
}

/* Up to two parameters that are not drawn. */
typedef struct held {
    int count, param[2], value[2];
} held;

/* Random parameters that fit; false when none are found. */
static bool draw(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem, const held *h,
                 int attempts, uint64_t seed, int *params)
{
    for (uint64_t attempt = 0; attempt < (uint64_t)attempts; attempt++) {
        for (int i = 0; i < kernel->param_count; i++) {
            const tess_cuda_param *param = &kernel->params[i];
            params[i] = param->values[tess_random_below(seed + attempt, (uint64_t)i, param->count)];
        }
        for (int i = 0; i < h->count; i++)
            params[h->param[i]] = h->value[i];
        if (tess_cuda_fits(kernel, problem, params))
            return true;
    }
    return false;
}

static bool add(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem, const int *params,
                test_variant *variants, int capacity, int *count)
{
    if (!tess_cuda_fits(kernel, problem, params))
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

/* The number of real variants that have these values; all of them, if `held` is empty. */
static int having(const held *h, const test_variant *variants, int count)
{
    int found = 0;
    for (int n = 0; n < count; n++) {
        bool all = !tess_is_complex(variants[n].problem.type);
        for (int i = 0; i < h->count; i++)
            all &= variants[n].params[h->param[i]] == h->value[i];
        found += all;
    }
    return found;
}

/* One more variant with these values, at some size where they fit: with the guess's other
 * parameters if possible. */
static bool add_with(const tess_cuda_kernel *kernel, const held *h, uint64_t seed,
                     test_variant *variants, int capacity, int *count)
{
    for (int turn = 0; turn < 4 * SHAPES; turn++) {
        int number = turn + (int)tess_random_below(seed, 0, 8 * SHAPES), params[TESS_CUDA_PARAMS];
        tess_cuda_problem problem = problem_of(
            shapes[number % SHAPES], number % 2 ? TESS_F32 : TESS_F64, false, number / SHAPES);
        if (draw(kernel, &problem, h, 1000, seed + (uint64_t)turn, params))
            return add(kernel, &problem, params, variants, capacity, count);
        kernel->guess(&problem, params);
        for (int i = 0; i < h->count; i++)
            params[h->param[i]] = h->value[i];
        if (add(kernel, &problem, params, variants, capacity, count))
            return true;
    }
    return false;
}

/* Every parameter value in at least three variants, or in as many as are found. */
static void cover_values(const tess_cuda_kernel *kernel, test_variant *variants, int capacity,
                         int *count)
{
    for (int i = 0; i < kernel->param_count; i++) {
        for (int v = 0; v < kernel->params[i].count; v++) {
            held h = {1, {i}, {kernel->params[i].values[v]}};
            for (int more = 3 - having(&h, variants, *count); more > 0; more--)
                add_with(kernel, &h, (uint64_t)(100 * i + 10 * v + more), variants, capacity,
                         count);
        }
    }
}

/* Complex scalars at every third shape: c64 and c32 in turn, the matrix and its conjugate. */
static void add_complex(const tess_cuda_kernel *kernel, test_variant *variants, int capacity,
                        int *count)
{
    for (int s = 0; kernel->complex && s < SHAPES; s += 3) {
        const int turn = s / 3;
        tess_cuda_problem problem =
            problem_of(shapes[s], turn % 2 ? TESS_C32 : TESS_C64, s % 2, turn);
        int params[TESS_CUDA_PARAMS];
        problem.conjugate = turn / 2 % 2;
        if (turn % 3 == 0 ||
            !draw(kernel, &problem, &(held){0}, 2000, (uint64_t)(1000 * s + 2), params))
            kernel->guess(&problem, params);
        add(kernel, &problem, params, variants, capacity, count);
    }
}

/* Vectors by fields, of which there are 2 to 16: the guess in one precision, drawn parameters in
 * the other. A few of them for kernels that do more than the product. */
static void cover_fields(const tess_cuda_kernel *kernel, test_variant *variants, int capacity,
                         int *count)
{
    static const int32_t sizes[] = {2, 3, 4, 5, 6, 7, 8, 11, 16};
    for (int i = 0; i < 2 * (int)(sizeof sizes / sizeof *sizes); i++) {
        const shape s = {sizes[i / 2], sizes[i / 2]};
        tess_cuda_problem problem = problem_of(s, i % 2 ? TESS_F32 : TESS_F64, false, 0);
        int params[TESS_CUDA_PARAMS];
        problem.fields = true;
        if (!tess_cuda_kernel_by_fields(kernel, &problem) ||
            (kernel->op != TESS_CUDA_SPMV && i % 5 != 0))
            continue;
        if ((i + i / 2) % 2 == 0 ||
            !draw(kernel, &problem, &(held){0}, 2000, (uint64_t)(7000 + i), params))
            kernel->guess(&problem, params);
        add(kernel, &problem, params, variants, capacity, count);
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
            if (number % 3 == 0 ||
                !draw(kernel, &problem, &(held){0}, 2000, (uint64_t)(1000 * s + single), params))
                kernel->guess(&problem, params);
            add(kernel, &problem, params, variants, capacity, &count);
        }
    }
    for (int i = 0; kernel->takes_shapes && i < 2 * SHAPE_LISTS; i++) {
        tess_cuda_problem problem =
            problem_of(shapes[0], i % 2 ? TESS_F32 : TESS_F64, false, i / 2);
        int params[TESS_CUDA_PARAMS];
        if (draw(kernel, &problem, &(held){0}, 100, (uint64_t)i, params))
            add(kernel, &problem, params, variants, capacity, &count);
    }
    cover_values(kernel, variants, capacity, &count);
    cover_fields(kernel, variants, capacity, &count);
    add_complex(kernel, variants, capacity, &count);
    return count;
}

/* Takes `key` and its value off the front of *params. Returns whether they began with `key`. */
static bool take_key(const char **params, const char *key, char *out, size_t size)
{
    if (strncmp(*params, key, strlen(key)) != 0)
        return false;
    const char *value = *params + strlen(key);
    size_t length = strcspn(value, ",");
    snprintf(out, size, "%.*s", (int)length, value);
    *params = value + length + (value[length] == ',');
    return true;
}

static void take_type(const char *name, tess_cuda_problem *problem)
{
    while (tess_type_exists(problem->type) && strcmp(tess_type_name(problem->type), name) != 0)
        problem->type++;
}

static const char fields_key[] = "fields,";

bool test_variant_of(tess_ctx *ctx, const char *kernel, const char *params, int32_t block,
                     test_variant *out)
{
    *out = (test_variant){.kernel = tess_cuda_kernel_find(kernel),
                          .problem = problem_of((shape){block, block}, TESS_F64, false, 0)};
    if (!out->kernel)
        return false;
    char type[8];
    out->problem.conjugate = take_key(&params, "conjugate=", type, sizeof type);
    if (out->problem.conjugate || take_key(&params, "type=", type, sizeof type))
        take_type(type, &out->problem);
    (void)take_key(&params, "shapes=", out->problem.shapes, sizeof out->problem.shapes);
    if (strncmp(params, fields_key, strlen(fields_key)) == 0) {
        out->problem.fields = true;
        params += strlen(fields_key);
    }
    out->kernel->guess(&out->problem, out->params);
    return tess_cuda_params_read(ctx, out->kernel, params, out->params) == TESS_OK &&
           tess_cuda_fits(out->kernel, &out->problem, out->params);
}

test_pairs test_variants_pairs(const tess_cuda_kernel *kernel, test_variant *variants, int capacity)
{
    test_pairs pairs = {.variants = test_variants(kernel, variants, capacity)};
    for (int i = 0; i < kernel->param_count; i++) {
        for (int j = 0; j < i; j++) {
            for (int v = 0; v < kernel->params[i].count; v++) {
                for (int w = 0; w < kernel->params[j].count; w++) {
                    held h = {
                        2, {i, j}, {kernel->params[i].values[v], kernel->params[j].values[w]}};
                    bool there = having(&h, variants, pairs.variants) > 0 ||
                                 add_with(kernel, &h, (uint64_t)(997 * i + 101 * j + 11 * v + w),
                                          variants, capacity, &pairs.variants);
                    pairs.covered += there;
                    pairs.impossible += !there;
                }
            }
        }
    }
    return pairs;
}

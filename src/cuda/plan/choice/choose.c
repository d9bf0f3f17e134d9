/* Which kernel, with which parameters: what the options ask for, or the best guess. */
#include "cuda/plan/choice/choose.h"
#include "cuda/kernels/support.h"
#include "cuda/plan/variants/variant.h"

/* The first kernel for `op` that fits with its guess, after `skip` others that fit too. `params`
 * receives the guess. */
static const tess_cuda_kernel *guess(const tess_cuda_problem *problem, tess_cuda_op op,
                                     const char *format, int skip, int *params)
{
    /* Kernels made for such problems come first, then kernels preferred for all, then the rest.
     * Within each of the three the order is the table's. */
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < tess_cuda_kernel_count; i++) {
            const tess_cuda_kernel *kernel = tess_cuda_kernels[i];
            int turn = kernel->made_for && kernel->made_for(problem) ? 0
                       : kernel->preferred                           ? 1
                                                                     : 2;
            if (kernel->op != op || turn != pass || (format && strcmp(kernel->format, format) != 0))
                continue;
            kernel->guess(problem, params);
            if (tess_cuda_fits(kernel, problem, params) && skip-- == 0)
                return kernel;
        }
    }
    return NULL;
}

static tess_status unknown_kernel(tess_ctx *ctx, const char *name)
{
    const char *names[64];
    int count = tess_min(tess_cuda_kernel_count, 64);
    for (int i = 0; i < count; i++)
        names[i] = tess_cuda_kernels[i]->name;
    return tess_fail(ctx, TESS_ERR_ARGUMENT, "device 'cuda' has no kernel '%s' (%s)", name,
                     tess_suggest(&(tess_suggestion){""}, name, names, (size_t)count));
}

static tess_status no_kernel(tess_ctx *ctx, const tess_cuda_problem *problem, tess_cuda_op op,
                             const char *format)
{
    char product[64] = "y = A x";
    if (op == TESS_CUDA_SPMV_DOT)
        snprintf(product, sizeof product, "y = A x with a dot product");
    if (op == TESS_CUDA_SPMM)
        snprintf(product, sizeof product, "%d vectors in %s-major order", problem->vectors,
                 problem->row_major ? "row" : "column");
    return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                     "device 'cuda' has no kernel%s%s for %s with %d x %d blocks of %s",
                     format ? " on format " : "", format ? format : "", product,
                     (int)problem->block_height, (int)problem->block_width,
                     tess_type_name(problem->type));
}

static tess_status does_not_fit(tess_ctx *ctx, const tess_cuda_kernel *kernel,
                                const tess_cuda_problem *problem, const int *params)
{
    char text[256];
    TESS_TRY(tess_cuda_takes(ctx, kernel, problem->type));
    tess_cuda_params_write(kernel, params, text, sizeof text);
    return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                     "kernel '%s' with %s does not fit %d x %d blocks of %s on sm_%d", kernel->name,
                     text, (int)problem->block_height, (int)problem->block_width,
                     tess_type_name(problem->type), problem->arch);
}

tess_status tess_cuda_choose(tess_ctx *ctx, const tess_cuda_problem *problem, tess_cuda_op op,
                             const tess_plan_options *options, int skip,
                             const tess_cuda_kernel **kernel, int *params)
{
    if (!options->kernel) {
        *kernel = guess(problem, op, options->format, skip, params);
        if (!*kernel)
            return no_kernel(ctx, problem, op, options->format);
    } else {
        const tess_cuda_kernel *named = tess_cuda_kernel_find(options->kernel);
        if (!named)
            return unknown_kernel(ctx, options->kernel);
        if (options->format && strcmp(options->format, named->format) != 0)
            return tess_fail(ctx, TESS_ERR_ARGUMENT, "kernel '%s' works on format '%s', not '%s'",
                             named->name, named->format, options->format);
        named->guess(problem, params);
        *kernel = named;
    }
    if (options->params)
        TESS_TRY(tess_cuda_params_read(ctx, *kernel, options->params, params));
    if (!tess_cuda_fits(*kernel, problem, params))
        return does_not_fit(ctx, *kernel, problem, params);
    return TESS_OK;
}

static void describe(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem,
                     const int *params, tess_candidate *out)
{
    *out = (tess_candidate){0};
    snprintf(out->format, sizeof out->format, "%s", kernel->format);
    snprintf(out->kernel, sizeof out->kernel, "%s", kernel->name);
    tess_cuda_write_all(kernel, problem, params, out->params, sizeof out->params);
}

/* Whether `candidate` is among the list's candidates `first` to `last` - 1. */
static bool is_listed(const tess_candidates *list, int64_t first, int64_t last,
                      const tess_candidate *candidate)
{
    for (int64_t i = first; i < last; i++)
        if (strcmp(list->items[i].kernel, candidate->kernel) == 0 &&
            strcmp(list->items[i].params, candidate->params) == 0)
            return true;
    return false;
}

static tess_status add(tess_ctx *ctx, const tess_cuda_kernel *kernel,
                       const tess_cuda_problem *problem, const int *params, tess_candidates *list)
{
    tess_candidate candidate;
    describe(kernel, problem, params, &candidate);
    return is_listed(list, 0, list->count, &candidate) ? TESS_OK
                                                       : tess_candidates_add(ctx, list, &candidate);
}

/* Which parameters of the guess are varied. One parameter at a time takes its next smaller and its
 * next larger value.
 *   GUESS        none
 *   FIRST        the first parameter, which matters most, where the layout stays the guess's
 *   SAME_LAYOUT  every parameter, where the layout stays the guess's
 *   NEIGHBOURS   every parameter
 * The last parameter is varied first, since the last ones need no other layout. */
typedef enum reach { GUESS, FIRST, SAME_LAYOUT, NEIGHBOURS } reach;

static tess_status add_around_guess(tess_ctx *ctx, const tess_cuda_kernel *kernel,
                                    const tess_cuda_problem *problem, reach how_far,
                                    tess_candidates *list)
{
    char guessed[TESS_CUDA_LAYOUT], layout[TESS_CUDA_LAYOUT];
    int params[TESS_CUDA_PARAMS];
    kernel->guess(problem, params);
    if (!tess_cuda_fits(kernel, problem, params))
        return TESS_OK;
    TESS_TRY(add(ctx, kernel, problem, params, list));
    kernel->layout_name(problem, params, guessed, sizeof guessed);
    int changed = how_far == GUESS ? 0 : how_far == FIRST ? 1 : kernel->param_count;
    for (int i = changed - 1; i >= 0; i--) {
        const tess_cuda_param *param = &kernel->params[i];
        if (param->worth && !param->worth(problem))
            continue;
        int kept = params[i], at = 0;
        while (at < param->count && param->values[at] < kept)
            at++;
        for (int v = at - 1; v <= at + 1; v++) {
            if (v < 0 || v >= param->count)
                continue;
            params[i] = param->values[v];
            if (!tess_cuda_fits(kernel, problem, params))
                continue;
            kernel->layout_name(problem, params, layout, sizeof layout);
            if (how_far == NEIGHBOURS || strcmp(layout, guessed) == 0)
                TESS_TRY(add(ctx, kernel, problem, params, list));
        }
        params[i] = kept;
    }
    return TESS_OK;
}

/* Adds the kernel's guess, then every other set of parameters. A walk over the space comes to each
 * set once. A set can be listed already only as that guess, or among the first `around` candidates,
 * which are few. So the time grows with the space, not with its square. */
static tess_status add_all(tess_ctx *ctx, const tess_cuda_kernel *kernel,
                           const tess_cuda_problem *problem, int64_t around, tess_candidates *list)
{
    int params[TESS_CUDA_PARAMS];
    const int64_t guessed = list->count;
    TESS_TRY(add_around_guess(ctx, kernel, problem, GUESS, list));
    const int64_t walked = list->count;
    for (bool more = tess_cuda_params_next(kernel, problem, true, params); more;
         more = tess_cuda_params_next(kernel, problem, false, params)) {
        tess_candidate candidate;
        describe(kernel, problem, params, &candidate);
        if (!is_listed(list, 0, around, &candidate) &&
            !is_listed(list, guessed, walked, &candidate))
            TESS_TRY(tess_candidates_add(ctx, list, &candidate));
    }
    return TESS_OK;
}

static bool worth_trying(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem)
{
    bool (*worth)(const tess_cuda_problem *) = kernel->worth ? kernel->worth : kernel->made_for;
    return !worth || worth(problem);
}

/* The problems of a search: of kernels that keep their shapes (1) and of all others (0). */
typedef struct search_problems {
    tess_cuda_problem problem[2];
    tess_fbcsr_options shapes[2];
} search_problems;

/* Only an exhaustive search measures kernels that keep their shapes, so only it looks for their
 * shapes. */
static tess_status describe_search(tess_device *device, const tess_matrix *A,
                                   const tess_product *product, search_problems *out)
{
    *out = (search_problems){0};
    for (int keeps = 0; keeps < 2; keeps++) {
        tess_cuda_problem *problem = &out->problem[keeps];
        tess_cuda_describe_problem(tess_cuda_of(device), A, problem);
        if (product->kind == TESS_PRODUCT_SPMV && product->shapes && !tess_is_complex(A->type) &&
            (!keeps || product->effort == TESS_EFFORT_EXHAUSTIVE))
            TESS_TRY(
                tess_cuda_look_for_shapes(device->ctx, A, !keeps, problem, &out->shapes[keeps]));
        if (product->kind == TESS_PRODUCT_SPMM) {
            problem->vectors = tess_min(product->k, TESS_CUDA_VECTORS);
            problem->row_major = product->order == TESS_ORDER_ROW_MAJOR;
        }
    }
    return TESS_OK;
}

/* Sets bytes and class of the candidates with shapes. A kernel that keeps its shapes has a class of
 * its own. */
static void price_shapes(const search_problems *search, const tess_matrix *A, tess_candidates *list)
{
    for (int64_t i = 0; i < list->count; i++) {
        tess_candidate *c = &list->items[i];
        const tess_cuda_kernel *kernel = tess_cuda_kernel_find(c->kernel);
        if (!kernel || !kernel->takes_shapes)
            continue;
        tess_shapes_price(&search->shapes[kernel->keeps_shapes], A, !kernel->keeps_shapes, c);
        if (kernel->keeps_shapes)
            snprintf(c->class_name, sizeof c->class_name, "%s", kernel->name);
    }
}

tess_status tess_cuda_candidates(tess_device *device, const tess_matrix *A,
                                 const tess_product *product, tess_candidates *list)
{
    tess_ctx *ctx = device->ctx;
    search_problems search;
    const tess_cuda_op op = product->kind == TESS_PRODUCT_SPMM ? TESS_CUDA_SPMM : TESS_CUDA_SPMV;
    TESS_TRY(describe_search(device, A, product, &search));
    int params[TESS_CUDA_PARAMS];
    const tess_cuda_kernel *best = guess(&search.problem[0], op, NULL, 0, params);
    reach how_far = product->effort == TESS_EFFORT_ESTIMATE ? SAME_LAYOUT : NEIGHBOURS;
    reach others = product->effort == TESS_EFFORT_ESTIMATE ? GUESS : FIRST;
    if (best)
        TESS_TRY(add_around_guess(ctx, best, &search.problem[0], how_far, list));
    const int64_t around = list->count;
    for (int i = 0; i < tess_cuda_kernel_count; i++) {
        const tess_cuda_kernel *kernel = tess_cuda_kernels[i];
        const tess_cuda_problem *problem = &search.problem[kernel->keeps_shapes];
        if (kernel->op == op && product->effort == TESS_EFFORT_EXHAUSTIVE)
            TESS_TRY(add_all(ctx, kernel, problem, around, list));
        else if (kernel->op == op && kernel != best && worth_trying(kernel, problem))
            TESS_TRY(add_around_guess(ctx, kernel, problem, others, list));
    }
    price_shapes(&search, A, list);
    return TESS_OK;
}

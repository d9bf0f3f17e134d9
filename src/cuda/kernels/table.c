/* The kernel table, parameters as text, and the walk over a tuning space. */
#include "cuda/kernels/support.h"

#define TESS_CUDA_KERNEL(stem) extern const tess_cuda_kernel tess_cuda_kernel_##stem;
#include "cuda/kernels/kernels.def"
#undef TESS_CUDA_KERNEL

const tess_cuda_kernel *const tess_cuda_kernels[] = {
#define TESS_CUDA_KERNEL(stem) &tess_cuda_kernel_##stem,
#include "cuda/kernels/kernels.def"
#undef TESS_CUDA_KERNEL
};
const int tess_cuda_kernel_count = (int)(sizeof tess_cuda_kernels / sizeof *tess_cuda_kernels);

const tess_cuda_kernel *tess_cuda_kernel_find(const char *name)
{
    for (int i = 0; i < tess_cuda_kernel_count; i++)
        if (strcmp(tess_cuda_kernels[i]->name, name) == 0)
            return tess_cuda_kernels[i];
    return NULL;
}

tess_status tess_cuda_takes(tess_ctx *ctx, const tess_cuda_kernel *kernel, tess_type type)
{
    char what[64];
    if (kernel->complex)
        return TESS_OK;
    snprintf(what, sizeof what, "kernel '%s'", kernel->name);
    return tess_refuse_complex(ctx, what, type);
}

bool tess_cuda_fits(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem,
                    const int *params)
{
    return (kernel->complex || !tess_is_complex(problem->type)) &&
           problem->longest_row <= TESS_CUDA_MOST && kernel->fits(problem, params);
}

bool tess_cuda_kernel_by_fields(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem)
{
    const bool whole =
        problem->rows % problem->block_height == 0 && problem->cols % problem->block_width == 0;
    return whole && problem->rows <= INT32_MAX && problem->cols <= INT32_MAX && kernel->by_fields &&
           kernel->by_fields(problem);
}

/* Returns how much longer rows would be in the mean if those that run side by side waited for each
 * other. A sample is counted, so that more rows take no longer. */
static double padded(const tess_matrix *A)
{
    enum { SIDE_BY_SIDE = 32, SAMPLES = 1024 };
    const int64_t groups = tess_ceil_div(A->block_rows, SIDE_BY_SIDE);
    const int64_t samples = tess_min(groups, SAMPLES), *offsets = A->row_offsets;
    int64_t blocks = 0, waited = 0;
    for (int64_t s = 0; s < samples; s++) {
        const int64_t first = s * groups / samples * SIDE_BY_SIDE;
        const int64_t last = tess_min(first + SIDE_BY_SIDE, A->block_rows);
        int64_t longest = 0;
        for (int64_t i = first; i < last; i++)
            longest = tess_max(longest, offsets[i + 1] - offsets[i]);
        blocks += offsets[last] - offsets[first];
        waited += longest * (last - first);
    }
    return blocks > 0 ? (double)waited / (double)blocks : 0;
}

void tess_cuda_problem_of(const tess_matrix *A, tess_cuda_problem *problem)
{
    problem->type = A->type;
    problem->conjugate = false;
    problem->block_height = A->block_height;
    problem->block_width = A->block_width;
    problem->rows = A->rows;
    problem->cols = A->cols;
    problem->block_rows = A->block_rows;
    problem->blocks = A->blocks;
    problem->vectors = 1;
    problem->row_major = 0;
    problem->longest_row = tess_matrix_longest_row(A);
    problem->scattered = tess_matrix_scattered(A);
    problem->padded = padded(A);
}

bool tess_cuda_fits_cache(const tess_cuda_problem *problem, double times)
{
    return (double)problem->blocks * problem->block_height * problem->block_width *
               (double)tess_type_size(problem->type) <
           times * (double)problem->l2_bytes;
}

void tess_cuda_scalar_defines(tess_type type, bool conjugate, char *text, size_t size)
{
    const bool complex = tess_is_complex(type);
    snprintf(text, size, "-DREAL=%d%s%s", (int)tess_type_size(tess_real_type(type)),
             complex ? " -DCOMPLEX=1" : "", complex && conjugate ? " -DCONJUGATE=1" : "");
}

void tess_cuda_params_write(const tess_cuda_kernel *kernel, const int *params, char *text,
                            size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < kernel->param_count; i++)
        tess_append(text, size, "%s%s=%d", i ? "," : "", kernel->params[i].name, params[i]);
}

tess_status tess_cuda_params_read(tess_ctx *ctx, const tess_cuda_kernel *kernel, const char *text,
                                  int *params)
{
    tess_option table[TESS_CUDA_PARAMS];
    int64_t values[TESS_CUDA_PARAMS];
    for (int i = 0; i < kernel->param_count; i++) {
        values[i] = params[i];
        table[i] = (tess_option){.key = kernel->params[i].name,
                                 .kind = TESS_OPTION_INT,
                                 .target = &values[i],
                                 .min = 0,
                                 .max = 1 << 24};
    }
    TESS_TRY(tess_options_parse(ctx, kernel->name, text, table, (size_t)kernel->param_count));
    for (int i = 0; i < kernel->param_count; i++) {
        const tess_cuda_param *param = &kernel->params[i];
        bool known = false;
        char list[128] = "";
        for (int v = 0; v < param->count; v++) {
            known |= param->values[v] == values[i];
            tess_append(list, sizeof list, "%s%d", v ? ", " : "", param->values[v]);
        }
        if (!known && values[i] != params[i])
            return tess_fail(ctx, TESS_ERR_OPTION, "%s: %s=%lld is not one of %s", kernel->name,
                             param->name, (long long)values[i], list);
    }
    for (int i = 0; i < kernel->param_count; i++)
        params[i] = (int)values[i];
    return TESS_OK;
}

/* Moves `params` to the next point of the space in counting order; false after the last. */
static bool step(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem, int *params)
{
    for (int i = kernel->param_count - 1; i >= 0; i--) {
        const tess_cuda_param *param = &kernel->params[i];
        if (param->worth && !param->worth(problem))
            continue;
        int at = 0;
        while (at < param->count && param->values[at] != params[i])
            at++;
        if (at + 1 < param->count) {
            params[i] = param->values[at + 1];
            return true;
        }
        params[i] = param->values[0];
    }
    return false;
}

bool tess_cuda_params_next(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem,
                           bool first, int *params)
{
    if (first) {
        kernel->guess(problem, params);
        for (int i = 0; i < kernel->param_count; i++)
            if (!kernel->params[i].worth || kernel->params[i].worth(problem))
                params[i] = kernel->params[i].values[0];
        if (tess_cuda_fits(kernel, problem, params))
            return true;
    }
    while (step(kernel, problem, params))
        if (tess_cuda_fits(kernel, problem, params))
            return true;
    return false;
}

/* Parameters of kernels that take shapes: "shapes=row:4+diag:8,threads=128" is split into shapes
 * and the rest. */
#include "cuda/plan/choice/choose.h"

static const char shapes_key[] = "shapes=";

/* The list after "shapes=" goes to `list`, everything else to `rest`. */
static void cut_shapes(const char *text, char *list, size_t list_size, char *rest, size_t rest_size)
{
    list[0] = rest[0] = '\0';
    for (const char *item = text; item && *item;) {
        size_t length = strcspn(item, ","), key = strlen(shapes_key);
        if (strncmp(item, shapes_key, key) == 0)
            snprintf(list, list_size, "%.*s", (int)(length - key), item + key);
        else
            tess_append(rest, rest_size, "%s%.*s", *rest ? "," : "", (int)length, item);
        item += length + (item[length] == ',');
    }
}

/* The kernel with shapes that the options ask for by its name or its format; NULL: none. */
static const tess_cuda_kernel *asked_for(const tess_plan_options *options)
{
    for (int i = 0; i < tess_cuda_kernel_count; i++) {
        const tess_cuda_kernel *kernel = tess_cuda_kernels[i];
        if (kernel->takes_shapes &&
            ((options->format && strcmp(options->format, kernel->format) == 0) ||
             (options->kernel && strcmp(options->kernel, kernel->name) == 0)))
            return kernel;
    }
    return NULL;
}

tess_status tess_cuda_take_shapes(tess_ctx *ctx, const tess_matrix *A,
                                  const tess_plan_options *options, tess_cuda_problem *problem,
                                  char params[TESS_CUDA_PARAMS_TEXT], tess_plan_options *plain)
{
    tess_fbcsr_options shapes;
    char list[TESS_SHAPES_TEXT];
    *plain = *options;
    const tess_cuda_kernel *kernel = asked_for(options);
    if (!kernel)
        return TESS_OK;
    TESS_TRY(tess_cuda_takes(ctx, kernel, A->type));
    if (A->block_height != 1 || A->block_width != 1)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "format %s is made from 1 x 1 blocks, the matrix has %d x %d",
                         kernel->format, (int)A->block_height, (int)A->block_width);
    cut_shapes(options->params, list, sizeof list, params, TESS_CUDA_PARAMS_TEXT);
    plain->params = *params ? params : NULL;
    TESS_TRY(tess_shapes_choose(ctx, A, list, !kernel->keeps_shapes, &shapes));
    if (shapes.count == 0)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "format %s: no shape would make this matrix faster; "
                         "parameters \"shapes=row:32\" take one all the same",
                         kernel->format);
    tess_shapes_write(&shapes, problem->shapes, sizeof problem->shapes);
    return TESS_OK;
}

void tess_cuda_write_all(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem,
                         const int *params, char *text, size_t size)
{
    tess_cuda_params_write(kernel, params, text, size);
    if (kernel->takes_shapes)
        tess_append(text, size, "%s%s%s", *text ? "," : "", shapes_key, problem->shapes);
}

tess_status tess_cuda_look_for_shapes(tess_ctx *ctx, const tess_matrix *A, bool slices,
                                      tess_cuda_problem *problem, tess_fbcsr_options *out)
{
    TESS_TRY(tess_shapes_look(ctx, A, slices, out));
    tess_shapes_write(out, problem->shapes, sizeof problem->shapes);
    return TESS_OK;
}

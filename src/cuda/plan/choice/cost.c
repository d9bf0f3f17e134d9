/* The bytes that a kernel's layout moves and occupies, for the performance model. */
#include "cuda/plan/choice/choose.h"
#include "cuda/plan/variants/variant.h"

/* Returns how often a row's threads wait for loads, relative to a matrix of many such rows, which
 * the model's curves describe; at most 1. With fewer rows a row has more loads in flight and waits
 * less. */
static double waits_of(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem,
                       const tess_cuda_flight *flight)
{
    tess_cuda_problem large = *problem;
    tess_cuda_flight usual = {0};
    int params[TESS_CUDA_PARAMS];
    const int64_t times =
        tess_ceil_div(16384 * (int64_t)problem->multiprocessors, tess_max(problem->rows, 1));
    if (!kernel->flight || times <= 1)
        return 1;
    large.rows *= times;
    large.block_rows *= times;
    large.blocks *= times;
    kernel->guess(&large, params);
    if (kernel->fits(&large, params))
        kernel->flight(&large, params, &usual);
    return usual.blocks > 0 && usual.blocks < flight->blocks ? usual.blocks / flight->blocks : 1;
}

tess_status tess_cuda_costs(tess_device *device, const tess_matrix *A, tess_candidates *list)
{
    tess_cuda *cuda = tess_cuda_of(device);
    tess_cuda_problem problem;
    tess_cuda_describe_problem(cuda, A, &problem);
    char known[TESS_CUDA_LAYOUT] = "", layout[TESS_CUDA_LAYOUT];
    double stored = 0, moved = 0, idle = 0, waits = 1;
    const tess_cuda_kernel *before = NULL;
    for (int64_t i = 0; i < list->count; i++) {
        tess_candidate *c = &list->items[i];
        const tess_cuda_kernel *kernel = tess_cuda_kernel_find(c->kernel);
        if (!kernel || kernel->takes_shapes) /* tess_cuda_candidates has priced those with shapes */
            continue;
        int params[TESS_CUDA_PARAMS];
        kernel->guess(&problem, params);
        TESS_TRY(tess_cuda_params_read(cuda->ctx, kernel, c->params, params));
        kernel->layout_name(&problem, params, layout, sizeof layout);
        if (strcmp(layout, known) != 0)
            TESS_TRY(tess_cuda_layout_bytes(cuda->ctx, A, layout, &stored, &moved));
        memcpy(known, layout, sizeof known);
        if (kernel != before) { /* its guess comes first; its other parameters are like it */
            tess_cuda_flight flight = {0};
            if (kernel->flight)
                kernel->flight(&problem, params, &flight);
            TESS_TRY(tess_cuda_idle(cuda->ctx, A, &flight, cuda->memory_speed, &idle));
            waits = waits_of(kernel, &problem, &flight);
        }
        before = kernel;
        snprintf(c->class_name, sizeof c->class_name, "%s",
                 kernel->class_name ? kernel->class_name : kernel->name);
        c->unsteady = !kernel->preferred;
        c->naive = kernel->naive && kernel->naive(&problem);
        c->by_fields = tess_cuda_kernel_by_fields(kernel, &problem);
        c->bytes = moved;
        c->memory = stored;
        c->idle = idle;
        c->waits = waits;
    }
    return TESS_OK;
}

void tess_cuda_price_layout(tess_plan *plan, const tess_cuda_layout *layout)
{
    const double vectors = (double)(plan->matrix->rows + plan->matrix->cols);
    if (!layout->kind->stored)
        return;
    plan->memory = (double)tess_cuda_layout_array_bytes(layout);
    plan->moves = plan->memory + vectors * (double)tess_type_size(plan->matrix->type);
}

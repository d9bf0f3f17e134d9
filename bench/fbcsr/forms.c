#include "forms.h"

#include <stdio.h>
#include <string.h>

/* The CPU's form: splits as the format has them. */
static tess_status describe_format(tess_ctx *ctx, const tess_matrix *A, fbcsr_form *F)
{
    tess_fbcsr *made;
    TESS_TRY(tess_fbcsr_create(ctx, A, &F->shapes, &made));
    for (int s = 0; s < made->splits; s++) {
        const tess_fbcsr_split *split = &made->split[s];
        F->stored[F->ways] =
            (tess_fbcsr_stored){.pieces = split->blocks,
                                .entries = split->nonzeros,
                                .cells = split->blocks * tess_shape_cells(&split->shape)};
        snprintf(F->stored[F->ways++].name, sizeof F->stored->name, "%s", split->shape.name);
    }
    F->bytes = tess_fbcsr_bytes(made);
    tess_fbcsr_destroy(made);
    return TESS_OK;
}

/* A GPU's form: the layout that a plan in this format uploads. */
static tess_status describe_layout(tess_ctx *ctx, const tess_matrix *A,
                                   const tess_cuda_kernel *kernel, fbcsr_form *F)
{
    char name[TESS_CUDA_LAYOUT];
    int params[TESS_CUDA_PARAMS];
    tess_cuda_problem problem = {.arch = 90, .multiprocessors = 1};
    tess_cuda_layout *layout;
    tess_cuda_problem_of(A, &problem);
    tess_shapes_write(&F->shapes, problem.shapes, sizeof problem.shapes);
    kernel->guess(&problem, params);
    kernel->layout_name(&problem, params, name, sizeof name);
    TESS_TRY(tess_cuda_layout_create(ctx, A, name, &layout));
    F->ways = layout->kind->stored(layout, F->stored);
    F->bytes = (int64_t)tess_cuda_layout_array_bytes(layout);
    tess_cuda_layout_destroy(layout);
    return TESS_OK;
}

tess_status fbcsr_form_describe(const tess_matrix *A, bool gpu, fbcsr_form *F)
{
    tess_ctx *ctx = A->ctx;
    const tess_cuda_kernel *kernel = gpu ? tess_cuda_kernel_find(F->format) : NULL;
    const double start = tess_seconds();
    TESS_TRY(tess_shapes_choose(ctx, A, F->asked ? F->asked : "auto",
                                kernel && !kernel->keeps_shapes, &F->shapes));
    if (F->shapes.count > 0)
        TESS_TRY(kernel ? describe_layout(ctx, A, kernel, F) : describe_format(ctx, A, F));
    F->seconds = tess_seconds() - start;
    return TESS_OK;
}

json_t *fbcsr_form_json(const fbcsr_form *F, const tess_matrix *A, json_int_t csr)
{
    json_t *ways = json_array(), *shapes = json_array();
    double cells = 0, inside = 0;
    for (int i = 0; i < F->shapes.count; i++)
        json_array_append_new(shapes, json_string(F->shapes.shape[i].name));
    for (int i = 0; i < F->ways; i++) {
        const tess_fbcsr_stored *way = &F->stored[i];
        if (way->pieces == 0 || way->single)
            continue;
        json_array_append_new(ways, json_pack("{s:s, s:I, s:f, s:f}", "shape", way->name, "blocks",
                                              (json_int_t)way->pieces, "share",
                                              (double)way->entries / (double)A->blocks, "fill",
                                              (double)way->entries / (double)way->cells));
        cells += (double)way->cells;
        inside += (double)way->entries;
    }
    return json_pack("{s:s, s:o, s:o, s:f, s:f, s:I, s:f}", "format", F->format, "shapes", shapes,
                     "splits", ways, "share", inside / (double)A->blocks, "fill",
                     cells > 0 ? inside / cells : 0, "bytes",
                     F->ways > 0 ? (json_int_t)F->bytes : csr, "convert_seconds", F->seconds);
}

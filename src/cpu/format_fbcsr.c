/* Format fbcsr: dense pieces of several shapes and a CSR remainder. */
#include "backend/shapes.h"
#include "cpu/formats.h"

/* The kernel of a remainder: one with a single stream, unless the best kernel prefetches x. Rows of
 * a remainder differ in length, so that streams in lockstep would wait for each other: one stream
 * took 1.44 ms, four took 2.22 ms (what 3 x 3 and 2 x 2 leave of 5 x 3 blocks). */
static const tess_cpu_kernel *rest_kernel(const tess_device *device, tess_cpu_isa isa,
                                          const tess_matrix *rest)
{
    const tess_cpu_kernel_table *table = tess_cpu_table(isa);
    const tess_cpu_kernel *best = tess_cpu_best(device, TESS_CPU_BSR_SPMV, rest);
    for (size_t i = 0; i < table->count && !best->prefetch; i++) {
        const tess_cpu_kernel *kernel = &table->kernels[i];
        if (tess_cpu_kernel_applies(kernel, TESS_CPU_BSR_SPMV, rest) && kernel->block_height > 0 &&
            kernel->streams == 1 && !kernel->prefetch)
            return kernel;
    }
    return best;
}

tess_status tess_cpu_plan_create_fbcsr(const tess_device *device, const tess_matrix *A,
                                       const tess_fbcsr_options *shapes, tess_cpu_isa isa,
                                       tess_cpu_plan **out)
{
    tess_cpu_plan *plan;
    tess_fbcsr *F = NULL;
    tess_fbcsr_sources *sources = NULL;
    TESS_TRY(tess_cpu_plan_create(device, A, NULL, &plan));
    tess_status status;
    if (shapes->count > 0) { /* else the whole matrix is the remainder */
        TESS_TRY_CLEAN(tess_fbcsr_create(device->ctx, A, shapes, &F));
        const tess_cpu_kernel *rest = rest_kernel(device, isa, F->rest);
        TESS_TRY_CLEAN(tess_fbcsr_sources_create(F, &sources));
        TESS_TRY_CLEAN(tess_cpu_fbcsr_create(device, F, isa, rest, &plan->fbcsr));
        tess_free(F->ctx, F->map); /* the sources replace it */
        F->map = NULL;
        plan->fbcsr->sources = sources;
    }
    *out = plan;
    return TESS_OK;
cleanup:
    tess_fbcsr_sources_destroy(sources);
    tess_fbcsr_destroy(F);
    tess_cpu_plan_destroy(plan);
    return status;
}

/* The parameters are the shapes. */
static tess_status prepare(tess_plan *plan, const tess_plan_options *options)
{
    tess_ctx *ctx = plan->ctx;
    const tess_matrix *A = plan->matrix;
    char text[TESS_SHAPES_TEXT] = "";
    const tess_option table[] = {
        {.key = "shapes", .kind = TESS_OPTION_TEXT, .target = text, .size = sizeof text}};
    tess_fbcsr_options shapes;
    tess_cpu_isa isa;
    tess_cpu_plan *state;
    if (A->block_height != 1 || A->block_width != 1)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "format fbcsr is made from 1 x 1 blocks, the matrix has %d x %d",
                         (int)A->block_height, (int)A->block_width);
    TESS_TRY(tess_options_parse(ctx, tess_cpu_format_fbcsr.name, options->params, table, 1));
    TESS_TRY(tess_cpu_fbcsr_named(plan->device, A->type, options->kernel, &isa));
    TESS_TRY(tess_shapes_choose(ctx, A, text, false, &shapes));
    tess_shapes_write(&shapes, text, sizeof text);
    TESS_TRY(tess_cpu_plan_create_fbcsr(plan->device, A, &shapes, isa, &state));
    plan->state = state;
    plan->one_vector = true;
    tess_cpu_fbcsr_kernel_name(isa, A->type, plan->kernel, sizeof plan->kernel);
    snprintf(plan->params, sizeof plan->params, "shapes=%s", text);
    return TESS_OK;
}

/* The splits: shape, blocks, and how much of the matrix is in them. */
static void explain(tess_plan *plan)
{
    const tess_cpu_fbcsr *state = ((const tess_cpu_plan *)plan->state)->fbcsr;
    if (!state) { /* no shape was found: the whole matrix is the remainder */
        tess_cpu_format_bsr.explain(plan);
        return;
    }
    const tess_fbcsr *F = state->F;
    size_t size = sizeof plan->explain;
    double nonzeros = F->nonzeros > 0 ? (double)F->nonzeros : 1;
    tess_append(plan->explain, size, "stores  %.3g MB in %d splits\n",
                1e-6 * (double)tess_fbcsr_bytes(F), F->splits);
    for (int i = 0; i < F->splits; i++) {
        const tess_fbcsr_split *split = &F->split[i];
        tess_append(
            plan->explain, size,
            "        %-14s %10lld blocks, %5.1f %% of the non-zeros, fill %.2f, %s\n",
            split->shape.name, (long long)split->blocks, 100 * (double)split->nonzeros / nonzeros,
            (double)split->nonzeros / (double)(split->blocks * tess_shape_cells(&split->shape)),
            state->kernels[i]->name);
    }
    tess_append(plan->explain, size,
                "        %-14s %10lld, %5.1f %% of the non-zeros, %s\n"
                "threads %d, %lld chunks of rows\n",
                "csr", (long long)F->rest->blocks, 100 * (double)F->rest->blocks / nonzeros,
                state->rest->name, state->shares, (long long)state->chunks);
}

/* Adds one candidate, if a look at the matrix finds shapes that its non-zeros may form. */
static tess_status candidates(tess_device *device, const tess_matrix *A,
                              const tess_product *product, tess_candidates *list)
{
    const tess_cpu_device *cpu = device->state;
    tess_candidate candidate = {0};
    tess_fbcsr_options shapes;
    char text[TESS_SHAPES_TEXT];
    if (product->kind != TESS_PRODUCT_SPMV || !product->shapes)
        return TESS_OK;
    TESS_TRY(tess_shapes_look(device->ctx, A, false, &shapes));
    if (shapes.count == 0)
        return TESS_OK;
    snprintf(candidate.format, sizeof candidate.format, "%s", tess_cpu_format_fbcsr.name);
    tess_shapes_write(&shapes, text, sizeof text);
    tess_cpu_fbcsr_kernel_name(cpu->isa, A->type, candidate.kernel, sizeof candidate.kernel);
    snprintf(candidate.params, sizeof candidate.params, "shapes=%s", text);
    tess_shapes_price(&shapes, A, false, &candidate);
    return tess_candidates_add(device->ctx, list, &candidate);
}

static tess_status update_values(tess_plan *plan, const void *values)
{
    const tess_cpu_fbcsr *state = ((const tess_cpu_plan *)plan->state)->fbcsr;
    if (state)
        tess_cpu_update_fbcsr(state->F, state->sources, values);
    return TESS_OK;
}

/* A candidate's doubt is set where its shapes are priced. */
const tess_cpu_format tess_cpu_format_fbcsr = {.name = "fbcsr",
                                               .prepare = prepare,
                                               .candidates = candidates,
                                               .update_values = update_values,
                                               .explain = explain};

/* From a list of steps to launches. */
#include <stdio.h>
#include <string.h>

#include "cuda/kernels/support.h"
#include "cuda/space_cuda.h"

enum { FINISH_THREADS = 512 };

/* ---- Code ---- */

static tess_status load_function(tess_cuda *cuda, const char *source, const char *defines,
                                 const char *entry, cu_module *module, cu_function *function)
{
    tess_jit_image image;
    TESS_TRY(tess_cuda_load_module(cuda, &(tess_jit_request){source, defines, cuda->sm}, &image,
                                   module));
    if (image.fresh)
        (void)tess_cache_store(cuda->ctx, &image.key, &image.entry);
    tess_free(cuda->ctx, image.entry.image);
    tess_status status = TESS_CU(cuda, cuModuleGetFunction(function, *module, entry));
    if (status != TESS_OK) {
        (void)cuda->driver.cuModuleUnload(*module);
        *module = NULL;
    }
    return status;
}

static tess_status need_pass(tess_space *space, const tess_pass_kernel *kernel, cu_function *out)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    char defines[TESS_PASS_TEXT];
    tess_pass_defines(kernel, space->type, &space->pc->diagonal, defines, sizeof defines);
    for (const tess_pass_module *m = state->modules; m; m = m->next) {
        if (strcmp(m->defines, defines) == 0) {
            *out = m->function;
            return TESS_OK;
        }
    }
    tess_pass_module *module;
    TESS_TRY(TESS_CALLOC(space->ctx, 1, &module));
    memcpy(module->defines, defines, sizeof defines);
    tess_status status =
        load_function(state->cuda, "pass.cu", defines, "pass", &module->module, &module->function);
    if (status != TESS_OK) {
        tess_free(space->ctx, module);
        return status;
    }
    module->next = state->modules;
    state->modules = module;
    *out = module->function;
    return TESS_OK;
}

static tess_status need_finish(tess_cuda_space *state)
{
    char defines[32];
    if (state->finish)
        return TESS_OK;
    snprintf(defines, sizeof defines, "-DTHREADS=%d", FINISH_THREADS);
    return load_function(state->cuda, "finish.cu", defines, "finish", &state->finish_module,
                         &state->finish);
}

/* ---- Building a list ---- */

static tess_status grow(tess_ctx *ctx, void **items, size_t size, int64_t count, int64_t more,
                        int64_t *capacity)
{
    if (count + more <= *capacity)
        return TESS_OK;
    void *larger;
    const int64_t wanted = 2 * (count + more) + 16;
    TESS_TRY(tess_alloc_bytes(ctx, wanted, size, &larger));
    if (count > 0)
        memcpy(larger, *items, (size_t)count * size);
    tess_free(ctx, *items);
    *items = larger;
    *capacity = wanted;
    return TESS_OK;
}

static tess_status put_ints(tess_ctx *ctx, tess_unit_list *list, int count, const int *ints)
{
    TESS_TRY(grow(ctx, (void **)&list->programmes, sizeof(int), list->programme_count, count,
                  &list->programme_capacity));
    memcpy(list->programmes + list->programme_count, ints, (size_t)count * sizeof *ints);
    list->programme_count += count;
    return TESS_OK;
}

static tess_status add_unit(tess_ctx *ctx, tess_unit_list *list, const tess_unit *unit)
{
    TESS_TRY(grow(ctx, (void **)&list->units, sizeof *unit, list->count, 1, &list->capacity));
    list->units[list->count++] = *unit;
    return TESS_OK;
}

/* A unit that ends a dot product or does scalars has a programme, empty to begin with. */
static tess_status add_ending(tess_ctx *ctx, tess_unit_list *list, tess_unit *unit)
{
    static const int empty[3] = {0};
    unit->programme = list->programme_count;
    TESS_TRY(put_ints(ctx, list, 3, empty));
    return add_unit(ctx, list, unit);
}

static tess_status add_pass(tess_space *space, tess_unit_list *list, const tess_steps *steps,
                            const tess_step *step)
{
    for (int64_t first = 0; first < step->lines;) {
        tess_unit unit = {.kind = TESS_UNIT_PASS, .step = step, .programme = -1};
        TESS_TRY(TESS_ALLOC(space->ctx, 1, &unit.pass));
        first += tess_pass_take(steps, step, first, unit.pass);
        tess_status status = need_pass(space, unit.pass, &unit.function);
        if (status == TESS_OK)
            status = unit.pass->dots > 0 ? add_ending(space->ctx, list, &unit)
                                         : add_unit(space->ctx, list, &unit);
        if (status != TESS_OK) {
            tess_free(space->ctx, unit.pass);
            return status;
        }
    }
    return TESS_OK;
}

/* What a product of all systems runs, made before a stream is captured. */
static tess_status need_spmm(tess_space *space)
{
    tess_cuda_plan *plan = tess_cuda_space_of(space)->plan;
    const tess_cuda_variant *variant;
    tess_status status =
        tess_cuda_need_variant(plan, TESS_CUDA_SPMM, false, space->systems, 0, &variant);
    if (status != TESS_ERR_UNSUPPORTED)
        return status;
    return tess_cuda_need_variant(plan, TESS_CUDA_SPMV, false, 1, 0, &variant);
}

/* A product; its dot in a FINISH, which is a pass where the product has no fused form or several
 * systems are multiplied together. */
static tess_status add_apply(tess_space *space, tess_unit_list *list, const tess_step *step)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const tess_cuda_variant *variant;
    tess_unit unit = {.kind = TESS_UNIT_APPLY, .step = step, .programme = -1};
    const bool fused = step->slot >= 0 && tess_cuda_need_variant(state->plan, TESS_CUDA_SPMV_DOT,
                                                                 false, 1, 0, &variant) == TESS_OK;
    if (!fused)
        TESS_TRY(
            tess_cuda_need_variant(state->plan, TESS_CUDA_SPMV, step->transpose, 1, 0, &variant));
    unit.sums = fused;
    if (space->systems > 1 && !step->transpose)
        TESS_TRY(need_spmm(space));
    TESS_TRY(add_unit(space->ctx, list, &unit));
    if (step->slot < 0)
        return TESS_OK;
    unit.kind = TESS_UNIT_FINISH;
    if (!fused || space->systems > 1) {
        tess_line line = {.kind = TESS_LINE_DOT, .slot = step->slot, .x = step->w, .y = step->y};
        const tess_steps dot = {.ctx = space->ctx, .line = &line, .pc = space->pc};
        const tess_step pass = {.kind = TESS_STEP_PASS, .lines = 1};
        TESS_TRY(TESS_ALLOC(space->ctx, 1, &unit.pass));
        (void)tess_pass_take(&dot, &pass, 0, unit.pass);
    }
    tess_status status = unit.pass ? need_pass(space, unit.pass, &unit.function) : TESS_OK;
    if (status == TESS_OK)
        status = add_ending(space->ctx, list, &unit);
    if (status != TESS_OK)
        tess_free(space->ctx, unit.pass);
    return status;
}

static tess_status add_scalar(tess_space *space, tess_unit_list *list, const tess_step *step)
{
    if (list->count == 0 || list->units[list->count - 1].programme < 0) {
        tess_unit unit = {.kind = TESS_UNIT_FINISH, .step = step};
        TESS_TRY(add_ending(space->ctx, list, &unit));
    }
    const int op[4] = {(int)step->op, step->out, step->a, step->b};
    TESS_TRY(put_ints(space->ctx, list, 4, op));
    list->programmes[list->units[list->count - 1].programme]++;
    return TESS_OK;
}

static tess_status add_step(tess_space *space, tess_unit_list *list, const tess_steps *steps,
                            const tess_step *step)
{
    switch (step->kind) {
    case TESS_STEP_PASS:
        return add_pass(space, list, steps, step);
    case TESS_STEP_SCALAR:
        return add_scalar(space, list, step);
    case TESS_STEP_APPLY:
        return add_apply(space, list, step);
    case TESS_STEP_PRECONDITION:
        break;
    }
    const tess_unit unit = {.kind = TESS_UNIT_PRECONDITION, .step = step, .programme = -1};
    return add_unit(space->ctx, list, &unit);
}

/* The iteration ends with the last programme; the units behind it finish what it began. */
static tess_status add_end(tess_space *space, tess_unit_list *list, const tess_stretch *stretch)
{
    int64_t last = list->count;
    while (last > 0 && list->units[last - 1].programme < 0)
        last--;
    if (last == 0)
        return tess_fail(space->ctx, TESS_ERR_INTERNAL, "an iteration without a dot product");
    int *header = list->programmes + list->units[last - 1].programme;
    header[1] = stretch->stop_count;
    header[2] = 1;
    for (int i = 0; i < stretch->stop_count; i++) {
        const tess_stop *stop = &stretch->stops[i];
        TESS_TRY(put_ints(space->ctx, list, 3, (int[]){(int)stop->kind, stop->a, stop->b}));
    }
    for (int64_t i = 0; i < list->count; i++)
        list->units[i].guard = i < last ? TESS_GUARD_STOPPED : TESS_GUARD_PAST;
    return TESS_OK;
}

static tess_status build(tess_space *space, tess_unit_list *list, const tess_stretch *stretch)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const tess_steps *steps = list->steps;
    TESS_TRY(need_finish(state));
    for (int64_t i = 0; i < steps->count; i++)
        TESS_TRY(add_step(space, list, steps, &steps->step[i]));
    for (int64_t i = 0; i < list->count; i++)
        list->units[i].guard = TESS_GUARD_NONE;
    if (stretch)
        TESS_TRY(add_end(space, list, stretch));
    const size_t bytes = (size_t)list->programme_count * sizeof(int);
    TESS_TRY(tess_cuda_alloc(state->cuda, bytes, "a solver's scalars", &list->device_programmes));
    TESS_TRY(tess_cuda_upload(state->cuda, list->device_programmes, list->programmes, bytes,
                              state->plan->stream));
    return TESS_CU(state->cuda, cuStreamSynchronize(state->plan->stream));
}

static void free_list(tess_space *space, tess_unit_list *list)
{
    for (int64_t i = 0; i < list->count; i++)
        tess_free(space->ctx, list->units[i].pass);
    tess_free(space->ctx, list->units);
    tess_free(space->ctx, list->programmes);
    tess_cuda_free(tess_cuda_space_of(space)->cuda, list->device_programmes);
    tess_free(space->ctx, list);
}

tess_status tess_cuda_need_list(tess_space *space, const tess_steps *steps,
                                const tess_stretch *stretch, const tess_unit_list **out)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    for (const tess_unit_list *l = state->lists; l; l = l->next) {
        if (l->steps == steps) {
            *out = l;
            return TESS_OK;
        }
    }
    tess_unit_list *list;
    TESS_TRY(TESS_CALLOC(space->ctx, 1, &list));
    list->steps = steps;
    tess_status status = build(space, list, stretch);
    if (status != TESS_OK) {
        free_list(space, list);
        return status;
    }
    list->next = state->lists;
    state->lists = list;
    *out = list;
    return TESS_OK;
}

void tess_cuda_lists_free(tess_space *space)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    while (state->lists) {
        tess_unit_list *list = state->lists;
        state->lists = list->next;
        free_list(space, list);
    }
    while (state->modules) {
        tess_pass_module *module = state->modules;
        state->modules = module->next;
        (void)state->cuda->driver.cuModuleUnload(module->module);
        tess_free(space->ctx, module);
    }
    if (state->finish_module)
        (void)state->cuda->driver.cuModuleUnload(state->finish_module);
}

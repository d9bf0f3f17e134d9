/* Makes the units of a list of steps and loads their code, each once. */
#include "cuda/kernels/support.h"
#include "cuda/solve/space.h"

/* Fits the pass to the vectors of its level and writes the text that specialises it. */
static void write_defines(const tess_space *space, tess_pass_kernel *kernel,
                          char defines[TESS_PASS_TEXT])
{
    const tess_space_level *level = tess_space_level_of(space, kernel->vector[0]);
    tess_pass_fit(kernel, level->rows, 8 * tess_cuda_space_of(space)->cuda->multiprocessors);
    tess_pass_defines(kernel, level->type, defines, TESS_PASS_TEXT);
}

static tess_status need_pass(tess_space *space, tess_pass_kernel *kernel, cu_function *out)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    char defines[TESS_PASS_TEXT];
    write_defines(space, kernel, defines);
    for (const tess_pass_module *m = state->modules; m; m = m->next) {
        if (strcmp(m->defines, defines) == 0) {
            *out = m->function;
            return TESS_OK;
        }
    }
    tess_pass_module *module;
    TESS_TRY(TESS_CALLOC(space->ctx, 1, &module));
    memcpy(module->defines, defines, sizeof defines);
    tess_status status = tess_cuda_load_function(state->cuda, "pass.cu", defines, "pass",
                                                 &module->module, &module->function);
    if (status != TESS_OK) {
        tess_free(space->ctx, module);
        return status;
    }
    module->next = state->modules;
    state->modules = module;
    *out = module->function;
    return TESS_OK;
}

/* ---- Compiling ahead ---- */

/* The most kernels that are compiled at once, and lists of a cycle that they come from. */
enum { WARM_MOST = 64, WARM_LISTS = 16 };

typedef struct warming {
    tess_jit_request request[WARM_MOST];
    char defines[WARM_MOST][TESS_PASS_TEXT];
    int count;
} warming;

static void warm_pass(const tess_space *space, tess_pass_kernel *kernel, warming *all)
{
    const tess_cuda_space *state = tess_cuda_space_of(space);
    if (all->count == WARM_MOST)
        return;
    char *defines = all->defines[all->count];
    write_defines(space, kernel, defines);
    for (const tess_pass_module *m = state->modules; m; m = m->next)
        if (strcmp(m->defines, defines) == 0)
            return;
    for (int i = 0; i < all->count; i++)
        if (strcmp(all->defines[i], defines) == 0)
            return;
    all->request[all->count++] = (tess_jit_request){"pass.cu", defines, state->cuda->sm};
}

static void warm_list(const tess_space *space, const tess_steps *steps, warming *all)
{
    tess_pass_kernel kernel;
    for (int64_t s = 0; s < steps->count; s++) {
        const tess_step *step = &steps->step[s];
        for (int64_t first = 0; step->kind == TESS_STEP_PASS && first < step->updates;) {
            first += tess_pass_take(steps, step, first, tess_cuda_imaginary(space), &kernel);
            warm_pass(space, &kernel, all);
        }
    }
}

void tess_cuda_warm(tess_space *space, const tess_steps *const *once, int count,
                    const tess_steps *cycle, int64_t length)
{
    const tess_loop *loop = &tess_cuda_space_of(space)->loop;
    tess_cuda *cuda = tess_cuda_space_of(space)->cuda;
    warming all; /* 43 kB; an allocation could fail, and this is for speed alone */
    all.count = 0;
    if (loop->planned && !loop->fits) /* loop.cu takes longest and goes first */
        all.request[all.count++] = (tess_jit_request){"loop.cu", loop->code.defines, cuda->sm};
    all.defines[0][0] = '\0';
    for (int i = 0; i < count; i++)
        warm_list(space, once[i], &all);
    for (int64_t i = 0; i < length; i++)
        warm_list(space, &cycle[i], &all);
    tess_jit_ahead(cuda->ctx, &cuda->jit, all.request, all.count);
}

static tess_status need_finish(const tess_space *space)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    char defines[48];
    if (state->finish)
        return TESS_OK;
    snprintf(defines, sizeof defines, "-DTHREADS=%d%s", TESS_FINISH_THREADS,
             tess_is_complex(space->type) ? " -DCOMPLEX=1" : "");
    return tess_cuda_load_function(state->cuda, "finish.cu", defines, "finish",
                                   &state->finish_module, &state->finish);
}

static tess_status need_rescale(const tess_space *space, tess_unit *unit)
{
    const tess_step *step = unit->step;
    const size_t from = tess_type_size(tess_space_level_of(space, step->x)->type);
    const size_t to = tess_type_size(tess_space_level_of(space, step->y)->type);
    char defines[64];
    snprintf(defines, sizeof defines, "-DFROM=%d -DTO=%d -DDIVIDE=%d -DTHREADS=%d", (int)from,
             (int)to, step->divide, TESS_PASS_THREADS);
    return tess_cuda_helper(tess_cuda_space_of(space)->cuda, "rescale.cu", defines, "rescale",
                            &unit->function);
}

/* Makes the variant that a product of all systems runs, before the stream is captured. */
static tess_status need_spmm(tess_space *space, tess_cuda_plan *plan)
{
    const tess_cuda_variant *variant;
    tess_status status = tess_cuda_need_variant(plan, TESS_CUDA_SPMM, TESS_OPERATION_NONE,
                                                space->systems, 0, &variant);
    if (status != TESS_ERR_UNSUPPORTED)
        return status;
    return tess_cuda_need_variant(plan, TESS_CUDA_SPMV, TESS_OPERATION_NONE, 1, 0, &variant);
}

/* Finds out which products leave the partial sums of a dot product, where steps ask for one: by a
 * form of the plan's kernel, or of another kernel that may take its place. Kernels of complex
 * matrices have none. */
static tess_status find_fused(tess_space *space, const tess_steps *steps, tess_fused *fused)
{
    const tess_cuda_space *state = tess_cuda_space_of(space);
    const tess_fused possible = tess_is_complex(space->type) ? TESS_FUSED_NONE
                                : state->halo                ? TESS_FUSED_HALO
                                                             : TESS_FUSED_ALL;
    const tess_cuda_variant *variant = NULL;
    for (int64_t i = 0; i < steps->count && !variant && state->plan->matrix.rows > 0; i++)
        if (tess_step_fuses(&steps->step[i], possible))
            TESS_TRY(
                tess_cuda_need_dot(state->plan, !space->plan->named && !state->halo, &variant));
    *fused = variant ? possible : TESS_FUSED_NONE;
    return TESS_OK;
}

/* Loads the code that a unit launches. */
static tess_status load_unit(tess_space *space, tess_unit *unit)
{
    const tess_cuda_variant *variant;
    if (unit->kind == TESS_UNIT_RESCALE)
        return need_rescale(space, unit);
    if (unit->kind == TESS_UNIT_APPLY && tess_cuda_step_plan(space, unit->step)->caller.apply)
        return TESS_OK;
    if (unit->kind == TESS_UNIT_APPLY) {
        tess_cuda_plan *plan = tess_cuda_step_plan(space, unit->step);
        if (tess_cuda_multiplies_together(space, unit->step))
            TESS_TRY(need_spmm(space, plan));
        return unit->sums ? TESS_OK
                          : tess_cuda_need_variant(plan, TESS_CUDA_SPMV,
                                                   tess_cuda_step_operation(space, unit->step), 1,
                                                   0, &variant);
    }
    const bool fused = unit->kind == TESS_UNIT_FINISH && unit->sums && space->systems == 1;
    return unit->pass && !fused ? need_pass(space, unit->pass, &unit->function) : TESS_OK;
}

static tess_status build(tess_space *space, tess_unit_list *list, const tess_stretch *stretch)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    tess_fused fused;
    TESS_TRY(need_finish(space));
    TESS_TRY(tess_cuda_need_diagonals(state, list->steps));
    TESS_TRY(tess_cuda_need_factors(state, list->steps));
    TESS_TRY(find_fused(space, list->steps, &fused));
    TESS_TRY(tess_units_build(list, fused, stretch != NULL, stretch ? stretch->stops : NULL,
                              stretch ? stretch->stop_count : 0));
    for (int64_t i = 0; i < list->count; i++)
        TESS_TRY(load_unit(space, &list->units[i]));
    if (stretch && stretch->cycle == 1 && !state->loop.planned && !state->halo)
        TESS_TRY(tess_cuda_need_between(space, list));
    const size_t bytes = (size_t)list->programme_count * sizeof(int);
    TESS_TRY(tess_cuda_alloc(state->cuda, bytes, "a solver's scalars", &list->device_programmes));
    TESS_TRY(tess_cuda_upload(state->cuda, list->device_programmes, list->programmes, bytes,
                              state->plan->stream));
    return TESS_CU(state->cuda, cuStreamSynchronize(state->plan->stream));
}

static void free_list(tess_space *space, tess_unit_list *list)
{
    tess_cuda_between_free(space, list);
    tess_units_free(list);
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
    if (stretch && stretch->cycle > 1) {
        const int64_t left = stretch->lists + stretch->cycle - steps;
        tess_cuda_warm(space, NULL, 0, steps, tess_min(left, WARM_LISTS));
    }
    tess_unit_list *list;
    TESS_TRY(TESS_CALLOC(space->ctx, 1, &list));
    list->ctx = space->ctx;
    list->steps = steps;
    list->imaginary = tess_cuda_imaginary(space);
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
        tess_cuda_unload(state->cuda, module->module);
        tess_free(space->ctx, module);
    }
    tess_cuda_unload(state->cuda, state->finish_module);
}

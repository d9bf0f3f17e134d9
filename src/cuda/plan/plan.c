/* Makes, updates and frees a plan on a CUDA device. */
#include "backend/shapes.h"
#include "cuda/plan/plan.h"

static tess_status need_transposed(tess_cuda_plan *p)
{
    if (p->transposed)
        return TESS_OK;
    TESS_TRY(tess_cuda_bring_values(p));
    return tess_matrix_transpose(p->cuda->ctx, &p->matrix, &p->transposed);
}

/* Writes a new A^T over one that has old values: residents keep its address. */
static tess_status update_transposed(tess_cuda_plan *p)
{
    tess_matrix *fresh;
    if (!p->transposed_old)
        return TESS_OK;
    TESS_TRY(tess_matrix_transpose(p->cuda->ctx, &p->matrix, &fresh));
    tess_matrix old = *p->transposed;
    *p->transposed = *fresh;
    *fresh = old;
    tess_matrix_destroy(fresh);
    p->transposed_old = false;
    return TESS_OK;
}

/* The resident of A or A^T in a layout, made now if there is none. Variants of one layout share
 * it. */
static tess_status need_resident(tess_cuda_plan *p, bool transposed, const char *layout_name,
                                 tess_cuda_resident **out)
{
    bool shares = p->shares && !transposed;
    const tess_matrix *A = transposed ? p->transposed : shares ? p->given : &p->matrix;
    tess_cuda_resident **list = shares ? &p->cuda->shared : &p->residents;
    for (tess_cuda_resident *r = *list; r; r = r->next) {
        if (r->matrix == A && strcmp(r->layout->name, layout_name) == 0) {
            *out = r;
            return TESS_OK;
        }
    }
    TESS_TRY(tess_cuda_bring_values(p));
    if (transposed)
        TESS_TRY(update_transposed(p));
    tess_cuda_resident *resident;
    TESS_TRY(tess_cuda_resident_create(p->cuda, A, layout_name, &resident));
    resident->next = *list;
    *list = resident;
    *out = resident;
    return TESS_OK;
}

/* Frees the residents of a list that have no users. */
static void drop_unused(tess_cuda *cuda, tess_cuda_resident **at)
{
    while (*at) {
        tess_cuda_resident *resident = *at;
        if (resident->users > 0) {
            at = &resident->next;
        } else {
            *at = resident->next;
            tess_cuda_resident_destroy(cuda, resident);
        }
    }
}

tess_status tess_cuda_hold_resident(tess_cuda_plan *p, const char *layout_name,
                                    tess_cuda_resident **out)
{
    TESS_TRY(need_resident(p, false, layout_name, out));
    (*out)->users++;
    return TESS_OK;
}

void tess_cuda_let_resident_go(tess_cuda_plan *p, tess_cuda_resident *resident)
{
    resident->users--;
    drop_unused(p->cuda, &p->residents);
    drop_unused(p->cuda, &p->cuda->shared);
}

static void drop_variant(tess_cuda_plan *p, tess_cuda_variant *variant)
{
    tess_cuda_variant_unload(p->cuda, variant);
    if (variant->resident)
        tess_cuda_let_resident_go(p, variant->resident);
    tess_free(p->cuda->ctx, variant);
}

static tess_status add_variant(tess_cuda_plan *p, const tess_cuda_kernel *kernel, const int *params,
                               tess_operation operation, const tess_cuda_problem *problem,
                               const tess_cuda_variant **out)
{
    const bool transposed = operation != TESS_OPERATION_NONE;
    char layout[TESS_CUDA_LAYOUT];
    kernel->layout_name(problem, params, layout, sizeof layout);
    /* Checked first, before code is compiled for nothing. */
    if (!p->device_values)
        TESS_TRY(
            tess_cuda_layout_check(p->cuda->ctx, transposed ? p->transposed : &p->matrix, layout));
    tess_jit_cubin code = {0};
    tess_cuda_variant *variant;
    TESS_TRY(TESS_ALLOC(p->cuda->ctx, 1, &variant));
    *variant = (tess_cuda_variant){.kernel = kernel, .problem = *problem, .operation = operation};
    memcpy(variant->params, params, sizeof variant->params);
    tess_status status;
    TESS_TRY_CLEAN(tess_cuda_variant_load(p->cuda, variant, &code));
    status = need_resident(p, transposed, layout, &variant->resident);
    if (status != TESS_OK) {
        tess_free(p->cuda->ctx, code.entry.code);
        goto cleanup;
    }
    variant->resident->users++;
    TESS_TRY_CLEAN(tess_cuda_variant_finish(p->cuda, variant, &code));
    variant->next = p->variants;
    p->variants = variant;
    *out = variant;
    return TESS_OK;
cleanup:
    drop_variant(p, variant);
    return status;
}

/* Returns the kernel for product `op` that goes with the plan's kernel: that kernel itself where it
 * computes `op`, as for the transpose, and otherwise one on the plan's layout. NULL: there is
 * none. */
static const tess_cuda_kernel *companion(const tess_cuda_plan *p, tess_cuda_op op,
                                         const tess_cuda_problem *problem, int *params)
{
    char wanted[TESS_CUDA_LAYOUT], layout[TESS_CUDA_LAYOUT];
    tess_cuda_problem plain = *problem;
    plain.vectors = 1;
    plain.row_major = 0;
    if (p->kernel->op == op && tess_cuda_fits(p->kernel, problem, p->params)) {
        memcpy(params, p->params, sizeof p->params);
        return p->kernel;
    }
    p->kernel->layout_name(&plain, p->params, wanted, sizeof wanted);
    for (int i = 0; i < tess_cuda_kernel_count; i++) {
        const tess_cuda_kernel *kernel = tess_cuda_kernels[i];
        if (kernel->op != op || strcmp(kernel->format, p->kernel->format) != 0 ||
            (kernel->product && strcmp(kernel->product, p->kernel->name) != 0))
            continue;
        /* Parameters of the same name carry over. */
        kernel->guess(problem, params);
        for (int a = 0; a < kernel->param_count; a++)
            for (int b = 0; b < p->kernel->param_count; b++)
                if (strcmp(kernel->params[a].name, p->kernel->params[b].name) == 0)
                    params[a] = p->params[b];
        kernel->layout_name(problem, params, layout, sizeof layout);
        if (tess_cuda_fits(kernel, problem, params) && strcmp(layout, wanted) == 0)
            return kernel;
    }
    return NULL;
}

/* Adds the first kernel that verification accepts. A kernel that the options name is the only one
 * tried. */
static tess_status add_first_accepted(tess_cuda_plan *p, tess_cuda_op op, tess_operation operation,
                                      const tess_cuda_problem *problem,
                                      const tess_plan_options *options,
                                      const tess_cuda_variant **out)
{
    for (int skip = 0;; skip++) {
        const tess_cuda_kernel *kernel;
        int params[TESS_CUDA_PARAMS] = {0};
        const tess_kept_error refused = tess_error_keep(p->cuda->ctx);
        tess_status status =
            tess_cuda_choose(p->cuda->ctx, problem, op, options, skip, &kernel, params);
        if (status != TESS_OK && skip > 0)
            return tess_fail(p->cuda->ctx, TESS_ERR_DEVICE, "%s", refused.text);
        TESS_TRY(status);
        const int before = __atomic_load_n(&p->cuda->refused, __ATOMIC_RELAXED);
        status = add_variant(p, kernel, params, operation, problem, out);
        const int after = __atomic_load_n(&p->cuda->refused, __ATOMIC_RELAXED);
        if (status == TESS_OK || after == before || options->kernel)
            return status;
    }
}

/* Describes A or A^T for the predicates. A^T gets shapes of its own, or A's where no shapes would
 * make A^T faster. */
static tess_status describe(tess_cuda_plan *p, tess_operation operation, tess_cuda_problem *problem)
{
    const bool transposed = operation != TESS_OPERATION_NONE;
    tess_fbcsr_options shapes = {0};
    if (transposed)
        TESS_TRY(need_transposed(p));
    const tess_matrix *A = transposed ? p->transposed : &p->matrix;
    tess_cuda_describe_problem(p->cuda, A, problem);
    problem->conjugate = operation == TESS_OPERATION_CONJUGATE_TRANSPOSE;
    memcpy(problem->shapes, p->shapes, sizeof problem->shapes);
    if (transposed && p->kernel->takes_shapes)
        TESS_TRY(tess_shapes_choose(p->cuda->ctx, A, "", !p->kernel->keeps_shapes, &shapes));
    if (shapes.count > 0)
        tess_shapes_write(&shapes, problem->shapes, sizeof problem->shapes);
    return TESS_OK;
}

static const tess_cuda_variant *find_variant(const tess_cuda_plan *p, tess_cuda_op op,
                                             tess_operation operation, int vectors, int row_major,
                                             bool fields)
{
    const tess_cuda_variant *v = p->variants;
    while (v &&
           (v->kernel->op != op || v->operation != operation || v->problem.vectors != vectors ||
            v->problem.row_major != row_major || v->problem.fields != fields))
        v = v->next;
    return v;
}

tess_status tess_cuda_need_variant(tess_cuda_plan *p, tess_cuda_op op, tess_operation operation,
                                   int vectors, int row_major, const tess_cuda_variant **out)
{
    static const tess_plan_options automatic = {0};
    const tess_cuda_variant *known = find_variant(p, op, operation, vectors, row_major, false);
    tess_cuda_problem problem;
    int params[TESS_CUDA_PARAMS] = {0};
    if (known) {
        *out = known;
        return TESS_OK;
    }
    TESS_TRY(describe(p, operation, &problem));
    problem.vectors = vectors;
    problem.row_major = row_major;
    const tess_cuda_kernel *kernel = companion(p, op, &problem, params);
    if (kernel && add_variant(p, kernel, params, operation, &problem, out) == TESS_OK)
        return TESS_OK;
    return add_first_accepted(p, op, operation, &problem, &automatic, out);
}

tess_status tess_cuda_need_form(tess_cuda_plan *p, tess_cuda_op op, bool transposed, bool fields,
                                const tess_cuda_variant **out)
{
    bool *missing = &p->missing[op][transposed][fields];
    tess_cuda_problem problem;
    int params[TESS_CUDA_PARAMS] = {0};
    const tess_operation operation = tess_cuda_operation(transposed);
    *out = find_variant(p, op, operation, 1, 0, fields);
    if (*out && strcmp((*out)->kernel->format, p->kernel->format) != 0) /* need_dot made it */
        *out = NULL;
    if (*out || *missing || p->caller.apply)
        return TESS_OK;
    TESS_TRY(describe(p, operation, &problem));
    problem.fields = fields;
    const tess_cuda_kernel *kernel = companion(p, op, &problem, params);
    const bool has = kernel && (!fields || tess_cuda_kernel_by_fields(kernel, &problem));
    const tess_kept_error kept = tess_error_keep(p->cuda->ctx);
    const tess_status status =
        has ? add_variant(p, kernel, params, operation, &problem, out) : TESS_OK;
    if (status == TESS_ERR_MEMORY)
        return status;
    *missing = !*out;
    tess_error_restore(p->cuda->ctx, &kept);
    return TESS_OK;
}

static tess_status prepare_kernel(tess_plan *plan, tess_cuda_plan *p,
                                  const tess_plan_options *options)
{
    tess_cuda_problem problem;
    const tess_cuda_variant *variant;
    char params[TESS_CUDA_PARAMS_TEXT];
    tess_plan_options plain;
    tess_cuda_describe_problem(p->cuda, &p->matrix, &problem);
    TESS_TRY(tess_cuda_take_shapes(p->cuda->ctx, &p->matrix, options, &problem, params, &plain));
    options = &plain;
    memcpy(p->shapes, problem.shapes, sizeof p->shapes);
    const tess_cuda_kernel *named = options->kernel ? tess_cuda_kernel_find(options->kernel) : NULL;
    if (named && named->op == TESS_CUDA_SPMM) {
        /* The kernel is compiled when the number of vectors is known. Here its parameters are
         * chosen, which must fit the largest group of vectors. */
        problem.vectors = TESS_CUDA_VECTORS;
        TESS_TRY(
            tess_cuda_choose(p->cuda->ctx, &problem, named->op, options, 0, &p->kernel, p->params));
    } else {
        tess_cuda_op op = named ? named->op : TESS_CUDA_SPMV;
        TESS_TRY(add_first_accepted(p, op, TESS_OPERATION_NONE, &problem, options, &variant));
        p->kernel = variant->kernel;
        memcpy(p->params, variant->params, sizeof p->params);
        tess_cuda_price_layout(plan, variant->resident->layout);
    }
    int beside[TESS_CUDA_PARAMS] = {0};
    problem.vectors = 2;
    plan->one_vector = !companion(p, TESS_CUDA_SPMM, &problem, beside);
    problem.vectors = 1;
    snprintf(plan->format, sizeof plan->format, "%s", p->kernel->format);
    snprintf(plan->kernel, sizeof plan->kernel, "%s", p->kernel->name);
    tess_cuda_write_all(p->kernel, &problem, p->params, plan->params, sizeof plan->params);
    return TESS_OK;
}

tess_status tess_cuda_prepare(tess_plan *plan, const tess_plan_options *options)
{
    tess_cuda *cuda = tess_cuda_of(plan->device);
    tess_cuda_plan *p;
    TESS_TRY(TESS_ALLOC(plan->ctx, 1, &p));
    *p = (tess_cuda_plan){.cuda = cuda,
                          .stream = cuda->stream,
                          .given = plan->matrix,
                          .matrix = *plan->matrix,
                          .shares = plan->shares_layouts};
    plan->state = p;
    tess_status status = tess_cuda_enter(cuda);
    if (status != TESS_OK) {
        tess_free(plan->ctx, p);
        return status;
    }
    status = prepare_kernel(plan, p, options);
    tess_cuda_leave(cuda);
    if (status != TESS_OK)
        tess_cuda_release(plan);
    return status;
}

void tess_cuda_settle(tess_plan *plan)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    for (const tess_cuda_variant *v = p->variants; v; v = v->next) {
        tess_cuda_resident **at = &p->cuda->shared;
        while (*at && *at != v->resident)
            at = &(*at)->next;
        tess_cuda_resident *resident = *at;
        if (!resident)
            continue;
        *at = resident->next;
        resident->next = p->residents;
        resident->matrix = &p->matrix;
        p->residents = resident;
    }
    p->shares = false;
}

void tess_cuda_release(tess_plan *plan)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    tess_cuda *cuda = p->cuda;
    bool entered = tess_cuda_enter(cuda) == TESS_OK;
    if (entered)
        (void)cuda->driver.cuStreamSynchronize(p->stream);
    while (p->variants) {
        tess_cuda_variant *variant = p->variants;
        p->variants = variant->next;
        drop_variant(p, variant);
    }
    for (int i = 0; i < TESS_STAGES; i++)
        tess_cuda_free(cuda, p->stage[i]);
    tess_cuda_free(cuda, p->dot_scratch);
    if (entered)
        tess_cuda_leave(cuda);
    tess_matrix_destroy(p->transposed);
    TESS_FREE(cuda->ctx, p->values, p);
}

static tess_status update_values(tess_cuda_plan *p, const void *values)
{
    if (p->matrix.blocks == 0)
        return TESS_OK;
    if (p->shares)
        return tess_fail(p->cuda->ctx, TESS_ERR_UNSUPPORTED,
                         "tess_plan_update_values: this plan is for timing only");
    if (tess_cuda_on_device(p->cuda, values))
        return tess_cuda_update_on_device(p, values);
    bool done;
    p->device_values = NULL;
    p->matrix.values = (void *)(uintptr_t)values; /* the plan never writes to them */
    p->transposed_old = p->transposed != NULL;
    TESS_TRY(tess_cuda_update_from_host(p, values, &done));
    if (done)
        return TESS_OK;
    TESS_TRY(update_transposed(p));
    for (tess_cuda_resident *r = p->residents; r; r = r->next)
        TESS_TRY(tess_cuda_resident_update(p->cuda, r, p->stream));
    return TESS_CU(p->cuda, cuStreamSynchronize(p->stream));
}

tess_status tess_cuda_update_values(tess_plan *plan, const void *values)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    TESS_TRY(tess_cuda_enter(p->cuda));
    return tess_cuda_leave_with(p->cuda, update_values(p, values));
}

tess_status tess_cuda_host_values(tess_plan *plan)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    TESS_TRY(tess_cuda_enter(p->cuda));
    tess_status status = tess_cuda_bring_values(p);
    tess_cuda_leave(p->cuda);
    if (status == TESS_OK)
        plan->values = p->matrix.values;
    return status;
}

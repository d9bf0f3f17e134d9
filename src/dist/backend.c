/* The backend `part`, whose plans products, updates and solvers take as any other. The plan's
 * matrix is the part's own square block, from which preconditioners are made. */
#include "core/fill.h"
#include "dist/form.h"

static tess_part_plan *state_of(const tess_plan *plan)
{
    return plan->state;
}

static tess_status agree(tess_plan *plan, tess_status status)
{
    tess_part *part = state_of(plan)->part;
    return tess_comm_agree(part->ctx, &part->comm, status);
}

/* The product forms of the papers (whole, shuffle) take vectors in host memory, unless the parts'
 * devices exchange messages themselves. */
static tess_status multiply_by_form(tess_plan *plan, const tess_part_product *product,
                                    tess_status status)
{
    tess_part_plan *p = state_of(plan);
    tess_device *device = p->own->device;
    if (status == TESS_OK && device->backend->owns && p->part->rows > 0 &&
        (device->backend->owns(device, product->X) || device->backend->owns(device, product->Y)))
        status = tess_fail(plan->ctx, TESS_ERR_UNSUPPORTED,
                           "product form '%s' takes vectors in host memory; the default form, "
                           "halo, takes those in a device's",
                           p->form->name);
    TESS_TRY(agree(plan, status));
    return p->form->multiply(p, product);
}

/* A device that multiplies parts itself does so in every form. `status` is that of what came
 * before: after a failure the part only keeps the others from waiting. */
static tess_status multiply_after(tess_plan *plan, const tess_part_product *product,
                                  tess_status status)
{
    tess_part_plan *p = state_of(plan);
    if (!tess_part_on_device(p))
        return p->form->multiply && !product->transpose ? multiply_by_form(plan, product, status)
                                                        : tess_part_multiply(p, product, status);
    const double started = tess_seconds();
    status = plan->local->backend->part_multiply(plan, product, status);
    p->times.product += tess_seconds() - started;
    return status;
}

static tess_status multiply(tess_plan *plan, const tess_part_product *product)
{
    return multiply_after(plan, product, TESS_OK);
}

static tess_status spmv(tess_plan *plan, double alpha, const void *x, double beta, void *y)
{
    return multiply(
        plan, &(tess_part_product){false, 1, TESS_ORDER_COLUMN_MAJOR, alpha, beta, x, y, 0, 0});
}

static tess_status spmv_transpose(tess_plan *plan, double alpha, const void *x, double beta,
                                  void *y)
{
    return multiply(
        plan, &(tess_part_product){true, 1, TESS_ORDER_COLUMN_MAJOR, alpha, beta, x, y, 0, 0});
}

static tess_status spmm(tess_plan *plan, int k, tess_block_order order, double alpha, const void *X,
                        int64_t ldx, double beta, void *Y, int64_t ldy)
{
    return multiply(plan, &(tess_part_product){false, k, order, alpha, beta, X, Y, ldx, ldy});
}

static tess_status sum(tess_plan *plan, double *values, int count)
{
    tess_part_plan *p = state_of(plan);
    const double started = tess_seconds();
    const tess_status status = tess_part_sum(p->part, values, count);
    p->times.sums += tess_seconds() - started;
    return status;
}

static tess_status most(tess_plan *plan, double *values, int count)
{
    return tess_part_most(state_of(plan)->part, values, count);
}

static tess_status sum_start(tess_plan *plan, const double *values, int count)
{
    return tess_part_sum_start(state_of(plan)->part, values, count);
}

static tess_status sum_wait(tess_plan *plan, double *values)
{
    tess_part_plan *p = state_of(plan);
    const double started = tess_seconds();
    const tess_status status = tess_part_sum_wait(p->part, values);
    p->times.sums += tess_seconds() - started;
    return status;
}

static double host_dot(const tess_matrix *A, const void *x, const void *y)
{
    double sum = 0;
    for (int64_t i = 0; i < A->rows; i++)
        sum += tess_get(x, A->type, i) * tess_get(y, A->type, i);
    return sum;
}

/* The sum over the part's own rows of x . y. Both vectors are in the device's memory or both in the
 * host's. */
static tess_status dot_own(tess_plan *own, const void *x, const void *y, double *dot)
{
    tess_device *device = own->device;
    const bool own_memory = device->backend->owns != NULL && own->matrix->rows > 0;
    const bool on_device = own_memory && device->backend->owns(device, x);
    if (own_memory && on_device != device->backend->owns(device, y))
        return tess_fail(own->ctx, TESS_ERR_ARGUMENT,
                         "one vector of a dot product is in the device's memory and one in the "
                         "host's: copy one of them");
    if (own_memory && !on_device)
        *dot = host_dot(own->matrix, x, y);
    else if (own->matrix->rows > 0)
        return device->backend->dot(own, x, y, dot);
    return TESS_OK;
}

/* `status` is that of what came before. All parts return a failure of one. */
static tess_status dot_after(tess_plan *plan, const void *x, const void *y, double *dot,
                             tess_status status)
{
    double sums[2] = {0};
    TESS_THEN(dot_own(state_of(plan)->own, x, y, &sums[0]));
    sums[1] = status != TESS_OK;
    TESS_TRY(sum(plan, sums, 2));
    if (sums[1] > 0)
        return agree(plan, status);
    *dot = sums[0];
    return TESS_OK;
}

static tess_status dot_product(tess_plan *plan, const void *x, const void *y, double *dot)
{
    return dot_after(plan, x, y, dot, TESS_OK);
}

static tess_status spmv_dot(tess_plan *plan, double alpha, const void *x, double beta, void *y,
                            const void *w, double *dot)
{
    return dot_after(plan, w ? w : y, y, dot, spmv(plan, alpha, x, beta, y));
}

static tess_status refuse(tess_plan *plan, const tess_part_product *product, bool with_dot,
                          tess_status status)
{
    double dot;
    status = multiply_after(plan, product, status);
    return with_dot ? dot_after(plan, NULL, NULL, &dot, status) : status;
}

tess_status tess_part_renew(tess_plan *plan, tess_matrix *fresh, tess_matrix **kept)
{
    const tess_status status = plan ? tess_plan_update_values(plan, fresh->values) : TESS_OK;
    tess_matrix_destroy(status == TESS_OK ? *kept : fresh);
    if (status == TESS_OK)
        *kept = fresh;
    return status;
}

static tess_status refill(tess_part_plan *p, const void *values, bool outside, tess_plan *plan,
                          tess_matrix **kept)
{
    tess_matrix *fresh;
    TESS_TRY(tess_part_fill(p->part, values, outside, &fresh));
    return tess_part_renew(plan, fresh, kept);
}

static tess_status update_values(tess_plan *plan, const void *values)
{
    tess_part_plan *p = state_of(plan);
    p->transposed = false;
    tess_status status =
        values || p->part->entries == 0
            ? TESS_OK
            : tess_fail(plan->ctx, TESS_ERR_ARGUMENT, "tess_plan_update_values: values is NULL");
    TESS_THEN(refill(p, values, false, p->own, &p->new_own));
    TESS_THEN(refill(p, values, true, p->outside, &p->new_outside));
    TESS_TRY(agree(plan, status));
    tess_plan_name_as(plan, p->own);
    return tess_form_update(p);
}

/* plan->values are those of the own block, because plan->matrix is the own block. */
static tess_status host_values(tess_plan *plan)
{
    const tess_part_plan *p = state_of(plan);
    plan->values = p->new_own ? p->new_own->values : p->part->own->values;
    return TESS_OK;
}

static const tess_matrix *outside(const tess_plan *plan)
{
    const tess_part_plan *p = state_of(plan);
    return p->new_outside ? p->new_outside : p->part->outside;
}

static void release(tess_plan *plan)
{
    tess_part_plan *p = state_of(plan);
    if (plan->local && plan->local->backend->part_release)
        plan->local->backend->part_release(plan);
    tess_form_close(p);
    tess_halo_close(p->part, &p->one);
    tess_halo_close(p->part, &p->many);
    tess_plan_destroy(p->own);
    tess_plan_destroy(p->outside);
    tess_matrix_destroy(p->new_own);
    tess_matrix_destroy(p->new_outside);
    tess_free(plan->ctx, p);
}

static void explain(tess_plan *plan)
{
    const tess_part_plan *p = state_of(plan);
    const tess_part *part = p->part;
    tess_append(
        plan->explain, sizeof plan->explain,
        "part %d of %d: %lld of %lld rows; %lld rows of x come from %d other parts, %lld go "
        "out; blocks of others' columns by %s; product form %s\n%s",
        part->comm.rank, part->comm.size, (long long)part->rows,
        (long long)part->row_ends[part->comm.size - 1], (long long)(part->halo * part->block),
        part->receive_count, (long long)(part->sent_count * part->block),
        p->outside ? p->outside->kernel : "none", p->form->name, tess_plan_explain(p->own));
}

/* A device of this backend is made with its plan; none is opened by name. */
const tess_backend tess_part_backend = {
    .name = "part",
    .release = release,
    .spmv = spmv,
    .spmv_transpose = spmv_transpose,
    .spmv_dot = spmv_dot,
    .dot = dot_product,
    .spmm = spmm,
    .refuse = refuse,
    .update_values = update_values,
    .explain = explain,
    .host_values = host_values,
    .sum = sum,
    .sum_start = sum_start,
    .sum_wait = sum_wait,
    .sum_most = TESS_PART_SUMS,
    .most = most,
    .agree = agree,
    .outside = outside,
};

/* ---- Making a plan ---- */

static tess_status make_plans(tess_part_plan *p, tess_device *device,
                              const tess_plan_options *options)
{
    const tess_part *part = p->part;
    tess_plan_options own = *options;
    if (own.regroup == TESS_REGROUP_ON)
        return tess_fail(part->ctx, TESS_ERR_UNSUPPORTED,
                         "regroup: a part's numbering is that of its partition: use "
                         "TESS_REGROUP_OFF");
    own.regroup = TESS_REGROUP_OFF;
    own.form = NULL; /* is of the parts together */
    TESS_TRY(tess_plan_create(part->ctx, part->own, device, &own, &p->own));
    if (part->outside->blocks == 0)
        return TESS_OK;
    /* A kernel that the options name is for the own block. The few blocks outside take the model's
     * choice. */
    const tess_plan_options guess = {.size = sizeof guess, .effort = TESS_EFFORT_ESTIMATE};
    return tess_plan_create(part->ctx, part->outside, device, &guess, &p->outside);
}

static tess_status make(tess_part *part, tess_device *device, const tess_plan_options *options,
                        bool on_devices, tess_plan *plan)
{
    tess_part_plan *p;
    TESS_TRY(TESS_CALLOC(part->ctx, 1, &p));
    p->part = part;
    p->device = *device;
    p->backend = tess_part_backend;
    p->device.backend = &p->backend;
    p->device.performance = NULL;
    if (on_devices)
        p->backend.space = device->backend->part_space;
    /* Where the device keeps no vectors, the host's threads do the vector operations. */
    if (device->threads < 1 && !p->backend.space)
        p->device.threads = part->ctx->threads;
    *plan = (tess_plan){.ctx = part->ctx,
                        .device = &p->device,
                        .matrix = part->own,
                        .all_rows = part->row_ends[part->comm.size - 1],
                        .first_row = tess_part_first_row(part, part->comm.rank),
                        .local = p->backend.space ? device : NULL,
                        .values = part->own->values,
                        .version = part->own->version,
                        .state = p};
    tess_word_open(&plan->turn);
    TESS_TRY(make_plans(p, device, options));
    plan->block = p->own;
    return TESS_OK;
}

/* Finds out whether the devices of all parts keep a solver's vectors. */
static tess_status look_at_devices(tess_part *part, const tess_device *device, bool *on_devices)
{
    double without = !device->backend->part_space;
    TESS_TRY(tess_part_most(part, &without, 1));
    *on_devices = without == 0;
    return TESS_OK;
}

static tess_status open_exchange(tess_plan *plan)
{
    tess_part_plan *p = state_of(plan);
    if (plan->local && !p->part->same_process)
        return plan->local->backend->part_open(plan);
    return tess_halo_open(p->part, 1, &p->one);
}

tess_status tess_plan_create_part(tess_part *part, tess_device *device,
                                  const tess_plan_options *given, tess_plan **out)
{
    TESS_NEED(part ? part->ctx : NULL, part && out);
    tess_plan *plan = NULL;
    tess_plan_options options;
    bool on_devices;
    tess_status status = device ? TESS_OK : tess_null_argument(part->ctx, __func__);
    TESS_THEN(TESS_TAKE_OPTIONS(part->ctx, tess_plan_options, given, &options));
    TESS_TRY(tess_comm_agree(part->ctx, &part->comm, status));
    TESS_TRY(look_at_devices(part, device, &on_devices));
    status = TESS_CALLOC(part->ctx, 1, &plan);
    TESS_THEN(make(part, device, &options, on_devices, plan));
    status = tess_comm_agree(part->ctx, &part->comm, status);
    TESS_THEN(tess_form_open(state_of(plan), options.form, device, &options));
    TESS_THEN(open_exchange(plan));
    if (status != TESS_OK) {
        if (plan && plan->state)
            tess_plan_destroy(plan);
        else
            tess_free(part->ctx, plan);
        return status;
    }
    tess_plan_name_as(plan, state_of(plan)->own);
    *out = plan;
    return TESS_OK;
}

tess_status tess_plan_get_part_times(const tess_plan *plan, size_t size, tess_part_times *out)
{
    TESS_NEED(plan ? plan->ctx : NULL, plan && out);
    if (plan->device->backend->release != release)
        return tess_fail(plan->ctx, TESS_ERR_ARGUMENT,
                         "tess_plan_get_part_times: the plan is not that of a part");
    return tess_fill(out, size, &state_of(plan)->times, sizeof *out);
}

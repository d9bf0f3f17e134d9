/* Paper 004's product: all of x goes to every part, then each computes its own rows of y.
 *
 * Algorithm 1, lines 11 to 14: a part sends its piece of x to all others, waits for theirs, and
 * multiplies its block rows with the whole. Nothing is computed while x travels. Sums of dot
 * products are Algorithm 2's in every form: each part adds the sums of all parts, in their order.
 *
 * The exchange here is in host memory, for parts on processors. Parts on GPUs exchange on the
 * devices (cuda/solve/parts/form.h), with the plan of this file.
 */
#include "dist/form.h"

typedef struct whole_state {
    tess_form_local local;
    void *result; /* of the last k > 1 vectors */
    int k;
} whole_state;

static void whole_close(tess_part_plan *p)
{
    whole_state *w = p->form_state;
    tess_form_local_free(p, &w->local);
    TESS_FREE(p->part->ctx, w->result, w);
    p->form_state = NULL;
}

/* Makes the local matrix and its plan, or gives the plan new values. */
static tess_status fill(tess_part_plan *p, tess_device *device, const tess_plan_options *options)
{
    whole_state *w = p->form_state;
    tess_form_rows rows;
    TESS_TRY(tess_form_rows_make(p, &rows));
    const tess_status status =
        tess_form_local_fill(p, &rows, p->part->rows, device, options, &w->local);
    tess_form_rows_free(p->part->ctx, &rows);
    return status;
}

static tess_status whole_open(tess_part_plan *p, const char *keys, tess_device *device,
                              const tess_plan_options *options)
{
    tess_part *part = p->part;
    whole_state *w = NULL;
    tess_status status = TESS_CALLOC(part->ctx, 1, &w);
    (void)keys;
    p->form_state = w;
    TESS_THEN(fill(p, device, options));
    status = tess_comm_agree(part->ctx, &part->comm, status);
    if (status != TESS_OK && w)
        whole_close(p);
    return status;
}

static tess_status whole_update(tess_part_plan *p)
{
    return tess_comm_agree(p->part->ctx, &p->part->comm, fill(p, NULL, NULL));
}

/* Room for the results of k vectors. */
static tess_status result_for(tess_part_plan *p, whole_state *w, int k)
{
    if (w->k == k)
        return TESS_OK;
    tess_free(p->part->ctx, w->result);
    w->result = NULL;
    w->k = 0;
    TESS_TRY(tess_alloc_bytes(p->part->ctx, p->part->rows * k, tess_type_size(p->part->type),
                              &w->result));
    w->k = k;
    return TESS_OK;
}

static tess_status whole_multiply(tess_part_plan *p, const tess_part_product *m)
{
    const int k = m->k;
    whole_state *w = p->form_state;
    const double started = tess_seconds();
    void *x;
    TESS_TRY(tess_form_spread(p, &w->local, k, m->order, m->X, m->ldx, &x));
    const double arrived = tess_seconds();
    const bool direct = k == 1 && m->order == TESS_ORDER_COLUMN_MAJOR;
    tess_status status = direct ? TESS_OK : result_for(p, w, k);
    if (direct)
        status = tess_spmv(w->local.plan, m->alpha, x, m->beta, m->Y);
    else
        TESS_THEN(tess_form_multiply(&w->local, k, m->alpha, x, w->result));
    if (status == TESS_OK && !direct)
        tess_form_put(p->part, k, m->order, w->result, m->beta, m->Y, m->ldy);
    p->times.halo += arrived - started;
    p->times.product += tess_seconds() - arrived;
    return tess_comm_agree(p->part->ctx, &p->part->comm, status);
}

static tess_form_work whole_work(const tess_part_plan *p)
{
    const whole_state *w = p->form_state;
    return (tess_form_work){.plan = w->local.plan};
}

const tess_form tess_form_whole = {
    .name = "whole",
    .summary = "all of x goes to every part, then the owner of y computes (paper 004)",
    .open = whole_open,
    .update = whole_update,
    .close = whole_close,
    .multiply = whole_multiply,
    .work = whole_work,
};

/* Makes and frees the buffers, events and channels of a product form (form.h). */
#include "cuda/solve/parts/form.h"

static int64_t all_rows(const tess_part *part)
{
    return part->row_ends[part->comm.size - 1];
}

/* Scalar rows of the results that this part has room for. */
static int64_t result_rows(const tess_cuda_halo *h)
{
    const tess_part *part = h->plan->part;
    const tess_segments *s = h->form->segments;
    if (!s)
        return h->vectors > 1 ? part->rows : 0;
    return part->block * (tess_cuda_halo_leads(h)
                              ? s->count
                              : tess_segments_on(s, part->comm.size, part->comm.rank));
}

/* Scalar rows of y that this part has room for. */
static int64_t y_rows(const tess_cuda_halo *h)
{
    const tess_part *part = h->plan->part;
    const tess_segments *s = h->form->segments;
    if (s && tess_cuda_halo_leads(h))
        return s->rows * part->block;
    return s && h->ranks ? part->rows : 0;
}

/* Allocates scalar rows of all vectors, if there are any. */
static tess_status allocate_rows(const tess_cuda_halo *h, int64_t rows, cu_pointer *out)
{
    return rows > 0 ? tess_cuda_halo_alloc(h, rows, tess_cuda_halo_bytes(h, 1, h->vectors), out)
                    : TESS_OK;
}

tess_status tess_cuda_form_make(tess_cuda_halo *h)
{
    tess_cuda *cuda = h->mine.cuda;
    if (!h->plan->form->work)
        return TESS_OK;
    const tess_form_work work = h->plan->form->work(h->plan);
    TESS_TRY(TESS_CALLOC(cuda->ctx, 1, &h->form));
    tess_cuda_form *f = h->form;
    h->mine.form = f;
    f->plan = work.plan;
    f->segments = work.segments;
    TESS_TRY(TESS_CU(cuda, cuEventCreate(&f->computed, CU_EVENT_NO_TIMING)));
    TESS_TRY(TESS_CU(cuda, cuEventCreate(&f->in_order, CU_EVENT_NO_TIMING)));
    TESS_TRY(allocate_rows(h, all_rows(h->plan->part), &f->x));
    TESS_TRY(allocate_rows(h, result_rows(h), &f->results));
    TESS_TRY(allocate_rows(h, y_rows(h), &f->y));
    if (!f->segments || !tess_cuda_halo_leads(h))
        return TESS_OK;
    TESS_TRY(tess_cuda_halo_upload(h, f->segments->place, f->segments->count,
                                   sizeof *f->segments->place, &f->place));
    if (f->segments->lambda == 0)
        return TESS_OK;
    TESS_TRY(tess_cuda_halo_upload(h, f->segments->firsts, f->segments->rows + 1,
                                   sizeof *f->segments->firsts, &f->firsts));
    return allocate_rows(h, result_rows(h), &f->ordered);
}

static tess_status pin_rows(const tess_cuda_halo *h, int64_t rows, void **out)
{
    const size_t bytes = tess_cuda_halo_bytes(h, rows, h->vectors);
    return bytes > 0 ? TESS_CU(h->mine.cuda, cuMemAllocHost(out, bytes)) : TESS_OK;
}

tess_status tess_cuda_form_pin(tess_cuda_halo *h)
{
    const tess_part *part = h->plan->part;
    tess_cuda_form *f = h->form;
    bool y_reached = true;
    if (!f || (h->ranks && part->comm.device_memory != 0))
        return TESS_OK;
    if (h->ranks) {
        TESS_TRY(pin_rows(h, all_rows(part), &f->pinned_x));
        if (f->segments)
            TESS_TRY(pin_rows(h, result_rows(h), &f->pinned_results));
        return pin_rows(h, y_rows(h), &f->pinned_y);
    }
    if (f->segments && !h->all[0]->reaches[part->comm.rank])
        TESS_TRY(pin_rows(h, result_rows(h), &f->pinned_results));
    for (int r = 0; r < part->comm.size; r++)
        y_reached = y_reached && h->all[r]->reaches[0];
    return tess_cuda_halo_leads(h) && !y_reached ? pin_rows(h, y_rows(h), &f->pinned_y) : TESS_OK;
}

tess_status tess_cuda_form_connect(tess_cuda_halo *h)
{
    const tess_part *part = h->plan->part;
    tess_cuda_form *f = h->form;
    const bool device = part->comm.device_memory != 0;
    if (!f)
        return TESS_OK;
    TESS_TRY(tess_form_x_channel(part, h->vectors, device ? (void *)(uintptr_t)f->x : f->pinned_x,
                                 &f->spread));
    if (!f->segments)
        return TESS_OK;
    return tess_shuffle_channels(
        part, f->segments, h->vectors, device ? (void *)(uintptr_t)f->results : f->pinned_results,
        device ? (void *)(uintptr_t)f->y : f->pinned_y, &f->collect, &f->back);
}

void tess_cuda_form_close(tess_cuda_halo *h)
{
    tess_cuda_form *f = h->form;
    tess_cuda *cuda = h->mine.cuda;
    const tess_comm *comm = &h->plan->part->comm;
    if (!f)
        return;
    const cu_pointer memory[] = {f->x, f->results, f->ordered, f->y, f->place, f->firsts};
    void *const pinned[] = {f->pinned_x, f->pinned_results, f->pinned_y};
    tess_comm_close(comm, f->spread);
    tess_comm_close(comm, f->collect);
    tess_comm_close(comm, f->back);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        tess_cuda_free(cuda, memory[i]);
    for (size_t i = 0; i < sizeof pinned / sizeof *pinned; i++)
        if (pinned[i])
            (void)cuda->driver.cuMemFreeHost(pinned[i]);
    if (f->computed)
        (void)cuda->driver.cuEventDestroy(f->computed);
    if (f->in_order)
        (void)cuda->driver.cuEventDestroy(f->in_order);
    tess_free(cuda->ctx, f);
    h->form = NULL;
}

/* Products in the forms of the papers. form.h says which event orders what. */
#include "cuda/solve/parts/form.h"

#include "cuda/driver/module.h"
#include "cuda/kernels/support.h"

/* Where a part's piece of x or y begins in the whole. */
static size_t piece_at(const tess_cuda_halo *h, const tess_cuda_halo_call *c, int rank)
{
    return tess_cuda_halo_bytes(h, tess_part_first_row(h->plan->part, rank), c->vectors);
}

static int64_t rows_of(const tess_cuda_halo *h, int rank)
{
    const tess_part *part = h->plan->part;
    return part->row_ends[rank] - tess_part_first_row(part, rank);
}

static tess_rows_steps by_rows(const tess_cuda_halo_call *c)
{
    return (tess_rows_steps){c->vectors, 1};
}

static tess_status to_host(const tess_cuda_halo *h, void *to, cu_pointer from, size_t bytes)
{
    return bytes > 0
               ? TESS_CU(h->mine.cuda, cuMemcpyDtoHAsync(to, from, bytes, tess_cuda_halo_stream(h)))
               : TESS_OK;
}

static tess_status to_device(const tess_cuda_halo *h, cu_pointer to, const void *from, size_t bytes)
{
    return bytes > 0
               ? TESS_CU(h->mine.cuda, cuMemcpyHtoDAsync(to, from, bytes, tess_cuda_halo_stream(h)))
               : TESS_OK;
}

/* ---- The kernels ---- */

/* Launches an entry of shuffle.cu, one thread per scalar. */
static tess_status launch(const tess_cuda_halo *h, tess_cuda_launch *run)
{
    cu_function function;
    TESS_TRY(tess_cuda_halo_kernel(h, "shuffle.cu", run->entry, &function));
    return tess_cuda_launch_one(h->mine.cuda, function, run, tess_cuda_halo_stream(h));
}

/* Rows of vectors: their address and strides. */
typedef struct some_rows {
    cu_pointer at;
    tess_rows_steps steps;
} some_rows;

/* to = from + beta to. */
static tess_status put_rows(const tess_cuda_halo *h, int64_t rows, int vectors, some_rows from,
                            double beta, some_rows to)
{
    const int64_t count = rows * vectors;
    tess_cuda_launch run;
    if (count == 0)
        return TESS_OK;
    tess_cuda_launch_start(&run, "put_rows", tess_ceil_div(count, TESS_HALO_THREADS),
                           TESS_HALO_THREADS);
    TESS_CUDA_POINTERS(&run, from.at, to.at);
    TESS_CUDA_INTEGERS(&run, count, vectors, from.steps.row, from.steps.vector, to.steps.row,
                       to.steps.vector);
    TESS_CUDA_NUMBERS(&run, beta);
    return launch(h, &run);
}

/* Launches shuffle_rows or add_segments, which take a list and rows of `width` scalars. */
static tess_status run_listed(const tess_cuda_halo *h, const tess_cuda_halo_call *c,
                              const char *entry, int64_t block_rows, cu_pointer list,
                              cu_pointer from, cu_pointer to)
{
    const int64_t width = (int64_t)h->plan->part->block * c->vectors, count = block_rows * width;
    tess_cuda_launch run;
    if (count == 0)
        return TESS_OK;
    tess_cuda_launch_start(&run, entry, tess_ceil_div(count, TESS_HALO_THREADS), TESS_HALO_THREADS);
    TESS_CUDA_POINTERS(&run, list, from, to);
    TESS_CUDA_INTEGERS(&run, count, width);
    return launch(h, &run);
}

/* Part 0: all results become y. */
static tess_status put_in_order(const tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    const tess_cuda_form *f = h->form;
    const tess_segments *s = f->segments;
    TESS_TRY(run_listed(h, c, "shuffle_rows", s->count, f->place, f->results,
                        s->lambda > 0 ? f->ordered : f->y));
    return s->lambda > 0 ? run_listed(h, c, "add_segments", s->rows, f->firsts, f->ordered, f->y)
                         : TESS_OK;
}

/* ---- All of x ---- */

/* Copies this part's rows of x to their place in all of x. */
static tess_status put_own(const tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    const tess_part *part = h->plan->part;
    return put_rows(h, part->rows, c->vectors, (some_rows){c->x, tess_cuda_halo_steps(c, c->ldx)},
                    0, (some_rows){h->form->x + piece_at(h, c, part->comm.rank), by_rows(c)});
}

/* Makes ready what others take of this part, packed where some part's device does not reach it. */
static tess_status offer(tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    h->mine.rows = c->x;
    h->mine.steps = tess_cuda_halo_steps(c, c->ldx);
    TESS_TRY(tess_cuda_halo_record(h, h->mine.ready, tess_cuda_halo_stream(h)));
    TESS_TRY(put_own(h, c));
    if (!h->mine.stage)
        return TESS_OK;
    TESS_TRY(put_rows(h, h->plan->part->rows, c->vectors, (some_rows){h->mine.rows, h->mine.steps},
                      0, (some_rows){h->mine.stage, by_rows(c)}));
    return tess_cuda_halo_record(h, h->mine.packed, tess_cuda_halo_stream(h));
}

static tess_status take_from(const tess_cuda_halo *h, const tess_cuda_halo_call *c, int rank)
{
    const tess_cuda_link *other = h->all[rank];
    const int64_t rows = rows_of(h, rank);
    const cu_pointer to = h->form->x + piece_at(h, c, rank);
    if (rows == 0)
        return TESS_OK;
    if (h->reaches[rank]) {
        TESS_TRY(tess_cuda_halo_wait(h, tess_cuda_halo_stream(h), other->ready));
        return put_rows(h, rows, c->vectors, (some_rows){other->rows, other->steps}, 0,
                        (some_rows){to, by_rows(c)});
    }
    TESS_TRY(tess_cuda_halo_wait(h, tess_cuda_halo_stream(h), other->packed));
    return to_device(h, to, (const void *)(uintptr_t)other->stage,
                     tess_cuda_halo_bytes(h, rows, c->vectors));
}

static tess_status spread(tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    TESS_TRY(offer(h, c));
    TESS_TRY(tess_cuda_halo_meet(h));
    for (int r = 0; r < h->plan->part->comm.size; r++)
        if (h->all[r] != &h->mine)
            TESS_TRY(take_from(h, c, r));
    return TESS_OK;
}

/* ---- The plan's product ---- */

/* Multiplies the part's rows. Its w . y goes to the mail. */
static tess_status multiply_rows(const tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    const tess_cuda_form *f = h->form;
    tess_cuda_plan *plan = tess_cuda_plan_of(f->plan);
    const int k = c->vectors;
    const bool row_major = c->order == TESS_ORDER_ROW_MAJOR;
    tess_cuda_call call = {.alpha = c->alpha,
                           .beta = c->beta,
                           .x = f->x,
                           .y = c->y,
                           .ldx = k,
                           .ldy = c->ldy,
                           .w = c->w,
                           .dot = c->w ? tess_cuda_halo_mail(h) : 0};
    if (h->plan->part->rows == 0)
        return c->w ? tess_cuda_run_dot(tess_cuda_halo_own(h), c->w, c->y, call.dot) : TESS_OK;
    if (c->w)
        return tess_cuda_run_spmv_dot(plan, &call);
    if (k == 1 || row_major)
        return tess_cuda_run_many(plan, k, row_major, &call, tess_cuda_halo_stream(h));
    call.beta = 0;
    call.y = f->results;
    call.ldy = k;
    TESS_TRY(tess_cuda_run_many(plan, k, true, &call, tess_cuda_halo_stream(h)));
    return put_rows(h, h->plan->part->rows, k, (some_rows){f->results, by_rows(c)}, c->beta,
                    (some_rows){c->y, tess_cuda_halo_steps(c, c->ldy)});
}

/* Multiplies the part's segments. */
static tess_status multiply_segments(const tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    const tess_cuda_form *f = h->form;
    const int k = c->vectors;
    const tess_cuda_call call = {.alpha = c->alpha, .x = f->x, .y = f->results, .ldx = k, .ldy = k};
    return f->plan->matrix->rows > 0 ? tess_cuda_run_many(tess_cuda_plan_of(f->plan), k, k > 1,
                                                          &call, tess_cuda_halo_stream(h))
                                     : TESS_OK;
}

static tess_status multiply_local(const tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    tess_cuda_plan_of(h->form->plan)->stream = tess_cuda_halo_stream(h);
    return h->form->segments ? multiply_segments(h, c) : multiply_rows(h, c);
}

/* ---- Results ---- */

/* Scalar rows of a part's segments, and of the segments of all parts before it. */
static int64_t results_on(const tess_cuda_halo *h, int rank)
{
    const tess_part *part = h->plan->part;
    return part->block * tess_segments_on(h->form->segments, part->comm.size, rank);
}

static int64_t results_before(const tess_cuda_halo *h, int rank)
{
    const tess_part *part = h->plan->part;
    return part->block * tess_segments_before(h->form->segments, part->comm.size, rank);
}

/* Part 0 takes another part's results. */
static tess_status collect_from(const tess_cuda_halo *h, const tess_cuda_halo_call *c, int rank)
{
    const tess_cuda_form *other = h->all[rank]->form;
    const int64_t rows = results_on(h, rank);
    const cu_pointer to =
        h->form->results + tess_cuda_halo_bytes(h, results_before(h, rank), c->vectors);
    /* Also where no rows come: `y` may be written once all parts have read it. */
    TESS_TRY(tess_cuda_halo_wait(h, tess_cuda_halo_stream(h), other->computed));
    if (!h->reaches[rank])
        return to_device(h, to, other->pinned_results, tess_cuda_halo_bytes(h, rows, c->vectors));
    return put_rows(h, rows, c->vectors, (some_rows){other->results, by_rows(c)}, 0,
                    (some_rows){to, by_rows(c)});
}

static tess_status collect(const tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    for (int r = 1; r < h->plan->part->comm.size; r++)
        TESS_TRY(collect_from(h, c, r));
    TESS_TRY(put_in_order(h, c));
    if (h->form->pinned_y)
        TESS_TRY(to_host(
            h, h->form->pinned_y, h->form->y,
            tess_cuda_halo_bytes(h, h->form->segments->rows * h->plan->part->block, c->vectors)));
    return tess_cuda_halo_record(h, h->form->in_order, tess_cuda_halo_stream(h));
}

/* Takes the part's rows of y from where part 0 or a message left them. */
static tess_status take_back(const tess_cuda_halo *h, const tess_cuda_halo_call *c, cu_pointer from)
{
    TESS_TRY(put_rows(h, h->plan->part->rows, c->vectors, (some_rows){from, by_rows(c)}, c->beta,
                      (some_rows){c->y, tess_cuda_halo_steps(c, c->ldy)}));
    return c->w ? tess_cuda_run_dot(tess_cuda_halo_own(h), c->w, c->y, tess_cuda_halo_mail(h))
                : TESS_OK;
}

/* ---- Products ---- */

static tess_status multiply_whole(tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    TESS_TRY(spread(h, c));
    TESS_TRY(tess_cuda_halo_record(h, h->mine.taken, tess_cuda_halo_stream(h)));
    TESS_TRY(multiply_local(h, c));
    TESS_TRY(tess_cuda_halo_meet(h));
    for (int r = 0; r < h->plan->part->comm.size; r++)
        if (h->all[r] != &h->mine)
            TESS_TRY(tess_cuda_halo_wait(h, tess_cuda_halo_stream(h), h->all[r]->taken));
    return TESS_OK;
}

static tess_status multiply_shuffled(tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    const int me = h->plan->part->comm.rank;
    const tess_cuda_form *f = h->form, *first = h->all[0]->form;
    TESS_TRY(spread(h, c));
    TESS_TRY(multiply_local(h, c));
    if (f->pinned_results)
        TESS_TRY(to_host(h, f->pinned_results, f->results,
                         tess_cuda_halo_bytes(h, results_on(h, me), c->vectors)));
    TESS_TRY(tess_cuda_halo_record(h, f->computed, tess_cuda_halo_stream(h)));
    TESS_TRY(tess_cuda_halo_meet(h));
    if (tess_cuda_halo_leads(h))
        TESS_TRY(collect(h, c));
    TESS_TRY(tess_cuda_halo_meet(h));
    if (!tess_cuda_halo_leads(h))
        TESS_TRY(tess_cuda_halo_wait(h, tess_cuda_halo_stream(h), first->in_order));
    const cu_pointer y = h->reaches[0] ? first->y : tess_cuda_address(first->pinned_y);
    return take_back(h, c, y + piece_at(h, c, me));
}

/* ---- With parts of other processes ---- */

static tess_status offer_by_message(const tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    const tess_cuda_form *f = h->form;
    const size_t at = piece_at(h, c, h->plan->part->comm.rank);
    TESS_TRY(put_own(h, c));
    return f->pinned_x ? to_host(h, (char *)f->pinned_x + at, f->x + at,
                                 tess_cuda_halo_bytes(h, h->plan->part->rows, c->vectors))
                       : TESS_OK;
}

/* What came to pinned memory goes to the device: all but this part's own rows. */
static tess_status take_messages(const tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    const tess_cuda_form *f = h->form;
    const tess_part *part = h->plan->part;
    const size_t own = piece_at(h, c, part->comm.rank),
                 after = own + tess_cuda_halo_bytes(h, part->rows, c->vectors),
                 all = tess_cuda_halo_bytes(h, part->row_ends[part->comm.size - 1], c->vectors);
    if (!f->pinned_x)
        return TESS_OK;
    TESS_TRY(to_device(h, f->x, f->pinned_x, own));
    return to_device(h, f->x + after, (char *)f->pinned_x + after, all - after);
}

static tess_status offer_results(const tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    const tess_cuda_form *f = h->form;
    return f->pinned_results && !tess_cuda_halo_leads(h)
               ? to_host(
                     h, f->pinned_results, f->results,
                     tess_cuda_halo_bytes(h, results_on(h, h->plan->part->comm.rank), c->vectors))
               : TESS_OK;
}

/* Part 0: makes y of the results that came. */
static tess_status order_messages(const tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    const tess_cuda_form *f = h->form;
    const int64_t block = h->plan->part->block;
    const size_t own = tess_cuda_halo_bytes(h, results_on(h, 0), c->vectors);
    if (f->pinned_results)
        TESS_TRY(to_device(h, f->results + own, (char *)f->pinned_results + own,
                           tess_cuda_halo_bytes(h, f->segments->count * block, c->vectors) - own));
    TESS_TRY(put_in_order(h, c));
    return f->pinned_y ? to_host(h, f->pinned_y, f->y,
                                 tess_cuda_halo_bytes(h, f->segments->rows * block, c->vectors))
                       : TESS_OK;
}

static tess_status travel(tess_cuda_halo *h, void *channel, const char *what, tess_status status)
{
    return tess_cuda_ranks_travel(h, channel, tess_cuda_halo_stream(h), what, status);
}

static tess_status multiply_by_messages(tess_cuda_halo *h, const tess_cuda_halo_call *c,
                                        tess_status status)
{
    const tess_cuda_form *f = h->form;
    TESS_THEN(offer_by_message(h, c));
    status = travel(h, f->spread, "sending x to all parts", status);
    TESS_THEN(take_messages(h, c));
    TESS_THEN(multiply_local(h, c));
    if (!f->segments)
        return status;
    TESS_THEN(offer_results(h, c));
    status = travel(h, f->collect, "collecting results", status);
    if (tess_cuda_halo_leads(h))
        TESS_THEN(order_messages(h, c));
    status = travel(h, f->back, "dealing out results", status);
    TESS_THEN(take_back(
        h, c, f->pinned_y && !tess_cuda_halo_leads(h) ? tess_cuda_address(f->pinned_y) : f->y));
    return status;
}

tess_status tess_cuda_form_multiply(tess_cuda_halo *h, const tess_cuda_halo_call *c,
                                    tess_status status)
{
    if (h->ranks)
        return multiply_by_messages(h, c, status);
    TESS_TRY(status);
    return h->form->segments ? multiply_shuffled(h, c) : multiply_whole(h, c);
}

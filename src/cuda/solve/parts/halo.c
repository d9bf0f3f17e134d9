/* Products and sums of a part on a GPU: how parts wait for each other is in halo.h. */
#include "cuda/solve/parts/halo.h"

#include "cuda/driver/module.h"
#include "cuda/kernels/support.h"
#include "cuda/solve/parts/form.h"
#include "dist/part.h"

enum { SUM_THREADS = 128 };

/* ---- Meeting ---- */

tess_status tess_cuda_halo_meet(const tess_cuda_halo *h)
{
    const tess_part *part = h->plan->part;
    const char here = 0;
    return tess_comm_check(part->ctx, &part->comm,
                           part->comm.gather(part->comm.user, &here, 1, h->met),
                           "meeting the other parts");
}

tess_status tess_cuda_halo_agree(const tess_cuda_halo *h, tess_status status)
{
    if (!h || h->ranks)
        return status;
    return tess_comm_agree(h->mine.cuda->ctx, &h->plan->part->comm, status);
}

tess_status tess_cuda_halo_record(const tess_cuda_halo *h, cu_event event, cu_stream stream)
{
    return TESS_CU(h->mine.cuda, cuEventRecord(event, stream));
}

tess_status tess_cuda_halo_wait(const tess_cuda_halo *h, cu_stream stream, cu_event event)
{
    __atomic_store_n(&h->mine.cuda->waited, true, __ATOMIC_RELAXED);
    return TESS_CU(h->mine.cuda, cuStreamWaitEvent(stream, event, 0));
}

/* Waits until the peers have taken their rows: this part's vectors may change then. */
static tess_status wait_until_taken(const tess_cuda_halo *h, const tess_part_peer *peers, int count)
{
    TESS_TRY(tess_cuda_halo_meet(h));
    for (int i = 0; i < count; i++)
        TESS_TRY(tess_cuda_halo_wait(h, tess_cuda_halo_stream(h), h->all[peers[i].rank]->taken));
    return TESS_OK;
}

/* ---- Rows ---- */

/* Listed block rows of vectors, and as many in a buffer. */
typedef struct row_move {
    cu_pointer list, rows, buffer;
    int64_t count, length; /* block rows listed; rows of the vectors */
    int vectors;
    tess_rows_steps steps;
} row_move;

tess_status tess_cuda_halo_kernel(const tess_cuda_halo *h, const char *source, const char *entry,
                                  cu_function *function)
{
    char defines[64];
    snprintf(defines, sizeof defines, "-DREAL=%zu -DTHREADS=%d",
             tess_type_size(h->plan->part->type), TESS_HALO_THREADS);
    return tess_cuda_helper(h->mine.cuda, source, defines, entry, function);
}

static tess_status start_move(const tess_cuda_halo *h, const char *entry, const row_move *m,
                              tess_cuda_launch *launch, cu_function *function)
{
    const tess_part *part = h->plan->part;
    const int64_t scalars = m->count * part->block * m->vectors;
    TESS_TRY(tess_cuda_halo_kernel(h, "halo.cu", entry, function));
    tess_cuda_launch_start(launch, entry, tess_max(1, tess_ceil_div(scalars, TESS_HALO_THREADS)),
                           TESS_HALO_THREADS);
    TESS_CUDA_POINTERS(launch, m->list, m->rows, m->buffer);
    TESS_CUDA_INTEGERS(launch, scalars, m->length, part->block, m->vectors, m->steps.row,
                       m->steps.vector);
    return TESS_OK;
}

static tess_status move_rows(const tess_cuda_halo *h, const char *entry, const row_move *m,
                             cu_stream stream)
{
    cu_function function;
    tess_cuda_launch launch;
    if (m->count == 0)
        return TESS_OK;
    TESS_TRY(start_move(h, entry, m, &launch, &function));
    return tess_cuda_launch_one(h->mine.cuda, function, &launch, stream);
}

/* Makes ready the rows that others need of this part, packed where others do not reach them. */
static tess_status offer(tess_cuda_halo *h, const tess_cuda_halo_call *c, tess_rows_steps steps)
{
    const tess_part *part = h->plan->part;
    const row_move packing = {h->sent_list, c->x,       h->mine.stage, part->sent_count,
                              part->rows,   c->vectors, steps};
    h->mine.rows = c->x;
    h->mine.steps = steps;
    TESS_TRY(tess_cuda_halo_record(h, h->mine.ready, tess_cuda_halo_stream(h)));
    TESS_TRY(tess_cuda_halo_wait(h, h->copies, h->mine.ready));
    if (!h->mine.stage)
        return TESS_OK;
    TESS_TRY(move_rows(h, "pack_rows", &packing, h->copies));
    return tess_cuda_halo_record(h, h->mine.packed, h->copies);
}

/* Takes the other parts' rows to `in`. */
static tess_status take(tess_cuda_halo *h, int vectors)
{
    const tess_part *part = h->plan->part;
    const size_t row = tess_cuda_halo_bytes(h, part->block, vectors);
    for (int i = 0; i < part->receive_count; i++) {
        const tess_part_peer *peer = &part->receives[i];
        const tess_cuda_link *other = h->all[peer->rank];
        const cu_pointer to = h->in + (uint64_t)peer->first * row;
        const bool direct = h->reaches[peer->rank];
        TESS_TRY(tess_cuda_halo_wait(h, h->copies, direct ? other->ready : other->packed));
        if (direct) {
            const cu_pointer list = h->taken_list + (uint64_t)peer->first * sizeof(int64_t);
            TESS_TRY(move_rows(h, "pack_rows",
                               &(row_move){list, other->rows, to, peer->count, other->part->rows,
                                           vectors, other->steps},
                               h->copies));
            continue;
        }
        const int64_t at =
            tess_peer_first(other->part->sends, other->part->send_count, part->comm.rank);
        const void *from = (const void *)(uintptr_t)(other->stage + (uint64_t)at * row);
        TESS_TRY(TESS_CU(h->mine.cuda,
                         cuMemcpyHtoDAsync(to, from, (size_t)peer->count * row, h->copies)));
    }
    return tess_cuda_halo_record(h, h->mine.taken, h->copies);
}

/* ---- Products ---- */

static tess_status multiply_transposed(const tess_cuda_halo *h, tess_plan *plan, double alpha,
                                       cu_pointer x, double beta, cu_pointer y, cu_stream stream)
{
    const tess_cuda_variant *variant;
    tess_cuda_call call = {.alpha = alpha, .beta = beta, .x = x, .y = y};
    if (plan->matrix->cols == 0)
        return TESS_OK;
    TESS_TRY(tess_cuda_need_variant(tess_cuda_plan_of(plan), TESS_CUDA_SPMV,
                                    TESS_OPERATION_TRANSPOSE, 1, 0, &variant));
    return tess_cuda_run(h->mine.cuda, variant, &call, stream);
}

/* The own product. *partial: the partial sums of w . y that it leaves. */
static tess_status multiply_own(const tess_cuda_halo *h, const tess_cuda_halo_call *c,
                                tess_cuda_partial_sums *partial)
{
    const tess_cuda_variant *variant;
    tess_cuda_call call = {.alpha = c->alpha,
                           .beta = c->beta,
                           .x = c->x,
                           .y = c->y,
                           .ldx = c->ldx,
                           .ldy = c->ldy,
                           .w = c->w,
                           .dot = h->dot};
    *partial = (tess_cuda_partial_sums){0};
    if (h->plan->own->matrix->rows == 0)
        return TESS_OK;
    if (!c->w)
        return tess_cuda_run_many(tess_cuda_halo_own(h), c->vectors,
                                  c->order == TESS_ORDER_ROW_MAJOR, &call,
                                  tess_cuda_halo_stream(h));
    TESS_TRY(tess_cuda_need_dot(tess_cuda_halo_own(h), false, &variant));
    TESS_TRY(tess_cuda_run_partial_sums(h->mine.cuda, variant, &call, tess_cuda_halo_stream(h),
                                        partial));
    if (partial->count == 0)
        *partial = (tess_cuda_partial_sums){h->dot, 1};
    return TESS_OK;
}

/* The product of the outside blocks, behind the halo in its stream. */
static tess_status multiply_outside(const tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    const int k = c->vectors;
    const tess_cuda_call call = {
        .alpha = c->alpha, .x = h->in, .y = h->boundary, .ldx = k, .ldy = k};
    if (h->plan->outside)
        TESS_TRY(
            tess_cuda_run_many(tess_cuda_plan_of(h->plan->outside), k, k > 1, &call, h->copies));
    return tess_cuda_halo_record(h, h->arrived, h->copies);
}

/* Adds the product of the outside blocks to y. The sum of w . y goes to the mail. */
static tess_status add_outside(const tess_cuda_halo *h, const tess_cuda_halo_call *c,
                               tess_rows_steps steps, const tess_cuda_partial_sums *partial)
{
    const tess_part *part = h->plan->part;
    const row_move adding = {h->boundary_list, c->y,       h->boundary, part->outside->block_rows,
                             part->rows,       c->vectors, steps};
    cu_function function;
    tess_cuda_launch launch;
    if (!c->w)
        return move_rows(h, "add_rows", &adding, tess_cuda_halo_stream(h));
    TESS_TRY(start_move(h, "add_rows_dot", &adding, &launch, &function));
    TESS_CUDA_POINTERS(&launch, c->w, partial->sums);
    TESS_CUDA_INTEGERS(&launch, partial->count);
    TESS_CUDA_POINTERS(&launch, h->dot_sums, tess_cuda_halo_mail(h), h->ticket);
    return tess_cuda_launch_one(h->mine.cuda, function, &launch, tess_cuda_halo_stream(h));
}

tess_rows_steps tess_cuda_halo_steps(const tess_cuda_halo_call *c, int64_t ld)
{
    return c->order == TESS_ORDER_ROW_MAJOR ? (tess_rows_steps){ld, 1} : (tess_rows_steps){1, ld};
}

static tess_status multiply_plain(tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    const tess_part *part = h->plan->part;
    tess_cuda_partial_sums partial = {0};
    tess_status status = offer(h, c, tess_cuda_halo_steps(c, c->ldx));
    if (status == TESS_OK)
        status = multiply_own(h, c, &partial);
    if (h->ranks)
        status = tess_cuda_ranks_exchange(h, false, status);
    TESS_TRY(status);
    if (!h->ranks) {
        TESS_TRY(tess_cuda_halo_meet(h));
        TESS_TRY(take(h, c->vectors));
    }
    TESS_TRY(multiply_outside(h, c));
    if (!h->ranks)
        TESS_TRY(wait_until_taken(h, part->sends, part->send_count));
    TESS_TRY(tess_cuda_halo_wait(h, tess_cuda_halo_stream(h), h->arrived));
    return add_outside(h, c, tess_cuda_halo_steps(c, c->ldy), &partial);
}

/* Computes this part's sums for rows of others. */
static tess_status offer_sums(tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    const tess_part *part = h->plan->part;
    const row_move packing = {h->boundary_list, c->x, h->boundary, part->outside->block_rows,
                              part->rows,       1,    {1, 0}};
    const cu_pointer out = h->ranks ? h->in : h->out;
    h->mine.rows = out;
    TESS_TRY(tess_cuda_halo_record(h, h->mine.ready, tess_cuda_halo_stream(h)));
    TESS_TRY(tess_cuda_halo_wait(h, h->copies, h->mine.ready));
    if (h->plan->outside) {
        TESS_TRY(move_rows(h, "pack_rows", &packing, h->copies));
        TESS_TRY(
            multiply_transposed(h, h->plan->outside, c->alpha, h->boundary, 0, out, h->copies));
        void *pinned = h->ranks ? h->ranks->pinned : (void *)(uintptr_t)h->mine.stage;
        if (pinned)
            TESS_TRY(TESS_CU(h->mine.cuda,
                             cuMemcpyDtoHAsync(pinned, out,
                                               tess_cuda_halo_bytes(h, part->halo * part->block, 1),
                                               h->copies)));
    }
    return tess_cuda_halo_record(h, h->mine.packed, h->copies);
}

/* Adds what part sends[i] computed for rows of this one. */
static tess_status add_sums(tess_cuda_halo *h, const tess_cuda_halo_call *c, int i)
{
    const tess_part *part = h->plan->part;
    const tess_part_peer *peer = &part->sends[i];
    const tess_cuda_link *other = h->ranks ? NULL : h->all[peer->rank];
    int64_t at = peer->first;
    if (other)
        at = tess_peer_first(other->part->receives, other->part->receive_count, part->comm.rank);
    const cu_pointer from = !other                   ? h->mine.stage
                            : h->reaches[peer->rank] ? other->rows
                                                     : other->stage;
    const row_move adding = {
        .list = h->sent_list + (uint64_t)peer->first * sizeof(int64_t),
        .rows = c->y,
        .buffer = from + tess_cuda_halo_bytes(h, at * part->block, 1),
        .count = peer->count,
        .length = part->rows,
        .vectors = 1,
        .steps = {1, 0},
    };
    if (other)
        TESS_TRY(tess_cuda_halo_wait(h, tess_cuda_halo_stream(h), other->packed));
    return move_rows(h, "add_rows", &adding, tess_cuda_halo_stream(h));
}

static tess_status multiply_backwards(tess_cuda_halo *h, const tess_cuda_halo_call *c)
{
    const tess_part *part = h->plan->part;
    tess_status status = offer_sums(h, c);
    if (status == TESS_OK)
        status = multiply_transposed(h, h->plan->own, c->alpha, c->x, c->beta, c->y,
                                     tess_cuda_halo_stream(h));
    if (h->ranks)
        status = tess_cuda_ranks_exchange(h, true, status);
    TESS_TRY(status);
    if (!h->ranks)
        TESS_TRY(tess_cuda_halo_meet(h));
    /* A row may get sums from several parts: they are added one after the other, in the parts'
     * order. */
    for (int i = 0; i < part->send_count; i++)
        TESS_TRY(add_sums(h, c, i));
    if (!h->ranks) {
        TESS_TRY(tess_cuda_halo_record(h, h->mine.taken, tess_cuda_halo_stream(h)));
        TESS_TRY(wait_until_taken(h, part->receives, part->receive_count));
    }
    return tess_cuda_halo_wait(h, tess_cuda_halo_stream(h), h->mine.packed);
}

tess_status tess_cuda_halo_multiply(tess_cuda_halo *h, const tess_cuda_halo_call *call)
{
    if (call->transpose)
        return multiply_backwards(h, call);
    return h->form ? tess_cuda_form_multiply(h, call, TESS_OK) : multiply_plain(h, call);
}

tess_status tess_cuda_halo_skip(tess_cuda_halo *h, bool transpose, tess_status status)
{
    return h->form && !transpose ? tess_cuda_form_multiply(h, NULL, status)
                                 : tess_cuda_ranks_exchange(h, transpose, status);
}

/* ---- Sums ---- */

cu_pointer tess_cuda_halo_mail(const tess_cuda_halo *h)
{
    return h->mine.mail[h->sum_turn];
}

/* The stream waits for the other parts' sums of this turn. */
static tess_status wait_for_sums(const tess_cuda_halo *h)
{
    const int turn = h->sum_turn;
    TESS_TRY(tess_cuda_halo_record(h, h->mine.posted[turn], tess_cuda_halo_stream(h)));
    TESS_TRY(tess_cuda_halo_meet(h));
    for (int r = 0; r < h->plan->part->comm.size; r++)
        if (h->all[r] != &h->mine)
            TESS_TRY(tess_cuda_halo_wait(h, tess_cuda_halo_stream(h), h->all[r]->posted[turn]));
    return TESS_OK;
}

tess_status tess_cuda_halo_sum(tess_cuda_halo *h, const tess_finish_call *call, int dots,
                               const int *dot_slot)
{
    /* The host has added up what came from other processes. */
    const int size = h->ranks ? 1 : h->plan->part->comm.size, turn = h->sum_turn;
    int64_t slots[TESS_PASS_DOTS] = {0};
    cu_function add;
    char defines[64];
    tess_cuda_launch launch;
    snprintf(defines, sizeof defines, "-DTHREADS=%d -DPARTS=%d -DDOTS=%d", SUM_THREADS,
             TESS_PARTS_MOST, TESS_PASS_DOTS);
    const tess_status status = tess_cuda_helper(h->mine.cuda, "sums.cu", defines, "add_sums", &add);
    if (h->ranks)
        TESS_TRY(tess_cuda_ranks_sum(h, dots, status));
    TESS_TRY(status);
    if (!h->ranks)
        TESS_TRY(wait_for_sums(h));
    tess_cuda_launch_start(&launch, "add_sums", 1, SUM_THREADS);
    tess_finish_arguments(call, &launch);
    TESS_CUDA_POINTERS(&launch, h->mail_table[turn]);
    TESS_CUDA_INTEGERS(&launch, size, dots);
    for (int i = 0; i < dots; i++)
        slots[i] = dot_slot[i];
    tess_cuda_add_args(&launch, slots, TESS_PASS_DOTS);
    h->sum_turn = !turn;
    return tess_cuda_launch_one(h->mine.cuda, add, &launch, tess_cuda_halo_stream(h));
}

tess_status tess_cuda_halo_any(tess_cuda_halo *h, bool *flag)
{
    double said = *flag;
    if (!h)
        return TESS_OK;
    TESS_TRY(tess_part_sum(h->plan->part, &said, 1));
    *flag = said > 0;
    return TESS_OK;
}

tess_status tess_cuda_halo_mean(tess_cuda_halo *h, double *value)
{
    if (!h)
        return TESS_OK;
    TESS_TRY(tess_part_sum(h->plan->part, value, 1));
    *value /= h->plan->part->comm.size;
    return TESS_OK;
}

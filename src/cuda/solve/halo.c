/* Products and sums of a part on a GPU: how parts wait for each other is in halo.h. */
#include "cuda/solve/halo.h"

#include "cuda/driver/module.h"
#include "cuda/kernels/support.h"

enum { THREADS = 256, SUM_THREADS = 128 };

static tess_cuda_plan *own_of(const tess_cuda_halo *h)
{
    return tess_cuda_plan_of(h->plan->own);
}

static cu_stream stream_of(const tess_cuda_halo *h)
{
    return own_of(h)->stream;
}

/* Bytes of a block's rows of a vector. */
static size_t row_block(const tess_part *part)
{
    return (size_t)part->block * tess_type_size(part->type);
}

/* ---- Meeting ---- */

/* Waits until the threads of all parts have come here. */
static tess_status meet(tess_cuda_halo *h)
{
    const tess_part *part = h->plan->part;
    const char here = 0;
    return tess_comm_check(part->ctx, &part->comm,
                           part->comm.gather(part->comm.user, &here, 1, h->met),
                           "meeting the other parts");
}

/* Stream `to` waits for an event of every part. */
static tess_status wait_for_all(const tess_cuda_halo *h, cu_stream to, bool posted, int turn)
{
    for (int r = 0; r < h->plan->part->comm.size; r++) {
        const tess_cuda_link *l = h->all[r];
        TESS_TRY(TESS_CU(h->mine.cuda,
                         cuStreamWaitEvent(to, posted ? l->posted[turn] : l->ready[turn], 0)));
    }
    return TESS_OK;
}

static tess_status copy_from(const tess_cuda_halo *h, const tess_cuda_link *other, cu_pointer to,
                             cu_pointer from, size_t bytes, cu_stream stream)
{
    tess_cuda *cuda = h->mine.cuda;
    if (other->cuda->ordinal == cuda->ordinal)
        return TESS_CU(cuda, cuMemcpyDtoDAsync(to, from, bytes, stream));
    /* The driver copies from device to device where these reach each other, and through pinned host
     * memory otherwise. */
    return TESS_CU(cuda,
                   cuMemcpyPeerAsync(to, cuda->context, from, other->cuda->context, bytes, stream));
}

/* ---- Rows ---- */

static tess_status move_rows(const tess_cuda_halo *h, const char *entry, cu_pointer list,
                             int64_t count, cu_pointer vector, cu_pointer buffer)
{
    const tess_part *part = h->plan->part;
    cu_function function;
    char defines[64];
    tess_cuda_launch launch;
    if (count == 0)
        return TESS_OK;
    snprintf(defines, sizeof defines, "-DREAL=%zu -DBLOCK=%d -DTHREADS=%d",
             tess_type_size(part->type), part->block, THREADS);
    TESS_TRY(tess_cuda_helper(h->mine.cuda, "halo.cu", defines, entry, &function));
    const int64_t scalars = count * part->block;
    tess_cuda_launch_start(&launch, entry, tess_ceil_div(scalars, THREADS), THREADS);
    TESS_CUDA_POINTERS(&launch, list, vector, buffer);
    TESS_CUDA_INTEGERS(&launch, scalars, part->rows);
    return tess_cuda_launch_one(h->mine.cuda, function, &launch, stream_of(h));
}

/* Where the message to `rank` begins in another part's buffer, in blocks. */
static int64_t message_at(const tess_part_peer *peers, int count, int rank)
{
    for (int i = 0; i < count; i++)
        if (peers[i].rank == rank)
            return peers[i].first;
    return 0;
}

/* Copies the other parts' rows to `in`. The part's stream waits for the copies. */
static tess_status fetch(tess_cuda_halo *h, bool backwards)
{
    const tess_part *part = h->plan->part;
    tess_cuda *cuda = h->mine.cuda;
    const tess_part_peer *peers = backwards ? part->sends : part->receives;
    const int count = backwards ? part->send_count : part->receive_count;
    TESS_TRY(wait_for_all(h, h->copies, false, h->turn));
    for (int i = 0; i < count; i++) {
        const tess_cuda_link *other = h->all[peers[i].rank];
        const int64_t at =
            backwards
                ? message_at(other->part->receives, other->part->receive_count, part->comm.rank)
                : message_at(other->part->sends, other->part->send_count, part->comm.rank);
        TESS_TRY(copy_from(h, other, h->in + (uint64_t)peers[i].first * row_block(part),
                           other->out[h->turn] + (uint64_t)at * row_block(part),
                           (size_t)peers[i].count * row_block(part), h->copies));
    }
    TESS_TRY(TESS_CU(cuda, cuEventRecord(h->arrived, h->copies)));
    h->turn = !h->turn;
    return TESS_CU(cuda, cuStreamWaitEvent(stream_of(h), h->arrived, 0));
}

static tess_status multiply(const tess_cuda_halo *h, tess_plan *plan, bool transpose, cu_pointer x,
                            cu_pointer y)
{
    const tess_cuda_variant *variant;
    tess_cuda_call call = {.alpha = 1, .x = x, .y = y};
    if ((transpose ? plan->matrix->cols : plan->matrix->rows) == 0)
        return TESS_OK;
    TESS_TRY(
        tess_cuda_need_variant(tess_cuda_plan_of(plan), TESS_CUDA_SPMV, transpose, 1, 0, &variant));
    return tess_cuda_run(h->mine.cuda, variant, &call, stream_of(h));
}

static tess_status multiply_plain(tess_cuda_halo *h, cu_pointer x, cu_pointer y)
{
    const tess_part *part = h->plan->part;
    TESS_TRY(move_rows(h, "pack_rows", h->sent_list, part->sent_count, x, h->mine.out[h->turn]));
    TESS_TRY(TESS_CU(h->mine.cuda, cuEventRecord(h->mine.ready[h->turn], stream_of(h))));
    TESS_TRY(multiply(h, h->plan->own, false, x, y));
    TESS_TRY(meet(h));
    TESS_TRY(fetch(h, false));
    if (!h->plan->outside)
        return TESS_OK;
    TESS_TRY(multiply(h, h->plan->outside, false, h->in, h->boundary));
    return move_rows(h, "add_rows", h->boundary_list, part->outside->block_rows, y, h->boundary);
}

static tess_status multiply_transposed(tess_cuda_halo *h, cu_pointer x, cu_pointer y)
{
    const tess_part *part = h->plan->part;
    if (h->plan->outside) {
        TESS_TRY(
            move_rows(h, "pack_rows", h->boundary_list, part->outside->block_rows, x, h->boundary));
        TESS_TRY(multiply(h, h->plan->outside, true, h->boundary, h->mine.out[h->turn]));
    }
    TESS_TRY(TESS_CU(h->mine.cuda, cuEventRecord(h->mine.ready[h->turn], stream_of(h))));
    TESS_TRY(multiply(h, h->plan->own, true, x, y));
    TESS_TRY(meet(h));
    TESS_TRY(fetch(h, true));
    /* Several parts may add to the same row, so their rows are added in the order of the parts. */
    for (int i = 0; i < part->send_count; i++) {
        const tess_part_peer *peer = &part->sends[i];
        TESS_TRY(move_rows(h, "add_rows", h->sent_list + (uint64_t)peer->first * sizeof(int64_t),
                           peer->count, y, h->in + (uint64_t)peer->first * row_block(part)));
    }
    return TESS_OK;
}

tess_status tess_cuda_halo_multiply(tess_cuda_halo *h, bool transpose, cu_pointer x, cu_pointer y)
{
    return transpose ? multiply_transposed(h, x, y) : multiply_plain(h, x, y);
}

/* ---- Sums ---- */

static void add_slots(tess_cuda_launch *launch, int dots, const int *dot_slot)
{
    int64_t slots[TESS_PASS_DOTS] = {0};
    for (int i = 0; i < dots; i++)
        slots[i] = dot_slot[i];
    tess_cuda_add_args(launch, slots, TESS_PASS_DOTS);
}

/* Copies the sums of parts on other devices to this one. */
static tess_status bring_mails(const tess_cuda_halo *h)
{
    const size_t bytes = TESS_PASS_DOTS * sizeof(double);
    for (int r = 0; r < h->plan->part->comm.size; r++) {
        const tess_cuda_link *other = h->all[r];
        if (other->cuda->ordinal != h->mine.cuda->ordinal)
            TESS_TRY(copy_from(h, other, h->mails + (uint64_t)r * bytes, other->mail[h->sum_turn],
                               bytes, stream_of(h)));
    }
    return TESS_OK;
}

tess_status tess_cuda_halo_sum(tess_cuda_halo *h, const tess_finish_call *call, int dots,
                               const int *dot_slot)
{
    tess_cuda *cuda = h->mine.cuda;
    cu_function post, add;
    char defines[32];
    tess_cuda_launch launch;
    snprintf(defines, sizeof defines, "-DTHREADS=%d", SUM_THREADS);
    TESS_TRY(tess_cuda_helper(cuda, "sums.cu", defines, "post_sums", &post));
    TESS_TRY(tess_cuda_helper(cuda, "sums.cu", defines, "add_sums", &add));
    tess_cuda_launch_start(&launch, "post_sums", 1, SUM_THREADS);
    TESS_CUDA_POINTERS(&launch, call->slots, h->mine.mail[h->sum_turn]);
    TESS_CUDA_INTEGERS(&launch, dots);
    add_slots(&launch, dots, dot_slot);
    TESS_TRY(tess_cuda_launch_one(cuda, post, &launch, stream_of(h)));
    TESS_TRY(TESS_CU(cuda, cuEventRecord(h->mine.posted[h->sum_turn], stream_of(h))));
    TESS_TRY(meet(h));
    TESS_TRY(wait_for_all(h, stream_of(h), true, h->sum_turn));
    TESS_TRY(bring_mails(h));
    tess_cuda_launch_start(&launch, "add_sums", 1, SUM_THREADS);
    tess_finish_arguments(call, &launch);
    TESS_CUDA_POINTERS(&launch, h->mail_table[h->sum_turn]);
    TESS_CUDA_INTEGERS(&launch, h->plan->part->comm.size, dots);
    add_slots(&launch, dots, dot_slot);
    h->sum_turn = !h->sum_turn;
    return tess_cuda_launch_one(cuda, add, &launch, stream_of(h));
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

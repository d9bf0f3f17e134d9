/* One launch for all that an iteration does between two products, where the rows of all vectors fit
 * the registers of the device. */
#include "cuda/solve/space.h"

enum { THREADS = 512, LEAST_THREADS = 256, MOST = 4 };

/* One thread block per multiprocessor, or fewer than half as many where rows are few: the next
 * product starts early on the multiprocessors that are free, and needs many of them. */
static int grid_of(const tess_space *space)
{
    const int64_t enough = tess_ceil_div(space->rows, 256);
    const int all = tess_cuda_space_of(space)->cuda->multiprocessors;
    return 2 * enough < all ? (int)enough : all;
}

/* Threads of a thread block: on all multiprocessors not many more than rows. The launch starts
 * while the product ends only if its registers are free beside the product's on every
 * multiprocessor. A diagonal's block may add rows to a share. */
static int threads_of(const tess_space *space)
{
    const int grid = grid_of(space);
    const int64_t rows = space->rows / grid + 16;
    if (grid < tess_cuda_space_of(space)->cuda->multiprocessors || rows > THREADS)
        return THREADS;
    return (int)tess_max(tess_ceil_div(rows, 128) * 128, LEAST_THREADS);
}

tess_status tess_cuda_need_between(tess_space *space, tess_unit_list *list)
{
    tess_cuda *cuda = tess_cuda_space_of(space)->cuda;
    if (space->systems != 1 || tess_space_slot_reals(space) > TESS_LOOP_SLOTS || cuda->sm < 70)
        return TESS_OK;
    for (int64_t at = 0, count;
         tess_between_find(list, 2, &at, &count) && list->between_count < MOST; at += count) {
        if (!list->between)
            TESS_TRY(TESS_CALLOC(space->ctx, MOST, &list->between));
        tess_between *b = &list->between[list->between_count];
        if (!tess_between_write(list, at, count, space->type, threads_of(space), space->rows,
                                grid_of(space), &b->code))
            continue;
        b->first = at;
        b->count = count;
        TESS_TRY(tess_cuda_load_function(cuda, "between.cu", b->code.defines, "between", &b->module,
                                         &b->function));
        list->between_count++;
    }
    return TESS_OK;
}

void tess_cuda_between_free(tess_space *space, tess_unit_list *list)
{
    const tess_cuda *cuda = tess_cuda_space_of(space)->cuda;
    for (int i = 0; i < list->between_count; i++)
        tess_cuda_unload(cuda, list->between[i].module);
    tess_free(space->ctx, list->between);
}

tess_status tess_cuda_run_between(tess_space *space, const tess_unit_list *list,
                                  const tess_between *between, int system)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const tess_unit *first = &list->units[between->first];
    tess_loop_call call = {
        .common = tess_cuda_rows_call(space, &between->code.numbers, first->guard, system),
        .product_sums = first->sums ? state->product.sums : 0,
        .product_count = first->sums ? state->product.count : 0,
        .partial = state->partial,
        .meeting = state->tickets,
        .grid = grid_of(space),
    };
    tess_cuda_launch launch;
    tess_between_launch(&between->code, &call, &launch);
    return tess_cuda_launch_one(state->cuda, between->function, &launch, state->plan->stream);
}

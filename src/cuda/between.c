/* All that an iteration does between two products in one launch, where a thread block a
 * multiprocessor does it sooner than several launches would start. */
#include "cuda/space_cuda.h"

enum { THREADS = 1024, MOST = 4 };
/* Rows from which on vectors take longer than launches: H200, cg: 76 -> 72 us an iteration at
 * 256 000 rows, 86 -> 83 at 331 776, 300 -> 305 at 1.5 million. */
enum { TOO_MANY_ROWS = 800000 };

tess_status tess_cuda_need_between(tess_space *space, tess_unit_list *list)
{
    tess_cuda *cuda = tess_cuda_space_of(space)->cuda;
    if (space->systems != 1 || space->rows >= TOO_MANY_ROWS || space->slots > TESS_LOOP_SLOTS ||
        cuda->sm < 70)
        return TESS_OK;
    for (int64_t at = 0, count;
         tess_between_find(list, 2, &at, &count) && list->between_count < MOST; at += count) {
        if (!list->between)
            TESS_TRY(TESS_CALLOC(space->ctx, MOST, &list->between));
        tess_between *b = &list->between[list->between_count];
        if (!tess_between_write(list, at, count, space->type, THREADS, &b->code))
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
        (void)cuda->driver.cuModuleUnload(list->between[i].module);
    tess_free(space->ctx, list->between);
}

tess_status tess_cuda_run_between(tess_space *space, const tess_unit_list *list,
                                  const tess_between *between, int system)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const tess_unit *first = &list->units[between->first];
    const int64_t enough = tess_ceil_div(space->rows, 256);
    tess_loop_call call = {
        .slots = tess_cuda_slots(space, system),
        .control = tess_cuda_control(space, system),
        .ring = tess_cuda_ring(space, system),
        .slot_count = space->slots,
        .guard = first->guard,
        .rows = space->rows,
        .diagonal = state->diagonal,
        .product_parts = first->sums ? state->product.parts : 0,
        .product_count = first->sums ? state->product.count : 0,
        .parts = state->parts,
        .meeting = state->tickets,
        .grid = enough < state->cuda->multiprocessors ? (int)enough : state->cuda->multiprocessors,
    };
    for (int i = 0; i < between->code.numbers.vectors; i++)
        call.vector[i] = tess_cuda_vector(space, between->code.numbers.vector[i], system);
    tess_cuda_launch launch;
    tess_between_launch(&between->code, &call, &launch);
    return tess_cuda_launch_one(state->cuda, between->function, &launch, state->plan->stream);
}

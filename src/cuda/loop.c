/* Whole iterations in one cooperative launch, for systems whose matrix fits the shared memory of
 * all multiprocessors together. */
#include "cuda/space_cuda.h"

/* Shared memory that loop.cu uses beside the matrix, generously. */
enum { OTHER_SHARED = 13 * 1024 };

/* As many thread blocks as give every warp about a block row, at most one a multiprocessor. */
static void choose_grid(const tess_space *space, int *grid, int *threads)
{
    const tess_cuda *cuda = tess_cuda_space_of(space)->cuda;
    const int64_t rows = space->plan->matrix->block_rows;
    *grid = cuda->multiprocessors;
    *threads = rows > 16 * (int64_t)cuda->multiprocessors ? 1024 : 512;
    if (rows < *grid)
        *grid = rows > 0 ? (int)rows : 1;
}

static size_t parts_bytes(const tess_loop *loop)
{
    return 3 * (size_t)loop->code.numbers.dots * (size_t)loop->grid * sizeof(double);
}

static tess_status load(tess_space *space, tess_loop *loop, const int32_t *first)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    tess_cuda *cuda = state->cuda;
    TESS_TRY(tess_cuda_load_function(cuda, "loop.cu", loop->code.defines, "loop", &loop->module,
                                     &loop->function));
    TESS_TRY(TESS_CU(cuda, cuFuncSetAttribute(loop->function, CU_FUNCTION_MAX_DYNAMIC_SHARED,
                                              (int)loop->shared)));
    TESS_TRY(tess_cuda_hold_resident(state->plan, "bsr", &loop->resident));
    const size_t bytes = (size_t)(loop->grid + 1) * sizeof *first;
    TESS_TRY(tess_cuda_alloc(cuda, bytes, "a solver's rows", &loop->first));
    TESS_TRY(tess_cuda_upload(cuda, loop->first, first, bytes, state->plan->stream));
    TESS_TRY(tess_cuda_alloc(cuda, parts_bytes(loop), "dot products", &loop->parts));
    TESS_TRY(tess_cuda_alloc(cuda, sizeof(uint64_t), "a barrier", &loop->arrived));
    return TESS_CU(cuda, cuStreamSynchronize(state->plan->stream));
}

tess_status tess_cuda_need_loop(tess_space *space, const tess_unit_list *list)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    tess_loop *loop = &state->loop;
    const tess_matrix *A = space->plan->matrix;
    if (loop->tried)
        return TESS_OK;
    loop->tried = true;
    if (state->cuda->multiprocessors > 512 || A->block_height != A->block_width ||
        space->slots > 64 || state->cuda->sm < 70)
        return TESS_OK;
    int threads;
    choose_grid(space, &loop->grid, &threads);
    if (!tess_loop_write(list, space->type, A->block_height, threads, &loop->code))
        return TESS_OK;
    int32_t *first;
    TESS_TRY(TESS_ALLOC(space->ctx, loop->grid + 1, &first));
    loop->shared = tess_loop_share(A, &loop->code, loop->grid, first);
    tess_status status = TESS_OK;
    if (loop->shared + OTHER_SHARED <= (int64_t)state->cuda->shared_bytes) {
        status = load(space, loop, first);
        loop->fits = status == TESS_OK;
    }
    tess_free(space->ctx, first);
    return status;
}

void tess_cuda_loop_free(tess_space *space)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    tess_loop *loop = &state->loop;
    if (loop->module)
        (void)state->cuda->driver.cuModuleUnload(loop->module);
    if (loop->resident)
        tess_cuda_let_resident_go(state->plan, loop->resident);
    tess_cuda_free(state->cuda, loop->first);
    tess_cuda_free(state->cuda, loop->parts);
    tess_cuda_free(state->cuda, loop->arrived);
}

tess_status tess_cuda_run_loop(tess_space *space, const tess_unit_list *list, int system)
{
    tess_cuda_space *state = tess_cuda_space_of(space);
    const tess_loop *loop = &state->loop;
    tess_loop_call call = {
        .slots = tess_cuda_slots(space, system),
        .control = tess_cuda_control(space, system),
        .ring = tess_cuda_ring(space, system),
        .programme = list->device_programmes,
        .slot_count = space->slots,
        .ints = list->programme_count,
        .rows = space->rows,
        .diagonal = state->diagonal,
        .offsets = loop->resident->arrays[0],
        .columns = loop->resident->arrays[1],
        .values = loop->resident->arrays[2],
        .first = loop->first,
        .parts = loop->parts,
        .arrived = loop->arrived,
        .grid = loop->grid,
        .shared = loop->shared,
    };
    for (int i = 0; i < loop->code.numbers.vectors; i++)
        call.vector[i] = tess_cuda_vector(space, loop->code.numbers.vector[i], system);
    tess_cuda_launch launch;
    tess_loop_launch(&loop->code, &call, &launch);
    TESS_TRY(TESS_CU(state->cuda,
                     cuMemsetD8Async(loop->arrived, 0, sizeof(uint64_t), state->plan->stream)));
    TESS_TRY(TESS_CU(state->cuda,
                     cuMemsetD8Async(loop->parts, 0xff, parts_bytes(loop), state->plan->stream)));
    return tess_cuda_launch_one(state->cuda, loop->function, &launch, state->plan->stream);
}

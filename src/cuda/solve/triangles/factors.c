/* Triangular factors on the device: copies of the host's in tiles, and the sweeps of a solve.
 *
 * One allocation is the scratch memory of an application: tickets of the launches, L's result, U's
 * result. Where stages share a launch, all its bits are set first. A scalar with all bits set is
 * not computed yet; a ticket with all bits set means that no tile has been drawn.
 */
#include "cuda/solve/triangles/factors.h"

#include "cuda/plan/plan.h"
#include "solve/pc/factors/factors.h"

enum { DOWN, UP, SWEEPS };

/* One triangle, on the host and on the device. */
typedef struct device_triangle {
    tess_cuda_triangle *triangle;
    cu_pointer arrays[TRIANGLE_ARRAYS];
} device_triangle;

/* M^-1, or M^-T. */
typedef struct device_split {
    device_triangle sweep[SWEEPS];
    bool waits;
} device_split;

struct tess_cuda_factors {
    tess_cuda *cuda;
    const tess_pc *pc;
    const tess_staged *staged; /* the pc's */
    tess_triangle_tuning tuning;
    cu_module module;
    cu_function function[SWEEPS][2]; /* plain, waiting */
    device_split plain, transposed;
    cu_pointer scratch;
    size_t scratch_bytes, tickets_bytes, vector_bytes;
};

static void free_pair(tess_cuda *cuda, device_split *pair)
{
    for (int s = 0; s < SWEEPS; s++) {
        for (int i = 0; i < TRIANGLE_ARRAYS; i++)
            tess_cuda_free(cuda, pair->sweep[s].arrays[i]);
        tess_cuda_triangle_destroy(pair->sweep[s].triangle);
    }
}

void tess_cuda_factors_destroy(tess_cuda_factors *factors)
{
    if (!factors)
        return;
    tess_cuda *cuda = factors->cuda;
    free_pair(cuda, &factors->plain);
    free_pair(cuda, &factors->transposed);
    tess_cuda_free(cuda, factors->scratch);
    tess_cuda_unload(cuda, factors->module);
    tess_free(cuda->ctx, factors);
}

static tess_status load_code(tess_cuda_factors *factors)
{
    tess_cuda *cuda = factors->cuda;
    const tess_staged *staged = factors->staged;
    char defines[TESS_CUDA_DEFINES];
    tess_triangle_defines(&factors->tuning, tess_staged_height(staged), staged->vector_type,
                          staged->type, defines, sizeof defines);
    TESS_TRY(tess_cuda_load_code(cuda, "triangular.cu", defines, &factors->module));
    for (int s = 0; s < SWEEPS; s++)
        for (int i = 0; i < 2; i++)
            TESS_TRY(TESS_CU(cuda, cuModuleGetFunction(&factors->function[s][i], factors->module,
                                                       tess_triangle_entries[s][i])));
    return TESS_OK;
}

/* Uploads the values of one triangle, through a copy in tiles on the host. */
static tess_status upload_numbers(tess_cuda_factors *factors, const device_triangle *copy,
                                  const tess_split *split, cu_stream stream)
{
    static const int arrays[2] = {TRIANGLE_VALUES, TRIANGLE_INVERSE};
    tess_cuda *cuda = factors->cuda;
    void *host[2] = {NULL, NULL};
    tess_status status = TESS_OK;
    for (int i = 0; i < 2; i++)
        TESS_TRY_CLEAN(tess_alloc_bytes(
            cuda->ctx, (int64_t)tess_cuda_triangle_bytes(copy->triangle, arrays[i]), 1, &host[i]));
    tess_cuda_triangle_fill(copy->triangle, factors->staged, split, host[0], host[1]);
    for (int i = 0; i < 2; i++)
        TESS_TRY_CLEAN(tess_cuda_upload(cuda, copy->arrays[arrays[i]], host[i],
                                        tess_cuda_triangle_bytes(copy->triangle, arrays[i]),
                                        stream));
cleanup:
    for (int i = 0; i < 2; i++)
        tess_free(cuda->ctx, host[i]);
    return status;
}

static tess_status upload_pair(tess_cuda_factors *factors, const device_split *pair,
                               const tess_split *split, cu_stream stream)
{
    for (int s = 0; s < SWEEPS; s++)
        TESS_TRY(upload_numbers(factors, &pair->sweep[s], split, stream));
    return TESS_OK;
}

static tess_status create_pair(tess_cuda_factors *factors, const tess_split *split,
                               device_split *pair, cu_stream stream)
{
    tess_cuda *cuda = factors->cuda;
    for (int s = 0; s < SWEEPS; s++) {
        device_triangle *copy = &pair->sweep[s];
        TESS_TRY(tess_cuda_triangle_create(factors->staged, split, s == UP, &factors->tuning,
                                           &copy->triangle));
        for (int i = 0; i < TRIANGLE_ARRAYS; i++) {
            const size_t bytes = tess_cuda_triangle_bytes(copy->triangle, i);
            const void *host = tess_cuda_triangle_array(copy->triangle, i);
            TESS_TRY(tess_cuda_alloc(cuda, bytes, "a preconditioner", &copy->arrays[i]));
            if (host)
                TESS_TRY(tess_cuda_upload(cuda, copy->arrays[i], host, bytes, stream));
        }
        for (int64_t i = 0; i < copy->triangle->segments; i++)
            pair->waits |= copy->triangle->segment[i].waiting;
        const size_t tickets = (size_t)copy->triangle->segments * sizeof(int32_t);
        factors->tickets_bytes = tess_max(tickets, factors->tickets_bytes);
    }
    return upload_pair(factors, pair, split, stream);
}

static size_t round_up(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

static tess_status fill(tess_cuda_factors *factors, cu_stream stream)
{
    tess_cuda *cuda = factors->cuda;
    const tess_staged *staged = factors->staged;
    const size_t rows = (size_t)staged->block_rows;
    TESS_TRY(load_code(factors));
    TESS_TRY(create_pair(factors, &staged->plain, &factors->plain, stream));
    if (staged->transposed.inverse)
        TESS_TRY(create_pair(factors, &staged->transposed, &factors->transposed, stream));
    factors->tickets_bytes = round_up(factors->tickets_bytes);
    factors->vector_bytes =
        round_up(rows * (size_t)tess_staged_height(staged) * tess_type_size(staged->vector_type));
    factors->scratch_bytes = SWEEPS * (factors->tickets_bytes + factors->vector_bytes);
    TESS_TRY(tess_cuda_alloc(cuda, factors->scratch_bytes, "a preconditioner", &factors->scratch));
    return TESS_CU(cuda, cuStreamSynchronize(stream));
}

tess_status tess_cuda_factors_create_tuned(tess_cuda *cuda, const tess_pc *pc,
                                           const tess_triangle_tuning *tuning, cu_stream stream,
                                           tess_cuda_factors **out)
{
    if (!tess_pc_staged(pc))
        return tess_fail(cuda->ctx, TESS_ERR_UNSUPPORTED,
                         "device '%s': pc=%s is not made of levels or colours: try "
                         "schedule=levels or schedule=colours",
                         cuda->name, pc->ops->name);
    tess_cuda_factors *factors;
    TESS_TRY(TESS_ALLOC(cuda->ctx, 1, &factors));
    *factors = (tess_cuda_factors){
        .cuda = cuda, .pc = pc, .staged = tess_pc_staged(pc), .tuning = *tuning};
    const tess_status status = fill(factors, stream);
    if (status != TESS_OK) {
        tess_cuda_factors_destroy(factors);
        return status;
    }
    *out = factors;
    return TESS_OK;
}

tess_status tess_cuda_factors_create(tess_cuda *cuda, const tess_pc *pc, cu_stream stream,
                                     tess_cuda_factors **out)
{
    tess_triangle_tuning guess = {0};
    const tess_staged *staged = tess_pc_staged(pc);
    if (staged) {
        const int32_t b = tess_staged_height(staged);
        guess = tess_triangle_guess(staged->vector_type, b,
                                    tess_stages_describe(&staged->stages).mean * b);
    }
    return tess_cuda_factors_create_tuned(cuda, pc, &guess, stream, out);
}

tess_status tess_cuda_factors_update(tess_cuda_factors *factors, cu_stream stream)
{
    const tess_staged *staged = factors->staged;
    TESS_TRY(upload_pair(factors, &factors->plain, &staged->plain, stream));
    if (staged->transposed.inverse)
        TESS_TRY(upload_pair(factors, &factors->transposed, &staged->transposed, stream));
    return TESS_CU(factors->cuda, cuStreamSynchronize(stream));
}

static tess_status run_sweep(tess_cuda_factors *factors, const device_triangle *copy, int sweep,
                             tess_triangle_call *call, cu_stream stream)
{
    tess_cuda *cuda = factors->cuda;
    for (int i = 0; i < TRIANGLE_ARRAYS; i++)
        call->arrays[i] = copy->arrays[i];
    for (int64_t i = 0; i < copy->triangle->segments; i++) {
        tess_cuda_launch launch;
        tess_triangle_launch(copy->triangle, &factors->tuning, i, call, cuda->multiprocessors,
                             &launch);
        TESS_TRY(tess_cuda_launch_one(
            cuda, factors->function[sweep][copy->triangle->segment[i].waiting], &launch, stream));
    }
    return TESS_OK;
}

tess_status tess_cuda_factors_apply(tess_cuda_factors *factors, bool transpose, cu_pointer r,
                                    cu_pointer z, cu_stream stream)
{
    tess_cuda *cuda = factors->cuda;
    const tess_staged *staged = factors->staged;
    const bool other = transpose && !staged->symmetric;
    const int32_t parts = staged->block / tess_staged_height(staged);
    const device_split *pair = other ? &factors->transposed : &factors->plain;
    if (!pair->sweep[DOWN].triangle)
        return tess_fail(cuda->ctx, TESS_ERR_INTERNAL, "pc=%s was made without its transpose",
                         factors->pc->ops->name);
    const cu_pointer tickets = factors->scratch;
    const cu_pointer first = tickets + SWEEPS * factors->tickets_bytes;
    const cu_pointer second = first + factors->vector_bytes;
    tess_triangle_call call = {
        .in = r,
        .out = first,
        .tickets = tickets,
        .scalars = (staged->block_rows * staged->block - staged->padding) / parts,
    };
    if (pair->waits)
        TESS_TRY(
            TESS_CU(cuda, cuMemsetD8Async(factors->scratch, 0xff, factors->scratch_bytes, stream)));
    TESS_TRY(run_sweep(factors, &pair->sweep[DOWN], DOWN, &call, stream));
    call.in = first;
    call.out = second;
    call.z = z;
    call.tickets = tickets + factors->tickets_bytes;
    return run_sweep(factors, &pair->sweep[UP], UP, &call, stream);
}

int64_t tess_cuda_factors_launches(const tess_cuda_factors *factors)
{
    return factors->plain.sweep[DOWN].triangle->segments +
           factors->plain.sweep[UP].triangle->segments;
}

/* New values given in device memory: each resident takes them by one gather. Values given in host
 * memory are first copied to the device in the order in which they are given, where all layouts
 * have a gather of their own.
 *
 * A resident whose layout has another order than the given values gets a map: for each stored
 * scalar, the number of the given one. The map is made once, on the host, by sending the numbers
 * 1, 2, ... through the layout's own conversion, which only moves scalars. An update is then one
 * launch per resident in the plan's stream, and can be captured in a graph.
 *
 * Most layouts keep the scalars of a block's column, or of V columns, together. The map then has
 * one number per run (update.cu) instead of one per scalar. Runs are found in the numbers. A number
 * has four bytes, eight beyond 4 G scalars. Sliced storage needs no map: it knows the first block
 * of each line (slices.cu).
 */
#include "cuda/kernels/support.h"
#include "cuda/plan/map.h"
#include "cuda/plan/plan.h"

enum { THREADS = 256, EACH = 8 };

/* Copies the numbers of the resident's map to the device. After a failure there is no map. */
static tess_status place_map(tess_cuda_plan *p, tess_cuda_resident *resident, const void *numbers,
                             size_t bytes)
{
    cu_pointer to;
    TESS_TRY(tess_cuda_alloc(p->cuda, bytes, "the map of new values", &to));
    tess_status status = tess_cuda_upload(p->cuda, to, numbers, bytes, p->stream);
    TESS_THEN(TESS_CU(p->cuda, cuStreamSynchronize(p->stream)));
    if (status != TESS_OK) {
        tess_cuda_free(p->cuda, to);
        return status;
    }
    resident->map.numbers = to;
    resident->bytes += bytes;
    return TESS_OK;
}

/* Uploads the first number of each run, with 32 bits unless `wide`. */
static tess_status upload_map(tess_cuda_plan *p, tess_cuda_resident *resident, const void *numbers,
                              int64_t count, bool wide)
{
    tess_ctx *ctx = p->cuda->ctx;
    const size_t size = tess_type_size(p->matrix.type);
    const tess_cuda_map m =
        tess_cuda_runs_of(ctx, numbers, size, count, resident->matrix->block_height);
    const int64_t runs = count / m.run;
    uint64_t *made;
    TESS_TRY(TESS_ALLOC(ctx, runs, &made));
    for (int64_t i = 0; i < runs; i++) {
        uint64_t number = (uint64_t)tess_cuda_number_at(numbers, size, i * m.run);
        if (wide)
            made[i] = number;
        else
            ((uint32_t *)made)[i] = (uint32_t)number;
    }
    resident->map = m;
    const tess_status status = place_map(p, resident, made, (size_t)runs * (wide ? 8 : 4));
    tess_free(ctx, made);
    return status;
}

/* Whether the resident stores its values in the order in which they are given. */
static bool same_order(const tess_cuda_plan *p, const tess_cuda_resident *resident)
{
    return !resident->layout->kind->update && resident->matrix != p->transposed;
}

/* The number of the first given block of each line, where the layout knows it. NULL: it does not,
 * or the resident holds A^T, whose blocks are given in another order. */
static const int64_t *starts_of(const tess_cuda_plan *p, const tess_cuda_resident *resident,
                                int64_t *count)
{
    const tess_cuda_layout *layout = resident->layout;
    return layout->kind->starts && resident->matrix != p->transposed
               ? layout->kind->starts(layout, count)
               : NULL;
}

/* The gather of a layout: from the matrix's order to the layout's, or `back`. */
static tess_status load_gather(tess_cuda_plan *p, const tess_cuda_layout_kind *kind, bool back,
                               const char *entry, cu_function *function)
{
    char defines[64];
    tess_cuda_scalar_defines(p->matrix.type, false, defines, sizeof defines);
    tess_append(defines, sizeof defines, " -DTHREADS=%d -DBACK=%d", TESS_CUDA_GATHER, back);
    return tess_cuda_helper(p->cuda, kind->gather_source, defines, entry, function);
}

static tess_status upload_starts(tess_cuda_plan *p, tess_cuda_resident *resident,
                                 const int64_t *starts, int64_t count)
{
    TESS_TRY(load_gather(p, resident->layout->kind, false, "slices", &resident->map.gather));
    return place_map(p, resident, starts, (size_t)count * sizeof *starts);
}

static tess_status make_map(tess_cuda_plan *p, tess_cuda_resident *resident, bool wide)
{
    int64_t count;
    const int64_t *starts = starts_of(p, resident, &count);
    if (starts)
        return upload_starts(p, resident, starts, count);
    tess_ctx *ctx = p->cuda->ctx;
    tess_cuda_layout *layout = resident->layout;
    tess_cuda_array *array = &layout->arrays[layout->values];
    const void *host = array->host;
    size_t size = tess_type_size(p->matrix.type);
    tess_matrix numbered = p->matrix, *turned = NULL;
    void *numbers = NULL;
    tess_status status;
    TESS_TRY_CLEAN(tess_cuda_number_scalars(ctx, tess_matrix_stored(&p->matrix), size, &numbers));
    numbered.values = numbers;
    if (resident->matrix == p->transposed)
        TESS_TRY_CLEAN(tess_matrix_transpose(ctx, &numbered, &turned));
    tess_cuda_layout_update(layout, turned ? turned->values : numbers);
    status = upload_map(p, resident, array->host, (int64_t)(array->bytes / size), wide);
    if (!layout->kind->update)
        array->host = host;
cleanup:
    tess_matrix_destroy(turned);
    tess_free(ctx, numbers);
    return status;
}

static tess_status load_code(tess_cuda_plan *p, bool wide)
{
    char defines[96];
    tess_cuda_scalar_defines(p->matrix.type, false, defines, sizeof defines);
    tess_append(defines, sizeof defines, " -DINDEX=%d -DTHREADS=%d -DEACH=%d", wide ? 8 : 4,
                THREADS, EACH);
    return tess_cuda_helper(p->cuda, "update.cu", defines, "update", &p->update);
}

/* Makes the maps and loads the code that residents lack. */
static tess_status prepare(tess_cuda_plan *p, bool wide)
{
    bool missing = false;
    for (const tess_cuda_resident *r = p->residents; r; r = r->next)
        missing |= !same_order(p, r) && (!r->map.numbers || !p->update);
    if (!missing)
        return TESS_OK;
    TESS_TRY(tess_cuda_refuse_capture(
        p, "tess_plan_update_values: the stream is being captured, and this plan has not taken "
           "values from device memory before"));
    TESS_TRY(load_code(p, wide));
    for (tess_cuda_resident *r = p->residents; r; r = r->next)
        if (!same_order(p, r) && !r->map.numbers)
            TESS_TRY(make_map(p, r, wide));
    return TESS_OK;
}

static tess_status gather(tess_cuda_plan *p, const tess_cuda_resident *r, cu_pointer given)
{
    size_t bytes = r->layout->arrays[r->layout->values].bytes;
    if (bytes == 0)
        return TESS_OK;
    if (same_order(p, r))
        return TESS_CU(p->cuda,
                       cuMemcpyDtoDAsync(r->arrays[r->layout->values], given, bytes, p->stream));
    const tess_cuda_map *m = &r->map;
    tess_cuda_launch run;
    if (m->gather) {
        r->layout->kind->gather(r->layout, r->arrays, m->numbers, given, &run);
        return tess_cuda_launch_one(p->cuda, m->gather, &run, p->stream);
    }
    const int64_t count = (int64_t)(bytes / tess_type_size(p->matrix.type));
    const uint64_t reciprocal = UINT64_MAX / (uint64_t)m->run + 1;
    tess_cuda_launch_start(&run, "update", tess_ceil_div(count, THREADS * EACH), THREADS);
    TESS_CUDA_POINTERS(&run, r->arrays[r->layout->values], m->numbers, given);
    TESS_CUDA_INTEGERS(&run, count, m->run, m->shift, m->inner_stride, m->outer_stride);
    tess_cuda_add_args(&run, &reciprocal, 1);
    return tess_cuda_launch_one(p->cuda, p->update, &run, p->stream);
}

tess_status tess_cuda_update_on_device(tess_cuda_plan *p, const void *values)
{
    int64_t stored = tess_matrix_stored(&p->matrix);
    bool wide = stored >= UINT32_MAX;
    TESS_TRY(tess_cuda_check_aligned(p, "values", tess_cuda_address(values)));
    if (wide && p->matrix.type == TESS_F32)
        return tess_fail(p->cuda->ctx, TESS_ERR_UNSUPPORTED,
                         "tess_plan_update_values: %lld f32 scalars are too many to be taken from "
                         "device memory; give them in host memory",
                         (long long)stored);
    TESS_TRY(prepare(p, wide));
    for (const tess_cuda_resident *r = p->residents; r; r = r->next)
        TESS_TRY(gather(p, r, tess_cuda_address(values)));
    p->device_values = values;
    return TESS_OK;
}

/* Whether the device can gather values into all residents, and one of them needs a gather. */
static bool worth_gathering(const tess_cuda_plan *p)
{
    bool gathers = false;
    int64_t count;
    for (const tess_cuda_resident *r = p->residents; r; r = r->next) {
        if (!same_order(p, r) && !starts_of(p, r, &count))
            return false;
        gathers |= !same_order(p, r);
    }
    return gathers;
}

static tess_status gather_all(tess_cuda_plan *p, const void *values, size_t bytes, cu_pointer given)
{
    TESS_TRY(tess_cuda_upload(p->cuda, given, values, bytes, p->stream));
    TESS_TRY(prepare(p, tess_matrix_stored(&p->matrix) >= UINT32_MAX));
    for (const tess_cuda_resident *r = p->residents; r; r = r->next)
        TESS_TRY(gather(p, r, given));
    return TESS_CU(p->cuda, cuStreamSynchronize(p->stream));
}

tess_status tess_cuda_update_from_host(tess_cuda_plan *p, const void *values, bool *done)
{
    tess_cuda *cuda = p->cuda;
    const size_t bytes = (size_t)tess_matrix_stored(&p->matrix) * tess_type_size(p->matrix.type);
    const tess_kept_error kept = tess_error_keep(cuda->ctx);
    cu_pointer given;
    *done = worth_gathering(p);
    if (!*done)
        return TESS_OK;
    tess_status status = tess_cuda_alloc(cuda, bytes, "new values", &given);
    if (status == TESS_ERR_MEMORY) {
        tess_error_restore(cuda->ctx, &kept);
        *done = false;
        return TESS_OK;
    }
    TESS_TRY(status);
    status = gather_all(p, values, bytes, given);
    tess_cuda_free(cuda, given);
    return status;
}

tess_status tess_cuda_bring_values(tess_cuda_plan *p)
{
    tess_cuda *cuda = p->cuda;
    if (!p->device_values)
        return TESS_OK;
    int64_t stored = tess_matrix_stored(&p->matrix);
    size_t size = tess_type_size(p->matrix.type);
    if (!p->values)
        TESS_TRY(tess_alloc_bytes(cuda->ctx, stored, size, &p->values));
    TESS_TRY(tess_cuda_download(cuda, p->values, tess_cuda_address(p->device_values),
                                (size_t)stored * size, p->stream));
    p->matrix.values = p->values;
    p->transposed_old = p->transposed != NULL;
    p->device_values = NULL;
    return TESS_OK;
}

/* A resident whose values are in the matrix's order or can be put back into it; NULL: there is
 * none. */
static tess_cuda_resident *find_source(tess_cuda_plan *p)
{
    int64_t count;
    for (tess_cuda_resident *r = p->residents; r; r = r->next)
        if (same_order(p, r) || starts_of(p, r, &count))
            return r;
    return NULL;
}

static tess_status copy_back(tess_cuda_plan *p, tess_cuda_resident *r, cu_pointer to)
{
    const int values = r->layout->values;
    tess_cuda_launch run;
    cu_function back;
    int64_t count;
    if (same_order(p, r))
        return TESS_CU(p->cuda, cuMemcpyDtoDAsync(to, r->arrays[values],
                                                  r->layout->arrays[values].bytes, p->stream));
    const int64_t *starts = starts_of(p, r, &count);
    if (!r->map.numbers)
        TESS_TRY(upload_starts(p, r, starts, count));
    TESS_TRY(load_gather(p, r->layout->kind, true, "slices", &back));
    r->layout->kind->gather(r->layout, r->arrays, r->map.numbers, to, &run);
    return tess_cuda_launch_one(p->cuda, back, &run, p->stream);
}

tess_status tess_cuda_copy_values(tess_cuda_plan *p, cu_pointer to)
{
    tess_cuda *cuda = p->cuda;
    tess_cuda_resident *r = p->matrix.blocks > 0 && !p->shares ? find_source(p) : NULL;
    if (r) {
        TESS_TRY(copy_back(p, r, to));
    } else {
        const size_t size = tess_type_size(p->matrix.type);
        TESS_TRY(tess_cuda_bring_values(p));
        TESS_TRY(tess_cuda_upload(cuda, to, p->matrix.values,
                                  (size_t)tess_matrix_stored(&p->matrix) * size, p->stream));
    }
    return TESS_CU(cuda, cuStreamSynchronize(p->stream));
}

tess_status tess_cuda_copy_columns(tess_cuda_plan *p, cu_pointer to)
{
    tess_cuda_launch run;
    cu_function columns;
    int64_t count;
    for (tess_cuda_resident *r = p->residents; r && !p->shares; r = r->next) {
        const int64_t *starts = starts_of(p, r, &count);
        if (!starts)
            continue;
        if (!r->map.numbers)
            TESS_TRY(upload_starts(p, r, starts, count));
        TESS_TRY(load_gather(p, r->layout->kind, false, "columns", &columns));
        r->layout->kind->gather_columns(r->layout, r->arrays, r->map.numbers, to, &run);
        TESS_TRY(tess_cuda_launch_one(p->cuda, columns, &run, p->stream));
        return TESS_CU(p->cuda, cuStreamSynchronize(p->stream));
    }
    TESS_TRY(tess_cuda_upload(p->cuda, to, p->matrix.columns,
                              (size_t)p->matrix.blocks * sizeof *p->matrix.columns, p->stream));
    return TESS_CU(p->cuda, cuStreamSynchronize(p->stream));
}

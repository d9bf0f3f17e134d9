/* The products of a plan.
 *
 * Vectors in device memory are used in place, and the call returns when the work is in the stream.
 * Vectors in host memory are copied through staging buffers of the plan, made at the first such
 * call; that call returns when y is complete.
 */
#include "cuda/kernels/support.h"
#include "cuda/plan/plan.h"

enum { DOT_BLOCKS = 256, DOT_THREADS = 256 };

/* The address of a vector on the device. A host vector gets a staging buffer, filled if `read`, and
 * is `staged`. */
static tess_status locate(tess_cuda_plan *p, int which, const void *vector, size_t bytes, bool read,
                          cu_pointer *address, bool *staged)
{
    *staged = bytes > 0 && !tess_cuda_on_device(p->cuda, vector);
    *address = tess_cuda_address(vector);
    if (!*staged)
        return bytes > 0 ? tess_cuda_check_aligned(p, "a vector", *address) : TESS_OK;
    TESS_TRY(tess_cuda_refuse_capture(
        p, "the stream is being captured: only vectors in device memory can be used, and only in "
           "products this plan has run before"));
    TESS_TRY(tess_cuda_need_stage(p, which, bytes));
    *address = p->stage[which];
    return read ? tess_cuda_upload(p->cuda, *address, vector, bytes, p->stream) : TESS_OK;
}

/* Ends a product: copies a staged y back to the host. Returns when y is complete if that or
 * another vector was staged. */
static tess_status deliver(tess_cuda_plan *p, void *y, size_t bytes, bool staged, bool another)
{
    if (staged)
        return tess_cuda_download(p->cuda, y, p->stage[TESS_STAGE_Y], bytes, p->stream);
    return another ? TESS_CU(p->cuda, cuStreamSynchronize(p->stream)) : TESS_OK;
}

/* y = alpha op(A) x + beta y of vectors on the device. `form`: the variant for vectors by fields;
 * NULL: vectors have the matrix's order. */
static tess_status run_spmv(tess_cuda_plan *p, tess_operation operation,
                            const tess_cuda_variant *form, tess_cuda_call *call)
{
    if (p->caller.apply)
        return tess_cuda_multiply_operator(p, operation != TESS_OPERATION_NONE, call);
    if (!form)
        TESS_TRY(tess_cuda_need_variant(p, TESS_CUDA_SPMV, operation, 1, 0, &form));
    return tess_cuda_run(p->cuda, form, call, p->stream);
}

static bool reads_y(const tess_cuda_call *call)
{
    return call->beta != 0 || call->beta_im != 0;
}

/* y = alpha op(A) x + beta y. */
static tess_status multiply(tess_cuda_plan *p, tess_operation operation,
                            const tess_cuda_variant *form, const void *x, void *y,
                            tess_cuda_call call)
{
    const bool transposed = operation != TESS_OPERATION_NONE;
    size_t size = tess_type_size(p->matrix.type);
    size_t x_bytes = size * (size_t)(transposed ? p->matrix.rows : p->matrix.cols);
    size_t y_bytes = size * (size_t)(transposed ? p->matrix.cols : p->matrix.rows);
    if (y_bytes == 0)
        return TESS_OK;
    bool x_staged, y_staged;
    TESS_TRY(locate(p, TESS_STAGE_X, x, x_bytes, true, &call.x, &x_staged));
    TESS_TRY(locate(p, TESS_STAGE_Y, y, y_bytes, reads_y(&call), &call.y, &y_staged));
    TESS_TRY(run_spmv(p, operation, form, &call));
    return deliver(p, y, y_bytes, y_staged, x_staged);
}

tess_status tess_cuda_spmv(tess_plan *plan, double alpha, const void *x, double beta, void *y)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    TESS_TRY(tess_cuda_enter(p->cuda));
    return tess_cuda_leave_with(p->cuda, multiply(p, TESS_OPERATION_NONE, NULL, x, y,
                                                  (tess_cuda_call){.alpha = alpha, .beta = beta}));
}

tess_status tess_cuda_spmv_transpose(tess_plan *plan, double alpha, const void *x, double beta,
                                     void *y)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    TESS_TRY(tess_cuda_enter(p->cuda));
    return tess_cuda_leave_with(p->cuda, multiply(p, TESS_OPERATION_TRANSPOSE, NULL, x, y,
                                                  (tess_cuda_call){.alpha = alpha, .beta = beta}));
}

/* ---- with a dot product ---- */

/* Bytes of a sum: one double, for complex vectors two. */
static size_t sum_bytes(const tess_cuda_plan *p)
{
    return tess_is_complex(p->matrix.type) ? sizeof(tess_complex) : sizeof(double);
}

/* Memory for the partial sums of a dot product and, behind them, its result. */
static tess_status need_scratch(tess_cuda_plan *p)
{
    return p->dot_scratch ? TESS_OK
                          : tess_cuda_alloc(p->cuda, (DOT_BLOCKS + 1) * sum_bytes(p),
                                            "a dot product", &p->dot_scratch);
}

static cu_pointer scratch_result(const tess_cuda_plan *p)
{
    return p->dot_scratch + DOT_BLOCKS * sum_bytes(p);
}

/* result = w . y by dot.cu, for plans whose kernel has no fused form. */
tess_status tess_cuda_run_dot(tess_cuda_plan *p, cu_pointer w, cu_pointer y, cu_pointer result)
{
    tess_cuda *cuda = p->cuda;
    char defines[64];
    cu_function partial, final;
    TESS_TRY(need_scratch(p));
    tess_cuda_scalar_defines(p->matrix.type, false, defines, sizeof defines);
    tess_append(defines, sizeof defines, " -DTHREADS=%d", DOT_THREADS);
    TESS_TRY(tess_cuda_helper(cuda, "dot.cu", defines, "dot_partial", &partial));
    TESS_TRY(tess_cuda_helper(cuda, "dot.cu", defines, "dot_final", &final));
    tess_cuda_launch run;
    tess_cuda_launch_start(&run, "dot_partial", DOT_BLOCKS, DOT_THREADS);
    TESS_CUDA_POINTERS(&run, w, y);
    TESS_CUDA_INTEGERS(&run, p->matrix.rows);
    TESS_CUDA_POINTERS(&run, p->dot_scratch);
    TESS_TRY(tess_cuda_launch_one(cuda, partial, &run, p->stream));
    tess_cuda_launch_start(&run, "dot_final", 1, DOT_THREADS);
    TESS_CUDA_POINTERS(&run, p->dot_scratch);
    TESS_CUDA_INTEGERS(&run, DOT_BLOCKS);
    TESS_CUDA_POINTERS(&run, result);
    return tess_cuda_launch_one(cuda, final, &run, p->stream);
}

/* In L2, the launch of a separate dot product takes longer than the best kernel gains over another
 * one with a fused form (H200, an iteration of CG, 1 x 1 blocks: nasa2146 8.0 us with `sliced`,
 * which has one, and 11.7 with `by_block` and a separate dot product; bcsstk16 8.6 and 13.3). */
tess_status tess_cuda_need_dot(tess_cuda_plan *p, bool any, const tess_cuda_variant **out)
{
    const tess_kept_error kept = tess_error_keep(p->cuda->ctx);
    const size_t bytes = (size_t)tess_matrix_stored(&p->matrix) * tess_type_size(p->matrix.type);
    TESS_TRY(tess_cuda_need_form(p, TESS_CUDA_SPMV_DOT, false, false, out));
    if (*out || !any || bytes > p->cuda->l2_bytes || p->caller.apply)
        return TESS_OK;
    if (tess_cuda_need_variant(p, TESS_CUDA_SPMV_DOT, TESS_OPERATION_NONE, 1, 0, out) != TESS_OK) {
        tess_error_restore(p->cuda->ctx, &kept);
        *out = NULL;
    }
    return TESS_OK;
}

/* Runs the fused form of the plan's kernel, or the product and then dot.cu. dot.cu needs no
 * particular order of the vectors, only the same one for both. */
static tess_status run_spmv_dot(tess_cuda_plan *p, const tess_cuda_variant *form,
                                tess_cuda_call *call)
{
    const tess_cuda_variant *variant;
    TESS_TRY(tess_cuda_need_form(p, TESS_CUDA_SPMV_DOT, false, form != NULL, &variant));
    if (variant)
        return tess_cuda_run(p->cuda, variant, call, p->stream);
    TESS_TRY(run_spmv(p, TESS_OPERATION_NONE, form, call));
    return tess_cuda_run_dot(p, call->w ? call->w : call->y, call->y, call->dot);
}

static tess_status spmv_dot(tess_cuda_plan *p, const tess_cuda_variant *form, double alpha,
                            const void *x, double beta, void *y, const void *w, double *dot)
{
    tess_cuda *cuda = p->cuda;
    size_t size = tess_type_size(p->matrix.type);
    size_t x_bytes = size * (size_t)p->matrix.cols, y_bytes = size * (size_t)p->matrix.rows;
    bool dot_here = tess_cuda_on_device(cuda, dot), x_staged, y_staged, w_staged = false;
    if (y_bytes == 0) {
        if (!dot_here)
            *dot = 0;
        return dot_here ? TESS_CU(cuda, cuMemsetD8Async(tess_cuda_address(dot), 0, sizeof *dot,
                                                        p->stream))
                        : TESS_OK;
    }
    tess_cuda_call call = {.alpha = alpha, .beta = beta, .dot = tess_cuda_address(dot)};
    TESS_TRY(locate(p, TESS_STAGE_X, x, x_bytes, true, &call.x, &x_staged));
    TESS_TRY(locate(p, TESS_STAGE_Y, y, y_bytes, beta != 0, &call.y, &y_staged));
    if (w && w != y)
        TESS_TRY(locate(p, TESS_STAGE_W, w, y_bytes, true, &call.w, &w_staged));
    if (!dot_here) {
        TESS_TRY(need_scratch(p));
        call.dot = scratch_result(p);
    }
    TESS_TRY(run_spmv_dot(p, form, &call));
    if (!dot_here)
        TESS_TRY(tess_cuda_download(cuda, dot, call.dot, sizeof *dot, p->stream));
    return deliver(p, y, y_bytes, y_staged, x_staged || w_staged);
}

tess_status tess_cuda_run_spmv_dot(tess_cuda_plan *p, tess_cuda_call *call)
{
    return run_spmv_dot(p, NULL, call);
}

/* Writes x . y, of complex vectors x^H y, to `dot`, which is in host or device memory. */
static tess_status plain_dot(tess_cuda_plan *p, cu_pointer x, cu_pointer y, void *dot)
{
    if (tess_cuda_on_device(p->cuda, dot))
        return tess_cuda_run_dot(p, x, y, tess_cuda_address(dot));
    TESS_TRY(need_scratch(p));
    TESS_TRY(tess_cuda_run_dot(p, x, y, scratch_result(p)));
    return tess_cuda_download(p->cuda, dot, scratch_result(p), sum_bytes(p), p->stream);
}

tess_status tess_cuda_dot(tess_plan *plan, const void *x, const void *y, double *dot)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    TESS_TRY(tess_cuda_enter(p->cuda));
    return tess_cuda_leave_with(p->cuda,
                                plain_dot(p, tess_cuda_address(x), tess_cuda_address(y), dot));
}

tess_status tess_cuda_spmv_dot(tess_plan *plan, double alpha, const void *x, double beta, void *y,
                               const void *w, double *dot)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    TESS_TRY(tess_cuda_enter(p->cuda));
    return tess_cuda_leave_with(p->cuda, spmv_dot(p, NULL, alpha, x, beta, y, w, dot));
}

/* ---- vectors by fields ---- */

tess_status tess_cuda_fields_open(tess_plan *plan, bool *has)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    const tess_cuda_variant *form = NULL;
    TESS_TRY(tess_cuda_enter(p->cuda));
    const tess_status status = tess_cuda_need_form(p, TESS_CUDA_SPMV, false, true, &form);
    *has = form != NULL;
    return tess_cuda_leave_with(p->cuda, status);
}

static tess_status fields_multiply(tess_cuda_plan *p, const tess_fields_product *f, bool *done)
{
    const tess_cuda_variant *form;
    TESS_TRY(tess_cuda_need_form(p, TESS_CUDA_SPMV, f->transpose, true, &form));
    *done = form != NULL;
    if (!form)
        return TESS_OK;
    return f->dot ? spmv_dot(p, form, f->alpha, f->x, f->beta, f->y, f->w, f->dot)
                  : multiply(p, tess_cuda_operation(f->transpose), form, f->x, f->y,
                             (tess_cuda_call){.alpha = f->alpha, .beta = f->beta});
}

tess_status tess_cuda_fields_multiply(tess_plan *plan, const tess_fields_product *product,
                                      bool *done)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    TESS_TRY(tess_cuda_enter(p->cuda));
    return tess_cuda_leave_with(p->cuda, fields_multiply(p, product, done));
}

/* ---- several vectors ---- */

/* Multiplies `vectors` vectors, one by one where no kernel takes them together. */
static tess_status run_vectors(tess_cuda_plan *p, int vectors, bool row_major, tess_cuda_call *call,
                               cu_stream stream)
{
    const tess_cuda_variant *variant;
    size_t size = tess_type_size(p->matrix.type);
    bool single = vectors == 1 && (!row_major || (call->ldx == 1 && call->ldy == 1));
    if (!single) {
        tess_status status = tess_cuda_need_variant(p, TESS_CUDA_SPMM, TESS_OPERATION_NONE, vectors,
                                                    row_major, &variant);
        if (status == TESS_OK)
            return tess_cuda_run(p->cuda, variant, call, stream);
        if (status != TESS_ERR_UNSUPPORTED || row_major)
            return status;
    }
    TESS_TRY(tess_cuda_need_variant(p, TESS_CUDA_SPMV, TESS_OPERATION_NONE, 1, 0, &variant));
    for (int v = 0; v < vectors; v++) {
        tess_cuda_call one = *call;
        one.x += (uint64_t)(v * call->ldx) * size;
        one.y += (uint64_t)(v * call->ldy) * size;
        TESS_TRY(tess_cuda_run(p->cuda, variant, &one, stream));
    }
    return TESS_OK;
}

tess_status tess_cuda_run_many(tess_cuda_plan *p, int k, bool row_major, const tess_cuda_call *call,
                               cu_stream stream)
{
    const size_t size = tess_type_size(p->matrix.type);
    /* Equal groups: 33 vectors are 17 and 16, not 32 and 1. */
    int groups = (k + TESS_CUDA_VECTORS - 1) / TESS_CUDA_VECTORS, done = 0;
    for (int g = 0; g < groups; g++) {
        int vectors = (k - done + groups - g - 1) / (groups - g);
        tess_cuda_call part = *call;
        part.x += size * (uint64_t)(row_major ? done : done * call->ldx);
        part.y += size * (uint64_t)(row_major ? done : done * call->ldy);
        TESS_TRY(run_vectors(p, vectors, row_major, &part, stream));
        done += vectors;
    }
    return TESS_OK;
}

tess_status tess_cuda_bring_vectors(tess_cuda_plan *p, int k, bool row_major, const void *X,
                                    void *Y, tess_cuda_call *call, tess_cuda_return *back)
{
    const size_t size = tess_type_size(p->matrix.type);
    const int64_t rows = p->matrix.rows, cols = p->matrix.cols, ldx = call->ldx, ldy = call->ldy;
    /* From the first element to the last: what lies between vectors is not ours. */
    const int64_t x_count = cols == 0 ? 0 : row_major ? (cols - 1) * ldx + k : (k - 1) * ldx + cols;
    const int64_t y_count = rows == 0 ? 0 : row_major ? (rows - 1) * ldy + k : (k - 1) * ldy + rows;
    const bool gaps = ldy > (row_major ? k : rows);
    *back = (tess_cuda_return){.y = Y, .bytes = size * (size_t)y_count};
    TESS_TRY(locate(p, TESS_STAGE_X, X, size * (size_t)x_count, true, &call->x, &back->x_staged));
    return locate(p, TESS_STAGE_Y, Y, back->bytes, reads_y(call) || gaps, &call->y, &back->staged);
}

tess_status tess_cuda_return_vectors(tess_cuda_plan *p, const tess_cuda_return *back)
{
    return deliver(p, back->y, back->bytes, back->staged, back->x_staged);
}

static tess_status spmm(tess_cuda_plan *p, int k, bool row_major, const void *X, void *Y,
                        tess_cuda_call *call)
{
    tess_cuda_return back;
    if (p->matrix.rows == 0)
        return TESS_OK;
    TESS_TRY(tess_cuda_bring_vectors(p, k, row_major, X, Y, call, &back));
    TESS_TRY(tess_cuda_run_many(p, k, row_major, call, p->stream));
    return tess_cuda_return_vectors(p, &back);
}

tess_status tess_cuda_spmm(tess_plan *plan, int k, tess_block_order order, double alpha,
                           const void *X, int64_t ldx, double beta, void *Y, int64_t ldy)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    tess_cuda_call call = {.alpha = alpha, .beta = beta, .ldx = ldx, .ldy = ldy};
    TESS_TRY(tess_cuda_enter(p->cuda));
    return tess_cuda_leave_with(p->cuda, spmm(p, k, order == TESS_ORDER_ROW_MAJOR, X, Y, &call));
}

/* ---- of complex matrices ---- */

static tess_cuda_call with_factors(tess_complex alpha, tess_complex beta)
{
    return (tess_cuda_call){
        .alpha = alpha.re, .alpha_im = alpha.im, .beta = beta.re, .beta_im = beta.im};
}

static tess_status complex_spmv(tess_plan *plan, tess_operation operation, tess_complex alpha,
                                const void *x, tess_complex beta, void *y)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    TESS_TRY(tess_cuda_enter(p->cuda));
    return tess_cuda_leave_with(p->cuda,
                                multiply(p, operation, NULL, x, y, with_factors(alpha, beta)));
}

static tess_status complex_spmm(tess_plan *plan, int k, tess_block_order order, tess_complex alpha,
                                const void *X, int64_t ldx, tess_complex beta, void *Y, int64_t ldy)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    tess_cuda_call call = with_factors(alpha, beta);
    call.ldx = ldx;
    call.ldy = ldy;
    TESS_TRY(tess_cuda_enter(p->cuda));
    return tess_cuda_leave_with(p->cuda, spmm(p, k, order == TESS_ORDER_ROW_MAJOR, X, Y, &call));
}

/* Vectors in host memory are copied to the device, y even where a product has just left it there.
 */
static tess_status locate_and_dot(tess_cuda_plan *p, const void *x, const void *y,
                                  tess_complex *dot)
{
    const size_t bytes = tess_type_size(p->matrix.type) * (size_t)p->matrix.rows;
    cu_pointer w, other;
    bool staged;
    TESS_TRY(locate(p, TESS_STAGE_Y, y, bytes, true, &other, &staged));
    w = other;
    if (x != y)
        TESS_TRY(locate(p, TESS_STAGE_W, x, bytes, true, &w, &staged));
    return plain_dot(p, w, other, dot);
}

static tess_status complex_dot(tess_plan *plan, const void *x, const void *y, tess_complex *dot)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    TESS_TRY(tess_cuda_enter(p->cuda));
    return tess_cuda_leave_with(p->cuda, locate_and_dot(p, x, y, dot));
}

const tess_complex_products tess_cuda_complex_products = {complex_spmv, complex_spmm, complex_dot};

/* A plan on a CUDA device.
 *
 *     resident = a matrix (A or A^T) in one layout, its arrays in device memory
 *     variant  = a kernel specialised and compiled for that resident and one product
 *
 * The plan makes the variant of its chosen kernel at once and the others (transpose, SpMM for k
 * vectors, the fused dot product) when they are first asked for. Variants with the same layout
 * share a resident.
 */
#pragma once

#include "cuda/plan/choice/choose.h"
#include "cuda/plan/variants/launch.h"

/* Device buffers: copies of host vectors, and the product of a caller's operator. They grow when
 * needed and are kept. */
enum { TESS_STAGE_X, TESS_STAGE_Y, TESS_STAGE_W, TESS_STAGE_PRODUCT, TESS_STAGES };

typedef struct tess_cuda_plan {
    tess_cuda *cuda;
    cu_stream stream;          /* the library's own or the caller's */
    const tess_matrix *given;  /* A */
    tess_matrix matrix;        /* A with the newest values that the host has */
    bool shares;               /* its residents of A are in cuda->shared, for other plans too */
    tess_matrix *transposed;   /* once asked for */
    bool transposed_old;       /* it has not the values of `matrix`, which are newer */
    const void *device_values; /* newest values, in device memory only; NULL: matrix has them */
    void *values;              /* a copy of device_values on the host, once needed */
    const tess_cuda_kernel *kernel; /* chosen; its product may be SpMV or SpMM */
    int params[TESS_CUDA_PARAMS];
    char shapes[TESS_CUDA_SHAPES]; /* of A, format fbcsr */
    tess_cuda_resident *residents;
    tess_cuda_variant *variants;
    cu_pointer stage[TESS_STAGES];
    size_t stage_bytes[TESS_STAGES];
    cu_pointer dot_scratch; /* partial sums, then the result */
    cu_function update;     /* update.cu, once values came from device memory */
    bool missing[2][2][2];  /* [op][transposed][fields]: tess_cuda_need_form found none */
    tess_operator caller;   /* the caller's operator; apply = NULL: the plan has a matrix */
} tess_cuda_plan;

static inline tess_cuda_plan *tess_cuda_plan_of(const tess_plan *plan)
{
    return plan->state;
}

/* ---- update.c ---- */

/* Takes new values from device memory, in the matrix's order, into all of the plan's residents. */
tess_status tess_cuda_update_on_device(tess_cuda_plan *p, const void *values);
/* Takes new values from host memory into all residents, by way of a copy in device memory. *done is
 * false where the host has to make the layouts: the device has no room for the copy, a layout has
 * no gather of its own, or no resident needs a gather. */
tess_status tess_cuda_update_from_host(tess_cuda_plan *p, const void *values, bool *done);
/* Copies device_values to the host, where p->matrix then has them: layouts are made on the host. */
tess_status tess_cuda_bring_values(tess_cuda_plan *p);

/* Writes the plan's values in the matrix's order to device memory. They come from a resident that
 * can be read in that order, or else from the host. */
tess_status tess_cuda_copy_values(tess_cuda_plan *p, cu_pointer to);
/* Writes the block columns in the matrix's order to device memory. */
tess_status tess_cuda_copy_columns(tess_cuda_plan *p, cu_pointer to);

/* ---- plan.c ---- */

tess_status tess_cuda_prepare(tess_plan *plan, const tess_plan_options *options);
void tess_cuda_release(tess_plan *plan);
tess_status tess_cuda_update_values(tess_plan *plan, const void *values);
tess_status tess_cuda_host_values(tess_plan *plan);
void tess_cuda_settle(tess_plan *plan);

static inline tess_operation tess_cuda_operation(bool transpose)
{
    return transpose ? TESS_OPERATION_TRANSPOSE : TESS_OPERATION_NONE;
}

/* The variant for a product, made now if this is the first time. Inside enter/leave. */
tess_status tess_cuda_need_variant(tess_cuda_plan *p, tess_cuda_op op, tess_operation operation,
                                   int vectors, int row_major, const tess_cuda_variant **out);

/* A form of the plan's kernel that not every kernel has, made now if this is the first time: with a
 * dot product, or with vectors by fields. `op` is a product with one vector. NULL: there is none on
 * the plan's layout, or it was refused. Inside enter/leave. */
tess_status tess_cuda_need_form(tess_cuda_plan *p, tess_cuda_op op, bool transposed, bool fields,
                                const tess_cuda_variant **out);

/* A resident of the plan's matrix in that layout, for users that are no variants. It takes new
 * values until it is let go. Inside enter/leave. */
tess_status tess_cuda_hold_resident(tess_cuda_plan *p, const char *layout_name,
                                    tess_cuda_resident **out);
void tess_cuda_let_resident_go(tess_cuda_plan *p, tess_cuda_resident *resident);

/* ---- explain.c ---- */

void tess_cuda_explain(tess_plan *plan);

/* ---- operator.c: the caller's operator ---- */

tess_status tess_cuda_prepare_operator(tess_plan *plan, const tess_operator *A);
/* y = A x in the plan's stream; `what` names the operator where it fails. Inside enter/leave. */
tess_status tess_cuda_call_operator(const tess_cuda_plan *p, const tess_operator *A,
                                    const char *what, bool transpose, cu_pointer x, cu_pointer y);
/* y = alpha A x + beta y with the plan's own operator. Inside enter/leave. */
tess_status tess_cuda_multiply_operator(tess_cuda_plan *p, bool transpose,
                                        const tess_cuda_call *call);

/* ---- convert.c ---- */

/* As tess_cuda_memory_convert, inside enter/leave. */
tess_status tess_cuda_convert(const tess_cuda_plan *plan, int64_t count, double scale,
                              const void *from, tess_type from_type, bool add, void *to,
                              tess_type to_type);
tess_status tess_cuda_memory_convert(tess_plan *plan, int64_t count, double scale, const void *from,
                                     tess_type from_type, bool add, void *to, tess_type to_type);

/* ---- permute.c ---- */

tess_status tess_cuda_memory_permute(tess_plan *plan, const tess_permute *pass);

/* ---- product.c ---- */

/* The form of the plan's kernel that computes a dot product as well. `any`: where the plan's kernel
 * has no such form and the matrix fits L2, another kernel's form on a second copy of the matrix
 * will do. NULL: a separate dot product follows the product. Inside enter/leave. */
tess_status tess_cuda_need_dot(tess_cuda_plan *p, bool any, const tess_cuda_variant **out);

tess_status tess_cuda_spmv(tess_plan *plan, double alpha, const void *x, double beta, void *y);
tess_status tess_cuda_spmv_transpose(tess_plan *plan, double alpha, const void *x, double beta,
                                     void *y);
tess_status tess_cuda_spmv_dot(tess_plan *plan, double alpha, const void *x, double beta, void *y,
                               const void *w, double *dot);
tess_status tess_cuda_dot(tess_plan *plan, const void *x, const void *y, double *dot);
/* Products of vectors by fields (backend.h). */
tess_status tess_cuda_fields_open(tess_plan *plan, bool *has);
tess_status tess_cuda_fields_multiply(tess_plan *plan, const tess_fields_product *product,
                                      bool *done);
tess_status tess_cuda_spmm(tess_plan *plan, int k, tess_block_order order, double alpha,
                           const void *X, int64_t ldx, double beta, void *Y, int64_t ldy);
/* The products of complex matrices. */
extern const tess_complex_products tess_cuda_complex_products;

/* tess_cuda_bring_vectors sets call->x and call->y to device addresses of X and Y, of k vectors
 * each. It reads beta, ldx and ldy of the call. Vectors in host memory are copied to staging
 * buffers; tess_cuda_return_vectors copies such a Y back. Where there are such vectors it waits
 * until Y is complete. Inside enter/leave. */
typedef struct tess_cuda_return {
    void *y;
    size_t bytes;
    bool staged, x_staged;
} tess_cuda_return;
tess_status tess_cuda_bring_vectors(tess_cuda_plan *p, int k, bool row_major, const void *X,
                                    void *Y, tess_cuda_call *call, tess_cuda_return *back);
tess_status tess_cuda_return_vectors(tess_cuda_plan *p, const tess_cuda_return *back);
/* Y = alpha A X + beta Y of k vectors in device memory, in `stream`. Inside enter/leave. */
tess_status tess_cuda_run_many(tess_cuda_plan *p, int k, bool row_major, const tess_cuda_call *call,
                               cu_stream stream);
/* y = alpha A x + beta y and dot = w . y, or w . y alone, of vectors in device memory, in the
 * plan's stream. Inside enter/leave. */
tess_status tess_cuda_run_spmv_dot(tess_cuda_plan *p, tess_cuda_call *call);
tess_status tess_cuda_run_dot(tess_cuda_plan *p, cu_pointer w, cu_pointer y, cu_pointer result);

/* ---- stage.c ---- */

tess_status tess_cuda_set_stream(tess_plan *plan, void *stream);

/* Fails unless complex scalars in device memory begin at a multiple of their size, since kernels
 * load each in one access. `what` names them in the message. */
tess_status tess_cuda_check_aligned(const tess_cuda_plan *p, const char *what, cu_pointer address);

/* Fails with the message where the plan's stream is being captured in a graph. */
tess_status tess_cuda_refuse_capture(tess_cuda_plan *p, const char *message);

/* Makes a staging buffer of the plan hold at least `bytes`. */
tess_status tess_cuda_need_stage(tess_cuda_plan *p, int which, size_t bytes);

/* ---- read_ceiling.c ---- */

tess_status tess_cuda_read_ceiling(tess_device *device, double bytes, double *bytes_per_second);

/* ---- measure.c ---- */

tess_status tess_cuda_events_create(tess_cuda *cuda, int64_t count, cu_event **out);
void tess_cuda_events_destroy(tess_cuda *cuda, cu_event *events, int64_t count); /* NULL is fine */
/* Waits for `count` repetitions and gives the seconds of each. Events 2 i and 2 i + 1 are the start
 * and the end of repetition i. */
tess_status tess_cuda_events_read(tess_cuda *cuda, const cu_event *events, int count,
                                  double *seconds);

/* The seconds of each of `reps` launches in the stream, by the device's clock. `gated`: one launch
 * that is not timed comes first. Then a gate holds the stream while the host puts the other
 * launches into it, so that the host's time per launch does not count. Inside enter/leave. */
tess_status tess_cuda_time_launches(tess_cuda *cuda, cu_stream stream,
                                    tess_status (*launch)(void *user), void *user, bool gated,
                                    int reps, double *seconds);
tess_status tess_cuda_time_product(tess_plan *plan, tess_product_fn run,
                                   const tess_product *product, double alpha, const void *x,
                                   double beta, void *y, int reps, double *seconds);

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

#include "cuda/plan/choose.h"
#include "cuda/plan/launch.h"

/* Device buffers for host vectors, grown when needed and kept. */
enum { TESS_STAGE_X, TESS_STAGE_Y, TESS_STAGE_W, TESS_STAGE_PRODUCT, TESS_STAGES };

typedef struct tess_cuda_plan {
    tess_cuda *cuda;
    cu_stream stream;          /* the library's own or the caller's */
    const tess_matrix *given;  /* A */
    tess_matrix matrix;        /* A's head; its values follow tess_plan_update_values */
    bool shares;               /* its copies of A are other plans' too */
    tess_matrix *transposed;   /* once asked for */
    const void *device_values; /* newest values, in device memory only; NULL: matrix has them */
    void *values;              /* a copy of such values on the host, once needed */
    const tess_cuda_kernel *kernel; /* chosen; its product may be SpMV or SpMM */
    int params[TESS_CUDA_PARAMS];
    char shapes[TESS_CUDA_SHAPES]; /* of A, format fbcsr */
    tess_cuda_resident *residents;
    tess_cuda_variant *variants;
    cu_pointer stage[TESS_STAGES];
    size_t stage_bytes[TESS_STAGES];
    cu_pointer dot_scratch; /* partial sums, then the result */
    cu_function update;     /* update.cu, once values came from device memory */
    bool plain_dots;        /* the kernel has no form with a dot product, or it was refused */
    tess_operator caller;   /* whose products these are; apply = NULL: the plan's own */
} tess_cuda_plan;

static inline tess_cuda_plan *tess_cuda_plan_of(const tess_plan *plan)
{
    return plan->state;
}

/* ---- update.c ---- */

/* Values in device memory, in the matrix's order, go to all of the plan's residents. */
tess_status tess_cuda_update_on_device(tess_cuda_plan *p, const void *values);
/* Copies device_values to the host, where p->matrix then has them: layouts are made on the host. */
tess_status tess_cuda_bring_values(tess_cuda_plan *p);

/* The plan's values in the matrix's order, in device memory: from a copy that is there where one
 * can be read in that order. */
tess_status tess_cuda_copy_values(tess_cuda_plan *p, cu_pointer to);

/* ---- plan.c ---- */

tess_status tess_cuda_prepare(tess_plan *plan, const tess_plan_options *options);
void tess_cuda_release(tess_plan *plan);
tess_status tess_cuda_update_values(tess_plan *plan, const void *values);
tess_status tess_cuda_host_values(tess_plan *plan);
tess_status tess_cuda_set_stream(tess_plan *plan, void *stream);
void tess_cuda_settle(tess_plan *plan);

/* The variant for a product, made now if this is the first time. Inside enter/leave. */
tess_status tess_cuda_need_variant(tess_cuda_plan *p, tess_cuda_op op, bool transposed, int vectors,
                                   int row_major, const tess_cuda_variant **out);

/* The form of the plan's kernel that leaves a dot product too, made now if this is the first time.
 * NULL: there is none on the plan's layout, and a dot product follows the product. Inside
 * enter/leave. */
tess_status tess_cuda_need_dot(tess_cuda_plan *p, const tess_cuda_variant **out);

/* The plan's matrix in a layout of its own, for users that are no variants; kept up to date with
 * new values until it is let go. Inside enter/leave. */
tess_status tess_cuda_hold_resident(tess_cuda_plan *p, const char *layout_name,
                                    tess_cuda_resident **out);
void tess_cuda_let_resident_go(tess_cuda_plan *p, tess_cuda_resident *resident);

/* ---- explain.c ---- */

void tess_cuda_explain(tess_plan *plan);

/* ---- operator.c: the caller's ---- */

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

tess_status tess_cuda_spmv(tess_plan *plan, double alpha, const void *x, double beta, void *y);
tess_status tess_cuda_spmv_transpose(tess_plan *plan, double alpha, const void *x, double beta,
                                     void *y);
tess_status tess_cuda_spmv_dot(tess_plan *plan, double alpha, const void *x, double beta, void *y,
                               const void *w, double *dot);
tess_status tess_cuda_dot(tess_plan *plan, const void *x, const void *y, double *dot);
tess_status tess_cuda_spmm(tess_plan *plan, int k, tess_block_order order, double alpha,
                           const void *X, int64_t ldx, double beta, void *Y, int64_t ldy);

/* At least `bytes` in a staging buffer of the plan. */
tess_status tess_cuda_need_stage(tess_cuda_plan *p, int which, size_t bytes);

/* ---- read_ceiling.c ---- */

tess_status tess_cuda_read_ceiling(tess_device *device, double bytes, double *bytes_per_second);

/* ---- measure.c ---- */

tess_status tess_cuda_events_create(tess_cuda *cuda, int64_t count, cu_event **out);
void tess_cuda_events_destroy(tess_cuda *cuda, cu_event *events, int64_t count); /* NULL is fine */
/* Of 2*count events, the start and the end of every repetition: waits for the repetitions; the
 * seconds of each. */
tess_status tess_cuda_events_read(tess_cuda *cuda, const cu_event *events, int count,
                                  double *seconds);

/* Each of `reps` launches into the stream, by the device's clock. `gated`: after one that is not
 * timed, and put into the stream while it waits at a gate, so that none is as long as its launch
 * takes the host. Only inside tess_cuda_enter. */
tess_status tess_cuda_time_launches(tess_cuda *cuda, cu_stream stream,
                                    tess_status (*launch)(void *user), void *user, bool gated,
                                    int reps, double *seconds);
tess_status tess_cuda_time_product(tess_plan *plan, const tess_product *product, double alpha,
                                   const void *x, double beta, void *y, int reps, double *seconds);

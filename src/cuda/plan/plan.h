/* A plan on a CUDA device.
 *
 *     resident = a matrix (A or A^T) in one storage layout, its arrays in device memory
 *     variant  = a kernel specialised and compiled for that resident and one product
 *
 * The plan makes the variant of its chosen kernel at once and the others (transpose, SpMM for k
 * vectors, the fused dot product) when they are first asked for. Variants with the same layout
 * share a resident.
 */
#ifndef TESS_CUDA_PLAN_H
#define TESS_CUDA_PLAN_H

#include "cuda/driver/module.h"
#include "cuda/kernels/table.h"

/* Where each stored scalar comes from (refresh.cu). */
typedef struct tess_cuda_map {
    cu_pointer numbers; /* 0: not made */
    int64_t run, shift, inner_stride, outer_stride;
} tess_cuda_map;

typedef struct tess_cuda_resident {
    struct tess_cuda_resident *next;
    const tess_matrix *matrix; /* whose numbers it holds */
    int users;                 /* variants */
    tess_cuda_image *image;
    cu_pointer arrays[TESS_CUDA_ARRAYS];
    cu_pointer workspace;
    tess_cuda_map map; /* for values given in device memory, once asked for (refresh.c) */
    size_t bytes;      /* of device memory, all together */
} tess_cuda_resident;

typedef struct tess_cuda_variant {
    struct tess_cuda_variant *next;
    const tess_cuda_kernel *kernel;
    tess_cuda_problem problem;
    int params[TESS_CUDA_PARAMS];
    bool transposed;
    tess_cuda_resident *resident;
    cu_module module;
    int functions;
    const char *entries[TESS_CUDA_LAUNCHES];
    cu_function function[TESS_CUDA_LAUNCHES];
} tess_cuda_variant;

/* Device buffers for host vectors, grown when needed and kept. */
enum { TESS_STAGE_X, TESS_STAGE_Y, TESS_STAGE_W, TESS_STAGES };

typedef struct tess_cuda_plan {
    tess_cuda *cuda;
    cu_stream stream;               /* the library's own or the caller's */
    const tess_matrix *given;       /* A */
    tess_matrix matrix;             /* A's head; its values follow tess_plan_update_values */
    bool shares;                    /* its copies of A are other plans' too */
    tess_matrix *transposed;        /* once asked for */
    const void *there;              /* newest values in device memory, which matrix has not */
    void *values;                   /* a copy of such values on the host, once needed */
    const tess_cuda_kernel *kernel; /* chosen; its product may be SpMV or SpMM */
    int params[TESS_CUDA_PARAMS];
    char shapes[TESS_CUDA_SHAPES]; /* of A, format fbcsr */
    tess_cuda_resident *residents;
    tess_cuda_variant *variants;
    cu_pointer stage[TESS_STAGES];
    size_t stage_bytes[TESS_STAGES];
    cu_pointer dot_scratch;     /* partial sums, then the result */
    cu_function refresh;        /* refresh.cu, once values came from device memory */
    struct tess_cusparse *peer; /* a plan that runs cuSPARSE instead */
} tess_cuda_plan;

static inline tess_cuda_plan *tess_cuda_plan_of(const tess_plan *plan)
{
    return plan->state;
}

/* ---- resident.c ---- */

tess_status tess_cuda_resident_create(tess_cuda *cuda, const tess_matrix *A, const char *layout,
                                      cu_stream stream, tess_cuda_resident **out);
/* New numbers: the matrix's values have changed. */
tess_status tess_cuda_resident_refresh(tess_cuda *cuda, tess_cuda_resident *resident,
                                       cu_stream stream);
void tess_cuda_resident_destroy(tess_cuda *cuda, tess_cuda_resident *resident);

/* ---- refresh.c ---- */

/* New numbers in device memory, in the matrix's order, for all of the plan's residents. */
tess_status tess_cuda_refresh_there(tess_cuda_plan *p, const void *values);
/* Copies such numbers to the host, where p->matrix then has them: a new resident is made there. */
tess_status tess_cuda_bring_values(tess_cuda_plan *p);

/* ---- variant.c ---- */

/* What the predicates may depend on, for A on this device. */
void tess_cuda_describe_problem(const tess_cuda *cuda, const tess_matrix *A,
                                tess_cuda_problem *problem);

/* Compiles or loads the kernel for variant->problem and params. Comes before the resident: where
 * nothing can be compiled, no layout is made in vain. */
tess_status tess_cuda_variant_load(tess_cuda *cuda, tess_cuda_variant *variant,
                                   tess_jit_cubin *code);
/* Finds the entry points that a product with the variant's resident launches. */
tess_status tess_cuda_variant_functions(tess_cuda *cuda, tess_cuda_variant *variant);
/* Takes the entry points, with the resident set, and consumes `code`. A kernel that was never
 * verified is run against ref first: a wrong one fails with TESS_ERR_DEVICE. */
tess_status tess_cuda_variant_finish(tess_cuda *cuda, tess_cuda_variant *variant,
                                     tess_jit_cubin *code);
void tess_cuda_variant_unload(tess_cuda *cuda, tess_cuda_variant *variant);

/* ---- verify.c ---- */

/* Runs the loaded variant's module on a small matrix of the same block size and precision, or on
 * the plan's own where no small one has what the code was specialised for; a wrong result is
 * TESS_ERR_DEVICE. */
tess_status tess_cuda_verify(tess_cuda *cuda, const tess_cuda_variant *variant);

/* ---- launch.c ---- */

/* The variant's launches on `stream`; call->arrays and workspace are filled in here. */
tess_status tess_cuda_run(tess_cuda *cuda, const tess_cuda_variant *variant, tess_cuda_call *call,
                          cu_stream stream);

/* The same for a product with a dot, whose last sum is left to the caller: the parts to be added
 * up. None (count 0): the dot is complete. */
typedef struct tess_cuda_parts {
    cu_pointer parts;
    int64_t count;
} tess_cuda_parts;
tess_status tess_cuda_run_parts(tess_cuda *cuda, const tess_cuda_variant *variant,
                                tess_cuda_call *call, cu_stream stream, tess_cuda_parts *parts);

/* Whether the device takes such a launch: threads, grid, shared memory. */
tess_status tess_cuda_launch_check(const tess_cuda *cuda, const tess_cuda_launch *launch);
tess_status tess_cuda_launch_one(tess_cuda *cuda, cu_function function, tess_cuda_launch *launch,
                                 cu_stream stream);
/* Whether the grid can be one cluster; allows sizes that not every device has. */
bool tess_cuda_cluster_fits(tess_cuda *cuda, cu_function function, const tess_cuda_launch *launch);

/* ---- ahead.c ---- */

void tess_cuda_prepare_ahead(tess_device *device, const tess_matrix *A, const tess_candidate *items,
                             int64_t count);

/* ---- choose.c ---- */

/* The kernel and parameters the options ask for, or the first that fits. `skip` kernels of the
 * automatic order are passed over (they were refused). */
tess_status tess_cuda_choose(tess_ctx *ctx, const tess_cuda_problem *problem, tess_cuda_op op,
                             const tess_plan_options *options, int skip,
                             const tess_cuda_kernel **kernel, int *params);

/* Splits options->params in the shapes of format fbcsr, which go to problem->shapes, and the rest,
 * which goes to `params` and becomes plain->params. Where that format is asked for without shapes,
 * they are chosen for A. */
enum { TESS_CUDA_PARAMS_TEXT = 192 };
tess_status tess_cuda_take_shapes(tess_ctx *ctx, const tess_matrix *A,
                                  const tess_plan_options *options, tess_cuda_problem *problem,
                                  char params[TESS_CUDA_PARAMS_TEXT], tess_plan_options *plain);
/* All parameters as text, shapes included. */
void tess_cuda_write_all(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem,
                         const int *params, char *text, size_t size);

tess_status tess_cuda_candidates(tess_device *device, const tess_matrix *A,
                                 const tess_product *product, tess_candidates *list);

/* ---- cost.c ---- */

tess_status tess_cuda_costs(tess_device *device, const tess_matrix *A, tess_candidates *list);
bool tess_cuda_solves_at_once(tess_device *device, const tess_matrix *A);

/* ---- plan_cuda.c ---- */

tess_status tess_cuda_prepare(tess_plan *plan, const tess_plan_options *options);
void tess_cuda_release(tess_plan *plan);
tess_status tess_cuda_update_values(tess_plan *plan, const void *values);
tess_status tess_cuda_host_values(tess_plan *plan);
tess_status tess_cuda_set_stream(tess_plan *plan, void *stream);
void tess_cuda_settle(tess_plan *plan);
void tess_cuda_explain(tess_plan *plan);

/* The variant for a product, made now if this is the first time. Inside enter/leave. */
tess_status tess_cuda_need_variant(tess_cuda_plan *p, tess_cuda_op op, bool transposed, int vectors,
                                   int row_major, const tess_cuda_variant **out);

/* The plan's matrix in a layout of its own, for users that are no variants; kept up to date with
 * new values until it is let go. Inside enter/leave. */
tess_status tess_cuda_hold_resident(tess_cuda_plan *p, const char *layout,
                                    tess_cuda_resident **out);
void tess_cuda_let_resident_go(tess_cuda_plan *p, tess_cuda_resident *resident);

/* ---- convert.c ---- */

tess_status tess_cuda_memory_convert(tess_plan *plan, int64_t count, double scale, const void *from,
                                     tess_type from_type, bool add, void *to, tess_type to_type);

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

/* 2*count events: start and end of every repetition. */
tess_status tess_cuda_events_create(tess_cuda *cuda, int count, cu_event **out);
void tess_cuda_events_destroy(tess_cuda *cuda, cu_event *events, int count); /* NULL is fine */
/* Waits for the repetitions; the seconds of each. */
tess_status tess_cuda_events_read(tess_cuda *cuda, const cu_event *events, int count,
                                  double *seconds);

tess_status tess_cuda_time_product(tess_plan *plan, const tess_product *product, double alpha,
                                   const void *x, double beta, void *y, int reps, double *seconds);

/* ---- peer_cusparse.c ---- */

#define TESS_CUSPARSE_PREFIX "cusparse"

/* Appends cuSPARSE's paths for A, if the library is on this machine. */
tess_status tess_cusparse_candidates(tess_cuda *cuda, const tess_matrix *A, tess_candidates *list);
/* `shares`: paths that read the same arrays have them once; A then must not change. */
tess_status tess_cusparse_create(tess_cuda *cuda, const tess_matrix *A, const char *kernel,
                                 bool shares, cu_stream stream, struct tess_cusparse **out);
tess_status tess_cusparse_spmv(struct tess_cusparse *peer, double alpha, cu_pointer x, double beta,
                               cu_pointer y, cu_stream stream);
void tess_cusparse_destroy(struct tess_cusparse *peer);

#endif

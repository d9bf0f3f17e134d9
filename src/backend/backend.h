/* Devices, plans, and what a backend has to provide.
 *
 * A backend is one constant table of functions. plan/plan.c checks the caller's arguments once,
 * then calls them; a backend may therefore assume non-NULL vectors and k >= 1. Optional functions
 * may be NULL: a call then fails with TESS_ERR_UNSUPPORTED and the backend's name.
 */
#pragma once

#include "backend/permute.h"
#include "core/sleep.h"
#include "matrix/matrix.h"

typedef struct tess_backend tess_backend;
typedef struct tess_search tess_search; /* plan/tuner.h */
struct tess_space_ops;                  /* solve/space/space.h */
struct tess_amg_device_ops;             /* solve/pc/amg/device.h */

struct tess_device {
    tess_ctx *ctx;
    const tess_backend *backend;
    int threads; /* host threads a product uses; 0 where the host does not compute */
    void *state; /* the backend's own */
    char description[256];
    char model[160];     /* the device in wisdom's keys: all that decides which kernel is fastest */
    double cache_bytes;  /* a matrix smaller than this stays in a cache between two products */
    double memory_speed; /* bytes a second by a GPU's memory clock and bus; 0: not known */
    double gpu_threads;  /* that a GPU's multiprocessors hold at once; 0: no GPU */
    char reason[160];    /* why this device, where "auto" chose it */
    struct tess_model *performance; /* plan/model/model.h; read when it is first asked for */
    void (*performance_free)(struct tess_model *); /* set with it */
};

struct tess_plan {
    tess_ctx *ctx;
    tess_device *device;
    const tess_matrix *matrix;
    int64_t all_rows;  /* the matrix's, or those of all parts where it is one part's (dist/) */
    int64_t first_row; /* of a part: its first one among them; else 0 */
    tess_device
        *local;       /* of a part: that of its own block, where its vectors are; NULL: the host */
    tess_plan *block; /* of a part: the plan of its own square block; NULL: the matrix is whole */
    const void *values;  /* the matrix's, or those of the last update */
    int64_t version;     /* of the matrix when its values were last taken */
    int64_t updates;     /* how often they were taken since the plan was made; solvers look at it */
    bool shares_layouts; /* its copies of A may be other plans' too: A's values never change */
    void *state;         /* the backend's own */
    char format[32];     /* chosen by the backend, for explain and bench */
    char kernel[64];     /* name as in the kernel table */
    char params[160];    /* "key=value,..." or "" */
    bool named;          /* the caller named format, kernel or parameters: solvers keep to them */
    bool one_vector;     /* by the backend: products with several vectors read another format */
    tess_plan *inner;    /* that of the permuted matrix (plan/regrouped.h); NULL: nothing is */
    tess_search *search; /* how it was chosen; NULL: by the options alone, or by a guess */
    double moves;        /* bytes of one product in its format; 0: not known */
    double memory;       /* bytes kept beside A; 0: nothing, or not known */
    bool proven;         /* a product has succeeded */
    void *stream;        /* that the caller has set */
    char note[320];      /* which kernel failed before this one; "": none */
    char explain[4096];  /* filled by tess_plan_explain */
    tess_word turn;      /* held during a product: the last field, which stays with its plan */
};

/* A random number in (-1, 1) for a row of the plan's matrix. Parts draw those of the whole: with
 * the same numbers on every part, vectors could not tell what is alike on two parts from what is
 * not. */
static inline double tess_plan_random(const tess_plan *plan, uint64_t seed, int64_t row)
{
    return tess_random_unit(seed, (uint64_t)(plan->first_row + row));
}

/* The plan's format, kernel and parameters are those of the plan that does its work. */
static inline void tess_plan_name_as(tess_plan *plan, const tess_plan *worker)
{
    memcpy(plan->format, worker->format, sizeof plan->format);
    memcpy(plan->kernel, worker->kernel, sizeof plan->kernel);
    memcpy(plan->params, worker->params, sizeof plan->params);
}

/* One way to run a matrix on a device, in the words of tess_plan_options. */
typedef struct tess_candidate {
    char format[32];
    char kernel[64];
    char params[160]; /* "key=value,..." or "" */

    /* Filled by the backend's costs(), for the model: the kernel class whose curves apply ("":
     * none), the bytes that one product moves in this format, padding included, and the bytes that
     * the plan keeps beside A. */
    char class_name[32];
    double bytes, memory;
    /* By costs(), where several streams walk in lockstep: the blocks that one stream does alone
     * because its row is longer, and the share of all blocks that are left when another stream has
     * ended. */
    double alone, left;
    /* By costs(): seconds in which a GPU's memory waits for rows that are longer than others. */
    double idle;
    /* By costs(): how often a row's threads wait for loads, over how often those of a large matrix
     * do, whose rows have fewer threads; at most 1, and 0 means 1. */
    double waits;
    bool unsteady;    /* by costs(): its speed changes from one block size to the next */
    bool naive;       /* by costs(): what one would take without thinking, bsr and a plain kernel */
    bool by_fields;   /* by costs(): it would take vectors by fields (fields_open) */
    double predicted; /* seconds of one product in the mean; 0: the model knows nothing of it */
    double doubt;     /* by costs(): predicted times are compared multiplied by this; 0 means 1 */
    double unsure;    /* by the model, likewise: how much longer it may take among other kernels */
    bool shaped;      /* parameters belong to this matrix's pattern: wisdom keeps the format without
                         them */
    /* By costs(): the class whose measured irregular rows stand for those of this one, and the
     * class of the same kernel with one stream; "": none but class_name. */
    char irregular_as[32], single_class[32];
} tess_candidate;

/* A growing array of candidates: zero to start with, freed by tess_candidates_free. */
typedef struct tess_candidates {
    tess_candidate *items;
    int64_t count, capacity;
} tess_candidates;

/* What is measured: one of the products a plan offers. */
typedef enum tess_product_kind {
    TESS_PRODUCT_SPMV,
    TESS_PRODUCT_SPMV_TRANSPOSE,
    TESS_PRODUCT_SPMM
} tess_product_kind;

typedef struct tess_product {
    tess_product_kind kind;
    int k;                  /* SPMM: number of vectors, densely packed (ld = k or the length) */
    tess_block_order order; /* SPMM */
    tess_effort effort;     /* candidates: ESTIMATE a few, EXHAUSTIVE all sets of parameters */
    bool shapes;            /* candidates: fbcsr too, for which the pattern has to be searched */
    const char *format; /* candidates: of this format alone, where a backend can tell; or NULL */
} tess_product;

/* Runs a product once (plan/products.h). */
typedef tess_status (*tess_product_fn)(tess_plan *plan, const tess_product *product, double alpha,
                                       const void *x, double beta, void *y);

/* Y = alpha A X + beta Y of k vectors, or its transpose of one. */
typedef struct tess_part_product {
    bool transpose;
    int k;
    tess_block_order order;
    double alpha, beta;
    const void *X;
    void *Y;
    int64_t ldx, ldy;
} tess_part_product;

/* y = alpha A x + beta y or its transpose, of vectors by fields: scalar k of block i is element
 * k n + i, of n blocks. With `dot`, which has no transpose, also w . y; w = NULL: y . y. */
typedef struct tess_fields_product {
    bool transpose;
    double alpha, beta;
    const void *x, *w;
    void *y;
    double *dot; /* NULL: none is asked for */
} tess_fields_product;

/* What is done for each part of a plan, on a thread of the part's own. */
typedef tess_status (*tess_part_fn)(void *user, int rank, tess_plan *part, int64_t first_row);

/* Samples of how fast a device reads, in bytes a second; 0: the pattern does not apply. */
enum { TESS_READINGS = 24 };
typedef struct tess_readings {
    int count;
    double speeds[TESS_READINGS];
} tess_readings;

/* Products of complex matrices. Vectors and factors are complex; the imaginary parts of factors may
 * be 0. */
typedef struct tess_complex_products {
    tess_status (*spmv)(tess_plan *plan, tess_operation operation, tess_complex alpha,
                        const void *x, tess_complex beta, void *y);
    tess_status (*spmm)(tess_plan *plan, int k, tess_block_order order, tess_complex alpha,
                        const void *X, int64_t ldx, tess_complex beta, void *Y, int64_t ldy);
    /* x^H y, as many scalars as the matrix has rows. */
    tess_status (*dot)(tess_plan *plan, const void *x, const void *y, tess_complex *dot);
} tess_complex_products;

struct tess_backend {
    const char *name;    /* "cpu": the part of a device string before ':' */
    const char *kernels; /* a hash of what its kernels are made of; NULL: none is needed */

    /* `rest` is the part of the device string after ':' or NULL; of a device of several parts the
     * whole string. Fills description and state. */
    tess_status (*open)(tess_device *device, const char *rest);
    void (*close)(tess_device *device);

    /* Fills plan->state, format, kernel and params. On failure leaves nothing behind. */
    tess_status (*prepare)(tess_plan *plan, const tess_plan_options *options);
    void (*release)(tess_plan *plan);

    /* Ends the sharing of layouts: a layout that no other plan uses any more becomes the plan's
     * own. NULL: plans of this backend share nothing. */
    void (*settle)(tess_plan *plan);

    tess_status (*spmv)(tess_plan *plan, double alpha, const void *x, double beta, void *y);
    tess_status (*spmv_transpose)(tess_plan *plan, double alpha, const void *x, double beta,
                                  void *y);
    tess_status (*spmv_dot)(tess_plan *plan, double alpha, const void *x, double beta, void *y,
                            const void *w, double *dot);
    /* x . y of vectors in the device's memory, as many scalars as the matrix has rows. */
    tess_status (*dot)(tess_plan *plan, const void *x, const void *y, double *dot);
    tess_status (*spmm)(tess_plan *plan, int k, tess_block_order order, double alpha, const void *X,
                        int64_t ldx, double beta, void *Y, int64_t ldy);
    /* Whether the plan's kernel has products of vectors by fields that are worth taking. They are
     * made ready. Both NULL: no kernel has. */
    tess_status (*fields_open)(tess_plan *plan, bool *has);
    /* *done is false where the kernel has no such product: nothing was done. */
    tess_status (*fields_multiply)(tess_plan *plan, const tess_fields_product *product, bool *done);
    /* NULL: plans of complex matrices are refused. */
    const tess_complex_products *complex;
    tess_status (*update_values)(tess_plan *plan, const void *values);
    /* Appends its part to plan->explain. */
    void (*explain)(tess_plan *plan);

    /* Sets plan->values to the newest values in host memory; NULL: that is where they are. */
    tess_status (*host_values)(tess_plan *plan);

    /* ---- A plan that is one part of a product (dist/); NULL: a plan is the whole ---- */

    /* values[i] becomes the sum over all parts, added in their order. */
    tess_status (*sum)(tess_plan *plan, double *values, int count);
    /* The same in two calls, between which the plan's products may be computed; at most sum_most
     * numbers. */
    tess_status (*sum_start)(tess_plan *plan, const double *values, int count);
    tess_status (*sum_wait)(tess_plan *plan, double *values);
    int sum_most;
    /* values[i] becomes the largest of all parts. */
    tess_status (*most)(tess_plan *plan, double *values, int count);
    /* Returns `status`, or the failure of the first part that has one, with its sentence. */
    tess_status (*agree)(tess_plan *plan, tess_status status);
    /* The part's blocks in columns of others, with their newest values: the rest of its rows is in
     * plan->matrix. */
    const tess_matrix *(*outside)(const tess_plan *plan);

    /* ---- A plan whose parts are in this process (dist/parts.c); NULL: it has none ---- */

    /* Runs body(user, rank, part's plan, its first row) for all parts side by side. Returns the
     * failure of the first part that has one, with its sentence. */
    tess_status (*each_part)(tess_plan *plan, tess_part_fn body, void *user);
    int (*parts)(const tess_plan *plan);

    /* Where solvers keep their vectors. NULL: in the host's memory; a device on which the host does
     * not compute then has no solvers. */
    const struct tess_space_ops *space;

    /* The same for one part of a plan whose other parts are on devices of the same kind; NULL:
     * parts keep them in the host's memory. */
    const struct tess_space_ops *part_space;

    /* What such a part exchanges with others. Collective. NULL: messages of host memory
     * (dist/product.c). */
    tess_status (*part_open)(tess_plan *plan);
    /* A product of such a part, vectors in the device's memory or the host's. NULL: it is made of
     * those of the part's blocks, and of messages (dist/product.c). */
    tess_status (*part_multiply)(tess_plan *plan, const tess_part_product *product);
    void (*part_release)(tess_plan *plan); /* what that has made */

    /* What the device does of pc=amg's set-up; NULL: the host does all of it. */
    const struct tess_amg_device_ops *multigrid;

    /* The queue that products run in (CUDA). NULL: the device has none. */
    tess_status (*set_stream)(tess_plan *plan, void *stream);

    /* ---- The device's own memory; all NULL where that is the host's ---- */
    tess_status (*memory_alloc)(tess_device *device, size_t bytes, void **out);
    void (*memory_free)(tess_device *device, void *pointer);
    tess_status (*memory_copy_to)(tess_device *device, void *to, const void *from, size_t bytes);
    tess_status (*memory_copy_from)(tess_device *device, void *to, const void *from, size_t bytes);
    /* to = scale * from, or to = to + scale * from, `count` scalars of the two types. The call does
     * not wait; the plan's next work comes after it. */
    tess_status (*memory_convert)(tess_plan *plan, int64_t count, double scale, const void *from,
                                  tess_type from_type, bool add, void *to, tess_type to_type);
    /* Vectors in the device's memory into another order, likewise without waiting. */
    tess_status (*memory_permute)(tess_plan *plan, const tess_permute *pass);
    tess_status (*synchronize)(tess_device *device);
    /* Whether an address is the device's. */
    bool (*owns)(tess_device *device, const void *pointer);

    /* ---- For `tessera bench` and the tuner; each may be NULL ---- */

    /* Appends (tess_candidates_add) every format, kernel and parameter set that applies to A on
     * this device and can do `product`; prepare() must accept each as options. The first is the one
     * prepare() would choose by itself; of each kernel, the first has the parameters it would
     * choose. NULL: only that. */
    tess_status (*candidates)(tess_device *device, const tess_matrix *A,
                              const tess_product *product, tess_candidates *list);

    /* Fills what tess_candidate says "by costs()" of SpMV candidates, from the exact lengths of A's
     * rows. NULL: the model knows nothing of this device. */
    tess_status (*costs)(tess_device *device, const tess_matrix *A, tess_candidates *list);

    /* The table of plans of the caller's operators, where vectors are not in the host's memory. */
    const tess_backend *operators;
    /* In such a table: fills plan->state. */
    tess_status (*prepare_operator)(tess_plan *plan, const tess_operator *A);
    /* Plans are the caller's operators: they have products and no entries. */
    bool matrix_free;

    /* An asynchronous device runs beside the host: it has a clock of its own (time_product), begins
     * a launch while another ends, and its products are short beside what the host prepares. */
    bool asynchronous;

    /* Format fbcsr is kept as slices (format/fbcsr/slices.h), for which other shapes pay. */
    bool shapes_in_slices;

    /* Whether a format stores half of A, which is symmetric. NULL: none does, of any matrix. */
    bool (*stores_half)(const tess_matrix *A);

    /* Whether all iterations of CG with pc=jacobi on A are one launch, as far as the matrix's sizes
     * tell. NULL: they never are. */
    bool (*solves_at_once)(tess_device *device, const tess_matrix *A);

    /* Does ahead, for several candidates at once, what prepare() would do for one after the other
     * (compilation). Only speed depends on it. NULL: there is nothing to do. */
    void (*prepare_ahead)(tess_device *device, const tess_matrix *A, const tess_candidate *items,
                          int64_t count);

    /* The most bytes a second that this device can read from an array of `bytes` bytes read again
     * and again: memory's speed when it is large, the cache's when it is small. The best of several
     * access patterns, a fresh measurement each call (about 0.1 s). NULL: unknown. */
    tess_status (*read_ceiling)(tess_device *device, double bytes, double *bytes_per_second);

    /* One sample of each of these access patterns, for a benchmark that lets them take turns with
     * products: the array stays until the device is closed or another size is asked for. NULL: a
     * call of read_ceiling is the sample. */
    tess_status (*read_samples)(tess_device *device, double bytes, tess_readings *samples);

    /* Runs y = alpha A x + beta y (or the other products) `reps` times with the vectors where the
     * device wants them, and writes each repetition's own time, transfers of host vectors not
     * counted, into seconds[0..reps-1]; with beta = 0 after one more that is not timed. x and y are
     * host arrays; y holds the result of the last repetition afterwards. NULL: the host's clock
     * around each call. `run` is tess_product_run, handed in: plans call backends and not the other
     * way round. */
    tess_status (*time_product)(tess_plan *plan, tess_product_fn run, const tess_product *product,
                                double alpha, const void *x, double beta, void *y, int reps,
                                double *seconds);
};

/* ---- product.c: the same for every backend ---- */

tess_status tess_candidates_add(tess_ctx *ctx, tess_candidates *list,
                                const tess_candidate *candidate);
void tess_candidates_free(tess_ctx *ctx, tess_candidates *list);

/* Called before these candidates are prepared one by one. */
void tess_candidates_ahead(tess_device *device, const tess_matrix *A, const tess_candidate *items,
                           int64_t count);

/* Numbers in -1..1, always the same. Zeros would take less power to multiply, and a GPU would run
 * faster on them. */
void tess_random_vector(void *x, int64_t count, tess_type type);

/* Scalars in x and y of a product with A. */
int64_t tess_product_x_size(const tess_matrix *A, const tess_product *product);
int64_t tess_product_y_size(const tess_matrix *A, const tess_product *product);

/* The fewest bytes that the product can move, and its flops on stored values: GB/s and GFLOP/s are
 * computed from these. */
double tess_product_bytes(const tess_matrix *A, const tess_product *product);
double tess_product_flops(const tess_matrix *A, const tess_product *product);

/* device.c: TESS_ERR_UNSUPPORTED where the device has no products of matrices of A's type. Whatever
 * prepares A for a device asks first. */
tess_status tess_device_takes(const tess_device *device, const tess_matrix *A);

/* device.c: the backend whose name is the first `length` characters; NULL: there is none. */
const tess_backend *tess_backend_named(const char *name, size_t length);

/* Hashes of the kernels' sources, written by hash_kernels.cmake. */
extern const char tess_cpu_kernel_hash[], tess_cuda_kernel_hash[];

extern const tess_backend tess_ref_backend;
extern const tess_backend tess_cpu_backend;
extern const tess_backend tess_cuda_backend;
extern const tess_backend tess_profile_backend; /* cuda/profile_device.c */
extern const tess_backend tess_parts_backend;   /* dist/parts.c: a device of several parts */

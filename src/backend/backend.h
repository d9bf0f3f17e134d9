/* Devices, plans, and the functions that a backend provides.
 *
 * A backend is one constant table of functions. plan/products.c checks the caller's arguments once
 * and then calls these functions, so a backend may assume non-NULL vectors and k >= 1. Optional
 * functions may be NULL: a call then fails with TESS_ERR_UNSUPPORTED and the backend's name.
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
    int threads; /* host threads of a product; 0: the host does not compute */
    void *state; /* belongs to the backend */
    char description[256];
    char model[160];     /* the device in wisdom's keys: all that decides which kernel is fastest */
    double cache_bytes;  /* a matrix smaller than this stays in a cache between two products */
    double memory_speed; /* bytes/s by a GPU's memory clock and bus width; 0: not known */
    double gpu_threads;  /* that fit a GPU's multiprocessors at a time; 0: no GPU */
    char reason[160];    /* why "auto" chose this device */
    struct tess_model *performance;                /* plan/model/model.h; read at the first use */
    void (*performance_free)(struct tess_model *); /* set with it */
};

struct tess_plan {
    tess_ctx *ctx;
    tess_device *device;
    const tess_matrix *matrix;
    int64_t all_rows;   /* of the matrix; for a part (dist/) of all parts together */
    int64_t first_row;  /* of a part: its first row among all_rows; else 0 */
    tess_device *local; /* of a part: where its block and vectors are; NULL: the host */
    tess_plan *block;   /* of a part: the plan of its own square block; NULL: the matrix is whole */
    const void *values; /* of the matrix, or of the last update */
    int64_t version;    /* of the matrix when its values were last taken */
    int64_t updates;    /* how often values were taken since the plan was made, for solvers */
    bool shares_layouts; /* other plans may use its copies of A: A's values never change */
    void *state;         /* belongs to the backend */
    char format[32];     /* chosen by the backend, for explain and bench */
    char kernel[64];     /* its name in the kernel table */
    char params[160];    /* "key=value,..." or "" */
    bool named;          /* the caller named format, kernel or parameters: solvers keep them */
    bool one_vector;     /* set by the backend: SpMM reads another format */
    tess_plan *inner;    /* of the permuted matrix (plan/regrouped.h); NULL: not permuted */
    tess_search *search; /* how it was chosen; NULL: by the options or a guess */
    double moves;        /* bytes that one product moves in its format; 0: not known */
    double memory;       /* bytes kept beside A; 0: nothing, or not known */
    bool proven;         /* a product has succeeded once */
    void *stream;        /* set by the caller */
    char note[320];      /* which kernel failed before this one; "": none */
    char explain[4096];  /* filled by tess_plan_explain */
    tess_word turn;      /* held during a product; the last field, it stays with its plan */
};

/* A random number in (-1, 1) for a row of the plan's matrix. A part draws the numbers of its rows
 * in the whole matrix. With the same numbers on every part, a test with such vectors could miss
 * differences between parts. */
static inline double tess_plan_random(const tess_plan *plan, uint64_t seed, int64_t row)
{
    return tess_random_unit(seed, (uint64_t)(plan->first_row + row));
}

/* Gives the plan the format, kernel, parameters and note of the plan that does its work. */
static inline void tess_plan_name_as(tess_plan *plan, const tess_plan *worker)
{
    memcpy(plan->note, worker->note, sizeof plan->note);
    memcpy(plan->format, worker->format, sizeof plan->format);
    memcpy(plan->kernel, worker->kernel, sizeof plan->kernel);
    memcpy(plan->params, worker->params, sizeof plan->params);
}

/* One way to run a matrix on a device, in the words of tess_plan_options. */
typedef struct tess_candidate {
    char format[32];
    char kernel[64];
    char params[160]; /* "key=value,..." or "" */

    /* By the backend's costs(), for the model: the kernel class whose curves apply ("": none); the
     * bytes that one product moves in this format, padding included; the bytes that the plan keeps
     * beside A. */
    char class_name[32];
    double bytes, memory;
    /* By costs(), where several streams walk in lockstep: the blocks that one stream does alone
     * because its row is longer, and the share of all blocks that remain after the first stream has
     * ended. */
    double alone, left;
    /* By costs(): the seconds in which a GPU's memory is idle because of rows longer than the
     * others. */
    double idle;
    /* By costs(): how often a row's threads wait for loads, relative to those of a large matrix,
     * which has fewer threads per row. At most 1; 0 means 1. */
    double waits;
    bool unsteady;    /* by costs(): its speed changes from one block size to the next */
    bool naive;       /* by costs(): the naive choice, bsr with a plain kernel */
    bool by_fields;   /* by costs(): it has products of vectors by fields (fields_open) */
    double predicted; /* mean seconds of one product; 0: the model has no prediction */
    double doubt;     /* by candidates(): the factor on `predicted` in comparisons; 0 means 1 */
    double unsure;    /* by the model: a further factor, for comparisons with other kernels */
    bool shaped;      /* parameters depend on the pattern: wisdom keeps only the format */
    /* By costs(): the class whose measured extras of irregular rows apply to this one, and the
     * class of the same kernel with one stream; "": class_name. */
    char irregular_as[32], single_class[32];
} tess_candidate;

/* A growing array of candidates. It begins as zeros and is freed by tess_candidates_free. */
typedef struct tess_candidates {
    tess_candidate *items;
    int64_t count, capacity;
} tess_candidates;

/* What is measured: one of a plan's products. */
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
    bool shapes;            /* candidates: also fbcsr, which needs a search of the pattern */
    const char *format;     /* candidates: if possible only of this format; or NULL */
} tess_product;

/* Runs a product once (plan/measure.c). */
typedef tess_status (*tess_product_fn)(tess_plan *plan, const tess_product *product, double alpha,
                                       const void *x, double beta, void *y);

/* Y = alpha A X + beta Y for k vectors, or the transposed product for one vector. */
typedef struct tess_part_product {
    bool transpose;
    int k;
    tess_block_order order;
    double alpha, beta;
    const void *X;
    void *Y;
    int64_t ldx, ldy;
} tess_part_product;

/* y = alpha A x + beta y or the transposed product, of vectors by fields: scalar k of block i is
 * element k n + i, of n blocks. With `dot`, not transposed, also w . y; w = NULL: y . y. */
typedef struct tess_fields_product {
    bool transpose;
    double alpha, beta;
    const void *x, *w;
    void *y;
    double *dot; /* NULL: not wanted */
} tess_fields_product;

/* A function that runs for each part of a plan, on a thread of its own. */
typedef tess_status (*tess_part_fn)(void *user, int rank, tess_plan *part, int64_t first_row);

/* Samples of a device's reading speed in bytes/s; 0: the access pattern does not apply. */
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
    /* x^H y, with one scalar per row of the matrix. */
    tess_status (*dot)(tess_plan *plan, const void *x, const void *y, tess_complex *dot);
} tess_complex_products;

struct tess_backend {
    const char *name;    /* "cpu": the part of a device string before ':' */
    const char *kernels; /* a hash of the kernels' sources; NULL: none is needed */

    /* `rest` is the part of the device string after ':' or NULL; for a device of several parts, the
     * whole string. Fills description and state. */
    tess_status (*open)(tess_device *device, const char *rest);
    void (*close)(tess_device *device);

    /* Fills plan->state, format, kernel and params. A failure frees all of it. */
    tess_status (*prepare)(tess_plan *plan, const tess_plan_options *options);
    void (*release)(tess_plan *plan);

    /* Ends the sharing of layouts: a layout that no other plan uses now becomes the plan's own.
     * NULL: plans of this backend share no layouts. */
    void (*settle)(tess_plan *plan);

    tess_status (*spmv)(tess_plan *plan, double alpha, const void *x, double beta, void *y);
    tess_status (*spmv_transpose)(tess_plan *plan, double alpha, const void *x, double beta,
                                  void *y);
    tess_status (*spmv_dot)(tess_plan *plan, double alpha, const void *x, double beta, void *y,
                            const void *w, double *dot);
    /* x . y of vectors in the device's memory, with one scalar per row of the matrix. */
    tess_status (*dot)(tess_plan *plan, const void *x, const void *y, double *dot);
    tess_status (*spmm)(tess_plan *plan, int k, tess_block_order order, double alpha, const void *X,
                        int64_t ldx, double beta, void *Y, int64_t ldy);
    /* Whether the plan's kernel has products of vectors by fields that pay; if so, prepares them.
     * Both functions NULL: no kernel has. */
    tess_status (*fields_open)(tess_plan *plan, bool *has);
    /* *done is false if the kernel has no such product; then nothing was computed. */
    tess_status (*fields_multiply)(tess_plan *plan, const tess_fields_product *product, bool *done);
    /* NULL: plans of complex matrices are refused. */
    const tess_complex_products *complex;
    tess_status (*update_values)(tess_plan *plan, const void *values);
    /* Appends the backend's text to plan->explain. */
    void (*explain)(tess_plan *plan);

    /* Sets plan->values to the newest values in host memory; NULL: they are always there. */
    tess_status (*host_values)(tess_plan *plan);

    /* ---- For a plan that is one part of a product (dist/); NULL: plans are never parts ---- */

    /* values[i] becomes the sum over all parts, added in their order. */
    tess_status (*sum)(tess_plan *plan, double *values, int count);
    /* The same in two calls, for at most sum_most numbers. Products of the plan may run between
     * them. */
    tess_status (*sum_start)(tess_plan *plan, const double *values, int count);
    tess_status (*sum_wait)(tess_plan *plan, double *values);
    int sum_most;
    /* values[i] becomes the largest over all parts. */
    tess_status (*most)(tess_plan *plan, double *values, int count);
    /* Returns `status`, or the failure of the first part that has one, with its sentence. */
    tess_status (*agree)(tess_plan *plan, tess_status status);
    /* In place of a product, fused with a dot product where `with_dot`: this part's arguments are
     * wrong, as `status` and the sentence say, and other parts may wait for its rows. Vectors are
     * not looked at. Returns the failure. */
    tess_status (*refuse)(tess_plan *plan, const tess_part_product *product, bool with_dot,
                          tess_status status);
    /* The part's outside blocks, with their newest values; plan->matrix has the other blocks of its
     * rows. */
    const tess_matrix *(*outside)(const tess_plan *plan);

    /* ---- For a plan whose parts are in this process (dist/process); NULL: it has none ---- */

    /* Runs body(user, rank, part's plan, its first row) for all parts side by side. Returns the
     * failure of the first part that has one, with its sentence. */
    tess_status (*each_part)(tess_plan *plan, tess_part_fn body, void *user);
    int (*parts)(const tess_plan *plan);

    /* The space of solvers' vectors. NULL: the host's memory; a device on which the host does not
     * compute then has no solvers. */
    const struct tess_space_ops *space;

    /* The same for one part of a plan whose other parts are on devices of the same kind. NULL: the
     * host's memory. */
    const struct tess_space_ops *part_space;

    /* Prepares the exchange of such a part with others. Collective. NULL: messages of host memory
     * (dist/product.c). */
    tess_status (*part_open)(tess_plan *plan);
    /* A product of such a part, with vectors in the device's memory or the host's. NULL: it
     * consists of products of the part's blocks and of messages (dist/product.c). */
    /* `status` is that of what came before: after a failure it returns that, and keeps no other
     * part waiting. */
    tess_status (*part_multiply)(tess_plan *plan, const tess_part_product *product,
                                 tess_status status);
    void (*part_release)(tess_plan *plan); /* frees what part_open made */

    /* The steps of pc=amg's set-up that the device does; NULL: the host does all of them. */
    const struct tess_amg_device_ops *multigrid;

    /* Sets the CUDA stream in which products run. NULL: the device has no streams. */
    tess_status (*set_stream)(tess_plan *plan, void *stream);

    /* ---- The device's own memory; all NULL if it is the host's ---- */
    tess_status (*memory_alloc)(tess_device *device, size_t bytes, void **out);
    void (*memory_free)(tess_device *device, void *pointer);
    tess_status (*memory_copy_to)(tess_device *device, void *to, const void *from, size_t bytes);
    tess_status (*memory_copy_from)(tess_device *device, void *to, const void *from, size_t bytes);
    /* to = scale * from, or to = to + scale * from, `count` scalars of the two types. Asynchronous;
     * the plan's next work runs after it. */
    tess_status (*memory_convert)(tess_plan *plan, int64_t count, double scale, const void *from,
                                  tess_type from_type, bool add, void *to, tess_type to_type);
    /* Permutes vectors in the device's memory, also asynchronous. */
    tess_status (*memory_permute)(tess_plan *plan, const tess_permute *pass);
    tess_status (*synchronize)(tess_device *device);
    /* Whether an address is in the device's memory. */
    bool (*owns)(tess_device *device, const void *pointer);

    /* ---- For `tessera bench` and the tuner; each may be NULL ---- */

    /* Appends (tess_candidates_add) every format, kernel and parameter set that applies to A on
     * this device and can do `product`; prepare() must accept each as options. The first is the one
     * that prepare() would choose by itself; of each kernel, the first has the parameters that
     * prepare() would choose. NULL: only prepare()'s choice. */
    tess_status (*candidates)(tess_device *device, const tess_matrix *A,
                              const tess_product *product, tess_candidates *list);

    /* Fills the fields of SpMV candidates that tess_candidate marks "by costs()", from the exact
     * lengths of A's rows. NULL: the model does not predict this device. */
    tess_status (*costs)(tess_device *device, const tess_matrix *A, tess_candidates *list);

    /* The backend of plans of the caller's operators, if vectors are not in the host's memory. */
    const tess_backend *operators;
    /* In such a backend: fills plan->state. */
    tess_status (*prepare_operator)(tess_plan *plan, const tess_operator *A);
    /* Plans are the caller's operators: they have products but no entries. */
    bool matrix_free;

    /* An asynchronous device runs beside the host: it has a clock of its own (time_product), begins
     * a launch while another ends, and its products are short beside the host's preparation. */
    bool asynchronous;

    /* Format fbcsr is stored as slices (format/fbcsr/slices.h), for which different shapes pay. */
    bool shapes_in_slices;

    /* Whether a format has half storage for A, which is symmetric. NULL: none has. */
    bool (*stores_half)(const tess_matrix *A);

    /* Whether CG with pc=jacobi on A runs `at once` (all iterations in one launch), judged by the
     * matrix's sizes. NULL: never. */
    bool (*solves_at_once)(tess_device *device, const tess_matrix *A);

    /* Does in advance, for several candidates at once, the compilation that prepare() would do for
     * each in turn. Only speed depends on it. NULL: there is nothing to do. */
    void (*prepare_ahead)(tess_device *device, const tess_matrix *A, const tess_candidate *items,
                          int64_t count);

    /* The read ceiling: the most bytes/s that this device can read from an array of `bytes` bytes
     * that is read repeatedly. A large array gives the memory's speed, a small one the cache's. It
     * is the best of several access patterns, measured anew in each call (about 0.1 s). NULL:
     * unknown. */
    tess_status (*read_ceiling)(tess_device *device, double bytes, double *bytes_per_second);

    /* One sample of each of these access patterns, for a benchmark that alternates them with
     * products. The array is kept until the device is closed or `bytes` changes. NULL: a call of
     * read_ceiling is the sample. */
    tess_status (*read_samples)(tess_device *device, double bytes, tess_readings *samples);

    /* Runs y = alpha A x + beta y (or another product) `reps` times with vectors in the device's
     * memory, and writes the time of each repetition to seconds[0..reps-1], without transfers of
     * host vectors. With beta = 0 one run that is not timed comes first. x and y are host arrays; y
     * holds the result of the last repetition afterwards. NULL: the host's clock around each
     * call. `run` runs one of them; it is handed in, as backends do not call plans. */
    tess_status (*time_product)(tess_plan *plan, tess_product_fn run, const tess_product *product,
                                double alpha, const void *x, double beta, void *y, int reps,
                                double *seconds);
};

/* ---- product.c: for every backend ---- */

tess_status tess_candidates_add(tess_ctx *ctx, tess_candidates *list,
                                const tess_candidate *candidate);
void tess_candidates_free(tess_ctx *ctx, tess_candidates *list);

/* Calls prepare_ahead for candidates that are about to be prepared one by one. */
void tess_candidates_ahead(tess_device *device, const tess_matrix *A, const tess_candidate *items,
                           int64_t count);

/* Notes in a plan which kernel failed, and why, so that the plan's own took its place. */
void tess_plan_note(tess_plan *plan, const char *kernel, const char *reason);

/* Fills x with numbers in -1..1, always the same. Not with zeros: multiplying zeros takes less
 * power, so a GPU runs faster. */
void tess_random_vector(void *x, int64_t count, tess_type type);

/* The number of scalars in x and in y of a product with A. */
int64_t tess_product_x_size(const tess_matrix *A, const tess_product *product);
int64_t tess_product_y_size(const tess_matrix *A, const tess_product *product);

/* The fewest bytes that the product can move, and its flops on stored values: GB/s and GFLOP/s are
 * computed from these numbers. */
double tess_product_bytes(const tess_matrix *A, const tess_product *product);
double tess_product_flops(const tess_matrix *A, const tess_product *product);

/* device.c: fails with TESS_ERR_UNSUPPORTED if the device has no products of matrices of A's type.
 * Called before A is prepared for a device. */
tess_status tess_device_takes(const tess_device *device, const tess_matrix *A);

/* device.c: the backend whose name is the first `length` characters of `name`; NULL: there is
 * none. */
const tess_backend *tess_backend_named(const char *name, size_t length);

/* Hashes of the kernels' sources, written by hash_kernels.cmake. */
extern const char tess_cpu_kernel_hash[], tess_cuda_kernel_hash[];

extern const tess_backend tess_ref_backend;
extern const tess_backend tess_cpu_backend;
extern const tess_backend tess_cuda_backend;
extern const tess_backend tess_profile_backend; /* cuda/profile_device.c */
extern const tess_backend tess_parts_backend;   /* dist/process/parts.c: several parts */

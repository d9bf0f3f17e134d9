/* Device kernels as data: what a kernel needs, how it is specialised, how one product is launched.
 *
 * Plain C without a CUDA header: the backend hands a launch to the driver, the emulator of the
 * tests hands the same launch to its fibers, and the compile check walks the same table. A kernel
 * exists when it is in kernels.def, and whatever is in kernels.def is tested.
 *
 *     kernel  = name + source file + tuning parameters + predicate
 *     layout  = the matrix as a kernel reads it: arrays to be copied to the device
 *     launch  = entry point, grid, block, shared memory, arguments
 *
 * Every entry point takes one struct by value whose members are all 8 bytes wide (pointers,
 * long long, double), so a launch's arguments are an array of 8-byte slots that has that struct's
 * layout on both sides.
 *
 * There are no kernels for the transpose: A^T x is a product with the layout of the transposed
 * matrix, built when it is first asked for. It costs memory, runs at full speed, and needs no
 * atomics.
 */
#pragma once

#include "cuda/kernels/layout.h"

enum {
    TESS_CUDA_PARAMS = 12,   /* tuning parameters of a kernel, at most */
    TESS_CUDA_VALUES = 8,    /* values of one parameter */
    TESS_CUDA_ARGS = 72,     /* 8-byte slots of a launch */
    TESS_CUDA_LAUNCHES = 19, /* launches of one product */
    TESS_CUDA_VECTORS = 32,  /* right-hand sides of one SpMM launch */
    TESS_CUDA_DEFINES = 512, /* bytes of a defines text */
    TESS_CUDA_SHAPES = 104   /* bytes of a list of shapes */
};

/* The most block rows, segments of rows, and blocks of a row, where a kernel counts them in 32
 * bits: its loops step up to 4096 beyond the last one. */
enum { TESS_CUDA_MOST = INT32_MAX - 4096 };

typedef enum tess_cuda_op {
    TESS_CUDA_SPMV,     /* y = alpha A x + beta y */
    TESS_CUDA_SPMV_DOT, /* the same, and dot = w . y */
    TESS_CUDA_SPMM      /* Y = alpha A X + beta Y */
} tess_cuda_op;

/* All that predicates and specialisations may depend on. */
typedef struct tess_cuda_problem {
    tess_type type;
    int32_t block_height, block_width;
    int64_t rows, cols;
    int64_t block_rows, blocks;
    int64_t longest_row;  /* in blocks */
    double scattered;     /* share of blocks far from the columns of the rows before, 0..1 */
    double padded;        /* blocks, if 32 successive rows were as long as their longest, over those
                             that there are; 0: not known */
    int arch;             /* 90 for sm_90 */
    int multiprocessors;  /* of the device */
    int64_t shared_limit; /* bytes of shared memory that a thread block may ask for */
    int64_t l2_bytes;     /* of the device; 0: unknown */
    bool evict_first;     /* too large to stay in L2 beside a solver's vectors: is to leave first */
    int vectors, row_major;        /* SpMM: right-hand sides and their order; 1 and 0 otherwise */
    bool conjugate;                /* of complex types: the conjugate of the matrix is multiplied */
    bool fields;                   /* x, y and w are by fields (fields.cuh) */
    char shapes[TESS_CUDA_SHAPES]; /* format fbcsr (backend/shapes.h); "": not looked for */
} tess_cuda_problem;

typedef struct tess_cuda_param {
    const char *name;
    int values[TESS_CUDA_VALUES]; /* the tuner's space, increasing */
    int count;
    /* Whether measuring other values than the guess's is worth the time; NULL: always. */
    bool (*worth)(const tess_cuda_problem *problem);
} tess_cuda_param;

/* Device addresses as integers: CUdeviceptr on a GPU, plain pointers in the emulator. */
typedef struct tess_cuda_call {
    uint64_t arrays[TESS_CUDA_ARRAYS]; /* in the layout's order */
    uint64_t workspace;
    uint64_t x, y;
    double alpha, beta;
    double alpha_im, beta_im; /* imaginary parts, of complex types */
    uint64_t w, dot;          /* SPMV_DOT: w of rows scalars (0: y itself), one double */
    int64_t ldx, ldy;         /* SPMM */
} tess_cuda_call;

typedef union tess_cuda_arg {
    uint64_t pointer;
    int64_t integer;
    double number;
} tess_cuda_arg;

typedef struct tess_cuda_launch {
    const char *entry;
    unsigned grid[3], block[3];
    unsigned shared;  /* bytes of dynamic shared memory */
    bool cooperative; /* all thread blocks must be resident at once */
    bool cluster;     /* the whole grid is one cluster */
    bool waits;       /* the kernel waits by itself for the launch before */
    bool overlaps;    /* it waits, and starts while the launch before ends */
    bool adds_sums;   /* adds up a dot's partial sums: args 0 and 1 are where and how many. A caller
                         that adds them itself (tess_cuda_run_partial_sums) omits this launch */
    int slots;        /* used of args */
    tess_cuda_arg args[TESS_CUDA_ARGS];
} tess_cuda_launch;

/* How rows (lines, where they are cut) of different lengths share the device. */
typedef struct tess_cuda_flight {
    double blocks; /* of a line that its threads have in flight; less than 1: a part of one */
    double lines;  /* that run at once */
    int64_t split; /* longest segment of a row; 0: rows are not cut */
    bool sorted;   /* by falling length */
} tess_cuda_flight;

typedef struct tess_cuda_kernel {
    const char *name;   /* as `tessera bench` prints it */
    const char *source; /* an embedded file: "sliced.cu" */
    const char *format; /* "bsr", "sliced", "balanced", ... */
    tess_cuda_op op;
    const char *product; /* SPMV_DOT: the kernel whose product it is. It is no form of another one,
                            though that may have the same layout */
    const tess_cuda_param *params;
    int param_count;
    /* Whether these parameters make sense for the problem; all other functions may rely on it. */
    bool (*fits)(const tess_cuda_problem *problem, const int *params);
    /* The parameters to use when nothing was measured. They fit, if any do. */
    void (*guess)(const tess_cuda_problem *problem, int *params);
    /* Whether the kernel was made for problems like this one. Then it is the first guess; for other
     * problems it is not worth measuring. NULL: made for all. */
    bool (*made_for)(const tess_cuda_problem *problem);
    /* Whether a search should measure it; NULL: as made_for says. */
    bool (*worth)(const tess_cuda_problem *problem);
    /* Whether it is what one would take without thinking; NULL: it never is. */
    bool (*naive)(const tess_cuda_problem *problem);
    /* Whether it has a form for vectors by fields that is worth taking; NULL: it never has. All
     * functions but `defines` give the same for both forms. */
    bool (*by_fields)(const tess_cuda_problem *problem);
    /* Guessed before others: it reaches the memory's speed at every block size. What the model says
     * of others between calibrated block sizes is doubted. */
    bool preferred;
    /* Takes complex scalars (scalar.cuh). Others are never asked about complex problems. */
    bool complex;
    /* Its layout extracts shapes (format fbcsr): they are chosen for the matrix or come with the
     * parameters, and the candidate is priced with them. */
    bool takes_shapes;
    /* It stores the blocks of its shapes as SplitOnce finds them, and the shapes are those that pay
     * then. Otherwise shapes say what slices consist of (format/fbcsr/slices.h). */
    bool keeps_shapes;
    /* The model's curve that its time is predicted by; NULL: one of its own name. */
    const char *class_name;
    /* "-DREAL=8 -DBH=3 ...": may depend on type, conjugate, block size, whether cols is a multiple
     * of the block width, arch, vectors, row_major, fields and shapes, and the parameters, but on
     * no other size: one variant serves all matrices alike in these. */
    void (*defines)(const tess_cuda_problem *problem, const int *params, char *text, size_t size);
    /* The name of the layout that it reads (layout.h). */
    void (*layout_name)(const tess_cuda_problem *problem, const int *params, char *text,
                        size_t size);
    /* The launches of one product, in order on one stream; returns their number. */
    int (*launches)(const tess_cuda_problem *problem, const int *params,
                    const tess_cuda_layout *layout, const tess_cuda_call *call,
                    tess_cuda_launch *out);
    /* For cuda/plan/choice/idle.c; NULL: what lines of different lengths cost is not known. */
    void (*flight)(const tess_cuda_problem *problem, const int *params, tess_cuda_flight *out);
} tess_cuda_kernel;

/* All kernels, in the order of kernels.def. */
extern const tess_cuda_kernel *const tess_cuda_kernels[];
extern const int tess_cuda_kernel_count;

/* TESS_ERR_UNSUPPORTED, with a sentence, where the kernel does not take matrices of this type. */
tess_status tess_cuda_takes(tess_ctx *ctx, const tess_cuda_kernel *kernel, tess_type type);

/* Whether the kernel takes the problem's type and rows, and the parameters fit. */
bool tess_cuda_fits(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem,
                    const int *params);

/* NULL when there is none. */
const tess_cuda_kernel *tess_cuda_kernel_find(const char *name);

/* Whether the kernel should be taken for vectors by fields. */
bool tess_cuda_kernel_by_fields(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem);

/* Sizes, row lengths and columns of A; what belongs to the device stays for the caller. */
void tess_cuda_problem_of(const tess_matrix *A, tess_cuda_problem *problem);
/* Whether the values are fewer bytes than `times` L2. */
bool tess_cuda_fits_cache(const tess_cuda_problem *problem, double times);

/* "C=32,U=2": the parameters as text, and back (missing keys keep the value in `params`, which
 * starts as kernel->guess). Only values of the tuner's space are accepted. */
void tess_cuda_params_write(const tess_cuda_kernel *kernel, const int *params, char *text,
                            size_t size);
tess_status tess_cuda_params_read(tess_ctx *ctx, const tess_cuda_kernel *kernel, const char *text,
                                  int *params);

/* Walks what is worth measuring of the space: start with first = true; false when there is no
 * further set that fits. */
bool tess_cuda_params_next(const tess_cuda_kernel *kernel, const tess_cuda_problem *problem,
                           bool first, int *params);

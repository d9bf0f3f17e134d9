/* The CPU backend: kernels compiled once per ISA, chosen at run time, run by OpenMP threads on
 * shares of equal bytes.
 *
 *     kernels.def ──> isa/isa_*.c (functions and one table each) ──> select.c (which one)
 *     matrix ──> work.c (who does what) ──> plan.c ──> spmv.c, spmm.c ... ──> backend.c (the table)
 */
#ifndef TESS_CPU_H
#define TESS_CPU_H

#include "cpu/kernel.h"
#include "format/fbcsr/refresh.h"
#include "format/symmetric_lanes.h"
#include "backend/backend.h"

/* ---- select.c ---- */

const char *tess_cpu_isa_name(tess_cpu_isa isa);
/* Whether this processor can run it (and this build has it). */
bool tess_cpu_isa_available(const tess_cpu_id *id, tess_cpu_isa isa);
/* The best available ISA, at most TESSERA_ISA. */
tess_status tess_cpu_isa_choose(tess_ctx *ctx, const tess_cpu_id *id, tess_cpu_isa *out);
/* All kernels of one ISA. */
const tess_cpu_kernel_table *tess_cpu_table(tess_cpu_isa isa);

/* Those with a family's kernels for the device: of its ISA, or of the best one before it that has
 * such. */
const tess_cpu_kernel_table *tess_cpu_family_table(const tess_device *device,
                                                   tess_cpu_family family);

/* The format a family works on: "bsr", "symmetric" or "fbcsr". */
const char *tess_cpu_family_format(tess_cpu_family family);
/* The kernel's predicate: is it of that family, and does it apply to A? */
bool tess_cpu_kernel_applies(const tess_cpu_kernel *kernel, tess_cpu_family family,
                             const tess_matrix *A);
/* Flops and bytes of one run on A. */
double tess_cpu_kernel_flops(const tess_cpu_kernel *kernel, const tess_matrix *A);
double tess_cpu_kernel_bytes(const tess_cpu_kernel *kernel, const tess_matrix *A);

/* Whether most rows have so few blocks that their ends cost as much as they do. */
static inline bool tess_cpu_short_rows(const tess_matrix *A)
{
    return A->blocks < 16 * A->block_rows;
}

/* Whether a kernel with lanes is worth trying on A: most of what it would read is blocks, and rows
 * are so long that entering and leaving the ring is little beside them. */
bool tess_cpu_lanes_pay(const tess_cpu_kernel *kernel, const tess_matrix *A);

/* The best of a family for A. */
const tess_cpu_kernel *tess_cpu_best(const tess_device *device, tess_cpu_family family,
                                     const tess_matrix *A);
/* The kernel called `name`, of any family on the format; NULL: there is none. */
const tess_cpu_kernel *tess_cpu_find(const tess_device *device, const char *format,
                                     const tess_matrix *A, const char *name);
/* The same, or an error that names those there are. */
tess_status tess_cpu_named(const tess_device *device, const char *format, const tess_matrix *A,
                           const char *name, const tess_cpu_kernel **out);

/* ---- The device's state ---- */

typedef struct tess_cpu_device {
    tess_cpu_id id;
    tess_cpu_isa isa;
    struct tess_cpu_reading *reading; /* ceiling.c, of read_bytes; NULL before the first */
    double read_bytes;
} tess_cpu_device;

/* ---- work.c: who does what ---- */

/* Queues of jobs for whoever comes first, at most: one a share, or one for several. */
enum { TESS_CPU_QUEUES = 64 };

/* One call of a kernel: whole rows, or pieces of a long row (bounds are then piece numbers). */
typedef struct tess_cpu_job {
    int64_t bounds[TESS_CPU_STREAMS + 1];
    int64_t long_row; /* index in long_rows, -1 for whole rows */
} tess_cpu_job;

/* A row cut in pieces of nearly equal size: blocks offsets[i] .. offsets[i+1]-1 are piece i, and
 * its sum goes to sums + (first_sum + i) * r. */
typedef struct tess_cpu_long_row {
    int64_t row;
    int64_t pieces;
    int64_t first_offset; /* of pieces + 1 in piece_offsets */
    int64_t first_sum;
} tess_cpu_long_row;

/* The division of a matrix's rows among `shares` threads. Rows longer than a fixed number of bytes
 * are cut at places that depend on the matrix alone; so is every order of summation, and the result
 * is bitwise the same for any number of threads. */
typedef struct tess_cpu_work {
    tess_ctx *ctx;
    int shares, streams;
    tess_cpu_job *jobs;
    int64_t *first_job; /* shares + 1: the jobs of each share */
    int64_t job_count;  /* those from first_job[shares] on are for whoever comes first, in queues */
    int queues;
    int64_t first_tail[TESS_CPU_QUEUES + 1]; /* the jobs of each queue */
    tess_cpu_long_row *long_rows;
    int64_t long_count;
    int64_t *piece_offsets;
    int64_t pieces;
} tess_cpu_work;

tess_status tess_cpu_work_create(tess_ctx *ctx, const tess_matrix *A, int shares, int streams,
                                 tess_cpu_work *work);
void tess_cpu_work_destroy(tess_cpu_work *work);

/* How many jobs of each queue are taken, in one product; begins with zeros. */
typedef struct tess_cpu_turns {
    int64_t taken[TESS_CPU_QUEUES];
} tess_cpu_turns;

/* Of rows that several streams walk in step, block by block: */
typedef struct tess_cpu_steps {
    int64_t alone; /* blocks that one does alone, as its row is longer than another's */
    int64_t left;  /* blocks of the rows that are left when another stream has ended */
} tess_cpu_steps;
/* Adds those of the rows bounds[0] .. bounds[streams]-1, then those of all jobs. */
void tess_cpu_count_steps(const int64_t *row_offsets, const int64_t *bounds, int streams,
                          tess_cpu_steps *count);
tess_cpu_steps tess_cpu_work_steps(const tess_cpu_work *work, const int64_t *row_offsets);

/* The next job for whoever comes first, from the end of the share if there is one left, otherwise
 * from another's; -1 after the last. */
int64_t tess_cpu_work_next(const tess_cpu_work *work, int share, tess_cpu_turns *turns);
/* Bytes of a share that are for whoever comes first, and of what is `left` of them those that come
 * next. */
int64_t tess_cpu_tail(int64_t share, int shares);
int64_t tess_cpu_next_piece(int64_t left);
/* (*counter)++ by one of several threads. */
int64_t tess_cpu_take(int64_t *counter);

/* ---- symmetric.c: a symmetric matrix stored by half ---- */

typedef struct tess_cpu_half {
    tess_ctx *ctx;
    const tess_matrix *whole; /* the plan's matrix */
    const tess_cpu_kernel *kernel;
    tess_matrix *upper; /* format/symmetric.h; of a kernel with lanes at the first SpMM */
    tess_symmetric_mirrors *mirrors; /* for new numbers */
    tess_symmetric_lanes *lanes;     /* NULL unless the kernel has lanes */
    void *rings;                     /* with lanes: one a share */
    int64_t ring_rows;
    size_t ring_bytes;
    int shares;
    tess_cpu_chunk *chunks; /* dealt out in groups of the kernel's streams */
    int64_t chunk_count;
    void *windows;
    void *padded_x, *padded_y; /* only when the last block row is ragged */

    /* symmetric_spmm.c, made at the first product that needs them. */
    const tess_cpu_kernel *spmm_kernel;
    int spmm_vectors; /* for which the next three have room */
    void *spmm_windows, *spmm_x, *spmm_y;
} tess_cpu_half;

/* Fails with TESS_ERR_MATRIX when A is not symmetric. A must stay where it is. */
tess_status tess_cpu_half_create(const tess_device *device, const tess_matrix *A,
                                 const tess_cpu_kernel *kernel, const tess_cpu_kernel *spmm_kernel,
                                 bool reproducible, tess_cpu_half **out);
void tess_cpu_half_destroy(tess_cpu_half *half);
/* The matrix has other numbers. Fails with TESS_ERR_MATRIX when they are not symmetric: only
 * tess_cpu_half_destroy is allowed then. */
tess_status tess_cpu_half_refresh(tess_cpu_half *half);
/* What a product with one vector reads. */
int64_t tess_cpu_half_bytes(const tess_cpu_half *half);
/* How a kernel of so many streams would cut A, of which offsets[i] .. offsets[i+1]-1 are the blocks
 * of row i on and above the diagonal. */
typedef struct tess_cpu_half_cut {
    int64_t window_rows; /* block rows of all windows */
    tess_cpu_steps steps;
} tess_cpu_half_cut;
tess_cpu_half_cut tess_cpu_half_cut_of(const tess_matrix *A, const int64_t *offsets, int threads,
                                       int streams);
void tess_cpu_half_spmv(tess_cpu_half *half, double alpha, const void *x, double beta, void *y);

/* symmetric_spmm.c */
tess_status tess_cpu_half_spmm(tess_cpu_half *half, int k, tess_block_order order, double alpha,
                               const void *X, int64_t ldx, double beta, void *Y, int64_t ldy);
void tess_cpu_half_free_spmm(tess_cpu_half *half);

/* ---- fbcsr.c: blocks of several shapes ---- */

typedef struct tess_cpu_fbcsr {
    tess_ctx *ctx;
    tess_fbcsr *F;
    tess_fbcsr_sources *sources; /* for new numbers; NULL: there will be none */
    const tess_cpu_kernel *kernels[TESS_FBCSR_SPLITS]; /* one a split */
    const tess_cpu_kernel *rest;                       /* the remainder's: BSR_SPMV, 1 x 1 */
    int32_t *rest_rows;          /* where most rows have none left: the rows of its entries, */
    const tess_cpu_kernel *lone; /* which then are blocks of one row and column */
    int shares;
    int64_t chunks;
    int64_t *first_row;    /* chunks + 1 */
    int64_t *bytes_before; /* chunks + 1 */
    int64_t *blocks;       /* of split i and chunk c: from [2*(i*chunks + c)] to before the next */
} tess_cpu_fbcsr;

/* "fbcsr_spmv_f64_neon": the name of all kernels of an ISA together, as a plan uses them. */
void tess_cpu_fbcsr_kernel_name(tess_cpu_isa isa, tess_type type, char *name, size_t size);
/* The ISA of that name; of NULL, the device's. */
tess_status tess_cpu_fbcsr_named(const tess_device *device, tess_type type, const char *kernel,
                                 tess_cpu_isa *out);
/* Takes F when it succeeds. */
tess_status tess_cpu_fbcsr_create(const tess_device *device, tess_fbcsr *F, tess_cpu_isa isa,
                                  const tess_cpu_kernel *rest, tess_cpu_fbcsr **out);
void tess_cpu_fbcsr_destroy(tess_cpu_fbcsr *state);
void tess_cpu_fbcsr_spmv(const tess_cpu_fbcsr *state, double alpha, const void *x, double beta,
                         void *y);

/* ---- The plan's state: kernels, the division of work, and scratch ---- */

typedef struct tess_cpu_plan {
    tess_ctx *ctx;
    tess_matrix matrix; /* a head of its own: update_values points it at other numbers */
    const tess_cpu_kernel *kernels[TESS_CPU_FAMILIES];
    tess_cpu_work work;
    void *piece_sums; /* pieces * r */
    void *padded_x;   /* block_cols * c, only when cols is not a multiple of c */
    double *partial_dots;

    /* spmm.c, made at the first product that needs them. */
    int spmm_vectors;      /* for which the next two have room */
    void *spmm_x;          /* block_cols * c rows */
    void *spmm_piece_sums; /* pieces * r rows */

    /* transpose.c, made at the first product with the transpose. */
    struct tess_cpu_plan *transposed;
    tess_matrix *transpose;
    bool transpose_stale; /* the values have changed since */

    tess_cpu_half *half;   /* format symmetric: all products use it */
    tess_cpu_fbcsr *fbcsr; /* format fbcsr: products with one vector use it */
} tess_cpu_plan;

/* Scalar i of an array, and y_i = alpha sum + beta y_i, whatever the precision. */
static inline double tess_cpu_get(const void *array, tess_type type, int64_t i)
{
    return type == TESS_F64 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

static inline void tess_cpu_put(void *y, tess_type type, int64_t i, double alpha, double sum,
                                double beta)
{
    sum *= alpha;
    if (beta != 0)
        sum += beta * tess_cpu_get(y, type, i);
    if (type == TESS_F64)
        ((double *)y)[i] = sum;
    else
        ((float *)y)[i] = (float)sum;
}

/* plan.c: how many threads share a product with A stored whole. */
int tess_cpu_shares(const tess_device *device, const tess_matrix *A);
/* A state for A, with the kernel `named` (or NULL) and otherwise the best ones;
 * `symmetric`: A stored by half too; `reproducible`: the same bits for any number of threads, which
 * products with A stored whole give anyhow. */
tess_status tess_cpu_plan_create(const tess_device *device, const tess_matrix *A,
                                 const tess_cpu_kernel *named, bool symmetric, bool reproducible,
                                 tess_cpu_plan **out);
/* A state for A in format fbcsr, with these shapes and kernels. */
tess_status tess_cpu_plan_create_fbcsr(const tess_device *device, const tess_matrix *A,
                                       const tess_fbcsr_options *shapes, tess_cpu_isa isa,
                                       tess_cpu_plan **out);
void tess_cpu_plan_destroy(tess_cpu_plan *plan);

/* ---- spmv.c ---- */

/* y = alpha A x + beta y. */
void tess_cpu_spmv(tess_cpu_plan *plan, double alpha, const void *x, double beta, void *y);
/* The same, and w . y in one go. */
double tess_cpu_spmv_dot(tess_cpu_plan *plan, double alpha, const void *x, double beta, void *y,
                         const void *w);
/* memcpy by threads: what a product does to a vector must not cost more than the product. */
void tess_cpu_copy(void *to, const void *from, size_t bytes, int shares);
/* w . y, summed in an order that depends on the length alone: by the threads of a parallel region
 * the sums of chunks, then by one thread their sum; or both. */
void tess_cpu_dot_chunks(tess_cpu_plan *plan, const void *w, const void *y);
double tess_cpu_dot_sum(const tess_cpu_plan *plan);
double tess_cpu_dot(tess_cpu_plan *plan, const void *w, const void *y);
/* Scalars of one partial sum of tess_cpu_dot. */
#define TESS_CPU_DOT_CHUNK 4096

/* ---- spmm.c ---- */

/* Y = alpha A X + beta Y for k vectors. */
tess_status tess_cpu_spmm(tess_cpu_plan *plan, int k, tess_block_order order, double alpha,
                          const void *X, int64_t ldx, double beta, void *Y, int64_t ldy);
/* Scalar i of vector v is data[i*row + v*vector]. */
typedef struct tess_cpu_vectors {
    void *data;
    int64_t row, vector;
} tess_cpu_vectors;
/* `count` vectors as long as A is wide side by side, zeros below to whole blocks. */
void tess_cpu_pack(const tess_matrix *A, const tess_cpu_vectors *X, int64_t count, void *to,
                   int shares);
/* Vectors done together: more are done in groups of so many. */
#define TESS_CPU_SPMM_GROUP 32

/* ---- transpose.c ---- */

/* y = alpha A^T x + beta y. */
tess_status tess_cpu_spmv_transpose(const tess_device *device, tess_cpu_plan *plan, double alpha,
                                    const void *x, double beta, void *y);

/* ---- cost.c ---- */

tess_status tess_cpu_costs(tess_device *device, const tess_matrix *A, tess_candidates *list);

/* ---- ceiling.c ---- */

/* The most bytes a second `threads` threads read from an array of `bytes` bytes read again and
 * again: the best of all ways that ceiling.c has, huge pages where the system gives them. */
tess_status tess_cpu_read_ceiling(tess_ctx *ctx, int threads, double bytes,
                                  double *bytes_per_second);
/* The backend's read_samples; forget_reading frees the array that they read. */
tess_status tess_cpu_read_samples(tess_device *device, double bytes, tess_readings *samples);
void tess_cpu_forget_reading(tess_device *device);

#endif

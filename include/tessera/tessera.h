/* Tessera: block-sparse matrices, multiplied and solved at the speed of memory.
 *
 * A block-sparse (BSR) matrix stores its non-zeros as small dense r x c blocks, as every
 * multi-component PDE code produces them. A CSR matrix is the case r = c = 1.
 *
 *     tess_ctx *ctx;       tess_ctx_create(NULL, &ctx);
 *     tess_matrix *A, *B;  tess_matrix_read(ctx, "A.mtx.gz", &A);
 *                          tess_matrix_to_blocks(ctx, A, NULL, &B);      // detects the block size
 *     tess_device *dev;    tess_device_open(ctx, "cpu", &dev);
 *     tess_plan *plan;     tess_plan_create(ctx, B, dev, NULL, &plan);
 *                          tess_spmv(plan, 1.0, x, 0.0, y);              // y = A x
 *
 * Rules that hold everywhere:
 *   - Every fallible call returns a tess_status. tess_ctx_error(ctx) is the sentence that explains
 *     the failure, with the offending value.
 *   - Out-parameters come last. A failure leaves them untouched.
 *   - A NULL object, out-parameter or array that has elements fails with TESS_ERR_ARGUMENT, unless
 *     the function says what NULL means. Calls without a status take a NULL object as one that has
 *     nothing, and return "", NULL or 0.
 *   - A matrix may have no rows, no columns or no entries, a vector no elements; their arrays may
 *     be NULL. A number outside its range fails with TESS_ERR_ARGUMENT.
 *   - The library never prints, exits, aborts, or keeps global mutable state.
 *   - A context may be used by one thread at a time. tess_plan_create says which products may run
 *     at the same time. Two contexts share nothing.
 *   - Option structs may be zeroed: zero is the default of every field. NULL means all defaults.
 *   - Destroy functions take the object alone and accept NULL. What was made from an object is
 *     destroyed before it: a solver before its plan, a plan before its matrix and its device, all
 *     before their context. A matrix may outlive its builder. Detections, partitions and
 *     predictions may outlive their matrix and their device.
 *   - A constant of an enum begins with the enum's name: TESS_EFFORT_MEASURE. Constants that
 *     nearly every program needs are shorter: TESS_OK and TESS_ERR_..., TESS_F64, TESS_F32,
 *     TESS_C64, TESS_C32.
 *   - Until 1.0 a minor version is an ABI of its own: libtessera.so.0.2. A patch keeps it.
 *   - Structs that will grow carry their size. An options struct begins with `size`: its sizeof,
 *     or 0 for the struct as it was in 0.2. A call that takes the sizeof of a struct which it fills
 *     fills no more bytes than that, and fields that the library does not know become 0. Structs
 *     that the library allocates grow at their end. tess_result has reserved fields. No other
 *     struct will change.
 *
 * The header goes from simple to advanced: context, matrix, analysis, plan, prediction, solve,
 * assembly, inspection. docs/glossary.md explains the words.
 */
#ifndef TESSERA_TESSERA_H
#define TESSERA_TESSERA_H

#include <stddef.h>
#include <stdint.h>

#define TESS_VERSION_MAJOR 0
#define TESS_VERSION_MINOR 2
#define TESS_VERSION_PATCH 0

/* 200 for 0.2.0: `#if TESS_VERSION >= 200`. */
#define TESS_VERSION (TESS_VERSION_MAJOR * 10000 + TESS_VERSION_MINOR * 100 + TESS_VERSION_PATCH)

#if defined(_WIN32)
#define TESS_API
#else
#define TESS_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status -------------------------------------------------------------------------------- */

/* Values are pinned: a number never changes its meaning. */
typedef enum tess_status {
    TESS_OK = 0,
    TESS_ERR_ARGUMENT = 1,    /* a value passed by the caller is outside its range */
    TESS_ERR_MEMORY = 2,      /* the allocator returned NULL */
    TESS_ERR_IO = 3,          /* the operating system refused a file operation */
    TESS_ERR_FORMAT = 4,      /* a file's content is malformed */
    TESS_ERR_MATRIX = 5,      /* matrix arrays break the rules of their format */
    TESS_ERR_OVERFLOW = 6,    /* a size does not fit the index types */
    TESS_ERR_UNSUPPORTED = 7, /* valid, but not something this build or format can do */
    TESS_ERR_OPTION = 8,      /* unknown key or bad value in an options string */
    TESS_ERR_PATTERN = 9,     /* a value lies outside a fixed sparsity pattern */
    TESS_ERR_DEVICE = 10,     /* a device is missing, or its driver reported an error */
    TESS_ERR_CANCELLED = 11,  /* a progress callback asked to stop */
    TESS_ERR_INTERNAL = 12,   /* a bug in Tessera; please report it */
    TESS_ERR_PART = 13        /* another part of the matrix has failed: its own call says why */
} tess_status;

/* "TESS_ERR_FORMAT" and "malformed file". Both are constant strings, never NULL. */
TESS_API const char *tess_status_name(tess_status status);
TESS_API const char *tess_status_text(tess_status status);

/* "0.2.0": the version of the library that is linked. The macros above are the header's. */
TESS_API const char *tess_version(void);

/* The candidate with the smallest edit distance to `word`, for messages about names that do not
 * exist. NULL when every candidate is more than half the word's length away. */
TESS_API const char *tess_nearest(const char *word, const char *const *candidates, size_t count);

/* ---- Context ------------------------------------------------------------------------------- */

typedef struct tess_ctx tess_ctx;

/* Memory hooks. `allocate` returns storage aligned to `alignment` (a power of two) or NULL. Calls
 * come from the thread that called the library. On a device of several parts they come from the
 * parts' threads too, one at a time. */
typedef struct tess_allocator {
    void *(*allocate)(void *user, size_t bytes, size_t alignment);
    void (*release)(void *user, void *pointer);
    void *user;
} tess_allocator;

/* Called now and then during long operations, from the thread that called the library. `fraction`
 * is in 0..1, or < 0 when unknown. A non-zero return cancels: the operation fails with
 * TESS_ERR_CANCELLED. */
typedef int (*tess_progress_fn)(void *user, const char *what, double fraction);

/* Receives one line of text, without a newline, about a choice that the library made. */
typedef void (*tess_log_fn)(void *user, const char *line);

/* The most threads that can be asked for, in a context and in a device's name. */
enum { TESS_THREADS_MAX = 1024 };

/* A context has threads of its own. The first call that uses more than one creates them, they sleep
 * between calls, and they end with the context. A forked child creates its own threads; it cannot
 * use a context that another thread was using when the process forked. A call inside a parallel
 * region of the caller's OpenMP computes on the calling thread alone. */
typedef struct tess_ctx_options {
    size_t size;              /* sizeof(tess_ctx_options), or 0 */
    tess_allocator allocator; /* all zero: the C library's */
    int threads; /* 0: OMP_NUM_THREADS, else all processors; at most TESS_THREADS_MAX */
    tess_progress_fn progress;
    void *progress_user;
    tess_log_fn log;
    void *log_user;
} tess_ctx_options;

/* A new context. NULL: default options. */
TESS_API tess_status tess_ctx_create(const tess_ctx_options *options, tess_ctx **out);
/* Destroy matrices, devices and plans before their context. */
TESS_API void tess_ctx_destroy(tess_ctx *ctx);

/* The sentence for the last failure in this context, "" if there was none. It is valid until the
 * next failing call. */
TESS_API const char *tess_ctx_error(const tess_ctx *ctx);

/* Sets the number of threads, at most TESS_THREADS_MAX. 0: all. */
TESS_API tess_status tess_ctx_set_threads(tess_ctx *ctx, int threads);
/* The number of threads that a context has; 1 for NULL. */
TESS_API int tess_ctx_threads(const tess_ctx *ctx);
/* Sets the progress callback; NULL: none. */
TESS_API void tess_ctx_set_progress(tess_ctx *ctx, tess_progress_fn progress, void *user);

/* Where a context keeps its wisdom: what searches have found (see tess_plan_create). */
typedef enum tess_wisdom_keep {
    TESS_WISDOM_USUAL = 0,  /* the user's file, or what TESSERA_WISDOM says */
    TESS_WISDOM_FILE = 1,   /* a file that the caller names */
    TESS_WISDOM_MEMORY = 2, /* the context alone: nothing is read from disk or written to it */
    TESS_WISDOM_OFF = 3     /* nothing is remembered: every plan is searched anew */
} tess_wisdom_keep;

/* Drops the wisdom that the context held so far. A file is read at the next search. `path` is
 * copied; it must be NULL unless `keep` is TESS_WISDOM_FILE. The performance model lies beside the
 * file. */
TESS_API tess_status tess_ctx_set_wisdom(tess_ctx *ctx, tess_wisdom_keep keep, const char *path);

/* Frees an array that a function of this library returned. `ctx` is the context of that call.
 * `pointer` may be NULL. */
TESS_API void tess_release(tess_ctx *ctx, void *pointer);

/* ---- Matrix -------------------------------------------------------------------------------- */

typedef struct tess_matrix tess_matrix;

/* The type of a matrix's values and of its vectors. A complex scalar is a pair of reals, the real
 * part first, as C's double _Complex, C++'s std::complex<double> and Fortran's complex(8).
 *
 * Matrices of every type are made, converted, read, written and analysed. Products and solvers of
 * complex matrices run on "ref", "cpu" and "cuda". Complex scalars in a GPU's memory must lie at
 * multiples of their size. Everything else refuses complex matrices with TESS_ERR_UNSUPPORTED:
 * devices of several parts, parts (but not partitions), tess_matrix_multiply, TESS_REGROUP_ON,
 * tess_detect_shapes, tess_operator, predictions and calibration. */
typedef enum tess_type {
    TESS_F64 = 0,
    TESS_F32 = 1,
    TESS_C64 = 2, /* pairs of f64 */
    TESS_C32 = 3  /* pairs of f32 */
} tess_type;

/* A complex factor or sum, in double whatever the type of the vectors. */
typedef struct tess_complex {
    double re, im;
} tess_complex;

/* Bytes of one scalar: 8, 4, 16 and 8. 0 for any other value. */
TESS_API size_t tess_type_bytes(tess_type type);

/* The order of the r*c values inside a block. Matrices store column-major blocks. Row-major input
 * is converted. */
typedef enum tess_block_order {
    TESS_ORDER_COLUMN_MAJOR = 0,
    TESS_ORDER_ROW_MAJOR = 1
} tess_block_order;

/* What happens to arrays passed in.
 *   COPY     The library copies them. Unsorted columns are sorted, duplicate entries are summed.
 *   BORROW   The matrix uses them in place. They must outlive it and stay unchanged.
 *   ADOPT    They were allocated with malloc. On success they belong to the matrix, which frees
 *            them with free().
 * BORROW and ADOPT need strictly increasing columns in every row and column-major blocks: kernels
 * multiply a block column by column, so blocks in another order would be copied by every plan. */
typedef enum tess_ownership {
    TESS_OWNERSHIP_COPY = 0,
    TESS_OWNERSHIP_BORROW = 1,
    TESS_OWNERSHIP_ADOPT = 2
} tess_ownership;

/* A whole matrix, read-only. Block row i owns the blocks row_offsets[i] .. row_offsets[i+1]-1.
 * Block k is at block column columns[k]. Its values are values[k*block_height*block_width ...],
 * column-major. Columns increase strictly in each row. When the block size does not divide rows or
 * cols, the last blocks are padded with zeros. */
typedef struct tess_matrix_view {
    tess_type type;
    int64_t rows, cols;                /* in scalars */
    int32_t block_height, block_width; /* r and c, 1 .. 32768 */
    int64_t block_rows, block_cols;    /* in blocks: ceil(rows / r), ceil(cols / c) */
    int64_t blocks;                    /* stored blocks */
    const int64_t *row_offsets;        /* block_rows + 1 */
    const int32_t *columns;            /* blocks */
    const void *values;                /* blocks * r * c of `type` */
} tess_matrix_view;

/* A's sizes and arrays, as they lie in memory. The arrays belong to A. Neither A nor view may be
 * NULL. */
TESS_API void tess_matrix_get_view(const tess_matrix *A, tess_matrix_view *view);
TESS_API void tess_matrix_destroy(tess_matrix *A);

/* CSR: row_offsets[rows+1], columns[nnz], values[nnz]. row_offsets has an element even where there
 * are no rows. */
TESS_API tess_status tess_matrix_from_csr(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                                          const int64_t *row_offsets, const int32_t *columns,
                                          const void *values, tess_ownership ownership,
                                          tess_matrix **out);

/* CSR with 32-bit row offsets, as SciPy and PETSc have it. The arrays are copied. */
TESS_API tess_status tess_matrix_from_csr_i32(tess_ctx *ctx, tess_type type, int64_t rows,
                                              int64_t cols, const int32_t *row_offsets,
                                              const int32_t *columns, const void *values,
                                              tess_matrix **out);

/* BSR as described by a view. block_rows, block_cols and blocks may be 0: they follow from the
 * rest. COPY ignores values in the padding of the last block row and column. BORROW and ADOPT
 * need zeros there. */
TESS_API tess_status tess_matrix_from_bsr(tess_ctx *ctx, const tess_matrix_view *arrays,
                                          tess_block_order order, tess_ownership ownership,
                                          tess_matrix **out);

/* BSR with 32-bit row offsets, as SciPy and PETSc have it: rows and cols in scalars, row_offsets
 * and columns in blocks. The arrays are copied. */
TESS_API tess_status tess_matrix_from_bsr_i32(tess_ctx *ctx, tess_type type, int64_t rows,
                                              int64_t cols, int32_t block_height,
                                              int32_t block_width, const int32_t *row_offsets,
                                              const int32_t *columns, const void *values,
                                              tess_block_order order, tess_matrix **out);

/* Coordinates in any order, 0-based. Entries at the same place are summed in input order. */
TESS_API tess_status tess_matrix_from_coo(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                                          int64_t entries, const int64_t *row_index,
                                          const int64_t *col_index, const void *values,
                                          tess_matrix **out);

/* ---- Conversion ---------------------------------------------------------------------------- */

/* Every conversion makes a new matrix and runs in parallel on the context's threads. Its result has
 * the same bits for any number of threads. */

/* Block height and width. Both 0: detected. */
typedef struct tess_blocking {
    int32_t rows, cols;
} tess_blocking;

/* A with blocks of another size, from any block size to any other. NULL: the size is detected.
 * Where the size does not divide the matrix, the last blocks are padded with zeros. A block is
 * stored where A stores an entry, even a zero. To drop zeros first, see tess_matrix_to_csr. */
TESS_API tess_status tess_matrix_to_blocks(tess_ctx *ctx, const tess_matrix *A,
                                           const tess_blocking *blocking, tess_matrix **out);

/* What becomes of stored entries that are 0 (or -0). Padding is always dropped. */
typedef enum tess_zeros { TESS_ZEROS_DROP = 0, TESS_ZEROS_KEEP = 1 } tess_zeros;

/* A as CSR (1 x 1 blocks). */
TESS_API tess_status tess_matrix_to_csr(tess_ctx *ctx, const tess_matrix *A, tess_zeros zeros,
                                        tess_matrix **out);

/* The entries by rows, then columns, into the caller's arrays of `capacity` elements. With the
 * three arrays NULL only *entries is set. A capacity below *entries fails and touches nothing. */
TESS_API tess_status tess_matrix_to_coo(tess_ctx *ctx, const tess_matrix *A, tess_zeros zeros,
                                        int64_t capacity, int64_t *row_index, int64_t *col_index,
                                        void *values, int64_t *entries);

/* The transpose, with c x r blocks. */
TESS_API tess_status tess_matrix_transpose(tess_ctx *ctx, const tess_matrix *A, tess_matrix **out);
/* The conjugate transpose A^H; of a real matrix the transpose. */
TESS_API tess_status tess_matrix_conjugate_transpose(tess_ctx *ctx, const tess_matrix *A,
                                                     tess_matrix **out);
/* The product A B: r x c blocks times c x k blocks are r x k blocks. A must have as many
 * columns as B has rows, in blocks of the same size, and both must have the same type. The result
 * stores every block (i, j) for which A stores (i, k) and B stores (k, j), even if the sum is zero.
 * It does not depend on the number of threads. */
TESS_API tess_status tess_matrix_multiply(tess_ctx *ctx, const tess_matrix *A, const tess_matrix *B,
                                          tess_matrix **out);

/* Block rows and columns renumbered alike: block (i, j) of the result is block (perm[i], perm[j])
 * of A. So perm lists the old numbers in their new order, each of them once. A must have as many
 * block rows as block columns. A last block that is padded must stay last. */
TESS_API tess_status tess_matrix_permute(tess_ctx *ctx, const tess_matrix *A, const int64_t *perm,
                                         tess_matrix **out);

/* A in another type. A finite f64 outside f32's range fails with TESS_ERR_OVERFLOW. A real matrix
 * becomes a complex one with imaginary parts 0. A complex matrix becomes a real one only where all
 * of its imaginary parts are 0, or it fails with TESS_ERR_MATRIX and the place of the first that is
 * not 0. tess_matrix_real_part drops imaginary parts. */
TESS_API tess_status tess_matrix_to_type(tess_ctx *ctx, const tess_matrix *A, tess_type type,
                                         tess_matrix **out);

/* The real parts of a complex matrix as a real one of the same pattern, in f64 for c64 and f32 for
 * c32; of a real matrix a copy. */
TESS_API tess_status tess_matrix_real_part(tess_ctx *ctx, const tess_matrix *A, tess_matrix **out);

/* All values, block by block in A's order. `order` is that inside each block. */
TESS_API tess_status tess_matrix_export_values(tess_ctx *ctx, const tess_matrix *A,
                                               tess_block_order order, void *values);

/* The min(block_rows, block_cols) diagonal blocks, column-major, of A's type. A need not be square;
 * blocks that are not fail with TESS_ERR_UNSUPPORTED. A diagonal block that is not stored is filled
 * with zeros. *missing, unless NULL, becomes the number of blocks filled so. */
TESS_API tess_status tess_matrix_diagonal_blocks(tess_ctx *ctx, const tess_matrix *A, void *blocks,
                                                 int64_t *missing);

/* New values in the same pattern, for the next time step. B, which has blocks of any size, takes
 * the values of A (usually CSR), and 0 where A stores nothing. B's pattern stays. A must have B's
 * type, rows and columns. An entry of A outside B's blocks fails with TESS_ERR_PATTERN and leaves B
 * as it was. B must not be borrowed.
 * Plans of B have the new values from their next product on. */
TESS_API tess_status tess_matrix_update(tess_ctx *ctx, tess_matrix *B, const tess_matrix *A);

/* ---- Files --------------------------------------------------------------------------------- */

/* Reads a Matrix Market or a .tess file. The content tells the kind, not the name.
 *
 * Matrix Market: coordinate or array; real, integer, complex or pattern; general, symmetric,
 * skew-symmetric or hermitian; plain or gzip. The result is CSR of f64, or of c64 for a
 * complex file. A symmetric file is expanded to the full matrix. Entries at the same place are
 * summed in the order of the file. Explicit zeros are kept. A pattern's values are 1. A .tess file
 * gives the matrix that was written.
 *
 * Reading uses all threads of the context, and at most twice the memory of the matrix and a buffer.
 * The error of a malformed file is "path:line: reason". */
TESS_API tess_status tess_matrix_read(tess_ctx *ctx, const char *path, tess_matrix **out);

/* Writes A to a file. The name tells the kind.
 *   .mtx, .mtx.gz   Matrix Market coordinate, real or complex, general. Values read back to
 *                   the same bits. Entries that are 0 are left out when A has blocks larger
 *                   than 1 x 1. Values that are not finite are refused.
 *   .tess           Tessera's own: any A as it is, checksummed, near the speed of the disk
 *                   (docs/formats.md).
 *   -               Matrix Market to standard output.
 * A regular file is written beside its place and renamed when it is complete: a failure leaves no
 * partial file, and an old file as it was. A symbolic link stays, and what it leads to is written.
 * Devices and FIFOs are written in place. A file that may not be written is refused. */
TESS_API tess_status tess_matrix_write(tess_ctx *ctx, const tess_matrix *A, const char *path);
/* Writes the lower triangle of A to a Matrix Market file that says "symmetric". Where a_ij differs
 * from a_ji, the call fails with TESS_ERR_MATRIX and the place. An absent entry counts as 0. A
 * matrix that is not square fails as well. */
TESS_API tess_status tess_matrix_write_symmetric(tess_ctx *ctx, const tess_matrix *A,
                                                 const char *path);

/* The same for a matrix whose a_ij is the conjugate of a_ji, to a file that says "hermitian". For a
 * real matrix it is tess_matrix_write_symmetric. */
TESS_API tess_status tess_matrix_write_hermitian(tess_ctx *ctx, const tess_matrix *A,
                                                 const char *path);

/* A dense vector from a Matrix Market file (array or coordinate, n x 1 or 1 x n, plain or gzip),
 * from NumPy's .npy (f8, f4, c16 or c8; n, n x 1 or 1 x n) or from text with one number per
 * line. *values becomes *count scalars of `type`, to be freed with tess_release. A file of real
 * numbers may be read as a complex vector; one of complex numbers as a real vector is refused. */
TESS_API tess_status tess_vector_read(tess_ctx *ctx, const char *path, tess_type type,
                                      int64_t *count, void **values);

/* Writes a dense vector. .mtx and .mtx.gz become a Matrix Market array n x 1, .npy an array of
 * NumPy's, any other name text with one number per line. "-" writes that text to standard output.
 * Text holds real numbers only: a complex vector is refused. Text of a vector without elements is
 * an empty file, which tess_vector_read refuses. */
TESS_API tess_status tess_vector_write(tess_ctx *ctx, const char *path, tess_type type,
                                       int64_t count, const void *values);

/* Whether a file of this name could be written now: for programs to ask before long work. A failure
 * says why it cannot. */
TESS_API tess_status tess_output_check(tess_ctx *ctx, const char *path);

/* Writes a program's own text as tess_matrix_write writes its files. */
TESS_API tess_status tess_output_text(tess_ctx *ctx, const char *path, size_t size,
                                      const char *text);

/* ---- Generators ---------------------------------------------------------------------------- */

/* A test problem from its name and keys, "stencil27:n=48,b=3". A leading "gen:" is accepted. The
 * same text gives the same bits with any number of threads. Sizes are in points or blocks. Every
 * key has a default, and every problem takes type=f64|f32|c64|c32. In a complex matrix
 * a_ij is the real problem's a_ij times a number of modulus 1. The phase of this number depends on
 * the pair {i, j} alone, is opposite for a_ji, and is 0 on the diagonal. So a symmetric problem
 * becomes a Hermitian one, and a dominant diagonal stays dominant. tile takes a real INPUT
 * whose values fit the type.
 *
 *   stencil7, stencil27   n=32 (or nx, ny, nz), b=3, seed=1: every point of a box coupled with its
 *                         6 or 26 neighbours by dense b x b blocks. Off-diagonal scalars are random
 *                         in (-1, 0), a_ij = a_ji; a_ii is 1.01 times the sum of |a_ij| over its
 *                         row: symmetric positive definite.
 *   elasticity            n=16, thin=1: a unit cube of n^3 8-node hexahedra, E = 1, nu = 0.3,
 *                         b = 3, `thin` times shorter along z than along x and y,
 *                         clamped at x = 0 (those nodes are eliminated: 3 n (n+1)^2 rows),
 *                         symmetric positive definite. Right-hand side: its weight, along -z.
 *                         free=1: nothing is clamped and two faces are pulled apart; singular.
 *                         Knows where its nodes lie, so that pc=amg has rigid motions.
 *   diffusion             n=32, jump=1, aniso=1: finite volumes on n^3 cells, b = 1; every other of
 *                         4 x 4 x 4 boxes conducts `jump` times better, x `aniso` times better than
 *                         y and z. u = 0 at x = 0. free=1: no face holds u; singular.
 *                         Right-hand side: A times a smooth u.
 *   cdr                   n=32 (or nx, ny, nz), b=4, convection=40, reaction=10, seed=1:
 *                         convection, diffusion and reaction of b coupled components, upwind
 *                         7-point, not symmetric. Right-hand side: a smooth source.
 *   powerlaw              rows=100000, avg=6, b=3, long=16, length=12000, seed=1: 1..2avg-1 blocks
 *                         per row in random columns and on the diagonal, and `long` rows of
 *                         `length` blocks (10 % more or less). Values as in the stencils; not
 *                         symmetric.
 *   random                rows=10000, cols=rows, avg=8 (0..2avg blocks per row) or count (blocks in
 *                         every row), r=1, c=1, seed=1: random columns, values in [-1, 1).
 *   trefethen             n=2000, skip=0: the primes on the diagonal, 1 where |i-j| is a power of
 *                         two, without the first `skip` rows and columns.
 *   promote               "promote:b=3,seed=1:INPUT": every entry of INPUT (a file, or "gen:...")
 *                         becomes a dense b x b block, with values as in the stencils.
 *   tile                  "tile:copies=8:INPUT": copies of INPUT along the diagonal.
 *   planted               rows=10000, cols=rows, shapes=4x4/row:32/column:32/diagonal:32,
 *                         blocks=64, fill=1, noise=1, seed=1: random blocks of these shapes that
 *                         lie anywhere and do not overlap, and noise (docs/formats.md).
 *
 * rhs may be NULL. Otherwise *rhs becomes the problem's right-hand side, `rows` scalars of the
 * matrix's type, to be freed with tess_release. Where the problem has no physics of its own, *rhs
 * is A*1: the solution is all ones. */
TESS_API tess_status tess_matrix_generate(tess_ctx *ctx, const char *spec, tess_matrix **A,
                                          void **rhs);

/* A matrix from what a user types: "gen:NAME:KEYS", "promote:b=3:INPUT", "tile:copies=8:INPUT" or a
 * path. */
TESS_API tess_status tess_matrix_input(tess_ctx *ctx, const char *input, tess_matrix **out);

/* ---- Analysis ------------------------------------------------------------------------------ */

/* Symmetry, in scalars and exact. For a matrix that is not square only the counts of the diagonal
 * are set, all else is 0. */
typedef struct tess_symmetry {
    int pattern;              /* 1: where (i, j) is stored, so is (j, i) */
    int symmetric;            /* 1: a_ij = a_ji, an absent entry being 0 */
    int skew;                 /* 1: a_ij = -a_ji */
    double mirrored;          /* share of the entries off the diagonal whose mirror is stored */
    double asymmetry;         /* max |a_ij - a_ji| / max |a_ij|; about 1e-16: symmetric up to
                                 rounding; NaN: some a_ij - a_ji is NaN or infinite */
    int64_t missing_diagonal; /* i < min(rows, cols) without a stored a_ii */
    int64_t zero_diagonal;    /* stored a_ii that are 0 */
} tess_symmetry;

/* Compares A with its transpose, of a complex matrix too. */
TESS_API tess_status tess_matrix_symmetry(tess_ctx *ctx, const tess_matrix *A, tess_symmetry *out);
/* *hermitian becomes 1 if every a_ij is the conjugate of a_ji, an absent entry being 0, and 0
 * otherwise, as for a matrix that is not square. For a real matrix this is symmetry. */
TESS_API tess_status tess_matrix_hermitian(tess_ctx *ctx, const tess_matrix *A, int *hermitian);

/* One way to cut a matrix into r x c blocks, counted exactly. Blocks begin at the rows congruent to
 * row_offset mod r and the columns congruent to col_offset mod c. */
typedef struct tess_block_candidate {
    int32_t rows, cols; /* r and c */
    int32_t row_offset, col_offset;
    int64_t blocks;     /* blocks that hold at least one entry */
    double fill;        /* stored scalars / entries: r c blocks / entries, padding included */
    double density;     /* entries / stored scalars */
    double bytes;       /* of an SpMV: values, 4 per block, 4 per block row, x and y */
    double index_saved; /* bytes of indices saved, compared with CSR */
} tess_block_candidate;

typedef struct tess_detect_options {
    size_t size;      /* sizeof(tess_detect_options), or 0 */
    int ignore_zeros; /* 1: stored entries that are 0 do not count */
} tess_detect_options;

/* What tess_detect found. The candidates come in this order. First, at offset 0: b x b for
 * b = 1..32; r x c for all other r and c up to 8; r x c with 16 or 32 and powers of two. Then the
 * same sizes at another offset, if they are at least half full at that offset and have at least 2 %
 * fewer blocks than at offset 0. The list is empty for a matrix without entries. */
typedef struct tess_detection {
    int64_t entries; /* scalars counted */
    int64_t count;   /* of candidates */
    const tess_block_candidate *candidates;
    int32_t natural_block; /* the largest b whose b x b blocks are more than 90 % full at offset 0;
                              1: no larger blocks are */
    tess_block_candidate recommended; /* for tess_matrix_to_blocks, always at offset 0; 1 x 1: do
                                         not block */
    char reason[320];                 /* why: one sentence, with numbers */
} tess_detection;

/* Counts the blocks of all candidate sizes and recommends the cheapest. A's scalars are counted,
 * whatever its present block size. Takes about a tenth of a second per million entries. NULL:
 * default options. 1 x 1 is recommended for a matrix without entries. */
TESS_API tess_status tess_detect(tess_ctx *ctx, const tess_matrix *A,
                                 const tess_detect_options *options, tess_detection **out);
TESS_API void tess_detection_destroy(tess_detection *detection);

/* Blocks that the numbering of a square matrix hides. In the new numbering unknown `i` is the old
 * unknown order[i], for rows and columns alike, and every `block` unknowns from the first on are a
 * group. tess_matrix_permute of A with 1 x 1 blocks, then tess_matrix_to_blocks, make such a
 * matrix; x and y of its products are in the new numbering.
 */
typedef struct tess_regrouping {
    int32_t block;  /* b of the b x b blocks; 1: none were found that pay */
    int32_t fields; /* fields of equal length, one after the other, that are interleaved; 0: rows
                       with nearly the same columns were grouped */
    int64_t blocks; /* b x b, that hold at least one entry */
    double density; /* entries / stored scalars */
    double bytes;   /* of an SpMV: as tess_block_candidate.bytes, and for groups of rows those of
                       permuting x and y */
    const int64_t *order; /* `rows` of them; NULL: block is 1 */
    char reason[320];     /* what was found: one sentence, with numbers */
} tess_regrouping;

/* Looks for fields, and for groups of up to 16 rows with nearly the same columns. Counts the blocks
 * of each regrouping found and takes the cheapest; fields, of which products read x and write y
 * without permuting them first, also where groups of rows move up to 6 % less. A regrouping pays
 * where its product moves at least 5 % fewer bytes than with 1 x 1 blocks. Takes less than a second
 * of processor time per million entries. Nothing is found in a matrix that is not square. */
TESS_API tess_status tess_detect_regrouping(tess_ctx *ctx, const tess_matrix *A,
                                            const tess_detect_options *options,
                                            tess_regrouping **out);
TESS_API void tess_regrouping_destroy(tess_regrouping *regrouping);

enum { TESS_ROW_CLASSES = 34 };

typedef struct tess_statistics {
    int64_t row_min, row_max; /* blocks in the shortest and longest block row */
    double row_avg;
    int64_t empty_rows;
    /* Block rows by length: [0] empty, [k] 2^(k-1) .. 2^k - 1 blocks. */
    int64_t histogram[TESS_ROW_CLASSES];
    int64_t lower_bandwidth, upper_bandwidth; /* farthest block below and above the diagonal */
    int64_t stored;                           /* entries: with explicit zeros, without padding */
    int64_t nonzeros;                         /* entries that are not zero */
    double imbalance;                         /* row_max / row_avg; 1 when nothing is stored */
} tess_statistics;

/* Counts A's block rows by their length, and its entries. */
TESS_API tess_status tess_matrix_statistics(tess_ctx *ctx, const tess_matrix *A,
                                            tess_statistics *out);

/* ---- Device and plan ----------------------------------------------------------------------- */

typedef struct tess_device tess_device;
typedef struct tess_plan tess_plan;

/* A device by its name:
 *   "ref"            plain loops, the reference for tests
 *   "cpu", "cpu:4"   the processor; 4 threads of it (1..TESS_THREADS_MAX); "cpu:4,4": two parts
 *   "cuda", "cuda:1" a GPU, by number; "cuda:0,1": a part of the matrix on each (docs/parts.md)
 *   "auto"           see tess_device_open_for
 *   "profile:h200"   a machine that is not here, for tess_predict alone */
TESS_API tess_status tess_device_open(tess_ctx *ctx, const char *name, tess_device **out);
/* The same, with "auto" chosen for A: the CPU or the first GPU, whichever is predicted to finish a
 * product sooner. The vectors are taken to be in host memory, so the GPU's time includes copies of
 * x and y. Without A (NULL), and where the model cannot tell, "auto" is the GPU if there is one.
 * For a complex A, of which there is no model, it is the CPU. */
TESS_API tess_status tess_device_open_for(tess_ctx *ctx, const char *name, const tess_matrix *A,
                                          tess_device **out);
TESS_API void tess_device_close(tess_device *device);
/* One line for people: "cpu: 2 threads, neon". It is valid while the device is open. */
TESS_API const char *tess_device_description(const tess_device *device);

typedef enum tess_effort {
    TESS_EFFORT_MEASURE = 0,   /* time the most promising candidates */
    TESS_EFFORT_ESTIMATE = 1,  /* choose without running anything */
    TESS_EFFORT_EXHAUSTIVE = 2 /* time everything that applies */
} tess_effort;

/* Whether a plan may permute inside, so that blocks appear which the numbering hides
 * (tess_detect_regrouping). */
typedef enum tess_regroup {
    TESS_REGROUP_AUTO = 0, /* where prediction and timing say that it pays; not with ESTIMATE */
    TESS_REGROUP_ON = 1,   /* always; fails where no regrouping is found */
    TESS_REGROUP_OFF = 2
} tess_regroup;

typedef struct tess_plan_options {
    size_t size; /* sizeof(tess_plan_options), or 0 */
    tess_effort effort;
    const char *format; /* NULL: chosen. "bsr", "sliced", "symmetric", "fbcsr", ... */
    const char *kernel; /* NULL: chosen. A kernel's name as `tessera bench` prints it */
    const char *params; /* NULL: chosen. The kernel's parameters, "key=value,key=value" */
    int reproducible;   /* 1: bitwise the same result for any number of threads */
    int fresh;          /* 1: search although the choice for such a matrix is remembered, and
                           although the matrix is small */
    const char *form;   /* of products on several parts: tess_product_form_name; NULL: the first.
                           A device of one part takes none */
    tess_regroup regroup;
} tess_plan_options;

/* Prepares A for repeated products on a device. The plan refers to A's arrays where it can, so A
 * must outlive it, and so must the device. Results are bitwise repeatable on the same plan. A
 * "profile:" device, which computes nothing, fails with TESS_ERR_UNSUPPORTED.
 *
 * A kernel that the library chose may fail while the plan is made, or at the plan's first product.
 * The call succeeds all the same: the next candidate takes the kernel's place, and
 * tess_plan_explain and tess_plan_get_info say so.
 *
 * Threads: products and updates of values of one plan may be called by several threads at once and
 * take turns. Plans of one matrix, of one context or of several, may compute in different threads
 * at the same time. While one product uses a context's threads, another product of the same
 * context is computed by its caller's thread alone. All other calls, tess_plan_destroy and
 * tess_plan_explain included, follow the rule of contexts: one thread at a time.
 *
 * Regrouping: the plan may keep a second matrix, of b x b blocks in another order of the unknowns.
 * Every product then permutes x into that order and y back. The caller's vectors, values and
 * preconditioners stay in A's numbering. A solver works in the new order throughout: it permutes b
 * and x once at the beginning and x back at the end, and its preconditioner has b x b blocks.
 * Padding is multiplied like any entry, so an infinity in x reaches all rows of a padded block.
 * AUTO considers only square matrices of 1 x 1 blocks, and only where format, kernel, parameters
 * and reproducibility are left open.
 *
 * Wisdom: the choice of a search is remembered for matrices of the same class, in
 * tessera/wisdom.json in the user's cache directory. Later plans take it without a search. Wisdom
 * changes a plan's speed, never what is computed. TESSERA_WISDOM in the environment names another
 * file, or is "off"; tess_ctx_set_wisdom decides for one context. Any number of processes may share
 * a file. A file with other content is neither used nor replaced. */
TESS_API tess_status tess_plan_create(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                      const tess_plan_options *options, tess_plan **out);
TESS_API void tess_plan_destroy(tess_plan *plan);

/* y = alpha A x + beta y. Vectors are arrays of the matrix's type: x of cols scalars, y of rows
 * scalars, without padding. The call fails where x and y overlap. beta = 0 never reads y. Without
 * entries y becomes beta y. Where a format stores zeros beside A's entries (fbcsr, half storage
 * with rows in lanes), they are multiplied like entries: an infinity in x may reach rows without an
 * entry in its column. */
TESS_API tess_status tess_spmv(tess_plan *plan, double alpha, const void *x, double beta, void *y);
/* y = alpha A^T x + beta y: x of rows, y of cols scalars. */
TESS_API tess_status tess_spmv_transpose(tess_plan *plan, double alpha, const void *x, double beta,
                                         void *y);
/* y = alpha A x + beta y and *dot = w . y in one pass. w has rows scalars; w = NULL: y . y. */
TESS_API tess_status tess_spmv_dot(tess_plan *plan, double alpha, const void *x, double beta,
                                   void *y, const void *w, double *dot);
/* Y = alpha A X + beta Y for k vectors. Column-major: vector j starts at X + j*ldx (ldx >= cols).
 * Row-major: element i of vector j is X[i*ldx + j] (ldx >= k). The same for Y with rows. k = 0 does
 * nothing. */
TESS_API tess_status tess_spmm(tess_plan *plan, int k, tess_block_order order, double alpha,
                               const void *X, int64_t ldx, double beta, void *Y, int64_t ldy);

/* Complex matrices. Their vectors are arrays of the matrix's type, and the calls above take them
 * with real factors; tess_spmv_dot only with w = NULL, as w^H y is complex.
 *
 *     tess_spmv_complex(plan, TESS_OPERATION_CONJUGATE_TRANSPOSE, (tess_complex){0, 1}, x,
 *                       (tess_complex){0, 0}, y);                              // y = i A^H x
 */
typedef enum tess_operation {
    TESS_OPERATION_NONE = 0,               /* A */
    TESS_OPERATION_TRANSPOSE = 1,          /* A^T */
    TESS_OPERATION_CONJUGATE_TRANSPOSE = 2 /* A^H */
} tess_operation;

/* y = alpha A^H x + beta y: x of rows, y of cols scalars. Of a real matrix A^T. */
TESS_API tess_status tess_spmv_conjugate_transpose(tess_plan *plan, double alpha, const void *x,
                                                   double beta, void *y);
/* y = alpha op(A) x + beta y with complex factors. Of a real matrix their imaginary parts must be
 * 0. */
TESS_API tess_status tess_spmv_complex(tess_plan *plan, tess_operation operation,
                                       tess_complex alpha, const void *x, tess_complex beta,
                                       void *y);
/* y = alpha A x + beta y and *dot = w^H y, the sum of conj(w_i) y_i; w = NULL: y^H y. Of a real
 * matrix dot->im is 0. */
TESS_API tess_status tess_spmv_dot_complex(tess_plan *plan, tess_complex alpha, const void *x,
                                           tess_complex beta, void *y, const void *w,
                                           tess_complex *dot);
/* tess_spmm with complex factors. */
TESS_API tess_status tess_spmm_complex(tess_plan *plan, int k, tess_block_order order,
                                       tess_complex alpha, const void *X, int64_t ldx,
                                       tess_complex beta, void *Y, int64_t ldy);

/* New values in the same pattern, ordered as in the matrix's view. Nothing is planned again. The
 * plan may use `values` in place, as it does A's own arrays: keep them until the next update or the
 * end of the plan.
 *
 * A plan follows its matrix without this call: after tess_matrix_update and tess_builder_update its
 * next product has the new values, whatever its format. A format with its own copy of the values
 * updates the copy in that product. So before a product that is captured in a CUDA graph, call this
 * function with the values of A's view. A plan that was given another array here keeps it.
 *
 * A plan with half storage compares each block with its mirror. Zeros of both signs are equal, and
 * so are any two NaN. When the new values are not symmetric, the plan stores the whole matrix from
 * then on, also where half storage was asked for: tess_plan_get_info says so. */
TESS_API tess_status tess_plan_update_values(tess_plan *plan, const void *values);
/* What was chosen, and why, with numbers. The text is valid until the plan is destroyed or used
 * again. */
TESS_API const char *tess_plan_explain(tess_plan *plan);

/* Memory of a device, for vectors that stay there. On devices that use the host's memory these are
 * plain allocations and copies. Addresses of "cuda" devices are ordinary CUDA device pointers.
 * Memory that another CUDA library in the process allocated can be passed to products as well.
 *
 * "cuda" is an asynchronous device. A product whose vectors are all in device memory is put into
 * the plan's stream and returns at once. It neither allocates nor waits, so it can be captured in a
 * CUDA graph. The first product of each kind (transpose, number of vectors, dot) prepares its
 * kernel and must come before a capture. A product with a vector in host memory goes through
 * buffers of the plan, made at the first such call, and returns when y is complete. Copies wait for
 * the products before them in the library's own stream. */
TESS_API tess_status tess_device_alloc(tess_device *device, size_t bytes, void **out);
TESS_API void tess_device_free(tess_device *device, void *pointer);
TESS_API tess_status tess_device_copy_to(tess_device *device, void *to, const void *from,
                                         size_t bytes);
TESS_API tess_status tess_device_copy_from(tess_device *device, void *to, const void *from,
                                           size_t bytes);
/* Returns when the device has finished all work that it was given. */
TESS_API tess_status tess_device_synchronize(tess_device *device);

/* From now on products of this plan run in the caller's stream, a CUstream or cudaStream_t of the
 * device. NULL: the library's own again. The stream must live as long as it is set. Plans on other
 * devices, and on devices of several parts, fail with TESS_ERR_UNSUPPORTED. */
TESS_API tess_status tess_plan_set_stream(tess_plan *plan, void *stream);

/* Vectors by part, for plans on a device of several parts ("cuda:0,1"). x[r] holds the rows of part
 * r, in memory of that part's device or of the host. The rules for the vectors of one device hold
 * for each part. With all vectors in device memory a product is put into the parts' streams and
 * returns at once, and halos go from device to device. x[r] may be NULL where part r has no rows.
 *
 *     for (int r = 0; r < tess_plan_parts(plan); r++) {
 *         tess_plan_get_part(plan, r, sizeof part, &part);
 *         tess_device_alloc(part.device, part.rows * sizeof(double), &x[r]);
 *         tess_device_copy_to(part.device, x[r], whole + part.first_row,
 *                             part.rows * sizeof(double));
 *     }
 *     tess_spmv_parts(plan, 1.0, x, 0.0, y); */
typedef struct tess_plan_part {
    tess_device *device; /* valid as long as the plan */
    int64_t first_row, rows;
} tess_plan_part;

/* The number of parts; 1 for a plan on a device of one part. */
TESS_API int tess_plan_parts(const tess_plan *plan);
/* Part `rank`, from 0. size: sizeof(tess_plan_part). This call and the following ones fail with
 * TESS_ERR_ARGUMENT on a device of one part, and with TESS_ERR_UNSUPPORTED where A or its blocks
 * are not square. */
TESS_API tess_status tess_plan_get_part(tess_plan *plan, int rank, size_t size,
                                        tess_plan_part *out);
TESS_API tess_status tess_spmv_parts(tess_plan *plan, double alpha, const void *const *x,
                                     double beta, void *const *y);
TESS_API tess_status tess_spmv_transpose_parts(tess_plan *plan, double alpha, const void *const *x,
                                               double beta, void *const *y);
/* *dot = w . y of all parts, w = NULL: y . y. The call waits for it. */
TESS_API tess_status tess_spmv_dot_parts(tess_plan *plan, double alpha, const void *const *x,
                                         double beta, void *const *y, const void *const *w,
                                         double *dot);
/* Column-major: ldx and ldy are at least the rows of every part. */
TESS_API tess_status tess_spmm_parts(tess_plan *plan, int k, tess_block_order order, double alpha,
                                     const void *const *X, int64_t ldx, double beta, void *const *Y,
                                     int64_t ldy);
/* *dot = x . y. Both vectors of a part are in its device's memory, or both in the host's. */
TESS_API tess_status tess_dot_parts(tess_plan *plan, const void *const *x, const void *const *y,
                                    double *dot);

/* ---- Prediction ---------------------------------------------------------------------------- */

/* What the performance model says of a matrix on a device, without running anything: the time of
 * a product with every kernel, of an iteration of CG, and of both on several such devices. The
 * model is what `tessera calibrate` has measured on this device. Where nothing was measured, the
 * most similar of the built-in machines stands in, and `stand_in` says so. */
typedef struct tess_predict_options {
    size_t size;            /* sizeof(tess_predict_options), or 0 */
    int devices;            /* the most to consider, 1 .. 1024; 0: 1 */
    double link_bandwidth;  /* bytes per second between two devices; 0: the measured speed of
                               copies to the host and back, or 50e9 */
    double sync_seconds;    /* one synchronisation of all devices; 0: 10e-6 */
    double latency_seconds; /* one message between two devices; 0: 2e-6 */
    const char *partition;  /* which device has which rows: a name of tess_partition_create; NULL:
                               contiguous */
    int shared;             /* 1: the devices are parts of this one ("cuda:0,0", "cpu:1,1" beside
                               cpu:2) and share its memory's throughput */
} tess_predict_options;

/* One way to run the product. `seconds` is the mean time, best_seconds the best. 0: the model does
 * not know this kernel. */
typedef struct tess_predicted_kernel {
    char format[32], kernel[64], params[128]; /* as in tess_plan_options */
    double bytes;                             /* moved by one product, padding included */
    double memory;                            /* bytes that such a plan keeps beside A */
    double seconds, best_seconds;
} tess_predicted_kernel;

/* An iteration of CG with a diagonal preconditioner on `devices` equal devices, each with its part
 * of the rows. Times are seconds in the mean, except best_spmv and best_iteration. Products and
 * vectors are those of the largest part, `halo` is that of the part with the largest halo.
 *
 * through_host and direct are the communication by eq. 11 of paper 004, for comparison. In eq. 11
 * every device gets all x scalars of p, and the n devices synchronise four times. through_host has
 * x n scalars go through the host's memory, direct x scalars between devices that reach each
 * other. */
typedef struct tess_predicted_solve {
    int devices;
    double spmv, best_spmv;
    double dot;           /* p.Ap */
    double residual;      /* r, z and their two dot products */
    double direction;     /* x and p */
    double communication; /* halo and sums; 0 on one device */
    double iteration, best_iteration;
    double flops;   /* of one iteration, zeros inside blocks included */
    double speedup; /* over one device */
    double halo;    /* the halo of p, counted exactly, with one latency per message */
    double sums;    /* sums of dot products: two per iteration, log2(devices) latencies each */
    double through_host, direct;
    double halo_bytes;   /* received per product by the device with the largest halo */
    double messages;     /* received per product by the device with the most neighbours */
    double largest;      /* bytes that the largest part's product moves, over the mean */
    double useful_flops; /* eq. 10: without the zeros inside blocks */
} tess_predicted_solve;

typedef struct tess_prediction {
    char model[160]; /* the device that was measured */
    int stand_in;    /* 1: it is not this one */
    int64_t kernel_count;
    const tess_predicted_kernel *kernels; /* First what an ESTIMATE plan takes: the fastest, where
                                             a format that is costly to make must be a tenth ahead.
                                             Then the others by their time. Last the kernels
                                             that the model does not know. */
    int64_t solve_count;
    const tess_predicted_solve *solves; /* 1, 2, 4 ... devices, and the number asked for */
    int worthwhile;     /* the most devices in `solves` of which each still adds half its share */
    double density;     /* d_N of eq. 10: entries that are not 0 over stored scalars */
    char partition[32]; /* by which rows are dealt out; "": A cannot be dealt out, and `solves` are
                           by eq. 11 with even shares and direct copies */
    int64_t weak_count;
    const tess_predicted_solve *weak; /* weak scaling: the same numbers of devices, each with a
                                         matrix of A's size. Halos are those of `solves`, scaled
                                         by the power of the number of rows with which A's own
                                         halos grow. `speedup` is the efficiency: the time of one
                                         device over this time. */
} tess_prediction;

/* NULL: default options. The call fails with TESS_ERR_UNSUPPORTED where there is no model: on "ref"
 * and on devices of several parts, for which options->devices stands. */
TESS_API tess_status tess_predict(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                  const tess_predict_options *options, tess_prediction **out);
TESS_API void tess_prediction_destroy(tess_prediction *prediction);

/* A block size for A on this device, for tess_matrix_to_blocks. Considered are 1 x 1 and the few
 * sizes that move the fewest bytes (tess_detect). The one whose product is predicted to be the
 * fastest is taken; one that stores many zeros must be a quarter faster. Where the model knows
 * nothing, the size that tess_detect recommends is taken. 1 x 1 for a matrix without entries. */
TESS_API tess_status tess_choose_blocking(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                          tess_blocking *out);

/* ---- Solve --------------------------------------------------------------------------------- */

/* Krylov methods with block preconditioners for A x = b.
 *
 *     tess_solver *solver;  tess_solver_create(plan, "cg:pc=bjacobi,tol=1e-10", &solver);
 *                           tess_solver_solve(solver, b, x, &result);     // x: guess, solution
 *                           printf("%s\n", result.text);
 *
 * A solver is described by "METHOD:key=value,key=value":
 *
 *   auto       tries solvers, the cheapest that suits A first. A NULL spec means auto. Takes tol,
 *              atol, max, budget=60 (seconds) and memory=4 (GB that factors may take). The log
 *              callback gets one line per attempt. docs/solving.md says what is tried when
 *   cg         conjugate gradients
 *   cg_single  cg with one reduction per iteration (Chronopoulos and Gear)
 *   cg_pipelined  cg_single, with its reduction between parts hidden behind M and A (Ghysels and
 *              Vanroose): for many parts; it moves more vectors
 *   minres     symmetric A, definite or not
 *   cr         conjugate residuals: as minres with less work, but it may break down
 *   bicg       any square A; two products per iteration, one with A^T
 *   bicgstab   any square A; two products per iteration
 *   idr        any square A: IDR(4), five products per iteration
 *   gmres      any square A; restart=30 vectors are kept
 *   fgmres     gmres that also keeps the preconditioned vectors
 *   dgmres     gmres that keeps deflate=4 vectors of the smallest singular values over a restart
 *   lsqr       the x with the smallest |b - A x|. Where no x solves the system it ends with
 *              TESS_REASON_LEAST_SQUARES, when A^T r is a rounding error:
 *              |A^T r| <= 128 epsilon |A| |b|, epsilon that of the matrix's type, or 4e-10 |A| |b|
 *              (f32: 1e-4) where x is large and it no longer falls, and at most 9e-10 |A| |r|
 *   direct     complete factors by SuiteSparse, with refinement
 *   amg        multigrid cycles alone
 *
 * What methods need and take; M is the preconditioner:
 *
 *   symmetric A and M    cg, cg_single, cg_pipelined, minres, cr. M has to be positive definite
 *   positive definite A  cg, cg_single, cg_pipelined. In the other methods for symmetric A, jacobi
 *                        and bjacobi are made of |D|, so that they are positive definite
 *   A^T and M^-T         bicg, lsqr
 *   A that is not square lsqr, and auto. Preconditioners see A with rows or columns of zeros added,
 *                        so that those which need a diagonal or a pivot in each row fail
 *   side=                bicgstab, gmres. Right alone: fgmres, dgmres
 *   M that changes       cg, bicgstab (from the right), fgmres, dgmres, amg: they take cycle=k
 *   restart=             gmres, fgmres, dgmres. They solve several systems one after the other
 *   pc= of their own     direct takes lu alone, amg takes amg alone
 *
 *   pc=NAME        none (default), jacobi, bjacobi (inverted diagonal blocks), ssor, ilu0, ic0.
 *                  chebyshev: a polynomial in A over bjacobi. spai0: the block diagonal nearest to
 *                  the inverse of A. fsai: G^T G with G in the pattern of A's lower half, as near
 *                  to A's inverse as that pattern allows. All but jacobi work by blocks.
 *                  iluk and ick: with fill-in of levels=1 levels, at most fill=10 times A's blocks.
 *                  ilut: keeps blocks larger than drop=1e-4 of their row's mean, per row at most
 *                  fill=10 times as many as A has; pivot=0.1 exchanges columns for larger pivots.
 *                  lu: complete factors by KLU or CHOLMOD where SuiteSparse is installed, on a CPU.
 *                  amg: multigrid by aggregation, one cycle. strength=0.2: blocks that couple
 *                  less, relative to the largest of their row, are weak. bottom=N: the most
 *                  unknowns of a coarsest level that is inverted densely (default: 500, on a GPU
 *                  up to 3072).
 *                  Elasticity needs tess_solver_set_coordinates.
 *                  cycle=NAME: v, w or k. The default is v where A is symmetric. Otherwise it is
 *                  k, or w in methods that do not take an M that changes.
 *                  smoother=NAME: chebyshev (default for symmetric A; degree=2, or 1 for 1 x 1
 *                  blocks), gs (symmetric block Gauss-Seidel), ilu0 (default for other A). For gs
 *                  and ilu0, degree=1 is the number of sweeps, and schedule= and domains= apply.
 *                  prolongator=NAME: smoothed (default) or plain; plain makes cycle=k the default.
 *
 * What preconditioners need and take:
 *
 *   symmetric A          chebyshev, fsai, ic0, ick: they read one half of A, or take its
 *                        eigenvalues to be real
 *   unsymmetric M        spai0, ilut: methods that need a symmetric M refuse them
 *   positive pivots      fsai, ic0, ick, in every method: A has to be positive definite. In methods
 *                        for symmetric A also ilu0, iluk, which take any pivots where no positive
 *                        ones are found. Where a pivot is not positive although A's own diagonal
 *                        block is, all but fsai factor A with a heavier diagonal
 *   replaced pivots      iluk, ilut, amg: a pivot that cannot be inverted is replaced
 *   square blocks        all but none, jacobi, lu
 *   triangular solves    ssor, ilu0, ic0, iluk, ick, ilut: they take schedule= and domains=
 *   the order of rows    ilut keeps it: schedule=levels, or one domain
 *   pivot=               ilut
 *   modes                amg: tess_solver_set_modes
 *
 * M^-T is there for every preconditioner but amg of an A that is not symmetric, or with cycle=k.
 *
 *   schedule=NAME  how triangular factors are solved in parallel.
 *                  domains (a CPU's default): `domains` ranges of rows (0: one per thread) are
 *                  factored separately. Blocks that couple two ranges are dropped, so the number
 *                  of iterations may depend on the number of ranges.
 *                  levels: the whole matrix is factored. Rows that do not wait for each other are
 *                  solved together.
 *                  colours (a GPU's default): levels after reordering by a colouring. Stages are
 *                  few and wide, and the factors differ. `colors` means the same.
 *                  Levels and colours have one domain unless `domains` says more.
 *   scale=NAME     scaling of the system that the method sees: none (default), equilibrate (the
 *                  largest entry of each row and column becomes about 1), match (large entries are
 *                  moved to the diagonal as well). match reorders rows alone, so methods and
 *                  preconditioners for symmetric A refuse it, and so does pc=amg.
 *                  For lsqr, equilibrate scales the columns alone.
 *   order=NAME     none (default), rcm (reverse Cuthill-McKee), nd (nested dissection), amd
 *                  (approximate minimum degree, by SuiteSparse).
 *                  With scale= and order=, tolerance and residual stay those of the caller's
 *                  system.
 *   pc_type=T      same (default): the matrix's type; f32: stored in single precision
 *   side=right     the preconditioner's side, right (default) or left
 *   omega=1        relaxation of ssor, 0.01 <= omega <= 1.99
 *   tol=1e-8       stop when |r| <= tol |b|, r = b - A x ...
 *   atol=0         ... or |r| <= atol, whichever is larger
 *   max=10000      the most iterations; for auto 100000 over all attempts
 *   restart=30     vectors kept before a restart
 *   stagnation=0   iterations without a smaller |r| after which to give up. 0: the number of rows,
 *                  at least 1000; where restart= is taken, two restarts
 *   inner=f32      the method runs in single precision within refinement in double
 *
 * Preconditioned from the right, |r| is that of A x = b. From the left the method sees M^-1 r. |r|
 * in the history is then an estimate, exact at the first iteration and at each restart, and the
 * true residual decides about the end.
 *
 * The iterates have the same bits for any number of threads, if `domains` is given and the plan's
 * products have the same bits.
 *
 * Complex matrices: "symmetric" reads Hermitian, A^T and M^-T are A^H and M^-H. All methods but
 * dgmres, direct and amg take complex matrices, and so do the preconditioners none, jacobi,
 * bjacobi, chebyshev, spai0, ssor, ilu0, ic0, iluk, ick and ilut. scale=, order=, pivot= and inner=
 * are refused. The vectors are complex; norms, tolerances and histories are real.
 */
typedef struct tess_solver tess_solver;

/* The name of method or preconditioner number i, from 0, and one line about it. NULL before the
 * first and past the last. */
TESS_API const char *tess_solve_method_name(int i);
TESS_API const char *tess_solve_method_summary(int i);
TESS_API const char *tess_solve_pc_name(int i);
TESS_API const char *tess_solve_pc_summary(int i);

/* Values are pinned. */
typedef enum tess_solve_trait {
    TESS_SOLVE_COMPLEX = 1,     /* takes complex matrices */
    TESS_SOLVE_COMPLETE = 2,    /* factors completely: on processors, where SuiteSparse is */
    TESS_SOLVE_SYMMETRIC = 4,   /* a method: A has to be symmetric, and so has M */
    TESS_SOLVE_UNSYMMETRIC = 8, /* a preconditioner: M is not symmetric where A is */
    TESS_SOLVE_OWN_PC = 16      /* a method: has its own preconditioner, and needs A on one part */
} tess_solve_trait;

/* The sum of the traits of method or preconditioner i; 0 where there is none. */
TESS_API int tess_solve_method_traits(int i);
TESS_API int tess_solve_pc_traits(int i);

/* Values are pinned. */
typedef enum tess_reason {
    TESS_REASON_CONVERGED = 0,       /* the true residual is within the tolerance, and it is known
                                        better than that: x is not so large that b is lost in
                                        the rounding errors of A x */
    TESS_REASON_ITERATION_LIMIT = 1, /* max iterations were done */
    TESS_REASON_DIVERGED = 2,        /* |r| grew by 1e10 */
    TESS_REASON_BREAKDOWN = 3,       /* a quantity that is divided by became 0 */
    TESS_REASON_STAGNATED = 4,       /* |r| no longer falls */
    TESS_REASON_INDEFINITE = 5,   /* cg met a direction with p.Ap < 0 or a residual with r.z < 0 */
    TESS_REASON_NOT_FINITE = 6,   /* NaN or infinity in A, b, x or on the way */
    TESS_REASON_ZERO_RHS = 7,     /* b = 0: x = 0 is the solution, and x was set to it */
    TESS_REASON_CANCELLED = 8,    /* the callback said stop */
    TESS_REASON_LEAST_SQUARES = 9 /* no x solves the system, within rounding: this one has the
                                     smallest |b - A x| */
} tess_reason;

/* "CONVERGED" and so on; never NULL. */
TESS_API const char *tess_reason_name(tess_reason reason);

/* How a solve ended. Not to converge is a result, not an error: the call returns TESS_OK. A method
 * that fails leaves the first x where its own has a larger |b - A x|. */
typedef struct tess_result {
    tess_reason reason;
    char text[256]; /* one sentence: which quantity, its value, the iteration */
    int64_t iterations;
    double residual;      /* |r| / |b| of the recurrence at the end; recomputed with auto, scale=,
                             order=, pivot= and inner= */
    double true_residual; /* |b - A x| / |b|, recomputed from the x that is returned */
    double rhs_norm;      /* |b| */
    double seconds;       /* in all, of which: */
    double seconds_spmv, seconds_pc, seconds_dots, seconds_vectors;
    double bytes;           /* moved by the iterations: products, preconditioner, vectors */
    int64_t history_count;  /* iterations + 1 */
    const double *history;  /* |r| / |b| before each iteration and at the end. The solver keeps it
                               until its next solve. NULL for every system but the first */
    double normal_residual; /* |A^T r| / (|A| |r|), r = b - A x, recomputed, where a method of least
                               squares has not solved the system; 0 otherwise */
    double reserved[8];     /* 0 */
} tess_result;

/* Called after every iteration. `residual` is |r| / |b|. A non-zero return stops the solve
 * (TESS_REASON_CANCELLED). A GPU iterates by itself: the callback is called for the iterations of
 * about 50 ms at a time, in order. A solve that is stopped ends at the iteration that the
 * device has reached by then. */
typedef int (*tess_solve_fn)(void *user, int64_t iteration, double residual);

/* Prepares method and preconditioner; spec NULL is "auto". A block that the preconditioner cannot
 * invert fails with TESS_ERR_MATRIX and its row. A matrix that is not square fails with
 * TESS_ERR_ARGUMENT where the method needs a square one. On several parts direct and amg fail with
 * TESS_ERR_UNSUPPORTED, and so do scale=, order=, pivot= and inner= on a plan of
 * tess_plan_create_part. The plan must outlive the solver. */
TESS_API tess_status tess_solver_create(tess_plan *plan, const char *spec, tess_solver **out);
TESS_API void tess_solver_destroy(tess_solver *solver);
/* pc=amg (others fail with TESS_ERR_UNSUPPORTED): sets the k >= 1 modes, which the smoother
 * cannot reduce. Column j < k begins at modes + j*ld and has one number per row of the matrix. The
 * columns are copied. Without this call the modes are the rigid motions of the coordinates, or else
 * one constant per component. A preconditioner that was set up before is set up again when it is
 * next needed. */
TESS_API tess_status tess_solver_set_modes(tess_solver *solver, int k, const double *modes,
                                           int64_t ld);
/* pc=amg: sets the coordinates of the block rows, `dimensions` numbers each (2 or 3, the block
 * size). They are copied. The modes are then the rigid motions: 3 in the plane, 6 in space.
 * Elasticity needs them. Modes that were set, before or after, take their place. */
TESS_API tess_status tess_solver_set_coordinates(tess_solver *solver, int dimensions,
                                                 const double *coordinates);
/* Sets up now what the first solve would set up. pc=amg is set up no earlier, as it waits for modes
 * or coordinates. */
TESS_API tess_status tess_solver_set_up(tess_solver *solver);
/* Lines that say what the preconditioner was made of (pc=amg: its levels, and after a solve how
 * fast it converged and where its time went); "" where there is nothing to say. Valid until the
 * solver changes. */
TESS_API const char *tess_solver_describe(const tess_solver *solver);
/* What auto has tried in the last solve: attempt `index` from 0 as a line with its outcome; NULL
 * after the last attempt, and for other methods. The text lives until the next solve. */
TESS_API const char *tess_solver_attempt(const tess_solver *solver, int index);
/* The spec that auto ended with: a solver made with it skips the other attempts. NULL for other
 * methods, and before a solve. */
TESS_API const char *tess_solver_spec(const tess_solver *solver);
/* Sets the callback, which is called after every iteration; NULL: none. It may use other solvers
 * and the plan. Of its own solver the calls that solve, update or set something fail with
 * TESS_ERR_ARGUMENT. */
TESS_API void tess_solver_set_callback(tess_solver *solver, tess_solve_fn callback, void *user);

/* x holds the initial guess, zeros if there is none better, and receives the solution. Vectors are
 * arrays of the matrix's type in host memory or in the memory of the plan's device. b and x must
 * not overlap. b = 0 sets x to 0 whatever x holds (TESS_REASON_ZERO_RHS); a system of no rows ends
 * so too. NaN or infinity in b or x is a result as well (TESS_REASON_NOT_FINITE). */
TESS_API tess_status tess_solver_solve(tess_solver *solver, const void *b, void *x,
                                       tess_result *result);
/* k systems with the same A. System j has b = B + j*ldb and x = X + j*ldx, in scalars, and
 * results[j]. Up to 16 systems share their products (SpMM); otherwise they are independent. One
 * after the other are solved: systems of methods that take restart=; those of auto, scale=, order=,
 * pivot= and inner=f32; those of an A that is not square; those on a device of several parts. */
TESS_API tess_status tess_solver_solve_many(tess_solver *solver, int k, const void *B, int64_t ldb,
                                            void *X, int64_t ldx, tess_result *results);
/* With vectors by part, for plans on a device of several parts (tess_spmv_parts): b[r] and x[r] are
 * the rows of part r, in memory of its device or of the host. Not for auto, scale=, order=,
 * pivot= and inner=, which take whole vectors, and not on a device of one part. */
TESS_API tess_status tess_solver_solve_parts(tess_solver *solver, const void *const *b,
                                             void *const *x, tess_result *result);
/* The next time step: new values for the plan, as in tess_plan_update_values, and the
 * preconditioner computed again in the same pattern. NULL: the plan's present values,
 * which are those of its matrix if that was updated since. Without this call a solve uses the
 * plan's present values, with a preconditioner of earlier values. chebyshev and amg multiply by
 * the present values inside, with bounds, diagonals and levels of earlier ones: they need this
 * call once values have changed much (doubled: INDEFINITE). */
TESS_API tess_status tess_solver_update(tess_solver *solver, const void *values);
/* An operator that the caller applies: y = A x, or z = M^-1 r. transpose: A^T x, which bicg and
 * lsqr ask for. Anything but TESS_OK ends the solve with that status.
 *
 * x and y are arrays of `rows` scalars each in the memory of the plan's device. In host memory
 * `stream` is NULL. On a "cuda" device they are device pointers, and `stream` is the CUstream that
 * the solver works in: apply puts its work into it. Work that apply does elsewhere must wait for
 * the stream first, and must be done when apply returns. The device's context is current. */
typedef tess_status (*tess_apply_fn)(void *user, int transpose, const void *x, void *y,
                                     void *stream);

typedef struct tess_operator {
    size_t size;    /* sizeof(tess_operator), or 0 */
    tess_type type; /* TESS_F64 or TESS_F32 */
    int64_t rows;   /* and columns */
    tess_apply_fn apply;
    void *user;
    double bytes;   /* that one application moves, for reports; 0: not counted */
    int capturable; /* on a "cuda" device. 1: apply only puts work into the stream, the same
                       work each time. Iterations are then captured as a CUDA graph and run without
                       further calls, some of them after the last that is needed. 0: apply is
                       called for each application, and the host waits for each iteration */
} tess_operator;

/* A plan whose products are the caller's, for solvers of every method. It has no entries, so that
 * "auto", scale=, order=, inner= and the library's preconditioners do not work with it, nor do
 * tess_spmv_dot, tess_spmm and tess_plan_update_values. On "cpu:4,4" the operator is called with
 * whole vectors. */
TESS_API tess_status tess_plan_from_operator(tess_ctx *ctx, tess_device *device,
                                             const tess_operator *A, tess_plan **out);
/* tess_solver_create with the caller's preconditioner in the place of pc=. Methods for symmetric A
 * need a symmetric positive definite one. M has the plan's type and rows. With M the spec names a
 * method, and the device has one part. M = NULL: none. */
TESS_API tess_status tess_solver_create_with(tess_plan *plan, const char *spec,
                                             const tess_operator *M, tess_solver **out);

/* A preconditioner alone, for other libraries' solvers: "ilu0", "ssor:omega=1.2,schedule=levels".
 * A must be square. */
typedef struct tess_preconditioner tess_preconditioner;

TESS_API tess_status tess_pc_create(tess_plan *plan, const char *spec, tess_preconditioner **out);
/* As tess_solver_set_modes: "amg" is made when it is first applied. */
TESS_API tess_status tess_pc_set_modes(tess_preconditioner *pc, int k, const double *modes,
                                       int64_t ld);
/* z = M^-1 r: arrays of the matrix's type, in host memory or that of the plan's device. On a "cuda"
 * device it runs in the plan's stream, and returns when z is complete. */
TESS_API tess_status tess_pc_apply(tess_preconditioner *pc, const void *r, void *z);
/* z = M^-T r, for a complex matrix M^-H r. The first call sets the preconditioner up again, with
 * what transposes need. */
TESS_API tess_status tess_pc_apply_transpose(tess_preconditioner *pc, const void *r, void *z);
/* Computes the preconditioner again, as tess_solver_update does. */
TESS_API tess_status tess_pc_update(tess_preconditioner *pc, const void *values);
/* As tess_solver_describe. */
TESS_API const char *tess_pc_describe(const tess_preconditioner *pc);
TESS_API void tess_pc_destroy(tess_preconditioner *pc);

/* create, solve and destroy in one. result->history is NULL and history_count 0. */
TESS_API tess_status tess_solve(tess_plan *plan, const char *spec, const void *b, void *x,
                                tess_result *result);

/* ---- Assembly ------------------------------------------------------------------------------ */

/* A builder takes dense blocks, or whole element matrices, in any order and from several threads,
 * and sums those that fall on the same place:
 *
 *     tess_builder_create(ctx, TESS_F64, rows, cols, 3, 3, threads, &builder);
 *     #pragma omp parallel
 *     {
 *         tess_inserter *mine = tess_builder_inserter(builder, omp_get_thread_num());
 *         #pragma omp for schedule(static)
 *         for (e = 0; e < elements; e++)
 *             tess_inserter_add_element(mine, 8, nodes[e], 8, NULL, stiffness[e],
 *                                       TESS_ORDER_ROW_MAJOR);
 *     }
 *     tess_builder_finish(builder, &A);
 *
 * Sums are taken in the order of (inserter, insertion). So they depend on what each inserter was
 * given, not on when.
 *
 * The first finish fixes the pattern. Later adds are the values of the next time step: they are
 * looked up in the pattern instead of sorted, and a block outside it is TESS_ERR_PATTERN. Blocks
 * never added to are 0. Until the next finish every added block takes its r*c values and 16
 * bytes of memory, which the next time step uses again. */
typedef struct tess_builder tess_builder;
typedef struct tess_inserter tess_inserter;

/* `inserters` >= 1: the number of threads that will add at the same time. */
TESS_API tess_status tess_builder_create(tess_ctx *ctx, tess_type type, int64_t rows, int64_t cols,
                                         int32_t block_height, int32_t block_width, int inserters,
                                         tess_builder **out);
TESS_API void tess_builder_destroy(tess_builder *builder);

/* Inserter 0 .. inserters-1, NULL for any other number. It lives as long as the builder. Different
 * inserters may be used by different threads at the same time, if the context's allocator is safe
 * for that. One inserter may be used by one thread at a time. */
TESS_API tess_inserter *tess_builder_inserter(tess_builder *builder, int id);

/* Adds r x c values to block (block_row, block_col). */
TESS_API tess_status tess_inserter_add_block(tess_inserter *inserter, int64_t block_row,
                                             int64_t block_col, const void *values,
                                             tess_block_order order);

/* Adds a dense (n_rows*r) x (n_cols*c) element matrix, stored without gaps in `order`. Its block
 * (i, j) goes to block (block_rows[i], block_cols[j]). block_cols = NULL: block_rows again
 * (n_cols = n_rows). Negative indices are skipped, as boundary nodes are. Either all is added or
 * nothing. */
TESS_API tess_status tess_inserter_add_element(tess_inserter *inserter, int64_t n_rows,
                                               const int64_t *block_rows, int64_t n_cols,
                                               const int64_t *block_cols, const void *dense,
                                               tess_block_order order);

/* The sentence for an inserter's failure, "" if there was none. It is not in the context, as other
 * threads are adding. After a failure the inserter takes nothing more, and finish fails, until
 * tess_builder_clear. So a matrix that lacks a block is never made. */
TESS_API const char *tess_inserter_error(const tess_inserter *inserter);

/* A new matrix with everything added since the last finish: one without entries where nothing was.
 * The inserters are empty afterwards. */
TESS_API tess_status tess_builder_finish(tess_builder *builder, tess_matrix **out);
/* The same into A, an earlier result of tess_builder_finish of this builder: no new arrays. Plans
 * of A have the new values from their next product on. */
TESS_API tess_status tess_builder_update(tess_builder *builder, tess_matrix *A);
/* Forgets what was added, and failures, since the last finish. The pattern stays. */
TESS_API void tess_builder_clear(tess_builder *builder);

/* ---- Inspection ---------------------------------------------------------------------------- */

/* What devices and plans are, what was measured and what is kept on disk, as data: `tessera
 * devices`, `tune`, `predict --check`, `calibrate`, `cache` and `info` are made of these calls.
 * Texts in these structs belong to the object that was asked, or last as long as the callback. */

/* A device that a name opens here, or why it does not. */
typedef struct tess_device_entry {
    const char *name; /* "cuda:0" */
    int available;
    const char *text; /* its description, or the reason */
} tess_device_entry;

/* Visits the CPU, every GPU, "ref" and the profiles of machines that are not here. */
TESS_API tess_status tess_device_list(tess_ctx *ctx,
                                      void (*visit)(void *user, const tess_device_entry *entry),
                                      void *user);

typedef struct tess_device_info {
    const char *backend;     /* "cpu": the device string up to ':' */
    const char *description; /* tess_device_description */
    const char *model;       /* the name under which wisdom and performance models are kept */
    int threads;             /* host threads a product uses; 0: the host does not compute */
    double cache_bytes;      /* a matrix smaller than this stays in a cache between two products */
} tess_device_info;

/* size: sizeof(tess_device_info). */
TESS_API tess_status tess_device_get_info(const tess_device *device, size_t size,
                                          tess_device_info *out);
/* The read ceiling: the most bytes per second that the device reads from an array of `bytes` bytes,
 * read again and again. Measured at each call (about 0.1 s). 0: the device cannot tell. */
TESS_API tess_status tess_device_read_speed(tess_device *device, double bytes,
                                            double *bytes_per_second);

typedef struct tess_plan_info {
    const char *format, *kernel, *params; /* as in tess_plan_options; params may be "" */
    double bytes;             /* the fewest that y = A x must move: A as it is, x and y */
    double flops;             /* that y = A x does, zeros inside blocks included */
    double memory;            /* bytes kept beside A; 0: none, or not known */
    double predicted_seconds; /* of one product; 0: the model was not asked or knows nothing */
    double measured_seconds;  /* by the search that chose it, or by an earlier one; 0: none */
    double moves;             /* bytes of y = A x in this format, padding included; 0: not known */
    const char *note;         /* which kernel failed, so that this one took its place; "": none */
    const char *regrouping;   /* the blocks for which the plan permutes inside; "": it does not */
    int32_t regrouped_block; /* b of the b x b blocks that are multiplied instead; 0: A's own are */
    double permuted_bytes;   /* of `moves`, what permutes x and y; 0: the kernel does, or nothing is
                                permuted */
} tess_plan_info;

/* The kernel that tess_plan_create would choose with TESS_EFFORT_ESTIMATE, wisdom aside, and what
 * the plan would keep in memory. Nothing is converted, copied or run. options->format, kernel and
 * params narrow the choice. `seconds` is 0 where no model knows the kernel, best_seconds is always
 * 0. `kernel` is "" where there is no choice: on "ref", on devices of several parts, and for a
 * matrix without entries. size: sizeof(tess_predicted_kernel). */
TESS_API tess_status tess_plan_estimate(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                        const tess_plan_options *options, size_t size,
                                        tess_predicted_kernel *out);
/* size: sizeof(tess_plan_info). */
TESS_API tess_status tess_plan_get_info(const tess_plan *plan, size_t size, tess_plan_info *out);
/* Computes y = A x `reps` times with vectors in host memory, after one product that is not timed.
 * seconds[i] is the time of product i, by the device's clock where it has one, without copies. */
TESS_API tess_status tess_plan_time(tess_plan *plan, const void *x, void *y, int reps,
                                    double *seconds);

/* How a plan was chosen. */
typedef struct tess_search_info {
    tess_effort effort; /* that was used: ESTIMATE where a product moves less than 1 MB and `fresh`
                           was not set */
    int64_t count;      /* of trials; 0: the options, or wisdom, left no choice */
    int64_t chosen;     /* trial 0 is what an estimate takes */
    int spmvs;          /* products run */
    double seconds;     /* the search took */
    int cancelled;      /* a progress callback stopped it: the best so far was taken */
    int remembered;     /* taken from wisdom */
    int64_t pays_after; /* products after which the search has saved what it cost; 0: it cost
                           nothing, -1: it never does */
} tess_search_info;

/* One way to run the product that a search looked at. */
typedef struct tess_trial_info {
    const char *format, *kernel, *params;
    const char *state; /* "timed", "glanced" (the first few runs decided), "untried", "refused" */
    const char *note;  /* why it was refused */
    double seconds;    /* median of its runs; 0: none */
    double predicted_seconds;
    double compared_seconds; /* the prediction by which candidates are compared: longer where it is
                                less certain */
    double bytes;            /* one product moves in this format; 0: not known */
    double memory;           /* bytes that the plan keeps beside A */
    double prepare_seconds;  /* conversion, upload, compilation */
} tess_trial_info;

/* size: sizeof(tess_search_info), sizeof(tess_trial_info). Of a plan that was not searched all is
 * 0; an index outside 0 .. count-1 fails with TESS_ERR_ARGUMENT. */
TESS_API tess_status tess_plan_get_search(const tess_plan *plan, size_t size,
                                          tess_search_info *out);
TESS_API tess_status tess_plan_get_trial(const tess_plan *plan, int64_t index, size_t size,
                                         tess_trial_info *out);

/* The few blockings of a detection that are worth a search: those at offset 0 that move the fewest
 * bytes, and 1 x 1. Fills at most `capacity` elements and sets *count. */
TESS_API tess_status tess_detection_pick(tess_ctx *ctx, const tess_detection *detection,
                                         int capacity, tess_block_candidate *picked, int *count);

/* What wisdom holds for one class of matrices on one device. */
typedef struct tess_wisdom_item {
    const char *name; /* of the class */
    const char *format, *kernel, *params;
    double seconds, bytes; /* of one product, when it was measured */
    const char *effort;    /* "measure" or "exhaustive" */
    int current;           /* 0: other kernels have come since; it is searched again */
} tess_wisdom_item;

TESS_API tess_status tess_wisdom_list(tess_ctx *ctx,
                                      void (*visit)(void *user, const tess_wisdom_item *item),
                                      void *user);
/* The context's file; "" where there is none. *enabled: 0 where wisdom is off. */
TESS_API tess_status tess_wisdom_file(tess_ctx *ctx, size_t size, char *path, int *enabled);
/* Forgets the classes whose name contains `part` ("": all), in the context and in the file, and
 * counts those that either knew. A file that cannot be changed leaves the context as it is. */
TESS_API tess_status tess_wisdom_forget(tess_ctx *ctx, const char *part, int64_t *forgotten);
/* Writes to the file what this context has found and the file lacks. A search does this by itself
 * and goes on where the file cannot be written; this call says why it cannot. With nothing new to
 * write, it checks whether the file could be written. */
TESS_API tess_status tess_wisdom_save(tess_ctx *ctx);
/* All that the context knows as text, to be freed with tess_release. */
TESS_API tess_status tess_wisdom_export(tess_ctx *ctx, char **text);
/* Adds the classes that tess_wisdom_export wrote to the context and its file, and replaces those
 * that are known already. *classes, unless NULL, becomes how many were added. */
TESS_API tess_status tess_wisdom_import(tess_ctx *ctx, const char *text, int64_t *classes);
/* The class of products with A on a device, in at most `size` bytes. */
TESS_API tess_status tess_wisdom_class(const tess_device *device, const tess_matrix *A, size_t size,
                                       char *name);

/* One compiled CUDA kernel of the cache on disk. */
typedef struct tess_cached_kernel {
    const char *file;
    const char *label; /* what was compiled; "" when the file is damaged or of another version */
    size_t bytes;
    int sound;    /* 0: it will be compiled again */
    int verified; /* 1: its results were compared with ref's on a device */
} tess_cached_kernel;

TESS_API tess_status tess_kernel_cache_list(
    tess_ctx *ctx, void (*visit)(void *user, const tess_cached_kernel *kernel), void *user);
/* The directory of the cache; "" where neither TESSERA_CACHE nor HOME names one. */
TESS_API tess_status tess_kernel_cache_directory(tess_ctx *ctx, size_t size, char *path);
/* Removes all compiled kernels. *removed: how many there were. */
TESS_API tess_status tess_kernel_cache_clear(tess_ctx *ctx, int64_t *removed);
/* Compiles the usual kernels for blocks of 1 to 8 in both precisions, for compute capability
 * `arch` (90 for 9.0). Needs NVRTC, no GPU. *compiled: how many the
 * cache lacked. */
TESS_API tess_status tess_kernel_cache_warm(tess_ctx *ctx, int arch, int *compiled);

/* A curve of the performance model: the throughput of a class of kernels, a sigmoid in log2 of the
 * bytes moved. */
typedef struct tess_model_curve_info {
    const char *name;
    int32_t block; /* b of b x b blocks; 0: of vectors */
    tess_type type;
    int cached; /* the data come from a cache */
    int points; /* measured */
    double row_bytes, step_seconds, mu, sigma;
    double throughput, best_throughput; /* bytes per second, for large sizes */
    double error;                       /* mean relative error of the fit on its own points */
} tess_model_curve_info;

/* A term beside the curves: seconds, or (share = 1) a share, of one row, block or product. */
typedef struct tess_model_extra_info {
    const char *name, *kind;
    int32_t block;
    tess_type type;
    int share;
    double x_bytes, value;
} tess_model_extra_info;

typedef struct tess_model_part tess_model_part;

/* The block sizes of a whole model, 0 for vectors and copies; returns how many. tess_calibrate
 * takes any other up to TESS_CALIBRATE_BLOCK_MAX too. */
#define TESS_CALIBRATE_BLOCK_MAX 128
TESS_API int tess_calibrate_blocks(const int32_t **blocks);
/* Measures the part of a device's model for one block size. `most`: the largest product in bytes;
 * 0: chosen. `classes`: only these kernel classes, as in "sliced,stream"; NULL: all. `path`: the
 * file to which the part is added; NULL: it is not kept. */
TESS_API tess_status tess_calibrate(tess_device *device, tess_type type, int32_t block, double most,
                                    const char *classes, const char *path, tess_model_part **out);
TESS_API void tess_model_part_destroy(tess_model_part *part);
/* Scales the model that stands in for a device which was never calibrated. A few products are
 * timed, which takes a second or two, and on a GPU the time to compile their kernels. *memory and
 * *cache become the factors on the stand-in's throughputs. `path`: the file that keeps them; NULL:
 * they hold for this device until it is closed. A device with a model of its own is refused. */
TESS_API tess_status tess_calibrate_quick(tess_device *device, const char *path, double *memory,
                                          double *cache);
/* The number of curves and of extras of a part. */
TESS_API int64_t tess_model_part_curves(const tess_model_part *part);
TESS_API int64_t tess_model_part_extras(const tess_model_part *part);
/* Curve or extra `index`, from 0 to the number above less one. */
TESS_API tess_status tess_model_part_get_curve(const tess_model_part *part, int64_t index,
                                               size_t size, tess_model_curve_info *out);
TESS_API tess_status tess_model_part_get_extra(const tess_model_part *part, int64_t index,
                                               size_t size, tess_model_extra_info *out);
/* Where plans look for the model: model.json beside the wisdom; "" where wisdom is off. */
TESS_API tess_status tess_model_file(tess_ctx *ctx, size_t size, char *path);

/* Runs what was predicted. kernel_seconds[i] becomes the typical time of prediction->kernels[i], 0
 * where it does not run. *iteration_seconds becomes that of a CG iteration with the first kernel, 0
 * where A is not symmetric with a diagonal. */
TESS_API tess_status tess_predict_check(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                        const tess_prediction *prediction, double *kernel_seconds,
                                        double *iteration_seconds);
/* CG iterations with regular matrices of other sizes, with A's block size and the kernel that is
 * predicted to be the best for A: matrix i has unknowns[i] rows and stored[i] scalars. one[i] is
 * the prediction for one device, several[i] for options->devices. Their `devices` is 0 where the
 * model knows nothing. */
TESS_API tess_status tess_predict_sizes(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                                        const tess_predict_options *options, int64_t count,
                                        const double *unknowns, const double *stored,
                                        tess_predicted_solve *one, tess_predicted_solve *several);

/* What format fbcsr would store in blocks of one shape, which may lie anywhere in the matrix. */
typedef struct tess_shape_candidate {
    char name[24]; /* "row:32", "4x4" */
    int64_t blocks, nonzeros;
    double fill;  /* share of the cells that are non-zeros */
    double bytes; /* that a product then moves */
} tess_shape_candidate;

typedef struct tess_shape_detection {
    int64_t count; /* 0: the matrix has no entries */
    const tess_shape_candidate *candidates;
    tess_shape_candidate chosen; /* by "auto"; all its shapes together */
    char shapes[448]; /* their names as the parameter shapes= takes them, "32x32/row:32"; "": none
                         pays */
    double csr_bytes; /* that a product moves without blocks */
} tess_shape_detection;

/* A must have 1 x 1 blocks, but need not be square. */
TESS_API tess_status tess_detect_shapes(tess_ctx *ctx, const tess_matrix *A,
                                        tess_shape_detection **out);
TESS_API void tess_shape_detection_destroy(tess_shape_detection *detection);

/* ---- Several parts --------------------------------------------------------------------------
 *
 * A square matrix may be dealt out to parts. A part has some of the block rows and a
 * context of its own: it is a process of an MPI program (tessera_mpi.h), or a thread. Of every
 * vector it has the same rows as of the matrix.
 *
 * Calls on a part, on its plans and on their solvers are collective: all parts make the same calls
 * in the same order. A failure on one part is returned by all of them, with its sentence.
 *
 * A product does not wait for parts that it needs no rows of. Where one part refuses its arguments
 * or its device fails, tess_spmv, tess_spmv_transpose and tess_spmm return the failure there, and
 * TESS_ERR_PART on the parts that need rows of it. All other parts have their rows of y. No part
 * waits for ever, and TESS_OK always means that y is right. With tess_spmv_dot, and in the forms
 * whole and shuffle, all parts return the failure. */

enum { TESS_PARTS_MAX = 65536 };

/* What one part of a partition has, and what a product moves there. */
typedef struct tess_partition_part {
    int64_t block_rows, rows;       /* rows: in scalars */
    int64_t blocks, outside_blocks; /* stored; those of them in columns of other parts */
    int64_t halo;   /* the block columns of other parts that its blocks need, each counted once: no
                       product can do with fewer */
    int64_t sent;   /* block rows that go to others, counted once per receiver */
    int neighbours; /* parts that it receives from */
    double bytes;   /* one product moves: blocks, row offsets, x with its halo, y */
} tess_partition_part;

/* Which part has which block row. */
typedef struct tess_partition {
    const char *name;
    int count;            /* of parts */
    int in_order;         /* 1: contiguous ranges, one after the other */
    int64_t block_rows;   /* of the matrix */
    int32_t block;        /* its blocks are block x block */
    const int32_t *owner; /* the part of each block row */
    const tess_partition_part *parts;
} tess_partition;

/* Partitions by name, NULL: "contiguous". A part's rows keep their order.
 *
 *   contiguous  ranges of rows whose products move equal bytes
 *   cyclic      rows sorted by length, then dealt out one by one
 *   metis       few couplings between parts, by METIS where it is installed
 *   scotch      the same by SCOTCH
 *
 * A must be square with square blocks. METIS and SCOTCH are looked for when they are first
 * needed; TESSERA_PARTITIONERS in the environment names a directory to look in first, or
 * is "off". Without them the call fails with TESS_ERR_UNSUPPORTED and says what to install. The
 * same matrix gets the same parts in every run. Where there are more parts (1 .. TESS_PARTS_MAX)
 * than block rows, some have none. */
TESS_API tess_status tess_partition_create(tess_ctx *ctx, const tess_matrix *A, int parts,
                                           const char *name, tess_partition **out);
TESS_API void tess_partition_destroy(tess_partition *partition);
/* The names, i = 0, 1, ..., and a line about each; NULL past the last. */
TESS_API const char *tess_partition_name(int i);
TESS_API const char *tess_partition_summary(int i);

/* Bytes that go to or come from another part. */
typedef struct tess_message {
    int peer; /* its rank */
    size_t bytes;
    void *data;
} tess_message;

/* How parts reach each other: what the caller provides in place of MPI. Every function is
 * collective, and returns TESS_OK or a failure. */
typedef struct tess_comm {
    int rank, size; /* this part's number, and how many there are: at most TESS_PARTS_MAX */
    void *user;
    /* all[r * bytes ...] becomes what part r has in `mine`. */
    tess_status (*gather)(void *user, const void *mine, size_t bytes, void *all);
    /* gather in two calls, between which other calls may come. `mine` and `all` stay untouched
     * until gather_wait. One part may wait before a call that comes between, and another after it:
     * gather_wait needs no more of the others than that they have called gather_start. Both NULL:
     * gather is called. */
    tess_status (*gather_start)(void *user, const void *mine, size_t bytes, void *all,
                                void **pending);
    tess_status (*gather_wait)(void *user, void *pending);
    /* A channel sends and receives between buffers that stay where they are. Two parts exchange at
     * most one message per channel in each direction. */
    tess_status (*open)(void *user, int sends, const tess_message *send, int receives,
                        const tess_message *receive, void **channel);
    /* `start` sends what is in the buffers. A part that has failed calls `skip` in its place: it
     * sends none of its messages, but takes those of the others. `wait` returns when all has been
     * sent and the other parts' messages have arrived; TESS_ERR_PART where a part that this one
     * receives from has called skip. */
    tess_status (*start)(void *user, void *channel);
    tess_status (*skip)(void *user, void *channel);
    tess_status (*wait)(void *user, void *channel);
    void (*close)(void *user, void *channel);
    /* 1: the buffers of channels may be in a GPU's memory. */
    int device_memory;
} tess_comm;

/* The block rows of one part. Block k of block row i, row_offsets[i] <= k < row_offsets[i+1], is at
 * block column columns[k] of the whole matrix. */
typedef struct tess_part_view {
    tess_type type;
    int64_t rows;           /* of this part, in scalars; only the last part with rows may have a
                               number that the block size does not divide */
    int32_t block;          /* blocks are block x block, the same on all parts */
    tess_block_order order; /* of the values in a block */
    const int64_t *row_offsets;
    const int64_t *columns;
    const void *values;
} tess_part_view;

typedef struct tess_part tess_part;

/* Copies the arrays. Columns may be unsorted and repeat; repeated blocks are summed. The functions
 * of `comm` are called until the part is destroyed. */
TESS_API tess_status tess_part_create(tess_ctx *ctx, const tess_comm *comm,
                                      const tess_part_view *arrays, tess_part **out);
/* Deals out the matrix that part 0 has, in contiguous ranges whose products move equal bytes. On
 * all other parts A is NULL. Its blocks must be square. */
TESS_API tess_status tess_part_deal(tess_ctx *ctx, const tess_comm *comm, const tess_matrix *A,
                                    tess_part **out);
/* The same by another partition, which part 0 names (tess_partition_create). Inside, rows
 * are then numbered part after part. Outside, A's numbering stays: whole vectors are in A's order.
 * tess_part_get_rows says which rows a part has. */
TESS_API tess_status tess_part_deal_by(tess_ctx *ctx, const tess_comm *comm, const tess_matrix *A,
                                       const char *partition, tess_part **out);
/* A .tess file of square blocks, in the same contiguous ranges. Each part reads its own rows alone,
 * and together they verify the checksums. All parts must reach the file. Files of other kinds are
 * read by part 0 (tess_matrix_input) and dealt out. */
TESS_API tess_status tess_part_read(tess_ctx *ctx, const tess_comm *comm, const char *path,
                                    tess_part **out);
/* Destroy the plans that were made from a part before it. */
TESS_API void tess_part_destroy(tess_part *part);

/* Assembly: blocks are added on whichever part computes them, as elements at the border of two
 * parts are. finish sends blocks in other parts' rows to their owners, and sums blocks at the same
 * place in the order of (part, insertion).
 *
 *     tess_part_builder_create(ctx, &comm, TESS_F64, my_rows, 3, &builder);
 *     for (e = 0; e < my_elements; e++)
 *         tess_part_builder_add(builder, 8, nodes[e], 8, NULL, stiffness[e], TESS_ORDER_ROW_MAJOR);
 *     tess_part_builder_finish(builder, &part);
 *
 * Later adds are the values of the next time step, for tess_part_builder_update: the pattern stays,
 * and a block outside it is TESS_ERR_PATTERN. Blocks never added to are 0. */
typedef struct tess_part_builder tess_part_builder;

/* `rows` and `block` as in tess_part_view. */
TESS_API tess_status tess_part_builder_create(tess_ctx *ctx, const tess_comm *comm, tess_type type,
                                              int64_t rows, int32_t block, tess_part_builder **out);
TESS_API void tess_part_builder_destroy(tess_part_builder *builder);
/* As tess_inserter_add_element, with block rows and columns of the whole matrix. Not collective.
 * After a failure the builder takes nothing more until the next finish or update, which fails on
 * all parts. Either all of an element is added or nothing. */
TESS_API tess_status tess_part_builder_add(tess_part_builder *builder, int64_t n_rows,
                                           const int64_t *block_rows, int64_t n_cols,
                                           const int64_t *block_cols, const void *dense,
                                           tess_block_order order);
/* A new part with everything added since the last finish. The builder is empty afterwards. */
TESS_API tess_status tess_part_builder_finish(tess_part_builder *builder, tess_part **out);
/* The same, as new values of a plan. The plan's part must have been made by this builder. */
TESS_API tess_status tess_part_builder_update(tess_part_builder *builder, tess_plan *plan);

typedef struct tess_part_info {
    int rank, size;
    tess_type type;
    int32_t block;
    int64_t first_row, rows, all_rows; /* in scalars: of this part, in the parts' own numbering;
                                          of the whole */
    int64_t blocks, outside_blocks;    /* stored; those of them in columns of other parts */
    int64_t halo_rows;                 /* scalars of x that come from other parts */
    int64_t sent_rows;                 /* that go to other parts, counted once per receiver */
    int neighbours;                    /* parts that it receives from */
} tess_part_info;

/* size: sizeof(tess_part_info). */
TESS_API tess_status tess_part_get_info(const tess_part *part, size_t size, tess_part_info *out);

/* rows[i] becomes the row of the whole matrix that is row i of this part: in scalars, info.rows
 * numbers. Not collective. */
TESS_API tess_status tess_part_get_rows(const tess_part *part, int64_t *rows);

/* Between the whole vector, which part 0 has (NULL on the others), and the parts' own rows. */
TESS_API tess_status tess_part_deal_vector(tess_part *part, const void *whole, void *mine);
TESS_API tess_status tess_part_collect_vector(tess_part *part, const void *mine, void *whole);

/* A plan of the whole matrix, which all parts hold together. tess_spmv, tess_spmv_transpose,
 * tess_spmv_dot, tess_spmm, tess_plan_update_values and solvers take it as any other plan; vectors
 * are the part's own rows, values are in the order of tess_part_create. Preconditioners are those
 * of the part's own square block. `device` computes; its products overlap with the messages. */
TESS_API tess_status tess_plan_create_part(tess_part *part, tess_device *device,
                                           const tess_plan_options *options, tess_plan **out);

/* How parts compute y = A x together: options.form of their plans, "NAME" or "NAME:key=value".
 *
 *   halo      the owner of a row of y computes it. Of x only the halo travels, while the blocks of
 *             own columns are multiplied
 *   whole     as halo, but all of x goes to every part before the product (paper 004)
 *   shuffle   block rows are sorted by length and dealt out one by one, whoever owns them. All of x
 *             goes to every part, and all results to part 0, which puts them in order (paper 003).
 *             lambda=N cuts rows into segments of at most N blocks, whose results part 0 adds
 *
 * whole and shuffle are for comparison. They keep a second copy of the blocks. Parts on GPUs
 * exchange on the devices in every form. Where only some parts are on GPUs, whole and shuffle take
 * vectors in host memory. Transposes are those of halo. All parts name the same form.
 *
 * The names, i = 0, 1, ..., and a line about each; NULL past the last. */
TESS_API const char *tess_product_form_name(int i);
TESS_API const char *tess_product_form_summary(int i);

/* Seconds that this part's plan has spent so far. */
typedef struct tess_part_times {
    double product; /* own and outside blocks */
    double halo;    /* packing, and waiting for messages that did not hide behind the product */
    double sums;    /* waiting for the sums of dot products */
} tess_part_times;
/* size: sizeof(tess_part_times). A plan of tess_plan_create fails with TESS_ERR_ARGUMENT. */
TESS_API tess_status tess_plan_get_part_times(const tess_plan *plan, size_t size,
                                              tess_part_times *out);

#ifdef __cplusplus
}
#endif
#endif

/* What every other part stands on: the context, errors, memory, options strings, numbers.
 *
 * Errors travel as a tess_status; the sentence is written into the context by tess_fail at the
 * place where the fault is known. Inside a share of parallel work nothing may call tess_fail:
 * collect the fault, end the parallel call, then report it.
 */
#pragma once

/* The C library's headers that most files need are included here, once. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "tessera/tessera.h"

/* Macros, as no function returns from its caller. This one passes a failure on. */
#define TESS_TRY(call)                         \
    do {                                       \
        tess_status tess_try_status_ = (call); \
        if (tess_try_status_ != TESS_OK)       \
            return tess_try_status_;           \
    } while (0)

/* The same inside a function with a `cleanup:` label and a `tess_status status` variable. */
#define TESS_TRY_CLEAN(call)   \
    do {                       \
        status = (call);       \
        if (status != TESS_OK) \
            goto cleanup;      \
    } while (0)

/* Makes the call unless an earlier one failed, with the same variable: for functions in which
 * failure and success share one end. */
#define TESS_THEN(call)        \
    do {                       \
        if (status == TESS_OK) \
            status = (call);   \
    } while (0)

/* The end of a constructor, after its clean-up: on success *out becomes the object, otherwise the
 * object is destroyed. The value is `status`. */
#define TESS_DELIVER(status, object, destroy, out) \
    TESS_DELIVER_OR(status, object, destroy(object), out)
/* The same, where `call` destroys the object. */
#define TESS_DELIVER_OR(status, object, call, out) \
    ((status) == TESS_OK ? (void)(*(out) = (object)) : (void)(call), (status))

/* Returns from a public function unless the arguments that it needs are `given`. */
#define TESS_NEED(ctx, given)                           \
    do {                                                \
        if (!(given))                                   \
            return tess_null_argument((ctx), __func__); \
    } while (0)

struct tess_wisdom; /* plan/wisdom/wisdom.h */
struct tess_pool;   /* core/pool.c */

struct tess_ctx {
    tess_allocator allocator;
    int threads; /* 1..TESS_THREADS_MAX */
    tess_progress_fn progress;
    void *progress_user;
    tess_log_fn log;
    void *log_user;
    struct tess_pool *pool;     /* made at the first parallel call; NULL before */
    unsigned pool_user;         /* not 0: a parallel call runs */
    double progress_next;       /* seconds, monotonic clock: no callback before this moment */
    struct tess_wisdom *wisdom; /* read at the first search; NULL before */
    tess_wisdom_keep wisdom_keep;
    char *wisdom_path; /* of TESS_WISDOM_FILE */
    void (*destroy_wisdom)(tess_ctx *ctx);
    char error[1024];
};

/* Writes the error's sentence into the context and returns `status`. With ctx = NULL nothing is
 * written. */
tess_status tess_fail(tess_ctx *ctx, tess_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "tess_...: an argument is NULL" */
tess_status tess_null_argument(tess_ctx *ctx, const char *call);

/* The context's error sentence, kept aside during an attempt whose failure is not the caller's. */
typedef struct tess_kept_error {
    char text[sizeof(((tess_ctx *)0)->error)];
} tess_kept_error;
tess_kept_error tess_error_keep(const tess_ctx *ctx);
void tess_error_restore(tess_ctx *ctx, const tess_kept_error *kept);

/* Copies the caller's options, which may be NULL, to `out`. Options begin with their size in bytes:
 * a caller built with an older header passes fewer bytes, one with a newer header more. A size of 0
 * stands for `first`, the size in version 0.2. Bytes that this library does not know must be 0. */
tess_status tess_take_options_bytes(tess_ctx *ctx, const char *name, const void *given,
                                    size_t first, size_t size, void *out);
/* No options have grown since 0.2. Options that grow pass the offset of their first new field. */
#define TESS_TAKE_OPTIONS(ctx, type, given, out) \
    tess_take_options_bytes((ctx), #type, (given), sizeof(type), sizeof(type), (out))

/* One line to the log callback, if there is one. */
void tess_log(tess_ctx *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Calls the progress callback at most ten times a second; TESS_ERR_CANCELLED when it says stop. */
tess_status tess_progress(tess_ctx *ctx, const char *what, double done, double total);

/* ---- Memory: alloc.c ---- */

/* Allocates count*size bytes, not cleared, aligned to 64 bytes. An array of 4 MiB or more is
 * aligned to 2 MiB and advised for huge pages. A count of 0 gives a valid pointer. Fails with
 * TESS_ERR_MEMORY or TESS_ERR_OVERFLOW. */
tess_status tess_alloc_bytes(tess_ctx *ctx, int64_t count, size_t size, void **out);
tess_status tess_calloc_bytes(tess_ctx *ctx, int64_t count, size_t size, void **out);
void tess_free(tess_ctx *ctx, void *pointer); /* NULL is fine */
void tess_free_all(tess_ctx *ctx, void *const *pointers, size_t count);

#define TESS_ALLOC(ctx, count, pointer) \
    tess_alloc_bytes((ctx), (count), sizeof **(pointer), (void **)(pointer))
#define TESS_CALLOC(ctx, count, pointer) \
    tess_calloc_bytes((ctx), (count), sizeof **(pointer), (void **)(pointer))
/* Frees several pointers, in this order. */
#define TESS_FREE(ctx, ...)                            \
    tess_free_all((ctx), (void *const[]){__VA_ARGS__}, \
                  sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))

/* Moves an array to a new one of `count` elements, with its first `used` elements. */
tess_status tess_resize_bytes(tess_ctx *ctx, void **items, size_t size, int64_t used,
                              int64_t count);
#define TESS_RESIZE(ctx, items, used, count) \
    tess_resize_bytes((ctx), (void **)(items), sizeof **(items), (used), (count))

/* Makes room for one more element of `size` bytes in a growing array: when count has reached
 * *capacity, the array is moved to one twice as large. */
tess_status tess_grow_bytes(tess_ctx *ctx, void **items, size_t size, int64_t count,
                            int64_t *capacity);
#define TESS_GROW(ctx, items, count, capacity) \
    tess_grow_bytes((ctx), (void **)(items), sizeof **(items), (count), (capacity))

/* a*b for non-negative a and b; false when the product does not fit. */
static inline bool tess_mul(int64_t a, int64_t b, int64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

static inline int64_t tess_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* The index of the first of sorted[low .. high-1] that is not less than `value`; high where all are
 * less. The numbers have 32 or 64 bits: `size` is the bytes of one. */
static inline int64_t tess_lower_bound_of(const void *sorted, size_t size, int64_t low,
                                          int64_t high, int64_t value)
{
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        const int64_t number = size == sizeof(int64_t) ? ((const int64_t *)sorted)[middle]
                                                       : ((const int32_t *)sorted)[middle];
        if (number < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
#define tess_lower_bound(sorted, low, high, value) \
    tess_lower_bound_of(sorted, sizeof *(sorted), low, high, value)

static inline bool tess_type_exists(tess_type type)
{
    return (unsigned)type <= TESS_C32;
}

/* Fails with TESS_ERR_ARGUMENT where the number is no type. */
tess_status tess_check_type(tess_ctx *ctx, tess_type type);

static inline bool tess_is_complex(tess_type type)
{
    return type == TESS_C64 || type == TESS_C32;
}

/* The type of a complex scalar's two parts; of a real type, the type itself. */
static inline tess_type tess_real_type(tess_type type)
{
    return type == TESS_C64 ? TESS_F64 : type == TESS_C32 ? TESS_F32 : type;
}

/* The number of reals in `count` scalars. */
static inline int64_t tess_reals(tess_type type, int64_t count)
{
    return tess_is_complex(type) ? 2 * count : count;
}

static inline size_t tess_type_size(tess_type type)
{
    return type == TESS_F64 ? 8 : type == TESS_F32 ? 4 : type == TESS_C64 ? 16 : 8;
}

/* Bytes of a dense block. */
static inline size_t tess_block_bytes(int64_t height, int64_t width, tess_type type)
{
    return (size_t)height * (size_t)width * tess_type_size(type);
}

/* Scalar i of an array of reals, whatever the precision. */
static inline double tess_get(const void *array, tess_type type, int64_t i)
{
    return type == TESS_F64 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

static inline void tess_put(void *array, tess_type type, int64_t i, double value)
{
    if (type == TESS_F64)
        ((double *)array)[i] = value;
    else
        ((float *)array)[i] = (float)value;
}

/* The largest |a_i| of `count` reals from index `first` on; NaN is left out. fmax is not used: gcc
 * 12 for aarch64 fails to compile the loop with it. */
static inline double tess_largest(const void *array, tess_type type, int64_t first, int64_t count)
{
    double largest = 0;
    for (int64_t i = first; i < first + count; i++) {
        const double value = tess_get(array, type, i), size = value < 0 ? -value : value;
        largest = tess_max(size, largest);
    }
    return largest;
}

/* Scalar i of an array of any type. */
static inline tess_complex tess_get_complex(const void *array, tess_type type, int64_t i)
{
    if (!tess_is_complex(type))
        return (tess_complex){tess_get(array, type, i), 0};
    const tess_type part = tess_real_type(type);
    return (tess_complex){tess_get(array, part, 2 * i), tess_get(array, part, 2 * i + 1)};
}

/* Sets scalar i of an array of any type. In a real array the imaginary part of `value` is
 * dropped. */
static inline void tess_put_complex(void *array, tess_type type, int64_t i, tess_complex value)
{
    if (!tess_is_complex(type)) {
        tess_put(array, type, i, value.re);
        return;
    }
    const tess_type part = tess_real_type(type);
    tess_put(array, part, 2 * i, value.re);
    tess_put(array, part, 2 * i + 1, value.im);
}

static inline tess_complex tess_complex_product(tess_complex a, tess_complex b)
{
    return (tess_complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static inline tess_complex tess_complex_sum(tess_complex a, tess_complex b)
{
    return (tess_complex){a.re + b.re, a.im + b.im};
}

static inline tess_complex tess_conjugate(tess_complex a)
{
    return (tess_complex){a.re, -a.im};
}

/* a / b without overflow of |b|^2 (Smith 1962); where b is real, both parts of a are divided by
 * it. */
static inline tess_complex tess_complex_quotient(tess_complex a, tess_complex b)
{
    if (b.im == 0)
        return (tess_complex){a.re / b.re, a.im / b.re};
    if (fabs(b.re) >= fabs(b.im)) {
        const double ratio = b.im / b.re, length = b.re + b.im * ratio;
        return (tess_complex){(a.re + a.im * ratio) / length, (a.im - a.re * ratio) / length};
    }
    const double ratio = b.re / b.im, length = b.re * ratio + b.im;
    return (tess_complex){(a.re * ratio + a.im) / length, (a.im * ratio - a.re) / length};
}

static inline bool tess_complex_is_zero(tess_complex a)
{
    return a.re == 0 && a.im == 0;
}

/* to[i] = from[j]. */
static inline void tess_copy_scalar(tess_type type, void *to, int64_t i, const void *from,
                                    int64_t j)
{
    if (type == TESS_F64)
        ((double *)to)[i] = ((const double *)from)[j];
    else if (type == TESS_F32)
        ((float *)to)[i] = ((const float *)from)[j];
    else if (type == TESS_C64)
        memcpy((char *)to + 16 * i, (const char *)from + 16 * j, 16);
    else
        memcpy((char *)to + 8 * i, (const char *)from + 8 * j, 8);
}

extern const char *const tess_type_names[]; /* by tess_type; NULL after the last */
static inline const char *tess_type_name(tess_type type)
{
    return tess_type_names[type];
}

/* ---- Options strings: options.c ---- */

/* One key of an options string "key=value,key=value". The table lives on the stack of the function
 * that knows the targets. A BOOL key without "=value" means 1. */
typedef enum tess_option_kind {
    TESS_OPTION_INT,    /* int64_t, min..max */
    TESS_OPTION_DOUBLE, /* double, min..max */
    TESS_OPTION_BOOL,   /* int: 0|1|no|yes|off|on|false|true */
    TESS_OPTION_CHOICE, /* int: the index in the NULL-terminated list `choices` */
    TESS_OPTION_TEXT    /* char[size]: the value as it stands */
} tess_option_kind;

typedef struct tess_option {
    const char *key;
    tess_option_kind kind;
    void *target;
    double min, max;            /* INT and DOUBLE */
    const char *const *choices; /* CHOICE */
    size_t size;                /* TEXT */
} tess_option;

/* `what` names the owner of the options in errors: "gen:stencil7: unknown key 'nn' (nearest: 'n')".
 * An empty or NULL text sets nothing. A key that is given twice is refused. */
tess_status tess_options_parse(tess_ctx *ctx, const char *what, const char *text,
                               const tess_option *table, size_t count);

/* What an error says after an unknown word: "nearest: 'cg'", or "one of: cg, bicg" where no
 * candidate is near. The text is written to `into` and returned. */
typedef struct {
    char text[200];
} tess_suggestion;
const char *tess_suggest(tess_suggestion *into, const char *word, const char *const *candidates,
                         size_t count);

/* Appends to the text, whose array has `size` bytes; characters that do not fit are cut off. */
void tess_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "1 iteration", "2 iterations": what follows the word. */
static inline const char *tess_plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* Replaces the first `old` in a text of at most 127 bytes by `new`. The result is cut to `size`
 * bytes. */
void tess_replace(char *text, size_t size, const char *old, const char *new);

/* Parses the whole of `text` as a number; false if characters are left over or the number is out of
 * range. */
bool tess_parse_int64(const char *text, int64_t *value);
bool tess_parse_double(const char *text, double *value);

/* ---- Processor: cpu_id.c ---- */

typedef struct tess_cpu_id {
    bool neon, avx2, avx512; /* avx2 includes fma; avx512: f, vl and dq */
    int sve_bytes;           /* length of an SVE vector, 0 without SVE */
    int64_t l2_bytes;        /* of one core; 0 when unknown */
    int64_t l3_bytes;        /* shared; 0 when unknown or absent */
} tess_cpu_id;

void tess_cpu_identify(tess_cpu_id *id);
/* The processor model's name: "Neoverse-V1", "AMD EPYC 9554 64-Core Processor". */
void tess_cpu_name(char *name, size_t size);

/* ---- Numbers: random.c ---- */

/* The i-th number of the sequence `seed`. It has no state, so a parallel loop draws the same values
 * with any number of threads. */
uint64_t tess_random_u64(uint64_t seed, uint64_t i);
/* Uniform in [-1, 1), never 0. */
double tess_random_unit(uint64_t seed, uint64_t i);
/* Uniform in 0..bound-1, bound > 0. */
int64_t tess_random_below(uint64_t seed, uint64_t i, int64_t bound);

/* 64-bit hash of a byte string (XXH64), for checksums and cache keys. */
uint64_t tess_hash_bytes(const void *bytes, size_t size, uint64_t seed);

/* Sorts `count` >= 1 numbers, the smallest first. */
void tess_sort_doubles(double *values, int64_t count);
/* The median of the numbers; of an even count, the mean of the middle two. Sorts the numbers. */
double tess_median(double *values, int64_t count);

/* Seconds on a monotonic clock. */
double tess_seconds(void);

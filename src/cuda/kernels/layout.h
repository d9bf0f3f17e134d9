/* Layouts: the matrix as a kernel reads it, a list of host arrays that are copied to the device.
 *
 * A layout's name says all that decides its arrays: "sliced:C=32,sigma=1,lambda=0,V=1,panels=1" is
 * the kind "sliced" with options. Kernels whose layouts have the same name share the arrays.
 */
#pragma once

#include "matrix/matrix.h"

enum {
    TESS_CUDA_ARRAYS = 12, /* arrays of a layout */
    TESS_CUDA_COUNTS = 8,  /* counts of a layout */
    TESS_CUDA_LAYOUT = 128 /* bytes of a layout's name */
};

/* One array of a layout. `host` stays valid as long as the layout. */
typedef struct tess_cuda_array {
    const void *host;
    size_t bytes;
} tess_cuda_array;

typedef struct tess_cuda_layout {
    tess_ctx *ctx;
    const struct tess_cuda_layout_kind *kind;
    char name[TESS_CUDA_LAYOUT];
    int count;
    tess_cuda_array arrays[TESS_CUDA_ARRAYS];
    int values;                       /* the array that tess_cuda_layout_update rewrites */
    int64_t counts[TESS_CUDA_COUNTS]; /* what launches need to know: slices, segments, ... */
    size_t workspace;                 /* bytes of device scratch that a product needs */
    void *format;                     /* the host format behind the arrays */
} tess_cuda_layout;

struct tess_cuda_launch;  /* table.h */
struct tess_fbcsr_stored; /* format/fbcsr/fbcsr.h */

/* What a layout stores, for the performance model. */
typedef struct tess_cuda_padding {
    double blocks;    /* padding included */
    double read;      /* read by a product: of padding, what shares a transaction with blocks */
    double rows;      /* rows and segments of cut rows, and other costs counted in rows */
    double row_bytes; /* of each row, beside its blocks */
} tess_cuda_padding;

typedef struct tess_cuda_layout_kind {
    const char *name;
    /* Fills a layout whose ctx and name are set. `options`: the name behind the colon. */
    tess_status (*create)(tess_ctx *ctx, const tess_matrix *A, const char *options,
                          tess_cuda_layout *layout);
    /* Corrects `pad`, which begins without padding and with 8 bytes per row. NULL: nothing to
     * correct. */
    tess_status (*pad)(tess_ctx *ctx, const tess_matrix *A, const char *options,
                       tess_cuda_padding *pad);
    /* NULL: the values are in the matrix's order, in its own array. */
    void (*update)(tess_cuda_layout *layout, const void *values);
    /* How the device itself brings values from the matrix's order into the layout's. `starts`
     * returns numbers that are copied to the device once (NULL: a map is needed); `gather` is the
     * launch that moves the values by them. Without these functions the values are moved by a map,
     * which has a number for each run of scalars. */
    const int64_t *(*starts)(const tess_cuda_layout *layout, int64_t *count);
    void (*gather)(const tess_cuda_layout *layout, const uint64_t *arrays, uint64_t starts,
                   uint64_t given, struct tess_cuda_launch *launch);
    /* The launch that writes block columns to `to` in the matrix's order, by the numbers of
     * `starts`. */
    void (*gather_columns)(const tess_cuda_layout *layout, const uint64_t *arrays, uint64_t starts,
                           uint64_t to, struct tess_cuda_launch *launch);
    const char *gather_source; /* an embedded file with both entries: "slices.cu"; NULL: neither */
    /* Of layouts with shapes: how many entries are stored in which way; returns the number of ways,
     * at most TESS_FBCSR_STORED. NULL: all entries are stored alike. */
    int (*stored)(const tess_cuda_layout *layout, struct tess_fbcsr_stored *out);
    void (*destroy)(tess_cuda_layout *layout); /* what create made; NULL: nothing */
} tess_cuda_layout_kind;

/* Checks whether A can be in the layout of that name. TESS_ERR_UNSUPPORTED: A has no values yet,
 * and the device cannot bring them into the layout later, as it has another order and no
 * `starts`. */
tess_status tess_cuda_layout_check(tess_ctx *ctx, const tess_matrix *A, const char *name);
/* Creates the layout of that name from A, which must outlive it. Where A has no values yet, the
 * layout has none either until they are updated. */
tess_status tess_cuda_layout_create(tess_ctx *ctx, const tess_matrix *A, const char *name,
                                    tess_cuda_layout **out);
/* New values in the same pattern, `values` as in the matrix: rewrites arrays[layout->values]. */
void tess_cuda_layout_update(tess_cuda_layout *layout, const void *values);
void tess_cuda_layout_destroy(tess_cuda_layout *layout); /* NULL is fine */

/* Bytes of the layout's arrays. */
size_t tess_cuda_layout_array_bytes(const tess_cuda_layout *layout);
/* The bytes of the layout's arrays, and those that one product moves, x and y included, without
 * creating the layout. */
tess_status tess_cuda_layout_bytes(tess_ctx *ctx, const tess_matrix *A, const char *name,
                                   double *stored, double *moved);

/* Product forms: how parts compute y = A x together. The first of the list is the default.
 *
 *     halo      y's owner computes; only the halo of x travels (product.c)
 *     whole     y's owner computes; all of x goes to every part (paper 004, Algorithm 1)
 *     shuffle   rows are dealt out by length, whoever owns them; all of x goes to every part, all
 *               results to part 0, which puts them in order (paper 003, section 5.6)
 *
 * `whole` and `shuffle` keep a copy of the blocks, with columns of the whole matrix, and a plan for
 * it. Transposed products take the default form. `multiply` has vectors, messages and results in
 * host memory: it is for parts on processors. A device that multiplies parts itself (backend.h,
 * part_multiply) exchanges as the form says in its own memory (cuda/solve/parts/form.h); it calls
 * `work`.
 */
#pragma once

#include "dist/product.h"

struct tess_segments; /* shuffle.h */

/* What a part computes in a form. */
typedef struct tess_form_work {
    tess_plan *plan;                      /* multiplies all of x */
    const struct tess_segments *segments; /* its results are this part's share of them, which part 0
                                             puts in order; NULL: they are the part's own rows */
} tess_form_work;

struct tess_form {
    const char *name, *summary;
    bool takes_keys;
    /* All are collective. NULL: there is nothing to do, or it is done as by default. `keys` follow
     * the name's colon, or NULL. */
    tess_status (*open)(tess_part_plan *p, const char *keys, tess_device *device,
                        const tess_plan_options *options);
    tess_status (*update)(tess_part_plan *p);
    void (*close)(tess_part_plan *p);
    tess_status (*multiply)(tess_part_plan *p, const tess_part_product *m); /* no transpose */
    tess_form_work (*work)(const tess_part_plan *p);                        /* not collective */
};

extern const tess_form tess_form_whole, tess_form_shuffle;

/* ---- form.c ---- */

/* "NAME" or "NAME:key=value"; NULL: the default. p->form is set before it can fail. */
tess_status tess_form_open(tess_part_plan *p, const char *text, tess_device *device,
                           const tess_plan_options *options);
void tess_form_close(tess_part_plan *p);
/* Called after new values in p->new_own and p->new_outside. */
tess_status tess_form_update(tess_part_plan *p);

/* ---- form_local.c: what both forms of the papers have ---- */

/* Block rows with columns of the whole matrix, in the parts' own numbering. */
typedef struct tess_form_rows {
    int64_t block_rows, blocks;
    int64_t *row_offsets, *columns;
    char *values; /* column by column in a block */
} tess_form_rows;

/* All of x for k vectors: row i of vector v is element i * k + v. */
typedef struct tess_form_x {
    int k; /* 0: not open */
    char *x;
    void *channel;
} tess_form_x;

/* The matrix that a part multiplies all of x with. */
typedef struct tess_form_local {
    tess_matrix *matrix, *fresh; /* fresh: with the values of the last update; NULL: none */
    tess_plan *plan;
    tess_form_x one, many;
} tess_form_local;

/* The part's own rows, with the values of the last update. */
tess_status tess_form_rows_make(const tess_part_plan *p, tess_form_rows *rows);
void tess_form_rows_free(tess_ctx *ctx, tess_form_rows *rows);

/* Makes the matrix and its plan; where there is a plan, gives it the new values, for which device
 * and options are not needed. The local result has `rows` scalars: whole blocks, or the part's own
 * rows. Not collective. */
tess_status tess_form_local_fill(tess_part_plan *p, const tess_form_rows *from, int64_t rows,
                                 tess_device *device, const tess_plan_options *options,
                                 tess_form_local *local);
void tess_form_local_free(tess_part_plan *p, tess_form_local *local);

/* Opens the channel by which every part's piece of x goes to all others: `x` is all of x for k
 * vectors, row-major, and has this part's piece when messages start. Collective. */
tess_status tess_form_x_channel(const tess_part *part, int k, void *x, void **channel);

/* Brings all of X together; *out points to it until the next call. Collective. */
tess_status tess_form_spread(tess_part_plan *p, tess_form_local *local, int k,
                             tess_block_order order, const void *X, int64_t ldx, void **out);
/* result = alpha * matrix * x, both row-major with k vectors. */
tess_status tess_form_multiply(tess_form_local *local, int k, double alpha, const void *x,
                               void *result);
/* Y = result + beta Y of the part's own rows. */
void tess_form_put(const tess_part *part, int k, tess_block_order order, const void *result,
                   double beta, void *Y, int64_t ldy);

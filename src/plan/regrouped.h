/* Plans that permute inside: blocks that the numbering hides (matrix/detect), used.
 *
 *     A, the caller's ──order──> B, blocks of b x b ──> inner plan
 *     x ──taken──> x' ──inner product──> y' ──given──> y
 *
 * Row i of B is row order[i] of A. The plan's matrix, vectors and values are the caller's, in the
 * caller's numbering; plan->inner is a plan of B on the same device. Its backend is the device's
 * with other products: each brings x into the new order and y back, in two passes over vectors.
 * Where groups already follow each other in A, nothing moves and there are no passes. For fields
 * there are none either where the inner plan itself reads x and writes y by fields: the product is
 * `fused`.
 */
#pragma once

#include "plan/tuner.h"

enum { TESS_REGROUPED_X, TESS_REGROUPED_Y, TESS_REGROUPED_W, TESS_REGROUPED_BUFFERS };

/* A growing array, in the host's memory or in the device's. */
typedef struct tess_regrouped_buffer {
    void *data;
    size_t bytes;
} tess_regrouped_buffer;

typedef struct tess_regrouped {
    tess_device device;  /* the caller's with `table` */
    tess_backend table;  /* the device's own with other products */
    tess_device *real;   /* the caller's */
    tess_matrix *matrix; /* B */
    int32_t block, fields;
    bool in_place;          /* the order is A's own */
    bool near;              /* groups were brought into an order of their own */
    bool fused[2];          /* of A, of A^T: products of one vector have no passes */
    char instead_of[64];    /* the kernel that the search chose, which has passes; "": the same */
    int32_t *source[2];     /* [0]: A's row of each row of B; [1]: B's row of each row of A */
    void *device_source[2]; /* the same in the device's memory; NULL: there is none, or fields */
    double seconds;         /* detection, conversion and the inner plan */
    double plain_seconds;   /* one product of A as it is: measured, or predicted */
    bool measured;          /* which of the two */
    double pass_seconds;    /* of the passes, predicted; 0: the model does not know them */
    tess_regrouped_buffer host[TESS_REGROUPED_BUFFERS], local[TESS_REGROUPED_BUFFERS];
    char reason[320]; /* what was found */
} tess_regrouped;

static inline tess_regrouped *tess_regrouped_of(const tess_plan *plan)
{
    return plan->state;
}

/* ---- regrouped.c ---- */

/* ON: makes a regrouped plan. AUTO: *plan is a plan of A as it is. It is replaced where regrouping
 * is predicted to pay and then measured to be faster; nothing is run if the effort is ESTIMATE. */
tess_status tess_plan_regroup(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                              const tess_plan_options *options, tess_plan **plan);

/* ---- regrouped_price.c ---- */

/* What the passes of one product move: x and y once in and once out, and the lists of rows. 0 where
 * there are none. */
double tess_regrouped_bytes(const tess_plan *plan);
double tess_regrouped_pass_bytes(const tess_matrix *A, const tess_regrouped *r);
/* The predicted time of the passes beside a product of `product_bytes` bytes; 0: the model does not
 * know it. */
double tess_regrouped_pass_seconds(const tess_matrix *A, const tess_regrouped *r,
                                   double product_bytes);
/* Gives the plan the names of its inner plan, and sets what a product moves and what the plan
 * keeps: where it is made, and where the inner plan's kernel or the passes have changed. */
void tess_regrouped_describe(tess_plan *plan);
/* Whether a candidate for B is expected to need no passes. */
bool tess_regrouped_fuses(const tess_regrouped *r, const tess_candidate *c);
/* The chosen trial of a search for B's plan, or one that is faster because it needs no passes.
 * Times are measured ones where the chosen trial was measured, else predicted ones. */
int64_t tess_regrouped_fastest(const tess_matrix *A, const tess_regrouped *r,
                               const tess_search *search);
/* What B's plan is expected to take: what an estimate takes, or the candidate of fewest bytes where
 * times cannot be compared (A's plan was chosen by a search, which may have found half storage). */
tess_status tess_regrouped_estimate(const tess_matrix *A, const tess_regrouped *r,
                                    bool fewest_bytes, tess_candidate *out);

/* ---- regrouped_values.c ---- */

/* Makes B: A in that order, in blocks of b x b. */
tess_status tess_regroup_matrix(tess_ctx *ctx, const tess_matrix *A, const int64_t *order,
                                int32_t block, tess_matrix **out);
/* Where neighbours are far apart in B, puts its groups into another order, in which they are near
 * (reverse Cuthill-McKee): B and its order are replaced. */
tess_status tess_regroup_near(tess_ctx *ctx, tess_matrix **B, int64_t *order, bool *changed);
/* Puts `values`, which are in A's layout, into B. The lists of rows are those of
 * tess_regrouped.source. */
tess_status tess_regroup_values(const tess_matrix *A, const void *values, const int32_t *old_row,
                                const int32_t *new_row, tess_matrix *B);

/* ---- regrouped_products.c ---- */

/* The device's backend with the products of a regrouped plan. */
tess_backend tess_regrouped_table(const tess_backend *real);
void tess_regrouped_free(tess_ctx *ctx, tess_regrouped *r);

/* Brings a vector of the caller's into the plan's inner order, and back. Both vectors are in one
 * memory, which the device can reach. */
tess_status tess_regrouped_take(tess_plan *plan, const void *from, void *to);
tess_status tess_regrouped_give(tess_plan *plan, const void *from, void *to);
/* Allocates `vectors` vectors in the memory that `like` is in. */
tess_status tess_regrouped_alloc(tess_plan *plan, const void *like, int64_t vectors, void **out);
void tess_regrouped_release(tess_plan *plan, void *vectors); /* NULL is fine */

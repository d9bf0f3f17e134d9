/* A product of a plan: who calls it, and what happens when it fails. */
#pragma once

#include "plan/tuner.h"

/* A product as it was called, so that it can be called again. */
typedef struct tess_product_call {
    tess_status (*run)(tess_plan *plan, const struct tess_product_call *call);
    double alpha, beta;            /* of real matrices */
    tess_complex factor, factor_y; /* the same of complex ones */
    tess_operation operation;
    const void *x, *w;
    void *y;
    double *dot;
    tess_complex *complex_dot;
    int k;
    tess_block_order order;
    int64_t ldx, ldy;
} tess_product_call;

/* plan.c: runs the call in the plan's turn, with the matrix's newest values. Where the driver
 * refuses a plan's first product, the next candidates are tried. */
tess_status tess_plan_perform(tess_plan *plan, const tess_product_call *call);
/* plan.c: ends a call whose arguments are wrong, as `status` says, and returns that. Other parts of
 * the product are not kept waiting for this one; of `product` only its kind and k are looked at. */
tess_status tess_plan_refuse(tess_plan *plan, const tess_part_product *product, bool with_dot,
                             tess_status status);
/* measure.c: writes the seconds of `reps` products, as the backend's time_product does. */
tess_status tess_product_time(tess_plan *plan, const tess_product *product, double alpha,
                              const void *x, double beta, void *y, int reps, double *seconds);
/* "CALL: device 'NAME' cannot do this yet" */
tess_status tess_product_missing(tess_plan *plan, const char *call);

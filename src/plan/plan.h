/* Devices, plans, and what a backend has to provide.
 *
 * A backend is one constant table. plan.c checks the caller's arguments once, then calls it; a
 * backend may therefore assume non-NULL vectors and k >= 1. Optional entries may be NULL: plan.c
 * then fails with TESS_ERR_UNSUPPORTED and the backend's name.
 */
#ifndef TESS_PLAN_H
#define TESS_PLAN_H

#include "matrix/matrix.h"

typedef struct tess_backend tess_backend;

struct tess_device {
    tess_ctx *ctx;
    const tess_backend *backend;
    int threads; /* CPU backends */
    void *state; /* the backend's own */
    char description[256];
};

struct tess_plan {
    tess_ctx *ctx;
    tess_device *device;
    const tess_matrix *matrix;
    void *state;        /* the backend's own */
    char format[32];    /* chosen by the backend, for explain and bench */
    char kernel[64];    /* name as in the kernel table */
    char params[128];   /* "key=value,..." or "" */
    char explain[4096]; /* filled by tess_plan_explain */
};

struct tess_backend {
    const char *name; /* "cpu": the part of a device string before ':' */

    /* `rest` is the part of the device string after ':' or NULL. Fills description and state. */
    tess_status (*open)(tess_device *device, const char *rest);
    void (*close)(tess_device *device);

    /* Fills plan->state, format, kernel and params. On failure leaves nothing behind. */
    tess_status (*prepare)(tess_plan *plan, const tess_plan_options *options);
    void (*release)(tess_plan *plan);

    tess_status (*spmv)(tess_plan *plan, double alpha, const void *x, double beta, void *y);
    tess_status (*spmv_transpose)(tess_plan *plan, double alpha, const void *x, double beta,
                                  void *y);
    tess_status (*spmv_dot)(tess_plan *plan, double alpha, const void *x, double beta, void *y,
                            const void *w, double *dot);
    tess_status (*spmm)(tess_plan *plan, int k, tess_block_order order, double alpha, const void *X,
                        int64_t ldx, double beta, void *Y, int64_t ldy);
    tess_status (*update_values)(tess_plan *plan, const void *values);
    /* Appends its part to plan->explain. */
    void (*explain)(tess_plan *plan);
};

extern const tess_backend tess_ref_backend;

#endif

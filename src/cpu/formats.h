/* The storage formats of plans on the CPU, as descriptors: what the backend knows of each. */
#pragma once

#include "cpu/plan.h"

/* What a format stores of a matrix for a kernel with one vector, and what such a product moves.
 * Rows in lanes store zeros besides. */
typedef struct tess_cpu_stored {
    double moved;  /* bytes, by a product */
    double kept;   /* bytes beside the matrix's own arrays */
    double values; /* bytes */
    double blocks;
    tess_cpu_lockstep lockstep;
} tess_cpu_stored;

typedef struct tess_cpu_format {
    const char *name;
    /* The factor tess_candidate.doubt of its candidates. */
    double doubt;
    bool complex; /* it has kernels for complex values */
    bool naive;   /* its plain kernels are the naive choice */
    /* The format whose extras its kernels pay (tess_candidate.irregular_as); NULL: its own. */
    const char *irregular_as;
    /* As the backend's functions; `prepare` sets plan->state, kernel and params. */
    tess_status (*prepare)(tess_plan *plan, const tess_plan_options *options);
    tess_status (*candidates)(tess_device *device, const tess_matrix *A,
                              const tess_product *product, tess_candidates *list);
    tess_status (*update_values)(tess_plan *plan, const void *values); /* NULL: they are A's */
    void (*explain)(tess_plan *plan);
    /* For a kernel with `streams` streams. NULL: candidates are priced when they are listed. */
    tess_status (*count)(const tess_device *device, const tess_matrix *A, int streams,
                         tess_cpu_stored *out);
} tess_cpu_format;

/* format_bsr.c, format_symmetric.c, format_fbcsr.c */
extern const tess_cpu_format tess_cpu_format_bsr, tess_cpu_format_symmetric, tess_cpu_format_fbcsr;

/* The format called `name` (NULL: the first one), or an error that names the nearest. */
tess_status tess_cpu_format_named(tess_ctx *ctx, const char *name, const tess_cpu_format **out);

/* The backend's function: candidates of all formats. */
tess_status tess_cpu_candidates(tess_device *device, const tess_matrix *A,
                                const tess_product *product, tess_candidates *list);

/* format_bsr.c: for formats whose kernels have one name each and take no parameters */

/* Prepares a plan with the kernel that the options name, or the best of `family`. */
tess_status tess_cpu_prepare_family(tess_plan *plan, const tess_plan_options *options,
                                    const tess_cpu_format *format, tess_cpu_family family);
/* Adds the kernels of a family, the best first; only that one if `one`. */
tess_status tess_cpu_add_family(tess_device *device, const tess_matrix *A,
                                const tess_cpu_format *format, tess_cpu_family family, bool one,
                                tess_candidates *list);

/* ---- cost.c ---- */

tess_status tess_cpu_costs(tess_device *device, const tess_matrix *A, tess_candidates *list);

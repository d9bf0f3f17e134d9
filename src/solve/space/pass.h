/* A pass on a CPU: pass_f64.c, pass_f32.c; pass_c64.c, pass_c32.c on complex vectors. */
#pragma once

#include "solve/steps/steps.h"

/* An update with addresses in place of numbers. */
typedef struct tess_cpu_update {
    tess_update_kind kind;
    int terms;
    const tess_diagonal *diagonal;
    bool transpose;
    tess_dot_kind dot;
    double factor[TESS_TERMS_MAX], imaginary[TESS_TERMS_MAX]; /* the factors' two parts */
    const void *in[TESS_TERMS_MAX];                           /* the terms' vectors */
    double x_factor;                                          /* DIAGONAL */
    const void *x, *y;                                        /* DIAGONAL: x; DOT */
    void *out;
    double *sum, *imaginary_sum; /* DOT: one per chunk */
} tess_cpu_update;

/* Runs all updates on scalars first .. first+count-1. A dot leaves its part in sum[chunk]. */
typedef void (*tess_pass_fn)(const tess_cpu_update *updates, int64_t update_count, int64_t chunk,
                             int64_t first, int64_t count);
void tess_pass_f64(const tess_cpu_update *updates, int64_t update_count, int64_t chunk,
                   int64_t first, int64_t count);
void tess_pass_f32(const tess_cpu_update *updates, int64_t update_count, int64_t chunk,
                   int64_t first, int64_t count);
void tess_pass_c64(const tess_cpu_update *updates, int64_t update_count, int64_t chunk,
                   int64_t first, int64_t count);
void tess_pass_c32(const tess_cpu_update *updates, int64_t update_count, int64_t chunk,
                   int64_t first, int64_t count);

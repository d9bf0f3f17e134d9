/* Products with blocks of several shapes; fbcsr.c has the picture. */
#pragma once

#include "cpu/kernel.h"
#include "cpu/update/update.h"
#include "backend/backend.h"

typedef struct tess_cpu_fbcsr {
    tess_ctx *ctx;
    tess_fbcsr *F;
    tess_fbcsr_sources *sources; /* for new values; NULL: there will be none */
    const tess_cpu_kernel *kernels[TESS_FBCSR_SPLITS]; /* one per split */
    const tess_cpu_kernel *rest;                       /* the remainder's: BSR_SPMV, 1 x 1 */
    int32_t *rest_rows;          /* row of each entry of the remainder; NULL: not listed */
    const tess_cpu_kernel *lone; /* with rest_rows: for the entries, as 1 x 1 blocks */
    int shares;
    int64_t chunks;
    int64_t *first_row;    /* chunks + 1 */
    int64_t *bytes_before; /* chunks + 1 */
    int64_t *blocks;       /* of split i in chunk c: begin, end at [2*(i*chunks + c)] */
} tess_cpu_fbcsr;

/* "fbcsr_spmv_f64_neon": the name of all kernels of an ISA together, as a plan uses them. */
void tess_cpu_fbcsr_kernel_name(tess_cpu_isa isa, tess_type type, char *name, size_t size);
/* The ISA of that name; of NULL, the device's. */
tess_status tess_cpu_fbcsr_named(const tess_device *device, tess_type type, const char *kernel,
                                 tess_cpu_isa *out);
/* Takes ownership of F when it succeeds. */
tess_status tess_cpu_fbcsr_create(const tess_device *device, tess_fbcsr *F, tess_cpu_isa isa,
                                  const tess_cpu_kernel *rest, tess_cpu_fbcsr **out);
void tess_cpu_fbcsr_destroy(tess_cpu_fbcsr *state);
void tess_cpu_fbcsr_spmv(const tess_cpu_fbcsr *state, double alpha, const void *x, double beta,
                         void *y);

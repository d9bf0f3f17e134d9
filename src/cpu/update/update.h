/* New values in the storage formats of the CPU, in the same pattern: copies and comparisons that
 * keep up with the memory. */
#pragma once

#include "format/fbcsr/fbcsr.h"
#include "format/symmetric_lanes.h"

/* ---- Half storage: upper.c, lanes.c ---- */

/* Compares the values of A with their mirrors and copies them, in one pass. A has the pattern that
 * `upper` or S was made from. Fails with TESS_ERR_MATRIX when A is not symmetric: the storage is of
 * no use then. */
tess_status tess_cpu_update_upper(tess_matrix *upper, const tess_symmetric_mirrors *mirrors,
                                  const tess_matrix *A);
tess_status tess_cpu_update_lanes(tess_symmetric_lanes *S, const tess_symmetric_mirrors *mirrors,
                                  const tess_matrix *A);

/* ---- FBCSR: fbcsr.c ---- */

/* Where the scalars of FBCSR come from. */
typedef struct tess_fbcsr_sources {
    tess_ctx *ctx;
    int64_t chunks;
    int64_t *first_entry;  /* of each chunk: the entry from which its entries are counted */
    int64_t *first_scalar; /* of split s in chunk c: [s * (chunks + 1) + c]; the last is rest's */
    int64_t bases[TESS_FBCSR_SPLITS + 2]; /* scalars before each split, before rest, and all */
    int32_t *entries;                     /* of each scalar; -1: padding */
    bool nontemporal;                     /* values are written by non-temporal stores */
} tess_fbcsr_sources;

/* Made from F->map, which is not needed afterwards. Fails with TESS_ERR_OVERFLOW when the rows of a
 * chunk span more than 2^31 entries. */
tess_status tess_fbcsr_sources_create(const tess_fbcsr *F, tess_fbcsr_sources **out);
void tess_fbcsr_sources_destroy(tess_fbcsr_sources *from); /* NULL is fine */

/* Puts new values into F, in one parallel pass. csr_values has them in the order of CSR. */
void tess_cpu_update_fbcsr(tess_fbcsr *F, const tess_fbcsr_sources *from, const void *csr_values);

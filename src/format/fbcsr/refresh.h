/* Where the scalars of FBCSR come from: for a plan whose matrix gets new numbers. refresh.c
 * has the picture. */
#ifndef TESS_FORMAT_FBCSR_REFRESH_H
#define TESS_FORMAT_FBCSR_REFRESH_H

#include "format/fbcsr/fbcsr.h"

typedef struct tess_fbcsr_sources {
    tess_ctx *ctx;
    int64_t chunks;
    int64_t *first_entry;  /* of each chunk: what its entries are counted from */
    int64_t *first_scalar; /* of split s in chunk c: [s * (chunks + 1) + c]; the last is rest's */
    int64_t bases[TESS_FBCSR_SPLITS + 2]; /* scalars before each split, before rest, and all */
    int32_t *entries;                     /* of each scalar; -1: padding */
    bool past;                            /* the numbers are written past the caches */
} tess_fbcsr_sources;

/* By F->map, which is not needed afterwards. Fails with TESS_ERR_OVERFLOW where some rows have more
 * than 2^31 entries. */
tess_status tess_fbcsr_sources_create(const tess_fbcsr *F, tess_fbcsr_sources **out);
void tess_fbcsr_sources_destroy(tess_fbcsr_sources *from); /* NULL is fine */

/* New numbers in the same pattern, by rows and columns as CSR has them: one parallel pass. */
void tess_fbcsr_refresh(tess_fbcsr *F, const tess_fbcsr_sources *from, const void *csr_values);

#endif

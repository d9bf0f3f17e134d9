/* The inverses of the storage formats. They read back the matrix that a format was made from, from
 * the places that the format's header gives. `like` has the sizes of the result. */
#ifndef TEST_SUPPORT_INVERSE_H
#define TEST_SUPPORT_INVERSE_H

#include "format/fbcsr/fbcsr.h"
#include "format/interleaved.h"
#include "format/sliced.h"
#include "format/swept.h"
#include "format/symmetric.h"

tess_status test_sliced_to_bsr(tess_ctx *ctx, const tess_sliced *S, const tess_matrix *like,
                               tess_matrix **out);
tess_status test_swept_to_bsr(tess_ctx *ctx, const tess_swept *S, const tess_matrix *like,
                              tess_matrix **out);
tess_status test_interleaved_to_bsr(tess_ctx *ctx, const tess_interleaved *I,
                                    const tess_matrix *like, tess_matrix **out);
tess_status test_symmetric_to_bsr(tess_ctx *ctx, const tess_matrix *upper, tess_matrix **out);
/* As CSR. F->map must be there. */
tess_status test_fbcsr_to_csr(tess_ctx *ctx, const tess_fbcsr *F, tess_matrix **out);

#endif

/* Matrices repeated along the diagonal until they are beyond every cache. */
#ifndef TESSERA_BENCH_TILED_H
#define TESSERA_BENCH_TILED_H

#include "../internal.h"

/* Copies of `one` with which a product moves `bytes`; at least 1. */
int64_t bench_copies(const tess_matrix *one, double bytes);
tess_status bench_tile(tess_ctx *ctx, const char *input, int64_t copies, tess_matrix **out);

#endif

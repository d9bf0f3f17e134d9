#include "tiled.h"

#include <stdio.h>

int64_t bench_copies(const tess_matrix *one, double bytes)
{
    const double moved = tess_matrix_spmv_bytes(one);
    return moved < bytes ? (int64_t)(bytes / moved) + 1 : 1;
}

tess_status bench_tile(tess_ctx *ctx, const char *input, int64_t copies, tess_matrix **out)
{
    char spec[1024];
    snprintf(spec, sizeof spec, "tile:copies=%lld:%s", (long long)copies, input);
    return tess_matrix_input(ctx, spec, out);
}

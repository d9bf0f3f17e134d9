/* Launches of coarsen.cu. */
#include "cuda/solve/amg/coarsen.h"

enum { WARP = 32, FLAT = TESS_COARSEN_FLAT };
enum { THREADS = 128 }; /* per thread block of multiply, which has one warp per row */

/* Blocks of A's row at a time: at most one per lane, and 4.5 KB per warp. */
static int chunk_for(int32_t height, int32_t inner)
{
    enum { BYTES = 4608 };
    int chunk = WARP;
    while (chunk > 1 && (int64_t)chunk * height * inner * (int64_t)sizeof(double) > BYTES)
        chunk /= 2;
    return chunk;
}

void tess_coarsen_defines(int32_t height, int32_t inner, int32_t width, char *text, size_t size)
{
    (void)snprintf(
        text, size,
        "-DHEIGHT=%d -DINNER=%d -DWIDTH=%d -DTHREADS=%d -DCHUNK=%d -DCOLUMNS=%d -DFLAT=%d",
        (int)height, (int)inner, (int)width, THREADS, chunk_for(height, inner),
        TESS_COARSEN_COLUMNS, FLAT);
}

void tess_coarsen_multiply(const tess_coarsen_matrix *A, const tess_coarsen_matrix *B,
                           const tess_coarsen_matrix *C, tess_cuda_launch *launch)
{
    tess_cuda_launch_start(launch, "multiply", tess_ceil_div(C->block_rows, THREADS / WARP),
                           THREADS);
    TESS_CUDA_POINTERS(launch, A->offsets, A->columns, A->values, B->offsets, B->columns, B->values,
                       C->offsets, C->columns, C->values);
    TESS_CUDA_INTEGERS(launch, C->block_rows);
}

void tess_coarsen_filter(const tess_coarsen_matrix *A, const tess_coarsen_matrix *F, uint64_t modes,
                         tess_cuda_launch *launch)
{
    tess_cuda_launch_start(launch, "filter", F->block_rows, WARP);
    TESS_CUDA_POINTERS(launch, A->offsets, A->columns, A->values, F->offsets, F->columns, F->values,
                       modes);
}

void tess_coarsen_smooth(const tess_coarsen_matrix *P, const tess_coarsen_matrix *Q,
                         uint64_t inverse, double omega, tess_cuda_launch *launch)
{
    tess_cuda_launch_start(launch, "smooth", P->block_rows, WARP);
    TESS_CUDA_POINTERS(launch, P->offsets, P->columns, P->values, Q->offsets, Q->columns, Q->values,
                       inverse);
    TESS_CUDA_NUMBERS(launch, omega);
}

void tess_coarsen_turn(const tess_coarsen_matrix *P, uint64_t from, uint64_t values,
                       tess_cuda_launch *launch)
{
    const int64_t scalars = P->blocks * P->height * P->width;
    tess_cuda_launch_start(launch, "turn", tess_ceil_div(scalars, FLAT), FLAT);
    TESS_CUDA_POINTERS(launch, from, P->values, values);
    TESS_CUDA_INTEGERS(launch, P->blocks);
}

void tess_coarsen_revive(const tess_coarsen_matrix *coarse, uint64_t dead,
                         const tess_coarsen_matrix *R, const tess_coarsen_matrix *Q,
                         const tess_coarsen_matrix *A, tess_cuda_launch *launch)
{
    tess_cuda_launch_start(launch, "revive", tess_ceil_div(coarse->block_rows, FLAT), FLAT);
    TESS_CUDA_POINTERS(launch, coarse->offsets, coarse->columns, coarse->values, dead, R->offsets,
                       R->columns, Q->offsets, Q->columns, Q->values, A->offsets, A->columns,
                       A->values);
    TESS_CUDA_INTEGERS(launch, coarse->block_rows);
}

void tess_coarsen_invert(const tess_coarsen_matrix *A, int64_t rows, uint64_t work,
                         uint64_t inverse, uint64_t singular, tess_cuda_launch *launch)
{
    tess_cuda_launch_start(launch, "invert", tess_ceil_div(A->block_rows, FLAT), FLAT);
    TESS_CUDA_POINTERS(launch, A->offsets, A->columns, A->values, work, inverse, singular);
    TESS_CUDA_INTEGERS(launch, A->block_rows, rows, A->height);
}

/* Launches of patterns.cu. */
#include "cuda/solve/amg/patterns.h"

/* The places of the table: at least 4/3 of `most` and one per thread. */
static int64_t table_for(int64_t most)
{
    int64_t table = 2 * TESS_PATTERNS_THREADS;
    while (table < most + most / 3 + TESS_PATTERNS_THREADS + 1)
        table *= 2;
    return table;
}

void tess_patterns_multiply(tess_patterns_pass pass, const tess_coarsen_matrix *A,
                            const tess_coarsen_matrix *B, const tess_coarsen_matrix *C,
                            uint64_t lengths, int64_t most, tess_cuda_launch *launch)
{
    enum { HEAD = 4 };
    static const struct {
        const char *entry;
        bool lists; /* a row's columns stand behind its table */
    } passes[] = {[TESS_PATTERNS_COUNT] = {"count", false}, [TESS_PATTERNS_LIST] = {"list", true}};
    const int64_t table = table_for(most), lists = passes[pass].lists ? most : 0;
    tess_cuda_launch_start(launch, passes[pass].entry, C->block_rows, TESS_PATTERNS_THREADS);
    launch->shared = (unsigned)((size_t)(HEAD + table + lists) * sizeof(int32_t));
    TESS_CUDA_POINTERS(launch, A->offsets, A->columns, B->offsets, B->columns, C->offsets,
                       C->columns, lengths);
    TESS_CUDA_INTEGERS(launch, table, most);
}

void tess_patterns_offsets(const char *entry, uint64_t lengths, int64_t count, uint64_t sums,
                           tess_cuda_launch *launch)
{
    enum { SPAN = TESS_PATTERNS_THREADS * TESS_PATTERNS_EACH };
    tess_cuda_launch_start(launch, entry, tess_ceil_div(count, SPAN), TESS_PATTERNS_THREADS);
    TESS_CUDA_POINTERS(launch, lengths, sums);
    TESS_CUDA_INTEGERS(launch, count);
}

void tess_patterns_transpose(const char *entry, const tess_coarsen_matrix *P, uint64_t places,
                             uint64_t rows, uint64_t numbers, tess_cuda_launch *launch)
{
    tess_cuda_launch_start(launch, entry, tess_ceil_div(P->block_rows, TESS_PATTERNS_THREADS),
                           TESS_PATTERNS_THREADS);
    TESS_CUDA_POINTERS(launch, P->offsets, P->columns, places, rows, numbers);
    TESS_CUDA_INTEGERS(launch, P->block_rows);
}

void tess_patterns_order(const tess_coarsen_matrix *R, uint64_t rows, uint64_t numbers,
                         uint64_t from, tess_cuda_launch *launch)
{
    tess_cuda_launch_start(launch, "order", R->block_rows, TESS_PATTERNS_THREADS);
    TESS_CUDA_POINTERS(launch, R->offsets, rows, numbers, R->columns, from);
}

/* Rows that parts send to each other: pack_rows copies block rows of a vector to a buffer, add_rows
 * adds a buffer to them.
 *
 *   REAL  bytes of a scalar      BLOCK  rows of a block      THREADS  threads a thread block
 *
 * Rows of padding, beyond `rows`, are packed as 0 and never added.
 */
#include "common.cuh"

typedef struct halo_args {
    const long long *list; /* block rows, each once */
    real *vector, *buffer;
    long long count; /* of scalars: BLOCK a block row listed */
    long long rows;
} halo_args;

KERNEL(pack_rows, halo_args, THREADS, 1)
{
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.count)
        return;
    const long long row = a.list[i / BLOCK] * BLOCK + i % BLOCK;
    a.buffer[i] = row < a.rows ? a.vector[row] : 0;
}

KERNEL(add_rows, halo_args, THREADS, 1)
{
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.count)
        return;
    const long long row = a.list[i / BLOCK] * BLOCK + i % BLOCK;
    if (row < a.rows)
        a.vector[row] += a.buffer[i];
}

/* Packs block rows of vectors into a buffer, or adds a buffer to them: what parts take from each
 * other.
 *
 *   REAL  bytes of a scalar      THREADS  threads per thread block
 *
 * Row i of vector v is buffer[i * vectors + v] and vector[i * row_step + v * vector_step]. Rows of
 * padding, beyond `rows`, are packed as 0 and never added.
 */
#include "common.cuh"
#include "steps.cuh"

typedef struct halo_args {
    const long long *list; /* block rows, each once */
    real *vector, *buffer;
    long long count; /* of scalars: block * vectors per block row listed */
    long long rows, block, vectors, row_step, vector_step;
} halo_args;

/* Where scalar i of the buffer is in the vectors; -1: nowhere. */
DEVICE long long place_of(const halo_args *a, long long i)
{
    if (i >= a->count)
        return -1;
    const long long at = i / a->vectors;
    const long long row = a->list[at / a->block] * a->block + at % a->block;
    return row < a->rows ? row * a->row_step + i % a->vectors * a->vector_step : -1;
}

KERNEL(pack_rows, halo_args, THREADS, 1)
{
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    const long long place = place_of(&a, i);
    if (i < a.count)
        a.buffer[i] = place < 0 ? 0 : a.vector[place];
}

KERNEL(add_rows, halo_args, THREADS, 1)
{
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    const long long place = place_of(&a, i);
    if (place >= 0)
        a.vector[place] += a.buffer[i];
}

/* add_rows for one vector, with the part's w . y: w . buffer is added to the partial sums that the
 * product left. Each thread block leaves its sum of w . buffer; the last one to finish adds all of
 * them in order. */
typedef struct add_dot_args {
    halo_args h;
    const real *w;
    const double *partial;
    long long partial_count;
    double *sums; /* one per thread block */
    double *mail;
    unsigned *ticket;
} add_dot_args;

KERNEL(add_rows_dot, add_dot_args, THREADS, 1)
{
    SHARED(double, scratch, THREADS / 32);
    SHARED(int, last, 1);
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    const long long place = place_of(&a.h, i);
    double mine = 0;
    if (place >= 0) {
        const real added = a.h.buffer[i];
        a.h.vector[place] += added;
        mine = (double)a.w[place] * (double)added;
    }
    mine = block_total(mine, scratch, THREADS);
    if (threadIdx.x == 0) {
        a.sums[blockIdx.x] = mine;
        __threadfence();
        *last = atomicAdd(a.ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!*last)
        return;
    __threadfence();
    const double before = sum_partial(a.partial, a.partial_count, scratch, THREADS);
    const double added = sum_partial(a.sums, gridDim.x, scratch, THREADS);
    if (threadIdx.x == 0) {
        *a.mail = before + added;
        *a.ticket = 0;
    }
}

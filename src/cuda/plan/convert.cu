/* to = scale * from, or with ADD to = to + scale * from, computed in double whatever the types.
 *
 *   FROM, TO  bytes of their scalars (8 or 4)     ADD  0 or 1     THREADS  threads per thread block
 */
#define REAL 8
#include "common.cuh"
#include "precisions.cuh"

typedef struct convert_args {
    const given *from;
    taken *to;
    long long count;
    double scale;
} convert_args;

KERNEL(convert, convert_args, THREADS, 1)
{
    const long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.count)
        return;
    const double value = a.scale * (double)a.from[i];
    a.to[i] = (taken)(ADD ? (double)a.to[i] + value : value);
}

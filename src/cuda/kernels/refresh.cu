/* New numbers for a matrix that lies in another order: values[i] = given[map[i] - 1], or 0 where
 * map[i] is 0 (padding).
 *
 *   REAL   bytes of a scalar (8 or 4)      INDEX  bytes of a number of the map (8 or 4)
 *   THREADS, EACH  threads a block, elements a thread: a block writes one run of values, whose
 *          sources lie in few cache lines
 */
#include "common.cuh"

#if INDEX == 8
typedef unsigned long long place;
#else
typedef unsigned place;
#endif

typedef struct refresh_args {
    real *values;
    const place *map;
    const real *given;
    long long count;
} refresh_args;

KERNEL(refresh, refresh_args, THREADS, 1)
{
    const long long first = (long long)blockIdx.x * (THREADS * EACH) + threadIdx.x;
    place from[EACH];
    UNROLL
    for (int u = 0; u < EACH; u++)
        from[u] = first + u * THREADS < a.count ? READ_ONLY(a.map + first + u * THREADS) : 0;
    real value[EACH];
    UNROLL
    for (int u = 0; u < EACH; u++)
        value[u] = from[u] > 0 ? READ_ONLY(a.given + (from[u] - 1)) : 0;
    UNROLL
    for (int u = 0; u < EACH; u++)
        if (first + u * THREADS < a.count)
            a.values[first + u * THREADS] = value[u];
}

/* New values for a layout whose order differs from that of the given values: values[i] =
 * given[from - 1], or 0 where from is 0 (padding). Values come in runs of a.run: element q of a run
 * has
 *
 *     from = map[run] + (q / inner) * outer_stride + (q % inner) * inner_stride,  inner = 2^shift
 *
 *   REAL, COMPLEX  the scalar (scalar.cuh)      INDEX  bytes of a number of the map (8 or 4)
 *   THREADS, EACH  threads per thread block, elements per thread: a thread block writes
 *          consecutive values, whose sources lie in few cache lines
 */
#include "common.cuh"

#if INDEX == 8
typedef unsigned long long place;
#else
typedef unsigned place;
#endif

typedef struct update_args {
    scalar *values;
    const place *map;
    const scalar *given;
    long long count, run, shift, inner_stride, outer_stride;
    unsigned long long reciprocal; /* 2^64 / run, rounded up; unused when run is 1 */
} update_args;

KERNEL(update, update_args, THREADS, 1)
{
    const long long first = (long long)blockIdx.x * (THREADS * EACH) + threadIdx.x;
    const int length = (int)a.run, inner_stride = (int)a.inner_stride,
              outer_stride = (int)a.outer_stride, shift = (int)a.shift;
    /* A division finds the run of the first element, and its place in the run. The runs and places
     * of the other elements follow by steps. */
    long long run = a.run == 1 ? first
                               : (long long)__umul64hi((unsigned long long)first, a.reciprocal);
    int q = (int)(first - run * a.run);
    const int step_runs = THREADS / length, step_places = THREADS % length;
    long long from[EACH];
    UNROLL
    for (int u = 0; u < EACH; u++) {
        from[u] = first + u * THREADS < a.count ? (long long)READ_ONLY(a.map + run) : 0;
        if (from[u] > 0)
            from[u] += (q >> shift) * outer_stride + (q & ((1 << shift) - 1)) * inner_stride;
        run += step_runs;
        q += step_places;
        if (q >= length) {
            q -= length;
            run++;
        }
    }
    scalar value[EACH];
    UNROLL
    for (int u = 0; u < EACH; u++)
        value[u] = from[u] > 0 ? read_scalar(a.given + (from[u] - 1)) : ZERO;
    UNROLL
    for (int u = 0; u < EACH; u++)
        if (first + u * THREADS < a.count)
            a.values[first + u * THREADS] = value[u];
}

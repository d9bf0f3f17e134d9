/* What the kernels of a solver share: the slots of a system, the operations on them, and the decision
 * whether the system goes on, all on the device.
 *
 * control, one a system, TESS_CONTROL doubles. An iteration is judged by the kernel of its last
 * programme; kernels behind that one still belong to the iteration.
 *   STOPPED   the system has stopped: kernels up to the judging one do nothing
 *   PAST      set once a kernel has seen STOPPED: those behind the judging one do nothing either
 *   COUNT     iterations run since the host last looked, at most LIMIT
 *   ENOUGH    stop at slot 0 (|r|^2) <= this     TOO_MUCH  stop at slot 0 >= this
 *   PEAK      the largest quotient of a STOP_SMALL so far     SQUARE  slot 0 of the last iteration
 *
 * programme, a list of ints: number of operations, number of stops, whether an iteration ends here,
 * then {op, out, a, b} each, then {kind, a, b} each. The numbers are those of solve/space/space.h.
 *
 * ring: the slots after each iteration since the host last looked.
 */
#ifndef TESS_STEPS_CUH
#define TESS_STEPS_CUH

#define STOPPED 0
#define PAST 1
#define COUNT 2
#define LIMIT 3
#define ENOUGH 4
#define TOO_MUCH 5
#define PEAK 6
#define SQUARE 7

/* Sources that know the stops at compile time define this as UNROLL. */
#ifndef STOPS_UNROLL
#define STOPS_UNROLL NO_UNROLL
#endif

/* As many slots, and ints of a programme, fit shared memory; longer ones stay in device memory. */
#define FINISH_SLOTS 192
#define FINISH_INTS 1024

/* Reads what other thread blocks wrote during this launch: bypasses L1. */
#ifdef TESS_EMULATE
#define FRESH(pointer) (*(pointer))
#else
#define FRESH(pointer) __ldcg(pointer)
#endif

typedef struct finish_args {
    double *slots;
    double *control;
    double *ring;
    long long slot_count;
    long long guard; /* STOPPED or PAST: do nothing when that is set; -1: always work */
    const int *programme;
    long long ints; /* of the programme */
} finish_args;

/* Whether this launch has nothing to do. */
DEVICE bool halted(const finish_args *f)
{
    if (f->guard < 0 || f->control[f->guard] == 0)
        return false;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        f->control[PAST] = 1;
    return true;
}

/* The sum over a thread block in a fixed order, valid in thread 0. scratch: a double a warp. */
DEVICE double block_total(double mine, double *scratch, int threads)
{
    UNROLL
    for (int by = 16; by > 0; by /= 2)
        mine += __shfl_down_sync(0xffffffffu, mine, by, 32);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = mine;
    __syncthreads();
    double total = 0;
    if (threadIdx.x == 0)
        for (int w = 0; w < threads / 32; w++)
            total += scratch[w];
    return total;
}

/* The sum of `count` numbers of other thread blocks, four loads in flight; valid in thread 0. */
DEVICE double sum_parts(const double *parts, long long count, double *scratch, int threads)
{
    double sum[4] = {0, 0, 0, 0};
    NO_UNROLL
    for (long long i = threadIdx.x; i < count; i += 4 * threads) {
        UNROLL
        for (int u = 0; u < 4; u++)
            if (i + u * threads < count)
                sum[u] += FRESH(parts + i + u * threads);
    }
    return block_total((sum[0] + sum[1]) + (sum[2] + sum[3]), scratch, threads);
}

DEVICE bool is_finite(double value)
{
    return value - value == 0;
}

DEVICE double scalar_op(int op, double a, double b)
{
    double out = 0;
    switch (op) {
    case 0: /* DIV */
    case 1: /* DIV_POSITIVE */
        out = a / b;
        if (!is_finite(out) || (op == 1 && !(b > 0)))
            out = 0;
        break;
    case 2:
        out = a * b;
        break;
    case 3:
        out = a + b;
        break;
    case 4:
        out = a - b;
        break;
    case 5:
        out = sqrt(a);
        break;
    default:
        out = a;
    }
    return out;
}

/* Whether a quantity that the method divides by has become unusable. */
DEVICE bool unusable(const int *stop, const double *s, double *control)
{
    const double a = s[stop[1]];
    if (stop[0] == 0)
        return !(a > 0);
    if (stop[0] == 1)
        return a == 0 || !is_finite(a);
    const double gain = a / s[stop[2]];
    if (gain > control[PEAK])
        control[PEAK] = gain;
    return !(gain >= 1e-29 * control[PEAK]);
}

/* Ends an iteration: counts it and decides whether the system stops. One thread runs it. */
DEVICE void judge(const int *stop, int stops, const double *s, double *control)
{
    const double rr = s[0], count = control[COUNT] + 1;
    bool stopped = count >= control[LIMIT] || !(rr > control[ENOUGH]) || !(rr < control[TOO_MUCH]);
    STOPS_UNROLL
    for (int i = 0; i < stops; i++)
        if (unusable(stop + 3 * i, s, control))
            stopped = true;
    control[COUNT] = count;
    control[SQUARE] = rr;
    if (stopped)
        control[STOPPED] = 1;
}

/* What run_programme works on, in shared memory. All threads load it together: one thread that loads
 * number after number would wait a microsecond for each. */
typedef struct finish_desk {
    double slots[FINISH_SLOTS];
    double control[8];
    int programme[FINISH_INTS];
} finish_desk;

/* All threads of the thread block load the desk. Sums of dot products are written to desk_slots
 * later. */
DEVICE void load_desk(const finish_args *f, finish_desk *desk, int threads)
{
    for (int i = (int)threadIdx.x; i < FINISH_INTS; i += threads)
        if (i < 3 || i < f->ints)
            desk->programme[i] = f->programme[i];
    for (long long i = threadIdx.x; i < FINISH_SLOTS; i += threads)
        if (i < f->slot_count)
            desk->slots[i] = f->slots[i];
    if (threadIdx.x < 8)
        desk->control[threadIdx.x] = f->control[threadIdx.x];
}

/* The slots: on the desk, or in device memory when they are too many. */
DEVICE double *desk_slots(const finish_args *f, finish_desk *desk)
{
    return f->slot_count <= FINISH_SLOTS ? desk->slots : f->slots;
}

/* Runs the programme. All threads of one thread block call it, after load_desk. */
DEVICE void run_programme(const finish_args *f, finish_desk *desk, int threads)
{
    double *s = desk_slots(f, desk);
    __syncthreads();
    const int *programme = f->ints <= FINISH_INTS ? desk->programme : f->programme;
    const int ops = programme[0], stops = programme[1];
    const bool ends = programme[2] != 0;
    const double at = desk->control[COUNT];
    __syncthreads();
    if (threadIdx.x == 0) {
        const int *op = programme + 3;
        int kind = op[0], out = op[1], x = op[2], y = op[3];
        NO_UNROLL /* here and below, to compile faster */
        for (int i = 0; i < ops; i++) {
            const double result = scalar_op(kind, s[x], s[y]);
            const int to = out;
            op += 4;
            if (i + 1 < ops) /* the next operation is read while the result is computed */
                kind = op[0], out = op[1], x = op[2], y = op[3];
            s[to] = result;
        }
        if (ends)
            judge(op, stops, s, desk->control);
    }
    __syncthreads();
    NO_UNROLL
    for (long long i = threadIdx.x; i < f->slot_count; i += threads) {
        if (s != f->slots)
            f->slots[i] = s[i];
        if (ends)
            f->ring[(long long)at * f->slot_count + i] = s[i];
    }
    if (ends && threadIdx.x < 8)
        f->control[threadIdx.x] = desk->control[threadIdx.x];
}

#endif

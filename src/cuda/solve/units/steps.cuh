/* What the kernels of a solver share: the slots of a system, the operations on them, and the
 * decision whether the system goes on, all on the device.
 *
 * control: TESS_CONTROL doubles per system. An iteration is judged by the kernel of its last
 * programme; kernels behind that one still belong to the iteration.
 *   STOPPED   the system has stopped: kernels up to the judging one do nothing
 *   PAST      set once a kernel has seen STOPPED: those behind the judging one do nothing either
 *   COUNT     iterations run since the host last looked, at most LIMIT
 *   ENOUGH    stop at slot 0 (|r|^2) <= this     TOO_MUCH  stop at slot 0 >= this
 *   PEAK      the largest quotient of a STOP_SMALL so far     SQUARE  slot 0 of the last iteration
 *
 * programme, a list of ints: number of operations, number of stops, whether an iteration ends here,
 * then {op, out, a, b} each, then {kind, a, b} each. The numbers are those of solve/steps/steps.h;
 * CONJUGATED is added to an op whose b, or of a copy a, is conjugated.
 *
 * slots: of a complex system (COMPLEX) the real parts of all, then as many imaginary parts.
 * `imaginary` is the distance from a slot's real part to its imaginary part.
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

#define CONJUGATED 8

/* Up to this many slots, and ints of a programme, lie in shared memory. Longer ones stay in device
 * memory. */
#define FINISH_SLOTS (192 * (1 + COMPLEX))
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
    long long slot_count; /* doubles of all slots */
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

/* The sum over a thread block in a fixed order, valid in thread 0. scratch: one double per warp. */
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
DEVICE double sum_partial(const double *partial, long long count, double *scratch, int threads)
{
    double sum[4] = {0, 0, 0, 0};
    NO_UNROLL
    for (long long i = threadIdx.x; i < count; i += 4 * threads) {
        UNROLL
        for (int u = 0; u < 4; u++)
            if (i + u * threads < count)
                sum[u] += FRESH(partial + i + u * threads);
    }
    return block_total((sum[0] + sum[1]) + (sum[2] + sum[3]), scratch, threads);
}

DEVICE bool is_finite(double value)
{
    return value - value == 0;
}

/* ---- Slots ---- */

#if COMPLEX

DEVICE factor get_slot(const double *s, long long at, long long imaginary)
{
    factor value;
    value.re = s[at];
    value.im = s[at + imaginary];
    return value;
}

DEVICE void put_slot(double *s, long long at, long long imaginary, factor value)
{
    s[at] = value.re;
    s[at + imaginary] = value.im;
}

/* At least the modulus, and 0 where the modulus is 0. */
DEVICE double size_of_slot(const double *s, long long at, long long imaginary)
{
    return fabs(s[at]) + fabs(s[at + imaginary]);
}

/* factor * slot as a coefficient of vectors; slot -1: the factor alone. */
DEVICE scalar coefficient(double by, long long slot, const double *s, long long imaginary)
{
    scalar value;
    value.re = (real)(slot < 0 ? by : by * s[slot]);
    value.im = (real)(slot < 0 ? 0 : by * s[slot + imaginary]);
    return value;
}

#define GET_SLOT(s, at, imaginary) get_slot(s, at, imaginary)
#define PUT_SLOT(s, at, imaginary, value) put_slot(s, at, imaginary, value)
#define SLOT_SIZE(a, s, at, imaginary) size_of_slot(s, at, imaginary)
#define COEFFICIENT(by, slot, s, imaginary) coefficient(by, slot, s, imaginary)
/* Clears the imaginary part of s[at], before the sum of a dot product is written to s[at]. The sum
 * of the imaginary part, if there is one, is written later. */
#define CLEAR_IMAGINARY(s, at, imaginary) \
    if ((at) < (imaginary))               \
        (s)[(at) + (imaginary)] = 0;

/* As tess_complex_quotient of the host. */
DEVICE factor quotient_of(factor a, factor b)
{
    const bool wide = fabs(b.re) >= fabs(b.im);
    const double ratio = wide ? b.im / b.re : b.re / b.im;
    const double length = wide ? b.re + b.im * ratio : b.re * ratio + b.im;
    factor out;
    out.re = (wide ? a.re + a.im * ratio : a.re * ratio + a.im) / length;
    out.im = (wide ? a.im - a.re * ratio : a.im * ratio - a.re) / length;
    if (b.im == 0) {
        out.re = a.re / b.re;
        out.im = a.im / b.re;
    }
    return out;
}

DEVICE factor scalar_op(int op, factor a, factor b)
{
    const double sign = op & CONJUGATED ? -1 : 1;
    factor out;
    out.re = out.im = 0;
    b.im *= sign;
    switch (op % CONJUGATED) {
    case 0: /* DIV */
    case 1: /* DIV_POSITIVE */
        out = quotient_of(a, b);
        if (!is_finite(out.re) || !is_finite(out.im) || (op % CONJUGATED == 1 && !(b.re > 0)))
            out.re = out.im = 0;
        break;
    case 2:
        out.re = a.re * b.re - a.im * b.im;
        out.im = a.re * b.im + a.im * b.re;
        break;
    case 3:
        out.re = a.re + b.re;
        out.im = a.im + b.im;
        break;
    case 4:
        out.re = a.re - b.re;
        out.im = a.im - b.im;
        break;
    case 5: /* of a norm's square */
        out.re = sqrt(a.re);
        break;
    default:
        out.re = a.re;
        out.im = sign * a.im;
    }
    return out;
}

#else

#define GET_SLOT(s, at, imaginary) (s)[at]
#define PUT_SLOT(s, at, imaginary, value) (s)[at] = (value)
#define SLOT_SIZE(a, s, at, imaginary) (a)
#define COEFFICIENT(by, slot, s, imaginary) (real)((slot) < 0 ? (by) : (by) * (s)[slot])
#define CLEAR_IMAGINARY(s, at, imaginary)

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

#endif

/* Whether a quantity that the method divides by has become unusable. */
DEVICE bool unusable(const int *stop, const double *s, long long imaginary, double *control)
{
    const double a = s[stop[1]];
    if (stop[0] == 0)
        return !(a > 0);
    if (stop[0] == 1) {
        const double size = SLOT_SIZE(a, s, stop[1], imaginary);
        return size == 0 || !is_finite(size);
    }
    const double gain = a / s[stop[2]];
    if (gain > control[PEAK])
        control[PEAK] = gain;
    return !(gain >= 1e-29 * control[PEAK]);
}

/* Ends an iteration: counts it and decides whether the system stops. One thread runs it. */
DEVICE void judge(const int *stop, int stops, const double *s, long long imaginary,
                  double *control)
{
    const double rr = s[0], count = control[COUNT] + 1;
    bool stopped = count >= control[LIMIT] || !(rr > control[ENOUGH]) || !(rr < control[TOO_MUCH]);
    STOPS_UNROLL
    for (int i = 0; i < stops; i++)
        if (unusable(stop + 3 * i, s, imaginary, control))
            stopped = true;
    control[COUNT] = count;
    control[SQUARE] = rr;
    if (stopped)
        control[STOPPED] = 1;
}

/* What run_programme works on, in shared memory. All threads load it together: one thread that
 * loads number after number would wait a microsecond for each. */
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
            const factor result = scalar_op(kind, GET_SLOT(s, x, f->slot_count / 2),
                                            GET_SLOT(s, y, f->slot_count / 2));
            const int to = out;
            op += 4;
            if (i + 1 < ops) /* the next operation is read while the result is computed */
                kind = op[0], out = op[1], x = op[2], y = op[3];
            PUT_SLOT(s, to, f->slot_count / 2, result);
        }
        if (ends)
            judge(op, stops, s, f->slot_count / 2, desk->control);
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

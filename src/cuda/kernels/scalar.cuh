/* The scalar of matrices and vectors, its arithmetic and its loads. Included by common.cuh.
 *
 *   COMPLEX    0: a scalar is a real of REAL bytes; 1: a pair of them, the real part first,
 *              aligned to its size
 *   CONJUGATE  1: the conjugate of the matrix is multiplied; COMPLEX only
 *
 * A source that takes complex matrices uses the macros below instead of operators, and these types:
 *
 *   scalar       elements of matrices and vectors
 *   held_scalar  elements of stored factors and diagonals, whose reals have HELD bytes
 *   factor       alpha and beta
 *
 * Where a scalar is real, the macros are the operators.
 */
#ifndef TESS_SCALAR_CUH
#define TESS_SCALAR_CUH

#ifndef COMPLEX
#define COMPLEX 0
#endif
#ifndef CONJUGATE
#define CONJUGATE 0
#endif

#define SCALAR_BYTES (REAL * (1 + COMPLEX))

#if COMPLEX

typedef struct ALIGNED(2 * REAL) scalar {
    real re, im;
} scalar;

typedef struct ALIGNED(2 * HELD) held_scalar {
    held re, im;
} held_scalar;

/* Members of arguments are 8 bytes wide: a factor is two of them. */
typedef struct factor {
    double re, im;
} factor;

DEVICE scalar zero_scalar(void)
{
    scalar zero;
    zero.re = zero.im = 0;
    return zero;
}

DEVICE scalar sum_of(scalar a, scalar b)
{
    a.re += b.re;
    a.im += b.im;
    return a;
}

/* sum + v x, or with CONJUGATE sum + conj(v) x; v is the matrix's. */
DEVICE scalar multiply_add(scalar sum, scalar v, scalar x)
{
    sum.re += v.re * x.re;
    sum.im += v.re * x.im;
#if CONJUGATE
    sum.re += v.im * x.im;
    sum.im -= v.im * x.re;
#else
    sum.re -= v.im * x.im;
    sum.im += v.im * x.re;
#endif
    return sum;
}

/* sum - v x. */
DEVICE scalar multiply_subtract(scalar sum, scalar v, scalar x)
{
    sum.re -= v.re * x.re;
    sum.im -= v.re * x.im;
    sum.re += v.im * x.im;
    sum.im -= v.im * x.re;
    return sum;
}

DEVICE held_scalar zero_held(void)
{
    held_scalar zero;
    zero.re = zero.im = 0;
    return zero;
}

DEVICE scalar scalar_of(held_scalar d, const int conjugate)
{
    scalar value;
    value.re = (real)d.re;
    value.im = (real)(conjugate ? -d.im : d.im);
    return value;
}

DEVICE scalar product_of(scalar a, scalar b)
{
    scalar product;
    product.re = a.re * b.re - a.im * b.im;
    product.im = a.re * b.im + a.im * b.re;
    return product;
}

#define ZERO zero_scalar()
#define ZERO_HELD zero_held()
#define SCALAR_OF(value, conjugate) scalar_of(value, conjugate)
#define PLUS(a, b) sum_of(a, b)
#define TIMES(a, b) product_of(a, b)
#define ADD_TO(sum, other) ((sum) = sum_of(sum, other))
#define MULTIPLY_ADD(sum, v, x) ((sum) = multiply_add(sum, v, x))
#define MULTIPLY_SUBTRACT(sum, v, x) ((sum) = multiply_subtract(sum, v, x))
#define NOT_ZERO(number) ((number).re != 0 || (number).im != 0)
#define IS_ONE(number) ((number).re == 1 && (number).im == 0)

/* A load of n scalars is one of 2 n reals. */
DEVICE void stream_scalar1(const scalar *from, scalar *to, policy p)
{
    stream_load2(&from->re, &to->re, p);
}

DEVICE void keep_scalar1(const scalar *from, scalar *to, policy p)
{
    keep_load2(&from->re, &to->re, p);
}

#if REAL == 4
DEVICE void stream_scalar2(const scalar *from, scalar *to, policy p)
{
    stream_load4(&from->re, &to->re, p);
}

DEVICE void keep_scalar2(const scalar *from, scalar *to, policy p)
{
    keep_load4(&from->re, &to->re, p);
}
#endif

DEVICE scalar keep_scalar(const scalar *from, policy p)
{
    scalar value;
    keep_scalar1(from, &value, p);
    return value;
}

DEVICE void cached_scalars16(const scalar *from, scalar *to)
{
    cached_load16(&from->re, &to->re);
}

DEVICE void stream_held_scalar(const held_scalar *from, held_scalar *to, policy p)
{
    stream_held2(&from->re, &to->re, p);
}

/* Values that thread blocks hand each other: real and imaginary part are a message each. */
DEVICE scalar arriving_scalar(const scalar *from)
{
    scalar value;
    value.re = arriving_load(&from->re);
    value.im = arriving_load(&from->im);
    return value;
}

DEVICE int scalar_is_absent(scalar value)
{
    return is_absent(value.re) | is_absent(value.im);
}

DEVICE void hand_scalar_on(scalar *to, scalar value)
{
    hand_on(&to->re, value.re);
    hand_on(&to->im, value.im);
}

/* As READ_ONLY. */
DEVICE scalar read_scalar(const scalar *from)
{
    return keep_scalar(from, keep_policy());
}

/* As __shfl_down_sync. */
DEVICE scalar shuffle_down(unsigned mask, scalar value, unsigned by, int width)
{
    value.re = __shfl_down_sync(mask, value.re, by, width);
    value.im = __shfl_down_sync(mask, value.im, by, width);
    return value;
}

/* alpha * sum + beta * old; beta = 0 ignores what was there. */
DEVICE scalar combined(factor alpha, scalar sum, factor beta, scalar old)
{
    scalar result;
    result.re = (real)alpha.re * sum.re - (real)alpha.im * sum.im;
    result.im = (real)alpha.re * sum.im + (real)alpha.im * sum.re;
    if (NOT_ZERO(beta)) {
        result.re += (real)beta.re * old.re - (real)beta.im * old.im;
        result.im += (real)beta.re * old.im + (real)beta.im * old.re;
    }
    return result;
}

#else

typedef real scalar;
typedef held held_scalar;
typedef double factor;

#define ZERO 0
#define ZERO_HELD 0
#define SCALAR_OF(value, conjugate) (real)(value)
#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define ADD_TO(sum, other) ((sum) += (other))
#define MULTIPLY_ADD(sum, v, x) ((sum) += (v) * (x))
#define MULTIPLY_SUBTRACT(sum, v, x) ((sum) -= (v) * (x))
#define NOT_ZERO(number) ((number) != 0)
#define IS_ONE(number) ((number) == 1)

#define stream_scalar1 stream_load1
#define stream_scalar2 stream_load2
#define stream_scalar4 stream_load4
#define keep_scalar1 keep_load1
#define keep_scalar2 keep_load2
#define keep_scalar4 keep_load4
#define keep_scalar keep_load
#define cached_scalars16 cached_load16
#define stream_held_scalar stream_held1
#define arriving_scalar(from) arriving_load(from)
#define scalar_is_absent is_absent
#define hand_scalar_on hand_on
#define read_scalar(from) READ_ONLY(from)
#define shuffle_down(mask, value, by, width) __shfl_down_sync(mask, value, by, width)

/* alpha * sum + beta * old; beta = 0 ignores what was there. */
DEVICE real combined(double alpha, real sum, double beta, real old)
{
    real result = (real)alpha * sum;
    if (beta != 0)
        result += (real)beta * old;
    return result;
}

#endif

/* The same with old = y[i], which beta = 0 does not read. */
DEVICE scalar scaled(factor alpha, scalar sum, factor beta, const scalar *y, long long i)
{
    return combined(alpha, sum, beta, NOT_ZERO(beta) ? y[i] : ZERO);
}

#endif

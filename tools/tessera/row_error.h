/* How far a row of y is from the reference's, in units of (|A||x|): for spmv and bench.
 *
 * The magnitude (|A||x|) of a row also says whether the row can be finite:
 *
 *     finite     so is the correct y
 *     infinity   the sum is beyond the type's range: the order of the terms decides whether it
 *                overflows, so every y is right
 *     NaN        an entry times x is NaN or infinite: so is every correct y
 */
#ifndef TESSERA_ROW_ERROR_H
#define TESSERA_ROW_ERROR_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include <tessera/tessera.h>

/* `sum` with the term of an entry and an element of x, of which |a| and |x| are given. Entries that
 * are 0 do not count: a format may leave them out, where another one makes NaN of 0 times infinity.
 */
static inline double add_magnitude(double sum, double a, double x)
{
    return a == 0 ? sum : isfinite(a * x) ? sum + a * x : NAN;
}

static inline double magnitude_in_range(double sum, tess_type type)
{
    const bool narrow = type == TESS_F32 || type == TESS_C32;
    return narrow && sum > (double)FLT_MAX ? INFINITY : sum;
}

static inline bool is_finite_scalar(tess_complex value)
{
    return isfinite(value.re) && isfinite(value.im);
}

/* |got - want|, 0 where both are the same infinity or NaN. */
static inline double real_distance(double got, double want)
{
    return got == want || (isnan(got) && isnan(want)) ? 0 : fabs(got - want);
}

static inline double row_error(tess_complex got, tess_complex want, double magnitude)
{
    const double re = real_distance(got.re, want.re), im = real_distance(got.im, want.im);
    const bool got_finite = is_finite_scalar(got), want_finite = is_finite_scalar(want);
    if ((re == 0 && im == 0) || isinf(magnitude))
        return 0;
    if (isnan(magnitude))
        return got_finite || want_finite ? INFINITY : 0;
    if (!want_finite) /* by stored zeros alone */
        return 0;
    return got_finite ? fmax(re, im) / magnitude : INFINITY;
}

#endif

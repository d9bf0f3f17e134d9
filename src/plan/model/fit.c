#include "plan/model/fit.h"

#include <math.h>

#include "core/order.h"

enum { ITERATIONS = 200 };
/* Points beyond a curve's slope do not determine the slope: sigma is kept within what memories
 * show. */
static const double least_sigma = 0.05, most_sigma = 4;

double tess_sigmoid_value(const tess_sigmoid *s, double x)
{
    return s->nu / (1 + exp(-(log2(x) - s->mu) / s->sigma));
}

double tess_sigmoid_turn(const tess_sigmoid *s)
{
    double slope = s->sigma * log(2);
    return slope < 1 ? exp2(s->mu + s->sigma * log(1 / slope - 1)) : 0;
}

void tess_sigmoid_slopes(const tess_sigmoid *s, double x, double slopes[3])
{
    /* log B = log nu - log(1 + e^-u), u = (log2 x - mu) / sigma */
    double u = (log2(x) - s->mu) / s->sigma, falling = 1 / (1 + exp(u));
    slopes[0] = -falling / s->sigma;
    slopes[1] = -falling * u;
    slopes[2] = 1;
}

static double squares(const tess_sigmoid *s, const double *x, const double *y, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        double r = log(tess_sigmoid_value(s, x[i])) - log(y[i]);
        sum += r * r;
    }
    return sum;
}

/* The start of the fit: 2^mu is the smallest size with at least half of the largest value. */
static tess_sigmoid start(const double *x, const double *y, int count)
{
    tess_sigmoid s = {.mu = log2(x[0]), .sigma = 1.5, .nu = y[0]};
    for (int i = 1; i < count; i++)
        s.nu = tess_max(y[i], s.nu);
    double half = INFINITY;
    for (int i = 0; i < count; i++)
        if (y[i] >= 0.5 * s.nu && x[i] < half)
            half = x[i];
    s.mu = log2(half);
    return s;
}

/* Solves the 3 x 3 system N d = g by Cramer's rule; false when it is singular. */
static bool solve(double n[3][3], const double g[3], double d[3])
{
    double cofactor[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int a = (i + 1) % 3, b = (i + 2) % 3, p = (j + 1) % 3, q = (j + 2) % 3;
            cofactor[i][j] = n[a][p] * n[b][q] - n[a][q] * n[b][p];
        }
    double determinant = 0;
    for (int j = 0; j < 3; j++)
        determinant += n[0][j] * cofactor[0][j];
    if (!(fabs(determinant) > 1e-300))
        return false;
    for (int i = 0; i < 3; i++)
        d[i] =
            (cofactor[0][i] * g[0] + cofactor[1][i] * g[1] + cofactor[2][i] * g[2]) / determinant;
    return true;
}

/* The sigmoid after step d, within the limits. */
static tess_sigmoid moved(const tess_sigmoid *s, const double d[3], double most_mu, double most_nu)
{
    return (tess_sigmoid){
        .mu = tess_clamp(s->mu + d[0], 0, most_mu),
        .sigma = tess_clamp(s->sigma * exp(tess_clamp(d[1], -2, 2)), least_sigma, most_sigma),
        .nu = tess_clamp(s->nu * exp(tess_clamp(d[2], -2, 2)), 0, most_nu)};
}

/* One step with damping: J'J + damping diag(J'J) against -J'r. */
static bool step(const tess_sigmoid *s, const double *x, const double *y, int count, double damping,
                 double d[3])
{
    double n[3][3] = {{0}}, g[3] = {0};
    for (int k = 0; k < count; k++) {
        double j[3], r = log(tess_sigmoid_value(s, x[k])) - log(y[k]);
        tess_sigmoid_slopes(s, x[k], j);
        for (int a = 0; a < 3; a++) {
            g[a] -= j[a] * r;
            for (int b = 0; b < 3; b++)
                n[a][b] += j[a] * j[b];
        }
    }
    for (int a = 0; a < 3; a++)
        n[a][a] += damping * n[a][a] + 1e-12;
    return solve(n, g, d);
}

bool tess_sigmoid_fit(const double *x, const double *y, int count, bool risen,
                      tess_sigmoid *average)
{
    int sizes = 0;
    for (int i = 0; i < count; i++) {
        if (!(x[i] > 0) || !(y[i] > 0) || !isfinite(x[i]) || !isfinite(y[i]))
            return false;
        bool seen = false;
        for (int k = 0; k < i; k++)
            seen |= x[k] == x[i];
        sizes += !seen;
    }
    if (sizes < 3)
        return false;
    tess_sigmoid s = start(x, y, count);
    double least = x[0], most_nu = (risen ? 1.05 : 1.5) * s.nu;
    for (int i = 1; i < count; i++)
        least = tess_min(x[i], least);
    double most_mu = risen ? log2(least) - 1 : 64;
    s.mu = tess_clamp(s.mu, 0, most_mu);
    double error = squares(&s, x, y, count), damping = 1e-2, d[3];
    for (int i = 0; i < ITERATIONS && damping < 1e12; i++) {
        tess_sigmoid next = s;
        if (step(&s, x, y, count, damping, d))
            next = moved(&s, d, most_mu, most_nu);
        double next_error = squares(&next, x, y, count);
        bool better = next_error < error;
        if (better && error - next_error < 1e-14 * error)
            i = ITERATIONS;
        damping *= better ? 0.3 : 4;
        if (better) {
            s = next;
            error = next_error;
        }
    }
    *average = s;
    return true;
}

tess_sigmoid tess_sigmoid_envelope(const tess_sigmoid *average, const double *x, const double *y,
                                   int count)
{
    tess_sigmoid s = *average;
    double most = 1;
    for (int i = 0; i < count; i++) {
        double ratio = y[i] / tess_sigmoid_value(average, x[i]);
        most = tess_max(ratio, most);
    }
    s.nu *= most;
    return s;
}

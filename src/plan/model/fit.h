/* Throughput against size: the scaled sigmoid of paper 004 (eq. 3), and its fit.
 *
 *     B(x) = nu / (1 + exp(-(log2 x - mu) / sigma))      bytes a second, x bytes moved
 *
 * nu is the throughput of large sizes, 2^mu the size with half of it, and sigma the width of the
 * rise.
 */
#pragma once

#include <stdbool.h>

typedef struct tess_sigmoid {
    double mu, sigma, nu;
} tess_sigmoid;

double tess_sigmoid_value(const tess_sigmoid *s, double x);

/* The size below which B falls faster than x, so that x / B would grow towards smaller sizes; 0:
 * there is none. */
double tess_sigmoid_turn(const tess_sigmoid *s);

/* d log B / d (mu, log sigma, log nu), which the fit uses: sigma and nu then stay positive, and
 * errors count relative to the value. */
void tess_sigmoid_slopes(const tess_sigmoid *s, double x, double slopes[3]);

/* Fits the sigmoid: least squares of log B over the points, by Levenberg-Marquardt from a start
 * found in the data. False: fewer than three sizes, or something not positive. Points on a slope
 * alone do not say where it ends: nu stays below 1.5 times the largest value seen. `risen`: all
 * points are known to lie beyond the slope. */
bool tess_sigmoid_fit(const double *x, const double *y, int count, bool risen,
                      tess_sigmoid *average);

/* The envelope: the same curve raised until no point lies above it. */
tess_sigmoid tess_sigmoid_envelope(const tess_sigmoid *average, const double *x, const double *y,
                                   int count);

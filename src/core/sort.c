/* Small arrays of measurements. */
#include "core/core.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void tess_sort_doubles(double *values, int64_t count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
}

double tess_median(double *values, int64_t count)
{
    tess_sort_doubles(values, count);
    return 0.5 * (values[(count - 1) / 2] + values[count / 2]);
}

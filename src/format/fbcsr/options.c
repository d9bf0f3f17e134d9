/* What a threshold comes to. */
#include <math.h>

#include "format/fbcsr/split.h"

double tess_fbcsr_break_even(const tess_shape *shape, tess_type type)
{
    double value = (double)tess_type_size(type), cells = (double)tess_shape_cells(shape);
    return (value * cells + 8) / ((value + 4) * cells);
}

int64_t tess_fbcsr_least(const tess_shape *shape, tess_type type, double threshold)
{
    double fill = threshold < 0 ? tess_fbcsr_break_even(shape, type) : threshold;
    /* The product of 0.7 and 10 is not to be 7.000000000000001 entries. */
    int64_t least = (int64_t)ceil(fill * (double)tess_shape_cells(shape) - 1e-9);
    return least < 1 ? 1 : least;
}

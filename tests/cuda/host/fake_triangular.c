/* The entry points of triangular.cu in plain C: the tiles of a launch in order, which is an order
 * that a launch of many stages may have too. */
#include <string.h>

#include "fake_cuda.h"

typedef struct triangular_args {
    const int *tiles, *places, *columns;
    const void *values, *inverse, *in;
    void *out, *z;
    int *ticket;
    int64_t tile, end, rows, scalars;
} triangular_args;

typedef struct shape {
    int real, held, b;
} shape;

static double get(const void *array, int bytes, int64_t i)
{
    return bytes == 8 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

static void put(void *array, int bytes, int64_t i, double value)
{
    if (bytes == 8)
        ((double *)array)[i] = value;
    else
        ((float *)array)[i] = (float)value;
}

static void solve_row(const triangular_args *a, const shape *s, const int *tile, int r, int i,
                      int up)
{
    const int64_t b = s->b, rows = tile[3], position = tile[2] + r, lanes = rows * b;
    const int64_t block = (int64_t)(uint32_t)tile[0] | (int64_t)tile[1] << 32;
    const int64_t place = up ? a->rows - 1 - position : position;
    const int64_t scalar = a->places[2 * position + 1] * b + i;
    double sum = !up && scalar < a->scalars ? get(a->in, s->real, scalar) : 0;
    for (int64_t j = 0; up && j < b; j++)
        sum += get(a->inverse, s->held, tile[2] * b * b + j * lanes + r * b + i) *
               get(a->in, s->real, place * b + j);
    for (int64_t k = 0; k < a->places[2 * position]; k++)
        for (int64_t j = 0; j < b; j++)
            sum -= get(a->values, s->held, block * b * b + (k * b + j) * lanes + r * b + i) *
                   get(a->out, s->real, a->columns[block + k * rows + r] * b + j);
    put(a->out, s->real, place * b + i, sum);
    if (up && scalar < a->scalars)
        put(a->z, s->real, scalar, sum);
}

int fake_run_triangular(const struct fake_module *module, const char *entry, unsigned grid,
                        void **arguments)
{
    if (strncmp(entry, "triangular_", 11) != 0)
        return 0;
    const triangular_args *a = arguments[0];
    const shape s = {fake_define(module, "REAL"), fake_define(module, "HELD"),
                     fake_define(module, "BH")};
    const int up = strncmp(entry, "triangular_up", 13) == 0;
    const int waiting = strstr(entry, "_waiting") != NULL;
    /* What the real one relies on: tickets at the start, or a thread block a tile. */
    if (waiting ? *a->ticket != -1 : grid != a->end - a->tile)
        return 0;
    for (int64_t t = a->tile; t < a->end; t++)
        for (int r = 0; r < a->tiles[4 * t + 3]; r++)
            for (int i = 0; i < s.b; i++)
                solve_row(a, &s, a->tiles + 4 * t, r, i, up);
    return 1;
}

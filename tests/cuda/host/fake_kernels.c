/* The entry points of sliced.cu, dot.cu, refresh.cu and convert.cu in plain C, one thread block or
 * all rows at a time; what the device sources specialise at compile time is read from the module's
 * defines. The format is explained in format/sliced.h. */
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

typedef struct shape {
    int real, bh, bw, height, vec, group, targets, dot;
} shape;

double fake_get(const void *array, int real, int64_t i)
{
    return real == 8 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

void fake_put(void *array, int real, int64_t i, double value)
{
    if (real == 8)
        ((double *)array)[i] = value;
    else
        ((float *)array)[i] = (float)value;
}

typedef struct sliced_args {
    const int64_t *offsets;
    const int *lengths, *targets, *columns;
    const void *values, *x;
    void *y, *slots;
    int64_t lines, rows, cols;
    double alpha, beta;
    const void *w;
    double *dot_part;
} sliced_args;

static double row_sum(const sliced_args *a, const shape *s, int64_t line, int i)
{
    int64_t slice = line / s->height, lanes = (int64_t)s->height * s->bh;
    int64_t lane = line % s->height * s->bh + i, in_slice = line % s->height;
    int64_t vectors = (int64_t)s->group * s->bw / s->vec;
    double sum = 0;
    for (int64_t block = 0; block < a->lengths[line]; block++) {
        int64_t g = a->offsets[slice] + block / s->group, p = block % s->group;
        int64_t column = a->columns[(g * s->height + in_slice) * s->group + p];
        for (int j = 0; j < s->bw && column * s->bw + j < a->cols; j++) {
            int64_t scalar = p * s->bw + j;
            int64_t at =
                (g * vectors * lanes + scalar / s->vec * lanes + lane) * s->vec + scalar % s->vec;
            sum += fake_get(a->values, s->real, at) * fake_get(a->x, s->real, column * s->bw + j);
        }
    }
    return sum;
}

/* y[row] = alpha sum + beta y[row]; returns w[row] y[row]. */
static double finish(int real, void *y, const void *w, int64_t row, double alpha, double sum,
                     double beta)
{
    double result = alpha * sum + (beta != 0 ? beta * fake_get(y, real, row) : 0);
    fake_put(y, real, row, result);
    result = fake_get(y, real, row);
    return result * (w ? fake_get(w, real, row) : result);
}

static void run_sliced(const sliced_args *a, const shape *s, unsigned grid, int wrong)
{
    double dot = 0;
    for (int64_t line = 0; line < a->lines; line++) {
        for (int i = 0; i < s->bh; i++) {
            double sum = row_sum(a, s, line, i) * (wrong ? 1.001 : 1.0);
            int target = s->targets ? a->targets[line] : (int)line;
            if (target < 0) {
                fake_put(a->slots, s->real, (int64_t)~target * s->bh + i, sum);
            } else if ((int64_t)target * s->bh + i < a->rows) {
                dot += finish(s->real, a->y, a->w, (int64_t)target * s->bh + i, a->alpha, sum,
                              a->beta);
            }
        }
    }
    for (unsigned part = 0; s->dot && a->dot_part && part < grid; part++)
        a->dot_part[part] = part == 0 ? dot : 0;
}

typedef struct sliced_spmm_args {
    const int64_t *offsets;
    const int *lengths, *targets, *columns;
    const void *values, *x;
    void *y;
    int64_t lines, rows, cols, ldx, ldy;
    double alpha, beta;
} sliced_spmm_args;

/* One vector after the other, each with its x in a row. */
static void run_sliced_spmm(const sliced_spmm_args *a, const shape *s, int vectors, int row_major)
{
    void *x = malloc((size_t)a->cols * 8 + 8);
    sliced_args one = {a->offsets, a->lengths, a->targets, a->columns, a->values, x,    NULL, NULL,
                       a->lines,   a->rows,    a->cols,    a->alpha,   a->beta,   NULL, NULL};
    for (int v = 0; v < vectors; v++) {
        for (int64_t i = 0; i < a->cols; i++)
            fake_put(x, s->real, i,
                     fake_get(a->x, s->real, row_major ? i * a->ldx + v : v * a->ldx + i));
        for (int64_t line = 0; line < a->lines; line++) {
            for (int i = 0; i < s->bh; i++) {
                int64_t row = (s->targets ? a->targets[line] : line) * s->bh + i;
                int64_t at = row_major ? row * a->ldy + v : v * a->ldy + row;
                if (row < a->rows)
                    (void)finish(s->real, a->y, a->y, at, a->alpha, row_sum(&one, s, line, i),
                                 a->beta);
            }
        }
    }
    free(x);
}

typedef struct sliced_sum_args {
    const int *cut_row, *cut_slots;
    int64_t cut_rows, cut_long;
    const void *slots;
    void *y;
    int64_t rows;
    double alpha, beta;
    const void *w;
    double *dot_part;
} sliced_sum_args;

static void run_sliced_sum(const sliced_sum_args *a, const shape *s, unsigned grid)
{
    double dot = 0;
    for (int64_t cut = 0; cut < a->cut_rows; cut++) {
        for (int i = 0; i < s->bh; i++) {
            int64_t row = (int64_t)a->cut_row[cut] * s->bh + i;
            double sum = 0;
            for (int slot = a->cut_slots[cut]; slot < a->cut_slots[cut + 1]; slot++)
                sum += fake_get(a->slots, s->real, (int64_t)slot * s->bh + i);
            if (row < a->rows)
                dot += finish(s->real, a->y, a->w, row, a->alpha, sum, a->beta);
        }
    }
    for (unsigned part = 0; s->dot && a->dot_part && part < grid; part++)
        a->dot_part[part] = part == 0 ? dot : 0;
}

typedef struct sliced_dot_args {
    const double *dot_part;
    int64_t parts;
    double *dot;
} sliced_dot_args;

static void run_sliced_dot(const sliced_dot_args *a)
{
    double sum = 0;
    for (int64_t i = 0; i < a->parts; i++)
        sum += a->dot_part[i];
    *a->dot = sum;
}

static void run_dot_partial(void **arguments, int real, unsigned grid)
{
    const void *w = *(void **)arguments[0], *y = *(void **)arguments[1];
    int64_t count = *(long long *)arguments[2];
    double *parts = *(double **)arguments[3];
    memset(parts, 0, grid * sizeof *parts);
    for (int64_t i = 0; i < count; i++)
        parts[0] += fake_get(w, real, i) * fake_get(y, real, i);
}

typedef struct refresh_args {
    void *values;
    const void *map, *given;
    int64_t count, run, shift, inner_stride, outer_stride;
} refresh_args;

static void run_refresh(const refresh_args *a, int real, int index)
{
    for (int64_t i = 0; i < a->count; i++) {
        int64_t run = i / a->run, q = i % a->run, inner = (int64_t)1 << a->shift;
        int64_t from =
            index == 8 ? ((const int64_t *)a->map)[run] : ((const uint32_t *)a->map)[run];
        int64_t at = from - 1 + q / inner * a->outer_stride + q % inner * a->inner_stride;
        fake_put(a->values, real, i, from > 0 ? fake_get(a->given, real, at) : 0);
    }
}

typedef struct convert_args {
    const void *from;
    void *to;
    long long count;
    double scale;
} convert_args;

static void run_convert(const convert_args *a, int from, int to, int add)
{
    for (long long i = 0; i < a->count; i++)
        fake_put(a->to, to, i,
                 (add ? fake_get(a->to, to, i) : 0) + a->scale * fake_get(a->from, from, i));
}

static int define_or_1(const struct fake_module *module, const char *name)
{
    int value = fake_define(module, name);
    return value > 0 ? value : 1;
}

int fake_run(const struct fake_module *module, const char *entry, unsigned grid, void **arguments,
             int wrong_results)
{
    shape s = {
        .real = fake_define(module, "REAL"),
        .bh = define_or_1(module, "BH"), /* fbcsr.cu has its own */
        .bw = fake_define(module, "BW"),
        .height = fake_define(module, "HEIGHT"),
        .vec = define_or_1(module, "VEC"),
        .group = define_or_1(module, "GROUP"),
        .targets = fake_define(module, "TARGETS"),
        .dot = fake_define(module, "DOT"),
    };
    if (strcmp(entry, "sliced") == 0)
        run_sliced(arguments[0], &s, grid, wrong_results);
    else if (strcmp(entry, "sliced_sum") == 0)
        run_sliced_sum(arguments[0], &s, grid);
    else if (strcmp(entry, "sliced_spmm") == 0)
        run_sliced_spmm(arguments[0], &s, fake_define(module, "VECTORS"),
                        fake_define(module, "ROW_MAJOR"));
    else if (strcmp(entry, "sliced_dot") == 0)
        run_sliced_dot(arguments[0]);
    else if (strcmp(entry, "refresh") == 0)
        run_refresh(arguments[0], s.real, fake_define(module, "INDEX"));
    else if (strcmp(entry, "dot_partial") == 0)
        run_dot_partial(arguments, s.real, grid);
    else if (strcmp(entry, "dot_final") == 0)
        run_sliced_dot(&(sliced_dot_args){*(double **)arguments[0], *(int *)arguments[1],
                                          *(double **)arguments[2]});
    else if (strcmp(entry, "convert") == 0)
        run_convert(arguments[0], fake_define(module, "FROM"), fake_define(module, "TO"),
                    fake_define(module, "ADD"));
    else if (strcmp(entry, "read_ceiling") != 0 && strcmp(entry, "gate") != 0)
        return fake_run_fbcsr(module, entry, arguments) ||
               fake_run_triangular(module, entry, grid, arguments) ||
               fake_run_solve(module, entry, arguments);
    return 1;
}

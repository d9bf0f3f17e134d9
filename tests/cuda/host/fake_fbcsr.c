/* The entry point of fbcsr.cu in plain C, a slice at a time. The format is explained in
 * format/fbcsr/slices.h. */
#include <string.h>

#include "fake_cuda.h"
#include "format/fbcsr/slices.h"

enum { WARP = TESS_FBCSR_WARP, BESIDE = TESS_FBCSR_BESIDE };

typedef struct fbcsr_args {
    const int *heads, *lengths, *targets, *pieces, *columns;
    const void *values, *x;
    void *y, *slots;
    int64_t rows, slices, segments;
    double alpha, beta;
} fbcsr_args;

typedef struct code {
    int real, lanes, lines, bits, width[TESS_FBCSR_CLASSES];
} code;

/* Adds the lines of a slice to the sums of its rows; returns how many values they have. */
static int64_t add_lines(const fbcsr_args *a, const code *c, const int *head, int64_t first,
                         double *sums)
{
    int64_t at = 0;
    for (int p = 0; p < head[TESS_FBCSR_HEAD_PIECES]; p++) {
        const int *piece = p < BESIDE ? head + TESS_FBCSR_HEAD + 2 * p
                                      : a->pieces + 2 * (head[TESS_FBCSR_HEAD_PIECE] + p - BESIDE);
        const int row = piece[1] & 255, rows = piece[1] >> 8 & 255, shift = piece[1] >> 16;
        for (int i = row; i < row + rows; i++)
            sums[i] += fake_get(a->values, c->real, first + at++) *
                       fake_get(a->x, c->real, piece[0] + shift * i);
    }
    return at;
}

static double run_sum(const fbcsr_args *a, const code *c, int width, int lanes, int row, int64_t k,
                      int64_t values, int64_t columns)
{
    const int share = tess_fbcsr_share(width, lanes), each = width / share, per = lanes / share;
    const int64_t step = k / per, lane = (int64_t)row * lanes + k % per * share;
    const int column = a->columns[columns + (step * WARP + lane) / share];
    double sum = 0;
    for (int i = 0; i < width; i++)
        sum += fake_get(a->values, c->real,
                        values + (step * each + i / share) * WARP + lane + i % share) *
               fake_get(a->x, c->real, column + i);
    return sum;
}

static void run_slice(const fbcsr_args *a, const code *c, int64_t slice)
{
    const int segment = slice < a->segments, lanes = segment ? TESS_FBCSR_SEGMENT_LANES : c->lanes;
    const int *head = a->heads + slice * (c->lines ? TESS_FBCSR_HEAD_WITH_PIECES : TESS_FBCSR_HEAD);
    const int64_t before = a->segments * (WARP / TESS_FBCSR_SEGMENT_LANES);
    const int64_t place =
        segment ? slice * (WARP / lanes) : before + (slice - a->segments) * (WARP / lanes);
    int64_t values = (int64_t)head[TESS_FBCSR_HEAD_VALUES] * WARP;
    int64_t columns = (int64_t)head[TESS_FBCSR_HEAD_COLUMNS] * 4;
    double sums[WARP] = {0};
    if (c->lines && !segment)
        values += (add_lines(a, c, head, values, sums) + WARP - 1) / WARP * WARP;
    for (int k = 0; k < TESS_FBCSR_CLASSES && c->width[k] > 0; k++) {
        const int share = tess_fbcsr_share(c->width[k], lanes);
        for (int row = 0; row < WARP / lanes; row++) {
            unsigned runs = (unsigned)a->lengths[place + row] << k * c->bits >> (32 - c->bits);
            for (unsigned i = 0; i < runs; i++)
                sums[row] += run_sum(a, c, c->width[k], lanes, row, i, values, columns);
        }
        values += (int64_t)head[TESS_FBCSR_HEAD_STEPS + k] * (c->width[k] / share * WARP);
        columns += (int64_t)head[TESS_FBCSR_HEAD_STEPS + k] * (WARP / share);
    }
    for (int row = 0; row < WARP / lanes; row++) {
        int64_t at = place - before + row;
        if (segment) {
            fake_put(a->slots, c->real, place + row, sums[row]);
            continue;
        }
        at = a->targets ? a->targets[at] : at;
        if (at < a->rows)
            fake_put(a->y, c->real, at,
                     a->alpha * sums[row] +
                         (a->beta != 0 ? a->beta * fake_get(a->y, c->real, at) : 0));
    }
}

int fake_run_fbcsr(const struct fake_module *module, const char *entry, void **arguments)
{
    static const char *const widths[] = {"WIDTH0", "WIDTH1", "WIDTH2", "WIDTH3"};
    code c = {.real = fake_define(module, "REAL"),
              .lanes = fake_define(module, "LANES"),
              .lines = fake_define(module, "LINES"),
              .bits = fake_define(module, "BITS")};
    const fbcsr_args *a = arguments[0];
    if (strcmp(entry, "fbcsr") != 0)
        return 0;
    for (int k = 0; k < TESS_FBCSR_CLASSES; k++)
        c.width[k] = fake_define(module, widths[k]);
    for (int64_t slice = 0; slice < a->slices; slice++)
        run_slice(a, &c, slice);
    return 1;
}

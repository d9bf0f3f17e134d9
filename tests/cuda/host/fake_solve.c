/* The entry points of pass.cu, finish.cu and loop.cu in plain C, all rows at a time. The lines of a
 * pass are read from the module's defines; scalars and stops are the device's own code. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

/* steps.cuh for one thread. */
#define TESS_EMULATE
#define DEVICE __attribute__((unused)) static
#define UNROLL
#define NO_UNROLL
#define __syncthreads() ((void)0)
#define __shfl_down_sync(mask, value, by, width) (0 * (value))
static const struct {
    unsigned x;
} threadIdx, blockIdx;
#include "cuda/solve/steps.cuh"

typedef struct pass_args {
    finish_args f;
    void *vector[10];
    double factor[12];
    long long slot[12];
    long long dot_slot[8];
    const void *diagonal;
    long long count;
    double *parts;
    unsigned *ticket;
} pass_args;

typedef struct finish_kernel_args {
    finish_args f;
    const double *parts;
    long long count, dot_slot;
} finish_kernel_args;

/* One line: its macro's name and numbers. */
typedef struct line {
    char name[16];
    int number[16], numbers;
} line;

static const char *read_line(const char *text, line *out)
{
    size_t name = strcspn(text, "(");
    memset(out, 0, sizeof *out);
    memcpy(out->name, text, name);
    text += name + 1;
    while (*text != ')') {
        char *end;
        out->number[out->numbers++] = (int)strtol(text, &end, 10);
        text = *end == ',' ? end + 1 : end;
    }
    return text + 1;
}

static void combine(const pass_args *a, const line *l, int real)
{
    for (int64_t i = 0; i < a->count; i++) {
        double sum = 0;
        for (int t = 1; t < l->numbers; t += 2) {
            const int c = l->number[t];
            const double factor =
                a->slot[c] < 0 ? a->factor[c] : a->factor[c] * a->f.slots[a->slot[c]];
            sum += factor * fake_get(a->vector[l->number[t + 1]], real, i);
        }
        fake_put(a->vector[l->number[0]], real, i, sum);
    }
}

static void diagonal(const pass_args *a, const line *l, int real, int held, int b, bool transpose)
{
    const void *x = a->vector[l->number[1]];
    void *out = a->vector[l->number[0]];
    for (int64_t i = 0; i < a->count; i++) {
        const int64_t first = i / b * b, row = i - first;
        double sum = 0;
        for (int64_t j = 0; j < b && first + j < a->count; j++)
            sum +=
                fake_get(a->diagonal, held, first * b + (transpose ? row * b + j : j * b + row)) *
                fake_get(x, real, first + j);
        fake_put(out, real, i, sum);
    }
}

static double dot(const pass_args *a, const line *l, int real)
{
    double sum = 0;
    for (int64_t i = 0; i < a->count; i++)
        sum +=
            fake_get(a->vector[l->number[1]], real, i) * fake_get(a->vector[l->number[2]], real, i);
    return sum;
}

static void scalars(const finish_args *f)
{
    finish_desk desk;
    load_desk(f, &desk, 1);
    for (int i = 1; i < 8; i++) /* the other threads' part */
        desk.control[i] = f->control[i];
    run_programme(f, &desk, 1);
    for (int i = 1; i < 8 && f->programme[2]; i++)
        f->control[i] = desk.control[i];
}

static void run_pass(const struct fake_module *module, const pass_args *a)
{
    const int real = fake_define(module, "REAL"), dots = fake_define(module, "DOTS");
    double sums[8];
    line l;
    if (halted(&a->f))
        return;
    const char *text = fake_define_text(module, "LINES");
    while (*text && *text != ' ') {
        text = read_line(text, &l);
        if (strncmp(l.name, "SUM", 3) == 0)
            combine(a, &l, real);
        else if (strcmp(l.name, "DOT") == 0)
            sums[l.number[0]] = dot(a, &l, real);
        else
            diagonal(a, &l, real, fake_define(module, "HELD"), fake_define(module, "BLOCK"),
                     strcmp(l.name, "DIAGONAL_T") == 0);
    }
    /* Coefficients are those from before the pass: sums go to their slots at the end. */
    for (int k = 0; k < dots; k++)
        a->f.slots[a->dot_slot[k]] = sums[k];
    if (dots > 0)
        scalars(&a->f);
}

static void run_finish(const finish_kernel_args *a)
{
    if (halted(&a->f))
        return;
    if (a->count > 0) {
        double sum = 0;
        for (long long i = 0; i < a->count; i++)
            sum += a->parts[i];
        a->f.slots[a->dot_slot] = sum;
    }
    scalars(&a->f);
}

/* ---- loop.cu ---- */

typedef struct loop_args {
    finish_args f;
    void *vector[10];
    double factor[12];
    long long slot[12];
    long long dot_slot[8];
    const void *diagonal;
    long long rows, span;
    const int64_t *offsets;
    const int *columns;
    const void *values;
    const int *first, *sources, *source_first;
    const uint16_t *places;
} loop_args;

/* ---- between.cu: begins as loop.cu's do, up to the rows ---- */

typedef struct between_args {
    finish_args f;
    void *vector[10];
    double factor[12];
    long long slot[12];
    long long dot_slot[8];
    const void *diagonal;
    long long rows;
    const double *product_parts;
    long long product_count;
} between_args;

static void multiply(const loop_args *a, const void *x, void *y, int real, int b, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int64_t k = a->offsets[i / b]; k < a->offsets[i / b + 1]; k++)
            for (int j = 0; j < b; j++)
                sum += fake_get(a->values, real, (k * b + j) * b + i % b) *
                       fake_get(x, real, (int64_t)a->columns[k] * b + j);
        fake_put(y, real, i, sum);
    }
}

/* One stage, lines of passes included; the pass part of the arguments is the same. */
static void run_stage(const struct fake_module *module, const loop_args *a, const line *l,
                      double *sums)
{
    const int real = fake_define(module, "REAL");
    pass_args pass = {.f = a->f, .diagonal = a->diagonal, .count = a->rows};
    memcpy(pass.vector, a->vector, sizeof pass.vector);
    memcpy(pass.factor, a->factor, sizeof pass.factor);
    memcpy(pass.slot, a->slot, sizeof pass.slot);
    if (strncmp(l->name, "PRODUCT", 7) == 0) {
        multiply(a, a->vector[l->number[0]], a->vector[l->number[1]], real,
                 fake_define(module, "BH"), a->rows);
        line by = {.number = {0, l->number[2], l->number[1]}};
        if (l->numbers == 4)
            sums[l->number[3]] = dot(&pass, &by, real);
    } else if (strncmp(l->name, "SUM", 3) == 0) {
        combine(&pass, l, real);
    } else if (strcmp(l->name, "DOT") == 0) {
        sums[l->number[0]] = dot(&pass, l, real);
    } else if (strncmp(l->name, "DIAGONAL", 8) == 0) {
        diagonal(&pass, l, real, fake_define(module, "HELD"), fake_define(module, "BLOCK"),
                 strcmp(l->name, "DIAGONAL_T") == 0);
    } else if (strcmp(l->name, "TOTAL") == 0) {
        for (int k = 0; k < 8; k++)
            if (l->number[0] >> k & 1)
                a->f.slots[a->dot_slot[k]] = sums[k];
    } else if (strcmp(l->name, "SCALARS") == 0) {
        finish_args f = a->f;
        f.programme += l->number[0];
        f.ints = 3 + 4 * f.programme[0] + 3 * f.programme[1];
        scalars(&f);
    }
}

static void run_loop(const struct fake_module *module, const loop_args *a)
{
    double sums[8] = {0};
    while (a->f.control[STOPPED] == 0) {
        const char *text = fake_define_text(module, "STAGES");
        while (*text && *text != ' ') {
            line l;
            text = read_line(text, &l);
            run_stage(module, a, &l, sums);
        }
    }
}

/* Programmes are read from the text: a launch has no others. */
static void run_between(const struct fake_module *module, const between_args *a)
{
    const char *text = fake_define_text(module, "STAGES");
    double sums[8] = {0}, control[8];
    bool ended = false;
    loop_args same = {0};
    if (halted(&a->f))
        return;
    memcpy(&same, a, offsetof(loop_args, span));
    memcpy(control, a->f.control, sizeof control);
    while (*text && *text != ' ') {
        line l;
        text = read_line(text, &l);
        if (strcmp(l.name, "PARTS") == 0) {
            double sum = 0;
            for (long long i = 0; i < a->product_count; i++)
                sum += a->product_parts[i];
            a->f.slots[l.number[0]] = sum;
        } else if (strcmp(l.name, "OP") == 0) {
            a->f.slots[l.number[1]] =
                scalar_op(l.number[0], a->f.slots[l.number[2]], a->f.slots[l.number[3]]);
        } else if (strcmp(l.name, "ENDS") == 0) {
            judge(l.number + 1, l.number[0], a->f.slots, control);
            ended = true;
        } else if (strcmp(l.name, "SCALARS") != 0) {
            run_stage(module, &same, &l, sums);
        }
    }
    if (!ended)
        return;
    const long long entry = (long long)control[COUNT] - 1;
    memcpy(a->f.control, control, sizeof control);
    memcpy(a->f.ring + entry * a->f.slot_count, a->f.slots,
           (size_t)a->f.slot_count * sizeof(double));
}

int fake_run_solve(const struct fake_module *module, const char *entry, void **arguments)
{
    if (strcmp(entry, "pass") == 0)
        run_pass(module, arguments[0]);
    else if (strcmp(entry, "finish") == 0)
        run_finish(arguments[0]);
    else if (strcmp(entry, "loop") == 0)
        run_loop(module, arguments[0]);
    else if (strcmp(entry, "between") == 0)
        run_between(module, arguments[0]);
    else
        return 0;
    return 1;
}

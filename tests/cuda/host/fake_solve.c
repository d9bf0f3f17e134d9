/* The entry points of pass.cu and finish.cu in plain C, all rows at a time. The lines of a pass are
 * read from the module's defines; scalars and stops are the device's own code. */
#include <math.h>
#include <stdbool.h>
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
#include "cuda/kernels/steps.cuh"

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
    double copy[FINISH_SLOTS];
    run_programme(f, copy, 1);
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

int fake_run_solve(const struct fake_module *module, const char *entry, void **arguments)
{
    if (strcmp(entry, "pass") == 0)
        run_pass(module, arguments[0]);
    else if (strcmp(entry, "finish") == 0)
        run_finish(arguments[0]);
    else
        return 0;
    return 1;
}

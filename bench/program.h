/* What the benchmark programs share: errors end a program, and a system is opened and closed. */
#ifndef TESSERA_BENCH_PROGRAM_H
#define TESSERA_BENCH_PROGRAM_H

#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

/* Ends the program with the context's sentence unless the status is TESS_OK. */
static inline void check(tess_ctx *ctx, tess_status status)
{
    if (status == TESS_OK)
        return;
    fprintf(stderr, "%s\n", ctx ? tess_ctx_error(ctx) : tess_status_text(status));
    exit(1);
}

/* A generated A x = b, a device, and A's plan once the program has made it. */
typedef struct bench_system {
    tess_ctx *ctx;
    tess_matrix *A;
    void *b; /* of A's type */
    tess_device *device;
    tess_plan *plan;
} bench_system;

static inline bench_system open_system(const char *generator, const char *device)
{
    bench_system s = {0};
    check(NULL, tess_ctx_create(NULL, &s.ctx));
    check(s.ctx, tess_matrix_generate(s.ctx, generator, &s.A, &s.b));
    check(s.ctx, tess_device_open(s.ctx, device, &s.device));
    return s;
}

static inline void close_system(bench_system *s)
{
    tess_release(s->ctx, s->b);
    tess_plan_destroy(s->plan);
    tess_device_close(s->device);
    tess_matrix_destroy(s->A);
    tess_ctx_destroy(s->ctx);
}

#endif

/* The kernels of a pass: pass.cu for its updates. Plain C, no device is needed. */
#pragma once

#include "cuda/kernels/table.h"
#include "solve/space/space.h"

enum {
    TESS_PASS_VECTORS = 10,
    TESS_PASS_COEFS = 12,
    TESS_PASS_DOTS = 8,
    TESS_PASS_TEXT = 640, /* bytes of a defines text */
    TESS_PASS_THREADS = 256,
    TESS_PASS_BLOCK = 64 /* largest diagonal block that a thread block shares */
};

/* One launch of pass.cu: updates of a pass, with vectors, coefficients and dot products numbered
 * from 0. */
typedef struct tess_pass_kernel {
    int vectors, coefs;
    int dots;      /* sums: one per dot product, of complex vectors one or two real ones */
    int imaginary; /* from a slot's real part to its imaginary part; 0: vectors are real */
    int repeat;    /* rows per thread at a time */
    int vector[TESS_PASS_VECTORS];
    tess_term coef[TESS_PASS_COEFS]; /* factor and slot */
    int dot_slot[2 * TESS_PASS_DOTS];
    unsigned loads, stores;
    tess_diagonal diagonal; /* of its DIAGONAL updates; block 0: there are none */
    bool direct;
    char updates[420];
} tess_pass_kernel;

/* Puts updates of the pass into one kernel, from `first` on and as many as fit. Returns how many.
 * `imaginary`: the kernel's. */
int64_t tess_pass_take(const tess_steps *steps, const tess_step *pass, int64_t first, int imaginary,
                       tess_pass_kernel *kernel);
/* Chooses `repeat` for vectors of `rows` rows and a grid of at most `blocks` thread blocks. */
void tess_pass_fit(tess_pass_kernel *kernel, int64_t rows, int blocks);
/* The most sums of a kernel: a dot product of complex vectors has up to two. */
static inline int tess_pass_most_sums(const tess_pass_kernel *kernel)
{
    return kernel->imaginary > 0 ? 2 * TESS_PASS_DOTS : TESS_PASS_DOTS;
}
/* HELD of a pass's diagonal: bytes of its reals. */
int tess_pass_held(const tess_diagonal *diagonal);
/* The defines of pass.cu. */
void tess_pass_defines(const tess_pass_kernel *kernel, tess_type type, char *text, size_t size);

/* The first arguments of every kernel of a solver: finish_args of steps.cuh. */
typedef struct tess_finish_call {
    uint64_t slots, control, ring; /* of the system */
    int64_t slot_count;            /* doubles of all slots */
    int64_t guard;
    uint64_t programme;
    int64_t ints; /* of the programme */
} tess_finish_call;
void tess_finish_arguments(const tess_finish_call *call, tess_cuda_launch *run);

/* The arguments that follow in kernels on rows of vectors (pass.cu, between.cu, loop.cu). */
typedef struct tess_rows_call {
    tess_finish_call finish;
    uint64_t vector[TESS_PASS_VECTORS];
    uint64_t diagonal;
    int64_t rows;
} tess_rows_call;
void tess_rows_arguments(const tess_pass_kernel *kernel, const tess_rows_call *call,
                         tess_cuda_launch *run);

/* The launch of a pass. What does not follow from the kernel is in `call`. */
typedef struct tess_pass_call {
    tess_rows_call common;
    uint64_t partial, ticket;
    uint64_t mail; /* of one part: where its sums go; 0: to their slots */
    int blocks;    /* thread blocks at most */
} tess_pass_call;
void tess_pass_launch(const tess_pass_kernel *kernel, const tess_pass_call *call,
                      tess_cuda_launch *out);

/* Appends an update; false when there is no room for it, and the kernel stays as it was. */
bool tess_pass_add(tess_pass_kernel *kernel, const tess_update *update);
/* The kernel's number of a vector of the space; -1 when there is no room. */
int tess_pass_place(tess_pass_kernel *kernel, int vector);

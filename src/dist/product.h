/* A plan of one part: the plans of its two matrices, and the buffers that messages go through. */
#pragma once

#include "backend/backend.h"
#include "dist/part.h"

/* Buffers and channels for k vectors. Row i of vector v is element i * k + v: a part's piece is
 * contiguous for any k. */
typedef struct tess_halo {
    int k;           /* 0: not open */
    void *sent;      /* rows that go out */
    void *halo;      /* rows that come in */
    void *boundary;  /* outside * halo, or the rows of x that outside^T takes */
    void *channel;   /* sent -> halo */
    void *backwards; /* halo -> sent: sums of the transpose */
} tess_halo;

typedef struct tess_form tess_form; /* form.h */

typedef struct tess_part_plan {
    tess_part *part;
    tess_device device;                 /* what the plan's own `device` points to */
    tess_backend backend;               /* its table: that of parts, with a space of its own */
    tess_plan *own, *outside;           /* outside: NULL where the part has no such blocks */
    tess_matrix *new_own, *new_outside; /* with the values of the last update; NULL: none */
    tess_halo one, many;                /* for one vector; for the last k > 1 */
    const tess_form *form;
    void *form_state;
    tess_part_times times;
} tess_part_plan;

tess_status tess_halo_open(tess_part *part, int k, tess_halo *halo);
void tess_halo_close(tess_part *part, tess_halo *halo);

/* Y = alpha A X + beta Y of k vectors, y of one for k = 1. */
tess_status tess_part_multiply(tess_part_plan *p, int k, tess_block_order order, double alpha,
                               const void *X, int64_t ldx, double beta, void *Y, int64_t ldy);
tess_status tess_part_multiply_transpose(tess_part_plan *p, double alpha, const void *x,
                                         double beta, void *y);

extern const tess_backend tess_part_backend;

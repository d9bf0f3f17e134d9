/* The plan of a part: the plans of its two matrices, and the buffers of its messages. */
#pragma once

#include "backend/backend.h"
#include "dist/part.h"

/* Buffers and channels for k vectors. Row i of vector v is element i * k + v, so that the rows of
 * one part are contiguous for any k. */
typedef struct tess_halo {
    int k;           /* 0: not open */
    void *sent;      /* rows of x for other parts */
    void *halo;      /* rows of x from other parts */
    void *boundary;  /* outside * halo; of a transpose: the rows of x that outside^T takes */
    void *channel;   /* sent -> halo */
    void *backwards; /* halo -> sent: sums of the transpose */
} tess_halo;

typedef struct tess_form tess_form; /* form.h */

typedef struct tess_part_plan {
    tess_part *part;
    tess_device device;       /* to which `device` of the tess_plan points */
    tess_backend backend;     /* of that device: `part`, with a GPU's space where it has one */
    tess_plan *own, *outside; /* outside: NULL where the part has no such blocks */
    tess_matrix *new_own, *new_outside; /* with the values of the last update; NULL: none */
    tess_halo one, many;                /* for one vector; for the last k > 1 */
    bool transposed;   /* all parts have what transposed products of the present values need */
    void *exchange[2]; /* of a device that multiplies parts itself, for one vector and for several;
                          NULL: not yet */
    const tess_form *form;
    void *form_state;
    tess_part_times times;
} tess_part_plan;

/* Whether the part's device exchanges with the others' itself, as all of theirs do. */
static inline bool tess_part_on_device(const tess_part_plan *p)
{
    return p->backend.space != NULL;
}

/* Gives the plan, unless it is NULL, the values of `fresh`, which takes the place of *kept; on
 * failure `fresh` is destroyed. */
tess_status tess_part_renew(tess_plan *plan, tess_matrix *fresh, tess_matrix **kept);

/* Opens the channels by which k vectors' rows travel between these buffers, and back: `sent` has
 * the rows that go to others, `received` the halo. Collective. */
tess_status tess_halo_channels(const tess_part *part, int k, void *sent, void *received,
                               void **channel, void **backwards);
tess_status tess_halo_open(tess_part *part, int k, tess_halo *halo);
void tess_halo_close(tess_part *part, tess_halo *halo);

/* Multiplies by products of the part's two matrices, and messages. `status` is that of what came
 * before: after a failure the part only keeps the others from waiting, and returns it. */
tess_status tess_part_multiply(tess_part_plan *p, const tess_part_product *product,
                               tess_status status);

extern const tess_backend tess_part_backend;

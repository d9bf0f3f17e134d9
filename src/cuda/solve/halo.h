/* A part of a matrix on a GPU whose other parts are on GPUs of the same process.
 *
 *     part 0   pack ─ ready ─ own product ──────────── outside product, added
 *     part 1   pack ─ ready ─ own product ─ ...     /
 *     copies            └── wait for all ready ─ copy the halo ┘      on a stream of their own
 *
 * Each part has a thread that puts its work into its streams. Events on the devices order accesses
 * to another part's memory. The threads meet once an exchange, so that an event is recorded before
 * another part's stream is told to wait for it. The host waits for no device.
 *
 * Buffers that others read come in pairs, used in turn. A part writes one again two exchanges
 * later; it has then waited for an event that every other part recorded after its last read.
 */
#pragma once

#include "cuda/plan/plan.h"
#include "cuda/solve/pass.h"
#include "dist/product.h"

/* What other parts may use of a part. */
typedef struct tess_cuda_link {
    tess_cuda *cuda;
    const tess_part *part;
    cu_pointer out[2];  /* rows that go to others */
    cu_pointer mail[2]; /* sums: TESS_PASS_DOTS numbers */
    cu_event ready[2];  /* `out` is complete */
    cu_event posted[2]; /* `mail` is complete */
} tess_cuda_link;

typedef struct tess_cuda_halo {
    tess_part_plan *plan;
    tess_cuda_link mine;
    const tess_cuda_link **all;          /* of all parts, this one included */
    char *met;                           /* a byte a part, which threads exchange to meet */
    int turn, sum_turn;                  /* which of two buffers is next: of rows, of sums */
    cu_pointer in, boundary;             /* rows from other parts; outside's rows of a product */
    cu_pointer sent_list, boundary_list; /* block rows */
    cu_pointer mails;                    /* sums of parts on other devices, copied */
    cu_pointer mail_table[2];            /* where each part's sums are, for each turn */
    cu_pointer no_programme;             /* an empty programme: 3 zeros */
    cu_stream copies;
    cu_event arrived;
} tess_cuda_halo;

/* Makes the buffers of a part and learns those of the others. Collective, also where it fails on
 * this part. Inside enter/leave. */
tess_status tess_cuda_halo_open(tess_plan *plan, cu_stream stream, tess_cuda_halo **out);
void tess_cuda_halo_close(tess_cuda_halo *halo); /* NULL is fine */

/* The part's rows of y = A x or A^T x, with A the whole matrix. */
tess_status tess_cuda_halo_multiply(tess_cuda_halo *halo, bool transpose, cu_pointer x,
                                    cu_pointer y);
/* Slots dot_slot[0..dots-1] become the sums over all parts, then the programme of `call` runs. */
tess_status tess_cuda_halo_sum(tess_cuda_halo *halo, const tess_finish_call *call, int dots,
                               const int *dot_slot);

/* Values on which all parts must agree: whether the flag is set on any of them, and the mean of
 * their numbers. halo NULL: there is one part, and the value stays. */
tess_status tess_cuda_halo_any(tess_cuda_halo *halo, bool *flag);
tess_status tess_cuda_halo_mean(tess_cuda_halo *halo, double *value);

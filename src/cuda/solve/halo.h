/* A part of a matrix on a GPU whose other parts are on GPUs of the same process.
 *
 *     part 0   pack ─ ready ─ own product ──────────── outside product, added
 *     part 1   pack ─ ready ─ own product ─ ...     /
 *     copies            └── wait for all ready ─ copy the halo ┘      on a stream of their own
 *
 * Each part has a thread that puts its work into its streams. What a part may use of another is
 * ordered by events on the devices. The threads meet once an exchange, so that an event is recorded
 * before another part's stream is told to wait for it. The host waits for no device.
 *
 * Buffers that others read come in pairs, used in turn. A part writes one again two exchanges
 * later; it has then waited for an event that every other part recorded after its last read.
 */
#pragma once

#include "cuda/plan/plan.h"
#include "cuda/solve/pass.h"
#include "dist/product.h"

/* What the other parts may use of one. */
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
    const tess_cuda_link **all; /* of all parts, this one included */
    char *met;                  /* a byte a part: what threads that meet exchange */
    int turn, sum_turn;
    cu_pointer in, boundary;             /* rows that came; rows with blocks outside */
    cu_pointer sent_list, boundary_list; /* block rows */
    cu_pointer mails;                    /* sums of parts on other devices, copied */
    cu_pointer mail_table[2];            /* where each part's sums are, for each turn */
    cu_pointer no_programme;             /* 3 zeros */
    cu_stream copies;
    cu_event arrived;
} tess_cuda_halo;

/* NULL in *out: the plan is no part of this process. Collective, whatever fails here. Inside
 * enter/leave. */
tess_status tess_cuda_halo_open(tess_plan *plan, cu_stream stream, tess_cuda_halo **out);
void tess_cuda_halo_close(tess_cuda_halo *halo); /* NULL is fine */

/* y = A x or A^T x of the whole matrix: the part's rows. */
tess_status tess_cuda_halo_multiply(tess_cuda_halo *halo, bool transpose, cu_pointer x,
                                    cu_pointer y);
/* Slots dot_slot[0..dots-1] become the sums over all parts, then the programme of `call` runs. */
tess_status tess_cuda_halo_sum(tess_cuda_halo *halo, const tess_finish_call *call, int dots,
                               const int *dot_slot);

/* What all parts must decide alike: whether any of them says so, and the mean of their numbers. A
 * halo of NULL is one part's. */
tess_status tess_cuda_halo_any(tess_cuda_halo *halo, bool *flag);
tess_status tess_cuda_halo_mean(tess_cuda_halo *halo, double *value);

/* A part of a matrix on a GPU. The others are on GPUs of the same process, or of other processes.
 *
 *     part 0   ready ─ own product ───────────────────────── outside rows added, w . y ─ posted
 *     copies      └── wait for all ready ─ take the halo ─ outside product ┘
 *
 * The second stream has a higher priority: its few thread blocks do not queue behind those of the
 * own product. A part takes rows by a kernel straight from another part's vector, where its device
 * reaches that part's memory. Otherwise the other part packs the rows into pinned memory of the
 * host.
 *
 * Each part has a thread that puts its work into its streams. Events on the devices order what a
 * part uses of another. The threads meet twice per exchange and once per sum, so that an event is
 * recorded before another part's stream is told to wait for it. The host waits for no device. A
 * graph of iterations is captured in all parts' streams together: part 0 launches it, and the
 * threads meet once per launch.
 *
 * After an exchange a part goes on when all others have taken what they need of it. After a sum it
 * goes on at once, because its sums have two buffers, used in turn: a part writes a buffer again
 * two sums later, and has then waited for an event that every other part recorded after its last
 * read.
 *
 * Parts of other processes (halo_ranks.c) exchange by the messages of a tess_comm:
 *
 *     stream   own product ───────────────────────────────────────── outside rows added, w . y
 *     copies   pack the rows ─┐                  ┌─ rows to `in` ─ outside product ┘
 *     host                    └ wait ─ messages ─┘
 *
 * The host waits for the packing, and at a sum for the stream. Messages are in device memory where
 * the transport takes that, otherwise in pinned memory of the host.
 *
 * A plan of another form (dist/form.h) exchanges as form.h says. Its transposes and its sums are
 * those of this file.
 */
#pragma once

#include "cuda/plan/plan.h"
#include "cuda/solve/units/pass.h"
#include "dist/product.h"

/* Strides in scalars: from a row to the next, and from a vector to the next. */
typedef struct tess_rows_steps {
    int64_t row, vector;
} tess_rows_steps;

struct tess_cuda_form; /* form.h */

/* What the other parts may use of a part. */
typedef struct tess_cuda_link {
    tess_cuda *cuda;
    const tess_part *part;
    const struct tess_cuda_form *form;
    const bool *reaches;   /* per part: whether this part's device reads its memory */
    cu_pointer rows;       /* what others take: x of the product under way; of a transpose, sums */
    tess_rows_steps steps; /* of `rows` */
    cu_pointer stage;      /* `rows` packed, in pinned memory; 0: all others reach this part */
    cu_pointer mail[2];    /* sums: TESS_PASS_DOTS numbers, used in turn */
    cu_event ready;        /* `rows` of a product are complete */
    cu_event packed;       /* `stage` is complete, and `rows` of a transpose */
    cu_event taken;        /* this part has what it needs of others */
    cu_event posted[2];    /* `mail` is complete */
    cu_event together;     /* this part has come to where part 0 launches a graph, or ends one */
    cu_event forked, launched; /* part 0's: a capture has begun; a graph is in its stream */
} tess_cuda_link;

/* What a part exchanges with parts of other processes. The rows that go out are in `stage` of its
 * link. */
typedef struct tess_cuda_ranks {
    void *pinned;              /* rows that come in; NULL: they come to `in` itself */
    void *pinned_stage;        /* the link's `stage`; NULL: `stage` is device memory */
    void *channel, *backwards; /* from `stage` to the rows that come in, and back */
    tess_status failed;        /* a failure of the device since the parts last agreed */
    tess_kept_error error;     /* its sentence */
    bool agreed;               /* all parts have heard of a failure, and end what they do */
} tess_cuda_ranks;

enum { TESS_HALO_THREADS = 256 }; /* of a thread block of halo.cu and shuffle.cu */

typedef struct tess_cuda_halo {
    tess_part_plan *plan;
    tess_cuda_link mine;
    tess_cuda_ranks *ranks;      /* NULL: all parts are of this process */
    struct tess_cuda_form *form; /* NULL: the plan's form is the default */
    const tess_cuda_link **all;  /* of all parts, this one included */
    bool *reaches;
    char *met;   /* a byte per part: what threads that meet exchange */
    int vectors; /* that buffers have room for */
    int sum_turn;
    bool must_join;  /* streams have work that part 0's next graph must wait for */
    void *pinned[3]; /* mail (0, 1) and stage (2) where they are pinned */
    cu_pointer in, out,
        boundary; /* rows that came; sums of a transpose; rows with blocks outside */
    cu_pointer taken_list, sent_list, boundary_list; /* block rows: the others', this part's */
    cu_pointer mail_table[2];                        /* where each part's sums are, for each turn */
    cu_pointer dot, dot_sums, ticket;                /* w . y */
    cu_stream copies;
    cu_event arrived;
} tess_cuda_halo;

/* The plan of the part's own blocks, and its stream. */
static inline tess_cuda_plan *tess_cuda_halo_own(const tess_cuda_halo *halo)
{
    return tess_cuda_plan_of(halo->plan->own);
}

static inline cu_stream tess_cuda_halo_stream(const tess_cuda_halo *halo)
{
    return tess_cuda_halo_own(halo)->stream;
}

/* Bytes of `rows` scalar rows of vectors. */
static inline size_t tess_cuda_halo_bytes(const tess_cuda_halo *halo, int64_t rows, int vectors)
{
    return (size_t)rows * (size_t)vectors * tess_type_size(halo->plan->part->type);
}

/* Opens the exchange of products with up to `vectors` vectors. Collective, also where this part
 * fails. Inside enter/leave. */
tess_status tess_cuda_halo_open(tess_part_plan *plan, int vectors, tess_cuda_halo **out);
void tess_cuda_halo_close(tess_cuda_halo *halo); /* NULL is fine */

/* y = alpha A x + beta y of the whole matrix, or its transpose: the part's rows. */
typedef struct tess_cuda_halo_call {
    bool transpose;
    int vectors; /* 1 for the transpose */
    tess_block_order order;
    double alpha, beta;
    cu_pointer x, y;
    int64_t ldx, ldy;
    cu_pointer w; /* 0: no dot product; else the part's w . y goes to its mail; w is not y */
} tess_cuda_halo_call;
tess_status tess_cuda_halo_multiply(tess_cuda_halo *halo, const tess_cuda_halo_call *call);
/* Stands for a product with parts of other processes that this part cannot do, because it has
 * failed. Its messages travel, since other parts wait for them. Returns the failure, `status`. */
tess_status tess_cuda_halo_skip(tess_cuda_halo *halo, bool transpose, tess_status status);

/* Where this part's next sums go. */
cu_pointer tess_cuda_halo_mail(const tess_cuda_halo *halo);
/* Once the parts' sums are in their mail: slots dot_slot[0..dots-1] become the sums over all parts,
 * then the programme of `call` runs. */
tess_status tess_cuda_halo_sum(tess_cuda_halo *halo, const tess_finish_call *call, int dots,
                               const int *dot_slot);

/* ---- halo_ranks.c: parts of other processes; a halo of NULL, or without ranks, has none ---- */

/* Makes the buffers of the messages and of the sums. */
tess_status tess_cuda_ranks_make(tess_cuda_halo *halo);
/* Opens the channels between the parts. Collective. */
tess_status tess_cuda_ranks_open(tess_cuda_halo *halo);
void tess_cuda_ranks_close(tess_cuda_halo *halo);
/* Exchanges the channel's messages once the stream's work is done. `what` is for a failure's
 * sentence. Where `status` is a failure, the messages travel all the same, and it is returned. */
tess_status tess_cuda_ranks_travel(tess_cuda_halo *halo, void *channel, cu_stream stream,
                                   const char *what, tess_status status);
/* Exchanges rows, or sums of the transpose, with the other parts. `status` is that of what was put
 * into the streams before. After a failure the messages travel too, since other parts wait for
 * them. */
tess_status tess_cuda_ranks_exchange(tess_cuda_halo *halo, bool backwards, tess_status status);
/* Waits for the stream, and replaces the part's `dots` sums in its mail by the sums over all parts.
 * Fails on all parts where one has failed. `status` is that of what was done before. */
tess_status tess_cuda_ranks_sum(tess_cuda_halo *halo, int dots, tess_status status);
/* Keeps a failure of the device until all parts hear of it, at the next sum or agreement: the part
 * goes on with its messages. Returns TESS_OK for a failure that was kept. */
tess_status tess_cuda_ranks_keep(tess_cuda_halo *halo, tess_status status);
/* All parts return the same: TESS_OK, or the first part's failure, kept or `status`. */
tess_status tess_cuda_ranks_agree(tess_cuda_halo *halo, tess_status status);

/* ---- halo_graph.c: all parts call these ---- */

/* fork: the other parts' streams wait for what is in part 0's stream. join: part 0's stream waits
 * for what is in theirs. While part 0's stream is captured, the others join the capture by the
 * fork, and leave it by the join. */
tess_status tess_cuda_halo_fork(const tess_cuda_halo *halo);
tess_status tess_cuda_halo_join(const tess_cuda_halo *halo);
/* Launches part 0's graph, before and after which all streams wait for each other. */
tess_status tess_cuda_halo_launch(tess_cuda_halo *halo, cu_graph_exec exec);
bool tess_cuda_halo_leads(const tess_cuda_halo *halo); /* is part 0; NULL: the only part */

/* ---- halo_open.c ---- */

/* Allocates an array in device memory, also where it has no elements. */
tess_status tess_cuda_halo_alloc(const tess_cuda_halo *halo, int64_t count, size_t size,
                                 cu_pointer *out);
tess_status tess_cuda_halo_upload(const tess_cuda_halo *halo, const void *from, int64_t count,
                                  size_t size, cu_pointer *out);
/* Allocates device memory where all devices that read it reach it (`reached`), otherwise pinned
 * memory of the host, which every device reads. */
tess_status tess_cuda_halo_shared(tess_cuda_halo *halo, bool reached, size_t bytes, void **pinned,
                                  cu_pointer *out);

/* ---- halo.c ---- */

/* Returns once the threads of all parts have come here. */
tess_status tess_cuda_halo_meet(const tess_cuda_halo *halo);
/* Returns the failure of the first part that has one, where the parts are threads; otherwise, and
 * where `halo` is NULL, `status`. tess_cuda_halo_close waits for all parts, so that they must agree
 * on a failure before one of them closes. */
tess_status tess_cuda_halo_agree(const tess_cuda_halo *halo, tess_status status);
tess_status tess_cuda_halo_record(const tess_cuda_halo *halo, cu_event event, cu_stream stream);
/* A stream of this part waits for an event of any part. */
tess_status tess_cuda_halo_wait(const tess_cuda_halo *halo, cu_stream stream, cu_event event);

/* An entry of halo.cu or shuffle.cu for the part's type of scalars. */
tess_status tess_cuda_halo_kernel(const tess_cuda_halo *halo, const char *source, const char *entry,
                                  cu_function *function);

/* The strides of the caller's vectors with leading dimension `ld`. */
tess_rows_steps tess_cuda_halo_steps(const tess_cuda_halo_call *call, int64_t ld);

/* Values that all parts must have alike: whether *flag is true on any part, and the mean of *value
 * over the parts. A halo of NULL is that of one part. */
tess_status tess_cuda_halo_any(tess_cuda_halo *halo, bool *flag);
tess_status tess_cuda_halo_mean(tess_cuda_halo *halo, double *value);

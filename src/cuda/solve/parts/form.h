/* The product forms of the papers (dist/form.h) on GPUs. All of x goes to every part's device. With
 * `shuffle` all results then go to the device of part 0, which puts them in order (shuffle.cu).
 *
 *     whole     ready ─ own rows ┬ others' rows to x ─ taken ─ product ──┬─
 *                     others' ready                        others' taken
 *
 *     shuffle   ready ─ own rows ┬ others' rows to x ─ product ─ computed ──────┬ rows to y
 *     part 0          others' ready                        all results ─ in_order
 *                                                   others' computed
 *
 * All of a part's work is in its one stream: the papers compute nothing while x travels. A part
 * takes rows and results by a kernel straight from another part's memory, where its device reaches
 * that memory. Otherwise the other part leaves them in pinned memory of the host. The host waits
 * for no device. Its threads meet between the record of an event and the waits for it: after
 * `ready`, `taken`, `computed` and `in_order`. They have met once more before an event is recorded
 * again, so that no thread waits for a later record than it means.
 *
 * For each buffer of a part p: which events put reads after the write, and the next write after the
 * last read.
 *
 *     x of the caller   Readers wait for p's `ready`. Work in p's stream that may change x follows
 *                       all others' `taken`. In a shuffle it follows `in_order`: part 0 records
 *                       `in_order` after all `computed`, which come after the reads.
 *     stage             p's x in pinned memory. Readers wait for p's `packed`. The next product
 *                       writes it after p's next `ready`, which comes after the waits above.
 *     x, ordered        Written and read in p's stream alone.
 *     results           Part 0 waits for p's `computed`. p's next product comes after p's wait for
 *                       `in_order`, which part 0 records after its reads. Pinned results likewise.
 *                       Part 0's copies of other parts' results are used in its stream alone.
 *     y of part 0       Readers wait for `in_order`. Part 0's next write follows all others' next
 *                       `computed`, which they record after their reads. The pinned y likewise.
 *
 * Parts of other processes exchange the same by messages of a tess_comm. The host waits for the
 * stream before each message: once per product of `whole`, three times per product of `shuffle`.
 * Messages are in device memory where the transport takes that, otherwise in pinned memory. What a
 * message overwrites has been read, because the host has waited for the stream since.
 */
#pragma once

#include "cuda/solve/parts/halo.h"
#include "dist/shuffle.h"

/* Arrays are row-major with all vectors of a product: row i of vector v is element i * k + v. */
typedef struct tess_cuda_form {
    tess_plan *plan;               /* multiplies all of x */
    const tess_segments *segments; /* NULL: the plan's results are the part's own rows */
    cu_pointer x;                  /* all of x */
    cu_pointer results; /* shuffle: this part's results; on part 0 those of all, part after part.
                           whole: results of several vectors by columns */
    cu_pointer ordered; /* part 0, where rows are cut: results in the order of rows */
    cu_pointer y;       /* part 0: all rows, in whole blocks. Others: the rows that a message
                           brought; 0: no message brings rows */
    cu_pointer place, firsts;                   /* part 0: the segments' arrays */
    void *pinned_x, *pinned_results, *pinned_y; /* NULL: others reach the device's */
    void *spread, *collect, *back;              /* channels of messages */
    cu_event computed, in_order;                /* `results` are complete; part 0's `y` is */
} tess_cuda_form;

/* ---- form_open.c: for a halo whose plan has the default form they do nothing ---- */

/* Makes events and buffers. */
tess_status tess_cuda_form_make(tess_cuda_halo *halo);
/* Allocates pinned memory where parts do not reach each other's memory, which is known by now. */
tess_status tess_cuda_form_pin(tess_cuda_halo *halo);
/* Opens the channels to parts of other processes. Collective. */
tess_status tess_cuda_form_connect(tess_cuda_halo *halo);
void tess_cuda_form_close(tess_cuda_halo *halo);

/* ---- form.c ---- */

/* As tess_cuda_halo_multiply, without transposes. `status` is that of what came before. After a
 * failure nothing is computed, but the messages travel, since other parts wait for them. */
tess_status tess_cuda_form_multiply(tess_cuda_halo *halo, const tess_cuda_halo_call *call,
                                    tess_status status);

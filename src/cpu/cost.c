/* The bytes that a kernel moves and the bytes that its format keeps in memory, for the performance
 * model. */
#include "cpu/fields.h"
#include "cpu/formats.h"

/* Bytes of half storage whose kernel goes row by row. Rows in lanes store zeros besides. */
typedef struct half {
    double moved; /* by a product; 0: not known yet */
    double kept;  /* includes the places of the mirrors, for new values */
    double upper; /* values on and above the diagonal */
    double blocks;
    tess_cpu_lockstep lockstep;
} half;

/* What depends on a kernel's number of streams. It is counted once for each number. */
typedef struct by_streams {
    half halves[TESS_CPU_STREAMS + 1];
    tess_cpu_lockstep whole[TESS_CPU_STREAMS + 1]; /* of A stored whole */
    bool counted[TESS_CPU_STREAMS + 1];            /* whether `whole` is known */
} by_streams;

/* A product moves the blocks on and above the diagonal, the vectors, and the windows. A window is
 * moved four times: it is cleared, added to, read, and added to y. */
static tess_status half_bytes(const tess_matrix *A, int threads, int streams, half *h)
{
    double scalar = (double)tess_type_size(A->type);
    double block = 4 + scalar * A->block_height * A->block_width;
    int64_t *offsets;
    if (h->moved > 0)
        return TESS_OK;
    TESS_TRY(tess_symmetric_offsets(A->ctx, A, &offsets));
    tess_cpu_half_cut cut = tess_cpu_half_cut_of(A, offsets, threads, streams);
    double upper = (double)offsets[A->block_rows];
    double windows = scalar * A->block_height * (double)cut.window_rows;
    double mirrors = 4 * ((double)A->blocks - upper) + 8 * (double)A->block_rows;
    h->kept = block * upper + windows + mirrors;
    h->moved = tess_matrix_spmv_bytes(A) - block * ((double)A->blocks - upper) + 4 * windows;
    h->upper = (block - 4) * upper;
    h->blocks = upper;
    h->lockstep = cut.lockstep;
    tess_free(A->ctx, offsets);
    return TESS_OK;
}

static tess_status count_lockstep(const tess_device *device, const tess_matrix *A, int streams,
                                  by_streams *known)
{
    tess_cpu_work work;
    if (known->counted[streams] || streams == 1)
        return TESS_OK;
    TESS_TRY(tess_cpu_work_create(device->ctx, A, tess_cpu_shares(device, A), streams, &work));
    known->whole[streams] = tess_cpu_work_lockstep(&work, A->row_offsets);
    known->counted[streams] = true;
    tess_cpu_work_destroy(&work);
    return TESS_OK;
}

/* "bsr streams=2", "bsr any streams=1", "bsr streams=2 prefetch", "symmetric streams=1 lanes" */
static void name_class(const tess_cpu_kernel *kernel, tess_candidate *c)
{
    const char streams = (char)('0' + kernel->streams);
    if (kernel->block_height == 0)
        snprintf(c->class_name, sizeof c->class_name, "%.9s any streams=%c", c->format, streams);
    else
        snprintf(c->class_name, sizeof c->class_name, "%.9s streams=%c%s", c->format, streams,
                 kernel->prefetch    ? " prefetch"
                 : kernel->lanes > 0 ? " lanes"
                                     : "");
}

tess_status tess_cpu_costs(tess_device *device, const tess_matrix *A, tess_candidates *list)
{
    double whole = tess_matrix_spmv_bytes(A);
    by_streams known = {0};
    for (int64_t i = 0; i < list->count; i++) {
        tess_candidate *c = &list->items[i];
        const tess_cpu_kernel *kernel = tess_cpu_find(device, c->format, A, c->kernel);
        if (!kernel || kernel->family == TESS_CPU_FBCSR_SPMV) /* was priced when it was listed */
            continue;
        bool symmetric = kernel->family == TESS_CPU_SYMMETRIC_SPMV;
        half *h = &known.halves[kernel->streams];
        if (symmetric)
            TESS_TRY(half_bytes(A, device->threads, kernel->streams, h));
        else
            TESS_TRY(count_lockstep(device, A, kernel->streams, &known));
        name_class(kernel, c);
        c->by_fields = tess_cpu_fields_fit(A);
        c->unsteady = kernel->block_height == 0; /* rows end in scalars that fill no SIMD vector */
        if (symmetric)
            snprintf(c->irregular_as, sizeof c->irregular_as, "bsr%s",
                     c->class_name + strlen(c->format));
        snprintf(c->single_class, sizeof c->single_class, "%.9s%s streams=1", c->format,
                 kernel->block_height == 0 ? " any" : "");
        c->naive =
            !symmetric && kernel->block_height > 0 && kernel->streams == 1 && !kernel->prefetch;
        double zeros = kernel->lanes > 0
                           ? h->upper * (1 / tess_symmetric_lanes_fill(A, kernel->lanes) - 1)
                           : 0;
        c->bytes = symmetric ? h->moved + zeros : whole;
        c->memory = symmetric ? h->kept + zeros : 0; /* else A's own arrays are used */
        const tess_cpu_lockstep *lockstep =
            symmetric ? &h->lockstep : &known.whole[kernel->streams];
        c->alone = (double)lockstep->alone;
        c->left = (double)lockstep->left / (symmetric ? h->blocks : (double)A->blocks);
    }
    return TESS_OK;
}

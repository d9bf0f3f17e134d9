/* y = alpha A x + beta y by fields (fields.h) for a symmetric matrix stored by half.
 *
 * A kernel with rows in lanes reads and writes fields itself: its vectors hold the same scalar of
 * several rows anyway. For any other kernel the chunks of symmetric.c are done in pieces:
 *
 *     rows of a chunk   first ........ | piece | ........ last      reach
 *     x                 ...............................|  taken  |    brought together before
 *     y                 ......... given|given  |                      brought back to its fields
 * after
 *
 * A row of the chunk gets nothing from rows after it, as they have only columns on and right of the
 * diagonal: after its piece, y is complete but for the windows of other chunks. Those are added to
 * the caller's y at the end.
 */
#include "cpu/fields.h"
#include "cpu/symmetric.h"

typedef struct tess_cpu_half_fields {
    int64_t pieces; /* of each chunk */
    int64_t *reach; /* of each piece of each chunk: rows before it are needed so far */
    char **x;       /* of each job, from its first row on */
    void *x_memory; /* of all jobs */
    void *y;        /* whole block rows */
    size_t bytes;
} tess_cpu_half_fields;

static int64_t first_row(const tess_cpu_chunk *chunk, int64_t piece, int64_t pieces)
{
    return chunk->first + (chunk->last - chunk->first) * piece / pieces;
}

static void find_reach(const tess_cpu_half *half, tess_cpu_half_fields *f)
{
    const tess_matrix *U = half->upper;
    for (int64_t c = 0; c < half->chunk_count; c++) {
        const tess_cpu_chunk *chunk = &half->chunks[c];
        int64_t reach = chunk->first;
        for (int64_t k = 0; k < f->pieces; k++) {
            const int64_t stop = first_row(chunk, k + 1, f->pieces);
            for (int64_t i = first_row(chunk, k, f->pieces); i < stop; i++)
                if (U->row_offsets[i + 1] > U->row_offsets[i])
                    reach = tess_max(reach, (int64_t)U->columns[U->row_offsets[i + 1] - 1] + 1);
            f->reach[c * f->pieces + k] = reach = tess_max(reach, stop);
        }
    }
}

/* The rows of x that a job's chunks need: from the first chunk's first row to the farthest end. */
static int64_t job_rows(const tess_cpu_half *half, int64_t job)
{
    const tess_cpu_chunk *chunks = half->chunks + job * half->kernel->streams;
    int64_t end = chunks[0].end;
    for (int s = 1; s < half->kernel->streams; s++)
        end = tess_max(end, chunks[s].end);
    return end - chunks[0].first;
}

static tess_status make(tess_cpu_half *half, tess_cpu_half_fields *f)
{
    const tess_matrix *A = half->whole;
    const int64_t jobs = half->chunk_count / half->kernel->streams;
    const size_t row_bytes = (size_t)A->block_height * tess_type_size(A->type);
    int64_t rows = 0;
    for (int64_t j = 0; j < jobs; j++)
        rows += job_rows(half, j);
    f->pieces = tess_max(1, tess_cpu_half_bytes(half) / half->chunk_count * half->kernel->streams /
                                TESS_CPU_PIECE);
    f->bytes = (size_t)(rows + A->block_rows) * row_bytes;
    TESS_TRY(TESS_ALLOC(half->ctx, half->chunk_count * f->pieces, &f->reach));
    TESS_TRY(TESS_ALLOC(half->ctx, jobs, &f->x));
    TESS_TRY(tess_alloc_bytes(half->ctx, rows, row_bytes, &f->x_memory));
    TESS_TRY(tess_alloc_bytes(half->ctx, A->block_rows, row_bytes, &f->y));
    find_reach(half, f);
    char *next = f->x_memory;
    for (int64_t j = 0; j < jobs; j++) {
        f->x[j] = next;
        next += (size_t)job_rows(half, j) * row_bytes;
    }
    return TESS_OK;
}

tess_status tess_cpu_half_fields_open(tess_cpu_half *half)
{
    if (half->fields || half->lanes)
        return TESS_OK;
    TESS_TRY(TESS_CALLOC(half->ctx, 1, &half->fields));
    const tess_status status = make(half, half->fields);
    if (status != TESS_OK)
        tess_cpu_half_free_fields(half);
    return status;
}

int64_t tess_cpu_half_fields_bytes(const tess_cpu_half *half)
{
    return half->fields ? (int64_t)half->fields->bytes : 0;
}

void tess_cpu_half_free_fields(tess_cpu_half *half)
{
    if (half->fields)
        TESS_FREE(half->ctx, half->fields->reach, half->fields->x, half->fields->x_memory,
                  half->fields->y, half->fields);
    half->fields = NULL;
}

typedef struct product {
    const tess_cpu_half *half;
    const tess_cpu_symmetric_args *args; /* with the vectors by fields */
} product;

static void do_job(const product *p, int64_t job)
{
    const tess_cpu_half *half = p->half;
    const tess_cpu_half_fields *f = half->fields;
    const tess_matrix *A = half->whole;
    const int streams = half->kernel->streams;
    const tess_cpu_chunk *chunks = half->chunks + job * streams;
    const int64_t *reach = f->reach + job * streams * f->pieces;
    const size_t row_bytes = (size_t)A->block_height * tess_type_size(A->type);
    tess_cpu_chunk parts[TESS_CPU_STREAMS];
    tess_cpu_symmetric_args own = *p->args;
    own.x = (const void *)((uintptr_t)f->x[job] - (uintptr_t)chunks[0].first * row_bytes);
    own.y = f->y;
    own.beta = 0;
    for (int64_t k = 0; k < f->pieces; k++) {
        for (int s = 0; s < streams; s++) {
            const int64_t *to = reach + s * f->pieces + k;
            parts[s] = chunks[s];
            parts[s].first = first_row(&chunks[s], k, f->pieces);
            parts[s].stop = first_row(&chunks[s], k + 1, f->pieces);
            parts[s].ready = k > 0 ? to[-1] : chunks[s].first;
            tess_cpu_take(A, p->args->x, parts[s].ready, *to, f->x[job], chunks[0].first);
        }
        half->kernel->symmetric(&own, parts);
        for (int s = 0; s < streams; s++)
            tess_cpu_give(A, f->y, 0, parts[s].first, parts[s].stop, p->args->beta, p->args->y);
    }
}

static void do_jobs(void *arg, int share)
{
    const product *p = arg;
    const tess_range jobs =
        tess_share(p->half->chunk_count / p->half->kernel->streams, share, p->half->shares);
    for (int64_t job = jobs.first; job < jobs.last; job++)
        do_job(p, job);
}

void tess_cpu_half_fields_spmv(tess_cpu_half *half, double alpha, const void *x, double beta,
                               void *y)
{
    tess_cpu_symmetric_args args = tess_cpu_half_args(half, alpha, x, beta, y);
    args.by_fields = true;
    if (half->lanes) {
        tess_cpu_half_run(half, &args);
        return;
    }
    tess_parallel(half->ctx, half->shares, do_jobs, &(product){half, &args});
    tess_cpu_half_add_windows(half, &args);
}

/* y = alpha A x + beta y by fields (fields.h) for a symmetric matrix stored by half.
 *
 * A kernel with rows in lanes reads and writes fields itself: its vectors hold the same scalar of
 * several rows anyway. For any other kernel the chunks of symmetric.c are done in pieces:
 *
 *     rows of a chunk   first ........ | piece | ........ last     reach
 *     x                 ...............................|  taken  |   brought together before
 *     y                 ......... given|given  |                     brought back to fields after
 *
 * A row of the chunk gets nothing from rows after it, as they have only columns on and right of the
 * diagonal: after its piece, y is complete but for the windows of other chunks. Those are added to
 * the caller's y at the end.
 *
 * Rows before the piece are not needed again. So that x and y stay in a cache, the rows that are
 * needed move to the beginning of their memory as soon as those before take as much room. All
 * streams of a job move by the same number of rows: their kernel has one address of x and one of y.
 */
#include "cpu/fields.h"
#include "cpu/symmetric.h"

typedef struct tess_cpu_half_fields {
    int64_t pieces; /* of each chunk */
    int64_t *reach; /* of each piece of each chunk: rows before it are needed so far */
    char **x, **y;  /* of each job */
    void *memory;   /* of all jobs */
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
    f->bytes = 2 * (size_t)rows * row_bytes;
    TESS_TRY(TESS_ALLOC(half->ctx, half->chunk_count * f->pieces, &f->reach));
    TESS_TRY(TESS_ALLOC(half->ctx, jobs, &f->x));
    TESS_TRY(TESS_ALLOC(half->ctx, jobs, &f->y));
    TESS_TRY(tess_alloc_bytes(half->ctx, 2 * rows, row_bytes, &f->memory));
    find_reach(half, f);
    char *next = f->memory;
    for (int64_t j = 0; j < jobs; j++) {
        const size_t bytes = (size_t)job_rows(half, j) * row_bytes;
        f->x[j] = next;
        f->y[j] = next + bytes;
        next += 2 * bytes;
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
        TESS_FREE(half->ctx, half->fields->reach, half->fields->x, half->fields->y,
                  half->fields->memory, half->fields);
    half->fields = NULL;
}

typedef struct product {
    const tess_cpu_half *half;
    const tess_cpu_symmetric_args *args; /* with the vectors by fields */
} product;

/* A job under way. */
typedef struct walk {
    const product *p;
    char *x, *y;
    int64_t begins; /* the row that they begin with */
    size_t row_bytes;
    tess_cpu_chunk parts[TESS_CPU_STREAMS]; /* the next pieces */
} walk;

/* The parts' rows that are in x and y move to where these begin. No stream has more such rows than
 * there are rows before, so that what moves for one stays below what moves for the next. */
static void move(walk *at, int streams)
{
    const int64_t begins = at->parts[0].first;
    for (int s = 0; s < streams; s++) {
        const tess_cpu_chunk *part = &at->parts[s];
        const size_t from = (size_t)(part->first - at->begins) * at->row_bytes;
        const size_t to = (size_t)(part->first - begins) * at->row_bytes;
        const int64_t of_y = tess_min(part->ready, part->last) - part->first;
        memmove(at->x + to, at->x + from, (size_t)(part->ready - part->first) * at->row_bytes);
        memmove(at->y + to, at->y + from, (size_t)of_y * at->row_bytes);
    }
    at->begins = begins;
}

/* Moves if the rows before the parts are as many as those that move. */
static void move_if_due(walk *at, int streams)
{
    int64_t kept = 0;
    for (int s = 0; s < streams; s++)
        kept = tess_max(kept, at->parts[s].ready - at->parts[s].first);
    if (at->parts[0].first - at->begins >= tess_max(kept, 1))
        move(at, streams);
}

static void do_piece(walk *at, int64_t job, int64_t k)
{
    const product *p = at->p;
    const tess_cpu_half_fields *f = p->half->fields;
    const tess_matrix *A = p->half->whole;
    const int streams = p->half->kernel->streams;
    tess_cpu_symmetric_args own = *p->args;
    for (int s = 0; s < streams; s++) {
        const tess_cpu_chunk *chunk = &p->half->chunks[job * streams + s];
        const int64_t *reach = f->reach + (job * streams + s) * f->pieces;
        at->parts[s] = *chunk;
        at->parts[s].first = first_row(chunk, k, f->pieces);
        at->parts[s].stop = first_row(chunk, k + 1, f->pieces);
        at->parts[s].ready = k > 0 ? reach[k - 1] : chunk->first;
    }
    move_if_due(at, streams);
    for (int s = 0; s < streams; s++)
        tess_cpu_take(A, p->args->x, at->parts[s].ready,
                      f->reach[(job * streams + s) * f->pieces + k], at->x, at->begins);
    own.x = (const void *)((uintptr_t)at->x - (uintptr_t)at->begins * at->row_bytes);
    own.y = (void *)((uintptr_t)at->y - (uintptr_t)at->begins * at->row_bytes);
    own.beta = 0;
    p->half->kernel->symmetric(&own, at->parts);
    for (int s = 0; s < streams; s++)
        tess_cpu_give(A, at->y, at->begins, at->parts[s].first, at->parts[s].stop, p->args->beta,
                      p->args->y);
}

static void do_job(const product *p, int64_t job)
{
    const tess_cpu_half *half = p->half;
    const tess_cpu_half_fields *f = half->fields;
    const tess_matrix *A = half->whole;
    walk at = {.p = p,
               .x = f->x[job],
               .y = f->y[job],
               .begins = half->chunks[job * half->kernel->streams].first,
               .row_bytes = (size_t)A->block_height * tess_type_size(A->type)};
    for (int64_t k = 0; k < f->pieces; k++)
        do_piece(&at, job, k);
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

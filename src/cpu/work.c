/* Who does what: shares of equal bytes.
 *
 *     rows   ....................#......#...........   # long rows
 *     runs   [------------------] [----] [---------]   between them: whole rows
 *     share      0    |    1    |    2    |    3       equal bytes of the runs ...
 *     tails       ....      ....      ....      ....   ... whose ends are for whoever comes first,
 *     pieces                    1122 2333              and an equal number of pieces each
 *
 * Threads that do equal work from memory do not end together: cores get unequal shares of the
 * memory bandwidth. The difference grows with the number of cores, and where others use the
 * machine. The tails of the shares even that out: a thread goes on with its own tail, whose pages
 * are near it, and then helps others. On 16 cores of which one was slower, equal parts were read at
 * 100 GB/s and pieces for whichever thread comes first at 136. A row's sum does not depend on the
 * thread.
 *
 * A long row is cut in pieces, each summed like a row of its own; the pieces are added in order
 * afterwards. What is long and where it is cut depend on the matrix alone.
 */
#include "cpu/work.h"

/* No piece is planned smaller: its sums would cost more than the balance gains. */
enum { LEAST_PIECE_BYTES = 32 * 1024 };
/* A piece is about this fraction of the matrix, and a row of more than two pieces is cut, so that
 * 64 threads stay within 6 %. */
enum { ROWS_IN_MATRIX = 1024 };
/* A share's tail is half of it. The tail is cut into pieces of a quarter of what is left of it, but
 * at least a megabyte: a smaller piece costs more than it evens out, and 32 equal pieces cost 2 to
 * 4 %. Smaller shares have no tail. They stay in the cache, and a thread that takes another's rows
 * would have to fetch them from that thread's cache. */
enum { TAIL_PART = 2, PIECE_PART = 4, LEAST_PIECE_OF_TAIL = 1024 * 1024 };
enum { LEAST_SHARE_WITH_TAIL = 16 * 1024 * 1024 };

/* The weight of a matrix's rows in bytes: their blocks, and what each row adds. */
typedef struct measure {
    const int64_t *row_offsets;
    int64_t block_bytes, row_bytes;
} measure;

static measure measure_of(const tess_matrix *A)
{
    const int64_t scalar = (int64_t)tess_type_size(A->type);
    return (measure){
        .row_offsets = A->row_offsets,
        .block_bytes = (int64_t)A->block_height * A->block_width * scalar + 4,
        .row_bytes = 8 + 2 * A->block_height * scalar,
    };
}

static int64_t bytes_before(const measure *m, int64_t row)
{
    return m->row_offsets[row] * m->block_bytes + row * m->row_bytes;
}

/* The row in first..last whose beginning is nearest to `bytes` bytes after the beginning of
 * `first`. */
static int64_t row_at(const measure *m, int64_t first, int64_t last, int64_t bytes)
{
    int64_t target = bytes_before(m, first) + bytes, low = first, high = last;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (bytes_before(m, middle) < target)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > first && bytes_before(m, low) - target > target - bytes_before(m, low - 1))
        low--;
    return low;
}

static tess_status add_job(tess_cpu_work *work, int64_t *capacity, const tess_cpu_job *job)
{
    TESS_TRY(TESS_GROW(work->ctx, &work->jobs, work->job_count, capacity));
    work->jobs[work->job_count++] = *job;
    return TESS_OK;
}

/* Returns whether a row is done in pieces: because it is too long, or because it is the last one
 * and ragged. The sums of a ragged row go to scratch first, since the last ones belong to rows
 * below the matrix and must not be written to y. */
static bool is_long(const tess_matrix *A, int64_t row, int64_t longest_blocks)
{
    bool ragged = row == A->block_rows - 1 && A->rows % A->block_height != 0;
    return ragged || A->row_offsets[row + 1] - A->row_offsets[row] > longest_blocks;
}

static tess_status cut_long_rows(tess_cpu_work *work, const tess_matrix *A, int64_t block_bytes)
{
    int64_t piece_bytes = tess_max(A->blocks * block_bytes / ROWS_IN_MATRIX, LEAST_PIECE_BYTES);
    int64_t piece_blocks = tess_max(piece_bytes / block_bytes, 1);
    int64_t longest = 2 * piece_blocks, offsets = 0;
    const bool any = A->block_rows > 0 && (is_long(A, A->block_rows - 1, longest) ||
                                           tess_matrix_longest_row(A) > longest);
    for (int64_t row = 0; any && row < A->block_rows; row++) {
        if (is_long(A, row, longest)) {
            work->long_count++;
            offsets +=
                tess_ceil_div(A->row_offsets[row + 1] - A->row_offsets[row], piece_blocks) + 2;
        }
    }
    TESS_TRY(TESS_ALLOC(work->ctx, work->long_count, &work->long_rows));
    TESS_TRY(TESS_ALLOC(work->ctx, offsets, &work->piece_offsets));
    int64_t i = 0, at = 0;
    for (int64_t row = 0; i < work->long_count; row++) {
        if (!is_long(A, row, longest))
            continue;
        int64_t blocks = A->row_offsets[row + 1] - A->row_offsets[row];
        int64_t pieces = blocks > 0 ? tess_ceil_div(blocks, piece_blocks) : 1;
        work->long_rows[i++] = (tess_cpu_long_row){row, pieces, at, work->pieces};
        for (int64_t piece = 0; piece <= pieces; piece++)
            work->piece_offsets[at++] =
                A->row_offsets[row] + blocks / pieces * piece + blocks % pieces * piece / pieces;
        work->pieces += pieces;
    }
    return TESS_OK;
}

/* A job of whole rows, cut into equal bytes for the streams. */
static tess_cpu_job rows_by_streams(const measure *m, int64_t first, int64_t last, int streams)
{
    tess_cpu_job job = {.long_row = -1};
    const int64_t bytes = bytes_before(m, last) - bytes_before(m, first);
    for (int s = 0; s <= streams; s++)
        job.bounds[s] = s == streams ? last : row_at(m, first, last, bytes / streams * s);
    return job;
}

void tess_cpu_work_cut(const tess_matrix *A, const tess_cpu_job *job, int streams, int64_t count,
                       tess_cpu_job *pieces)
{
    const measure m = measure_of(A);
    const int64_t first = job->bounds[0], last = job->bounds[streams];
    const int64_t bytes = bytes_before(&m, last) - bytes_before(&m, first);
    int64_t begin = first;
    for (int64_t k = 0; k < count; k++) {
        const int64_t end =
            k == count - 1 ? last : row_at(&m, first, last, bytes / count * (k + 1));
        pieces[k] = rows_by_streams(&m, begin, end, streams);
        begin = end;
    }
}

/* Adds a job for each run of whole rows: the part of it within bytes from..to of all runs. */
static tess_status add_rows(tess_cpu_work *work, const measure *m, int64_t rows, int64_t from,
                            int64_t to, int64_t *capacity)
{
    int64_t begin = 0, done = 0;
    for (int64_t i = 0; i <= work->long_count && done < to; i++) {
        int64_t end = i < work->long_count ? work->long_rows[i].row : rows;
        int64_t bytes = bytes_before(m, end) - bytes_before(m, begin);
        int64_t first = done >= from ? begin : row_at(m, begin, end, from - done);
        int64_t last = done + bytes <= to ? end : row_at(m, begin, end, to - done);
        if (first < last) {
            const tess_cpu_job job = rows_by_streams(m, first, last, work->streams);
            TESS_TRY(add_job(work, capacity, &job));
        }
        done += bytes;
        begin = end + 1;
    }
    return TESS_OK;
}

/* Adds jobs for pieces from..to-1 of all long rows. */
static tess_status add_pieces(tess_cpu_work *work, int64_t from, int64_t to, int64_t *capacity)
{
    for (int64_t i = 0; i < work->long_count; i++) {
        const tess_cpu_long_row *row = &work->long_rows[i];
        int64_t first = from > row->first_sum ? from - row->first_sum : 0;
        int64_t last = to < row->first_sum + row->pieces ? to - row->first_sum : row->pieces;
        if (first >= last)
            continue;
        tess_cpu_job job = {.long_row = i};
        for (int s = 0; s <= work->streams; s++)
            job.bounds[s] = first + (last - first) * s / work->streams;
        TESS_TRY(add_job(work, capacity, &job));
    }
    return TESS_OK;
}

int64_t tess_cpu_tail(int64_t share, int shares)
{
    return shares > 1 && share >= LEAST_SHARE_WITH_TAIL ? share / TAIL_PART : 0;
}

int64_t tess_cpu_next_piece(int64_t left)
{
    return tess_min(tess_max(left / PIECE_PART, LEAST_PIECE_OF_TAIL), left);
}

/* The queue with the tail of a share. */
static int64_t queue_of(const tess_cpu_work *work, int64_t share)
{
    return share * work->queues / work->shares;
}

tess_status tess_cpu_work_create(tess_ctx *ctx, const tess_matrix *A, int shares, int streams,
                                 tess_cpu_work *work)
{
    const measure m = measure_of(A);
    int64_t capacity = 16;
    *work = (tess_cpu_work){.ctx = ctx, .shares = shares, .streams = streams};
    tess_status status = TESS_OK;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, capacity, &work->jobs));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, shares + 1, &work->first_job));
    TESS_TRY_CLEAN(cut_long_rows(work, A, m.block_bytes));

    int64_t bytes = bytes_before(&m, A->block_rows);
    for (int64_t i = 0; i < work->long_count; i++)
        bytes -=
            bytes_before(&m, work->long_rows[i].row + 1) - bytes_before(&m, work->long_rows[i].row);
    int64_t share = bytes / shares, tail = tess_cpu_tail(share, shares);
    for (int64_t t = 0; t < shares; t++) {
        int64_t end = t == shares - 1 ? bytes : share * (t + 1);
        work->first_job[t] = work->job_count;
        TESS_TRY_CLEAN(add_rows(work, &m, A->block_rows, share * t, end - tail, &capacity));
        TESS_TRY_CLEAN(add_pieces(work, work->pieces * t / shares, work->pieces * (t + 1) / shares,
                                  &capacity));
    }
    work->first_job[shares] = work->job_count;
    work->queues = tess_min(shares, TESS_CPU_QUEUES);
    for (int64_t t = 0; t < shares; t++) {
        int64_t end = t == shares - 1 ? bytes : share * (t + 1);
        for (int64_t left = tail; left > 0; left -= tess_cpu_next_piece(left))
            TESS_TRY_CLEAN(add_rows(work, &m, A->block_rows, end - left,
                                    end - left + tess_cpu_next_piece(left), &capacity));
        work->first_tail[queue_of(work, t) + 1] = work->job_count;
    }
    work->first_tail[0] = work->first_job[shares];
    return TESS_OK;
cleanup:
    tess_cpu_work_destroy(work);
    return status;
}

void tess_cpu_work_destroy(tess_cpu_work *work)
{
    TESS_FREE(work->ctx, work->jobs, work->first_job, work->long_rows, work->piece_offsets);
    *work = (tess_cpu_work){.ctx = work->ctx};
}

void tess_cpu_count_lockstep(const int64_t *row_offsets, const int64_t *bounds, int streams,
                             tess_cpu_lockstep *count)
{
    int64_t steps = INT64_MAX;
    for (int s = 0; s < streams; s++)
        steps = tess_min(bounds[s + 1] - bounds[s], steps);
    for (int64_t i = 0; i < steps; i++) {
        int64_t common = INT64_MAX;
        for (int s = 0; s < streams; s++) {
            const int64_t *offsets = row_offsets + bounds[s] + i;
            int64_t length = offsets[1] - offsets[0];
            count->alone += length;
            common = tess_min(length, common);
        }
        count->alone -= streams * common;
    }
    for (int s = 0; s < streams; s++)
        count->left += row_offsets[bounds[s + 1]] - row_offsets[bounds[s] + steps];
}

struct lockstep_of_jobs {
    const tess_cpu_work *work;
    const int64_t *row_offsets;
    tess_cpu_lockstep count;
};

/* Adds up the blocks done alone in whole rows. The pieces of a long row are of one length and add
 * none. */
static void count_jobs(void *arg, tess_range jobs)
{
    struct lockstep_of_jobs *all = arg;
    const tess_cpu_work *work = all->work;
    tess_cpu_lockstep count = {0};
    for (int64_t i = jobs.first; i < jobs.last; i++)
        if (work->jobs[i].long_row < 0)
            tess_cpu_count_lockstep(all->row_offsets, work->jobs[i].bounds, work->streams, &count);
    tess_take(&all->count.alone, count.alone);
    tess_take(&all->count.left, count.left);
}

tess_cpu_lockstep tess_cpu_work_lockstep(const tess_cpu_work *work, const int64_t *row_offsets)
{
    struct lockstep_of_jobs all = {.work = work, .row_offsets = row_offsets};
    tess_for(work->ctx, work->job_count, count_jobs, &all);
    return all.count;
}

int64_t tess_cpu_work_next(const tess_cpu_work *work, int share, tess_cpu_turns *turns)
{
    const int64_t own = queue_of(work, share);
    for (int64_t i = 0; i < work->queues; i++) {
        const int64_t queue = (own + i) % work->queues;
        const int64_t first = work->first_tail[queue], count = work->first_tail[queue + 1] - first;
        int64_t taken = __atomic_load_n(&turns->taken[queue], __ATOMIC_RELAXED);
        if (taken < count && (taken = tess_take(&turns->taken[queue], 1)) < count)
            return first + taken;
    }
    return -1;
}

typedef struct work_run {
    const tess_cpu_work *work;
    tess_cpu_job_fn run;
    tess_cpu_row_fn finish;
    const void *product;
    tess_cpu_turns turns;
} work_run;

static void run_share(void *arg, int share)
{
    work_run *r = arg;
    for (int64_t i = r->work->first_job[share]; i < r->work->first_job[share + 1]; i++)
        r->run(r->product, i, share);
    for (int64_t i; (i = tess_cpu_work_next(r->work, share, &r->turns)) >= 0;)
        r->run(r->product, i, share);
}

static void finish_rows(void *arg, tess_range rows)
{
    const work_run *r = arg;
    for (int64_t i = rows.first; i < rows.last; i++)
        r->finish(r->product, i);
}

void tess_cpu_work_run(const tess_cpu_work *work, tess_cpu_job_fn run, tess_cpu_row_fn finish,
                       const void *product)
{
    work_run r = {.work = work, .run = run, .finish = finish, .product = product};
    tess_parallel(work->ctx, work->shares, run_share, &r);
    tess_for_shares(work->ctx, work->shares, work->long_count, finish_rows, &r);
}

/* Products with vectors by fields (fields.h) and a matrix stored whole: each job of the plan's work
 * is cut into pieces. What a thread has brought together of x for one piece stays for the next one,
 * and for the thread's next job where that goes on with the same columns. So that it stays in a
 * cache, columns that are needed again move to the beginning of the memory as soon as those before
 * take as much room.
 */
#include "cpu/fields.h"
#include "backend/permute.h"

/* Threads may bring this many times the columns of A together, all of them in all. Beyond that two
 * passes are cheaper. */
enum { MOST_TAKEN = 2 };

/* A share's part of x, and its piece of y. */
typedef struct own {
    void *x, *y;
    int64_t first, last; /* block columns that are in x */
} own;

typedef struct tess_cpu_fields {
    tess_cpu_job *pieces;
    int64_t *first_piece; /* of each job; job_count + 1 */
    int64_t *low;         /* of each piece: block columns before it are not needed any more */
    int64_t *reach;       /* of each piece: block columns before it are needed so far */
    own *shares;
    int share_count;
    int64_t capacity; /* block columns that a share has room for */
    int64_t taken;    /* block columns that are brought together in one product */
    size_t row_bytes; /* of a block row's part of a vector */
    void *memory;     /* of all shares */
    size_t bytes;
} tess_cpu_fields;

static tess_permute pass_of(const tess_matrix *A, int64_t blocks, bool to_fields, const void *from,
                            void *to)
{
    return (tess_permute){.type = A->type,
                          .rows = blocks * A->block_height,
                          .vectors = 1,
                          .fields = A->block_height,
                          .to_fields = to_fields,
                          .from = from,
                          .from_row = 1,
                          .to = to,
                          .to_row = 1};
}

void tess_cpu_take(const tess_matrix *A, const void *x, int64_t first, int64_t last, void *to,
                   int64_t begins)
{
    tess_permute pass = pass_of(A, A->block_cols, false, x, to);
    pass.begins = begins;
    tess_permute_nodes(&pass, first, last);
}

void tess_cpu_give(const tess_matrix *A, const void *from, int64_t begins, int64_t first,
                   int64_t last, double beta, void *y)
{
    tess_permute pass = pass_of(A, A->block_rows, true, from, y);
    pass.begins = begins;
    pass.beta = beta;
    tess_permute_nodes(&pass, first, last);
}

bool tess_cpu_fields_fit(const tess_matrix *A)
{
    return !tess_is_complex(A->type) && A->block_height == A->block_width &&
           A->rows % A->block_height == 0 && A->cols % A->block_width == 0;
}

/* ---- Pieces ---- */

static int64_t piece_count(const tess_matrix *A, const tess_cpu_job *job, int streams)
{
    const int64_t block =
        (int64_t)A->block_height * A->block_width * (int64_t)tess_type_size(A->type);
    const int64_t blocks = A->row_offsets[job->bounds[streams]] - A->row_offsets[job->bounds[0]];
    return tess_max(1, blocks * block / TESS_CPU_PIECE);
}

/* The columns that rows first .. last-1 need. */
static tess_range columns_of(const tess_matrix *A, int64_t first, int64_t last)
{
    tess_range need = {.first = A->block_cols};
    for (int64_t i = first; i < last; i++)
        if (A->row_offsets[i + 1] > A->row_offsets[i]) {
            need.first = tess_min(need.first, A->columns[A->row_offsets[i]]);
            need.last = tess_max(need.last, (int64_t)A->columns[A->row_offsets[i + 1] - 1] + 1);
        }
    return need;
}

/* Cuts a job, and finds the columns that its pieces need. */
static void cut_job(void *arg, const void *from, int64_t j)
{
    tess_cpu_fields *f = arg;
    const tess_cpu_plan *plan = from;
    const tess_matrix *A = &plan->matrix;
    const int streams = plan->work.streams;
    tess_cpu_job *pieces = f->pieces + f->first_piece[j];
    const int64_t count = f->first_piece[j + 1] - f->first_piece[j];
    tess_cpu_work_cut(A, &plan->work.jobs[j], streams, count, pieces);
    int64_t *low = f->low + f->first_piece[j], *reach = f->reach + f->first_piece[j];
    for (int64_t k = 0; k < count; k++) {
        const tess_range need = columns_of(A, pieces[k].bounds[0], pieces[k].bounds[streams]);
        low[k] = need.first;
        reach[k] = k > 0 ? tess_max(reach[k - 1], need.last) : need.last;
    }
    for (int64_t k = count - 2; k >= 0; k--)
        low[k] = tess_min(low[k], low[k + 1]);
    for (int64_t k = 0; k < count; k++)
        low[k] = tess_min(low[k], reach[k]);
}

/* The number of block columns that a product brings together, if every thread goes on with its own
 * tail; and the most that one job needs. */
static void add_up(const tess_cpu_plan *plan, tess_cpu_fields *f)
{
    int64_t before = 0, kept = 0;
    for (int64_t j = 0; j < plan->work.job_count; j++) {
        const int64_t first = f->first_piece[j], last = f->first_piece[j + 1] - 1;
        const int64_t low = f->low[first], reach = f->reach[last];
        const bool goes_on = j > 0 && kept <= low && low <= before && before <= reach;
        f->taken += reach - (goes_on ? before : low);
        f->capacity = tess_max(f->capacity, reach - low);
        before = reach;
        kept = f->low[last];
    }
}

static tess_status make_shares(const tess_cpu_plan *plan, tess_cpu_fields *f)
{
    const tess_matrix *A = &plan->matrix;
    int64_t rows = 0;
    f->row_bytes = (size_t)A->block_height * tess_type_size(A->type);
    for (int64_t k = 0; k < f->first_piece[plan->work.job_count]; k++)
        rows = tess_max(rows, f->pieces[k].bounds[plan->work.streams] - f->pieces[k].bounds[0]);
    const size_t own_bytes = (size_t)(f->capacity + rows) * f->row_bytes;
    f->bytes = own_bytes * (size_t)plan->work.shares;
    f->share_count = plan->work.shares;
    TESS_TRY(TESS_CALLOC(plan->ctx, f->share_count, &f->shares));
    TESS_TRY(tess_alloc_bytes(plan->ctx, f->share_count, own_bytes, &f->memory));
    for (int s = 0; s < f->share_count; s++) {
        f->shares[s].x = (char *)f->memory + (size_t)s * own_bytes;
        f->shares[s].y = (char *)f->shares[s].x + (size_t)f->capacity * f->row_bytes;
    }
    return TESS_OK;
}

static tess_status make(const tess_cpu_plan *plan, tess_cpu_fields *f)
{
    const int64_t jobs = plan->work.job_count;
    TESS_TRY(TESS_ALLOC(plan->ctx, jobs + 1, &f->first_piece));
    f->first_piece[0] = 0;
    for (int64_t j = 0; j < jobs; j++)
        f->first_piece[j + 1] =
            f->first_piece[j] + piece_count(&plan->matrix, &plan->work.jobs[j], plan->work.streams);
    TESS_TRY(TESS_ALLOC(plan->ctx, f->first_piece[jobs], &f->pieces));
    TESS_TRY(TESS_ALLOC(plan->ctx, f->first_piece[jobs], &f->reach));
    TESS_TRY(TESS_ALLOC(plan->ctx, f->first_piece[jobs], &f->low));
    tess_for_each(plan->ctx, jobs, 1, cut_job, f, plan);
    add_up(plan, f);
    return f->taken <= MOST_TAKEN * plan->matrix.block_cols ? make_shares(plan, f) : TESS_OK;
}

void tess_cpu_fields_destroy(tess_ctx *ctx, tess_cpu_fields *f)
{
    if (f)
        TESS_FREE(ctx, f->pieces, f->first_piece, f->low, f->reach, f->shares, f->memory, f);
}

/* Makes what a state needs for the product. *has is false if it has none that pays. */
static tess_status open(tess_cpu_plan *plan, bool *has)
{
    tess_cpu_fields *f;
    *has = tess_cpu_fields_fit(&plan->matrix) && !plan->fbcsr &&
           (plan->half || plan->work.long_count == 0);
    if (*has && plan->half)
        return tess_cpu_half_fields_open(plan->half);
    if (!*has || plan->fields)
        return TESS_OK;
    TESS_TRY(TESS_CALLOC(plan->ctx, 1, &f));
    const tess_status status = make(plan, f);
    *has = f->memory != NULL;
    if (status == TESS_OK && *has)
        plan->fields = f;
    else
        tess_cpu_fields_destroy(plan->ctx, f);
    return status;
}

tess_status tess_cpu_fields_open(tess_plan *plan, bool *has)
{
    tess_cpu_plan *state = plan->state;
    TESS_TRY(open(state, has));
    if (*has)
        plan->memory += state->half ? (double)tess_cpu_half_fields_bytes(state->half)
                                    : (double)state->fields->bytes;
    return TESS_OK;
}

/* ---- The product ---- */

typedef struct product {
    const tess_cpu_plan *plan;
    const tess_cpu_spmv_args *args; /* with the vectors by fields */
} product;

/* Brings block columns before `reach` together, where those from `low` on are needed. */
static void take(const product *p, own *mine, int64_t low, int64_t reach)
{
    const tess_cpu_fields *f = p->plan->fields;
    if (low < mine->first || low > mine->last) {
        mine->first = mine->last = low;
    } else if (low - mine->first >= tess_max(mine->last - low, 1) ||
               reach - mine->first > f->capacity) {
        memmove(mine->x, (const char *)mine->x + (size_t)(low - mine->first) * f->row_bytes,
                (size_t)(mine->last - low) * f->row_bytes);
        mine->first = low;
    }
    if (reach > mine->last) {
        tess_cpu_take(&p->plan->matrix, p->args->x, mine->last, reach, mine->x, mine->first);
        mine->last = reach;
    }
}

static void run_job(const void *arg, int64_t j, int share)
{
    const product *p = arg;
    const tess_matrix *A = &p->plan->matrix;
    const tess_cpu_fields *f = p->plan->fields;
    const tess_cpu_spmv_fn kernel = p->plan->kernels[TESS_CPU_BSR_SPMV]->spmv;
    own *mine = &f->shares[share];
    tess_cpu_spmv_args args = *p->args;
    args.beta = 0;
    for (int64_t k = f->first_piece[j]; k < f->first_piece[j + 1]; k++) {
        const int64_t *bounds = f->pieces[k].bounds, last = bounds[p->plan->work.streams];
        take(p, mine, f->low[k], f->reach[k]);
        args.x = (const void *)((uintptr_t)mine->x - (uintptr_t)mine->first * f->row_bytes);
        args.y = (void *)((uintptr_t)mine->y - (uintptr_t)bounds[0] * f->row_bytes);
        kernel(&args, bounds);
        tess_cpu_give(A, mine->y, bounds[0], bounds[0], last, p->args->beta, p->args->y);
    }
}

static void multiply(const tess_cpu_plan *plan, const tess_fields_product *f)
{
    tess_cpu_spmv_args args = tess_cpu_bsr_args(&plan->matrix, (tess_complex){f->alpha, 0}, f->x,
                                                (tess_complex){f->beta, 0}, f->y);
    for (int s = 0; s < plan->fields->share_count; s++)
        plan->fields->shares[s].first = plan->fields->shares[s].last = 0;
    tess_cpu_work_run(&plan->work, run_job, NULL, &(product){plan, &args});
}

tess_status tess_cpu_fields_multiply(tess_plan *plan, const tess_fields_product *f, bool *done)
{
    tess_cpu_plan *state = plan->state, *used = state;
    if (f->transpose && !state->half)
        TESS_TRY(tess_cpu_need_transpose(plan, &used));
    TESS_TRY(open(used, done));
    if (!*done)
        return TESS_OK;
    if (used->half)
        tess_cpu_half_fields_spmv(used->half, f->alpha, f->x, f->beta, f->y);
    else
        multiply(used, f);
    if (f->dot)
        *f->dot = tess_cpu_dot(state, f->w ? f->w : f->y, f->y);
    return TESS_OK;
}

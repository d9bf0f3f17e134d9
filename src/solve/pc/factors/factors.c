/* Triangular factors: their pattern follows from the matrix's; threads compute and apply them. */
#include "solve/pc/factors/factors.h"

static void destroy(tess_ctx *ctx, tess_factors *f)
{
    if (!f)
        return;
    TESS_FREE(ctx, f->domain_rows, f->lower_offsets, f->upper_offsets, f->lower_columns,
              f->upper_columns, f->lower, f->upper, f->inverse, f);
}

/* Counts the blocks left and right of the diagonal in the rows of a domain. Counts become offsets
 * later. */
static void count_blocks(void *factors, const void *matrix, int64_t domain)
{
    const tess_factors *f = factors;
    const tess_matrix *A = matrix;
    const int64_t first = f->domain_rows[domain], last = f->domain_rows[domain + 1];
    for (int64_t row = first; row < last; row++) {
        int64_t low = 0, high = 0;
        for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++) {
            low += A->columns[k] >= first && A->columns[k] < row;
            high += A->columns[k] > row && A->columns[k] < last;
        }
        f->lower_offsets[row + 1] = low;
        f->upper_offsets[tess_factor_place(f, domain, row) + 1] = high;
    }
}

static void fill_columns(void *factors, const void *matrix, int64_t domain)
{
    const tess_factors *f = factors;
    const tess_matrix *A = matrix;
    const int64_t first = f->domain_rows[domain], last = f->domain_rows[domain + 1];
    for (int64_t row = first; row < last; row++) {
        int64_t low = f->lower_offsets[row];
        int64_t high = f->upper_offsets[tess_factor_place(f, domain, row)];
        for (int64_t k = A->row_offsets[row]; k < A->row_offsets[row + 1]; k++) {
            if (A->columns[k] >= first && A->columns[k] < row)
                f->lower_columns[low++] = A->columns[k];
            else if (A->columns[k] > row && A->columns[k] < last && !f->symmetric)
                f->upper_columns[high++] = A->columns[k];
        }
    }
}

static tess_status create(tess_ctx *ctx, const tess_matrix *A, const tess_pc *pc, int domains,
                          tess_factors **out)
{
    const int64_t rows = A->block_rows;
    tess_factors *f;
    tess_status status;
    TESS_TRY(TESS_CALLOC(ctx, 1, &f));
    f->block = A->block_height;
    f->block_rows = rows;
    f->symmetric = pc->ops->symmetric;
    f->domains = domains;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, domains + 1, &f->domain_rows));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, rows + 1, &f->lower_offsets));
    TESS_TRY_CLEAN(TESS_CALLOC(ctx, rows + 1, &f->upper_offsets));
    for (int d = 0; d <= domains; d++)
        f->domain_rows[d] = tess_share_row(A->row_offsets, rows, d, domains);
    tess_for_each(ctx, domains, 1, count_blocks, f, A);
    tess_counts_to_offsets(f->lower_offsets, rows);
    tess_counts_to_offsets(f->upper_offsets, rows);
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, f->lower_offsets[rows], &f->lower_columns));
    if (!f->symmetric)
        TESS_TRY_CLEAN(TESS_ALLOC(ctx, f->upper_offsets[rows], &f->upper_columns));
    tess_for_each(ctx, domains, 1, fill_columns, f, A);
    *out = f;
    return TESS_OK;
cleanup:
    destroy(ctx, f);
    return status;
}

/* Scratch for a number of shares of the work. */
typedef struct scratch {
    int shares;
    int64_t place_stride, dense_stride;
    bool positive, replace;
    int64_t replaced;
    double shift, omega;
    double **places, *dense;
    tess_factor_fault *faults;
} scratch;

static tess_status allocate_scratch(tess_ctx *ctx, const tess_factors *f, int shares,
                                    int64_t place_stride, scratch *s)
{
    const int64_t rows = f->block_rows, size = (int64_t)f->block * f->block;
    int64_t longest = 0;
    for (int64_t i = 0; i < rows; i++)
        longest = tess_max(longest, f->lower_offsets[i + 1] - f->lower_offsets[i]);
    *s = (scratch){.shares = shares,
                   .place_stride = place_stride,
                   .dense_stride = (3 + (f->symmetric ? longest : 0)) * size};
    TESS_TRY(TESS_CALLOC(ctx, place_stride > 0 ? place_stride * shares : rows, &s->places));
    TESS_TRY(TESS_ALLOC(ctx, s->dense_stride * shares, &s->dense));
    return TESS_ALLOC(ctx, shares, &s->faults);
}

static void free_scratch(tess_ctx *ctx, scratch *s)
{
    TESS_FREE(ctx, s->places, s->dense, s->faults);
}

static tess_factor_work work_of(const tess_factors *f, const scratch *s, int share, int64_t first,
                                int64_t last)
{
    double *dense = s->dense + share * s->dense_stride;
    /* Domains share an array: each looks at its own rows only. */
    double **place = s->place_stride > 0 ? s->places + share * s->place_stride : s->places + first;
    return (tess_factor_work){.first = first,
                              .last = last,
                              .place = place,
                              .dense = dense,
                              .row = dense + 3 * (int64_t)f->block * f->block,
                              .positive = s->positive,
                              .replace = s->replace,
                              .shift = s->shift,
                              .omega = s->omega};
}

static tess_factor_fault first_fault(const scratch *s)
{
    for (int i = 0; i < s->shares; i++)
        if (s->faults[i].row != INT64_MAX)
            return s->faults[i];
    return (tess_factor_fault){.row = INT64_MAX};
}

struct computing {
    const tess_triangular *t;
    const tess_matrix *A;
    const tess_factor_values *v;
    scratch *s;
    int64_t first, count; /* rows of the stage, where there are stages */
};

static void compute_some(void *arg, tess_range range)
{
    const struct computing *job = arg;
    const tess_factors *f = job->t->factors;
    scratch *s = job->s;
    for (int d = (int)range.first; d < range.last; d++) {
        tess_factor_work work = work_of(f, s, d, f->domain_rows[d], f->domain_rows[d + 1]);
        s->faults[d] = job->t->compute(f, job->A, job->v, d, &work);
        tess_take(&s->replaced, work.replaced);
    }
}

/* Computes all domains, one after the other or at once. Returns the first fault. */
static tess_factor_fault compute_domains(tess_ctx *ctx, const tess_triangular *t,
                                         const tess_matrix *A, const tess_factor_values *v,
                                         scratch *s)
{
    const tess_factors *f = t->factors;
    tess_for_dynamic(ctx, ctx->threads, f->domains, 1, compute_some,
                     &(struct computing){t, A, v, s, 0, 0});
    return first_fault(s);
}

static void compute_share(void *arg, int share)
{
    const struct computing *job = arg;
    scratch *s = job->s;
    tess_factor_work work =
        work_of(job->t->factors, s, share, job->first + job->count * share / s->shares,
                job->first + job->count * (share + 1) / s->shares);
    s->faults[share] = job->t->compute(job->t->factors, job->A, job->v, 0, &work);
    tess_take(&s->replaced, work.replaced);
}

/* Computes one domain, stage by stage: rows of a stage do not need each other. */
static tess_factor_fault compute_stages(tess_ctx *ctx, const tess_triangular *t,
                                        const tess_matrix *A, const tess_factor_values *v,
                                        scratch *s)
{
    const tess_stages *stages = &t->staged->stages;
    tess_factor_fault fault = {.row = INT64_MAX};
    for (int64_t i = 0; i < stages->count && fault.row == INT64_MAX; i++) {
        const int64_t first = stages->offsets[i], count = stages->offsets[i + 1] - first;
        tess_parallel(ctx, s->shares, compute_share, &(struct computing){t, A, v, s, first, count});
        fault = first_fault(s);
    }
    return fault;
}

static tess_factor_fault compute_once(tess_pc *pc, const tess_matrix *A,
                                      const tess_factor_values *v, scratch *s)
{
    const tess_triangular *t = pc->state;
    pc->shift = s->shift;
    s->replaced = 0;
    s->replace = pc->ops->replaces_pivots && !s->positive;
    return t->staged ? compute_stages(pc->ctx, t, A, v, s) : compute_domains(pc->ctx, t, A, v, s);
}

/* Incomplete factors of a positive definite matrix may have a pivot that is not positive, as blocks
 * are dropped. Factors are then made of A with a heavier diagonal (Manteuffel 1980): for a weight
 * that is large enough they exist. Where positive pivots are not a must, factors with any pivots
 * come last. The method then finds out whether A itself is not positive definite. */
static tess_factor_fault compute_rows(tess_pc *pc, const tess_matrix *A,
                                      const tess_factor_values *v, scratch *s)
{
    static const double first_shift = 1e-3, last_shift = 2;
    const bool must = pc->ops->pivots == TESS_PIVOTS_POSITIVE;
    s->omega = pc->options.omega;
    s->positive =
        must || (pc->ops->pivots == TESS_PIVOTS_POSITIVE_IF_ASKED && pc->options.positive);
    tess_factor_fault fault = compute_once(pc, A, v, s);
    for (s->shift = first_shift; fault.dropped && s->shift < last_shift; s->shift *= 2) {
        fault = compute_once(pc, A, v, s);
        if (fault.row == INT64_MAX)
            tess_log(pc->ctx, "pc=%s: factors of A with %g times its diagonal, for positive pivots",
                     pc->ops->name, 1 + s->shift);
    }
    if (fault.row == INT64_MAX || must || !s->positive)
        return fault;
    s->positive = false;
    s->shift = 0;
    return compute_once(pc, A, v, s);
}

struct take_back {
    const double *from;
    int64_t height;
    tess_type type;
    void *to;
};

static void take_back(void *arg, tess_range pairs)
{
    const struct take_back *job = arg;
    tess_embed_take_back(job->from + 2 * pairs.first * job->height, 2 * (pairs.last - pairs.first),
                         job->height, job->type, job->to, pairs.first * job->height / 2);
}

/* Stores numbers computed in double as the pc's type: moved when that is double, converted
 * otherwise. Of complex factors the embedding's even columns are stored. */
static tess_status store(tess_ctx *ctx, tess_type type, int32_t block, int64_t count, double **from,
                         void **to)
{
    if (tess_is_complex(type)) {
        if (!*to)
            TESS_TRY(
                tess_alloc_bytes(ctx, count / block / block, tess_factor_bytes(type, block), to));
        tess_for(ctx, count / block / 2, take_back, &(struct take_back){*from, block, type, *to});
        return TESS_OK;
    }
    if (type == TESS_F64) {
        tess_free(ctx, *to);
        *to = *from;
        *from = NULL;
        return TESS_OK;
    }
    if (!*to)
        TESS_TRY(tess_alloc_bytes(ctx, count, sizeof(float), to));
    tess_narrow(ctx, *from, *to, count);
    return TESS_OK;
}

static tess_status fault_status(const tess_pc *pc, const tess_factor_fault *fault)
{
    const tess_triangular *t = pc->state;
    const int parts = tess_is_complex(pc->type) ? 2 : 1;
    const int32_t b = t->factors->block / parts;
    const long long row = t->staged ? t->staged->stages.rows[fault->row] : fault->row;
    return tess_fail(
        pc->ctx, TESS_ERR_MATRIX,
        "pc=%s: no %spivot in column %d of the diagonal block of block row %lld (rows %lld..%lld), "
        "the largest is %.3g; try %s%s, or auto",
        pc->ops->name, pc->ops->pivots == TESS_PIVOTS_POSITIVE ? "positive " : "",
        (int)fault->column / parts, row, row * b, row * b + b - 1, fault->pivot,
        tess_pc_without_pivots(pc),
        parts == 2 || pc->part || pc->options.positive ? "" : ", scale=match");
}

/* Computes the numbers, and allocates what that needs. */
static tess_status compute(tess_pc *pc, const tess_matrix *A)
{
    tess_ctx *ctx = pc->ctx;
    tess_triangular *t = pc->state;
    tess_factors *f = t->factors;
    const int64_t rows = f->block_rows, size = (int64_t)f->block * f->block;
    const int64_t lower = f->lower_offsets[rows] * size;
    const int64_t upper = f->symmetric ? 0 : (f->upper_offsets[rows] + rows) * size;
    const int64_t inverse = f->symmetric ? rows * size : 0;
    tess_factor_values v = {0};
    scratch own = {0};
    tess_status status;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, lower, &v.lower));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, upper, &v.upper));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, inverse, &v.inverse));
    TESS_TRY_CLEAN(allocate_scratch(ctx, f, t->staged ? ctx->threads : f->domains,
                                    t->staged ? rows : 0, &own));
    const tess_factor_fault fault = compute_rows(pc, A, &v, &own);
    if (fault.row != INT64_MAX)
        TESS_TRY_CLEAN(fault_status(pc, &fault));
    if (own.replaced > 0)
        tess_log(ctx, "pc=%s: %lld of %lld pivots could not be inverted, and were replaced",
                 pc->ops->name, (long long)own.replaced, (long long)rows);
    if (t->staged) {
        TESS_TRY_CLEAN(tess_staged_fill(t->staged, f, &v));
        t->bytes = tess_staged_bytes(t->staged);
        goto cleanup;
    }
    TESS_TRY_CLEAN(store(ctx, pc->type, f->block, lower, &v.lower, &f->lower));
    TESS_TRY_CLEAN(store(ctx, pc->type, f->block, upper, &v.upper, &f->upper));
    TESS_TRY_CLEAN(store(ctx, pc->type, f->block, inverse, &v.inverse, &f->inverse));
    t->bytes = (double)(lower * (f->symmetric ? 2 : 1) + upper + inverse) / (double)size *
                   (double)tess_factor_bytes(pc->type, f->block) +
               4.0 * (double)(f->lower_offsets[rows] + f->upper_offsets[rows] + 2 * rows);
cleanup:
    TESS_FREE(ctx, v.lower, v.upper, v.inverse);
    free_scratch(ctx, &own);
    return status;
}

tess_status tess_triangular_prepare(tess_plan *plan, tess_pc *pc, const tess_matrix *A)
{
    tess_triangular *t = pc->state;
    const bool staged = pc->options.schedule != TESS_PC_DOMAINS;
    int64_t domains = pc->options.domains;
    if (domains == 0)
        domains = staged ? 1 : pc->threads;
    if (domains > A->block_rows)
        domains = tess_max(A->block_rows, 1);
    if (!staged)
        return create(plan->ctx, A, pc, (int)domains, &t->factors);
    TESS_TRY(tess_staged_create(plan->ctx, A, pc, (int)domains, &t->staged));
    TESS_TRY(create(plan->ctx, &t->staged->reordered, pc, 1, &t->factors));
    TESS_TRY(tess_staged_split(t->staged, t->factors, pc->options.transpose));
    return tess_staged_deal(t->staged, pc->threads);
}

tess_status tess_triangular_compute(tess_pc *pc, const tess_matrix *A)
{
    tess_triangular *t = pc->state;
    if (!t->staged)
        return compute(pc, A);
    TESS_TRY(tess_staged_take_values(t->staged, A));
    const tess_status status = compute(pc, &t->staged->reordered);
    tess_staged_drop_values(t->staged);
    return status;
}

tess_status tess_triangular_take(const tess_plan *plan, tess_matrix *out)
{
    const tess_matrix A = tess_plan_present(plan);
    if (tess_is_complex(A.type))
        return tess_embed(plan->ctx, &A, out);
    *out = A;
    return TESS_OK;
}

void tess_triangular_give_back(const tess_plan *plan, tess_matrix *taken)
{
    if (tess_is_complex(plan->matrix->type))
        tess_free(plan->ctx, taken->values);
}

tess_status tess_triangular_update(tess_plan *plan, tess_pc *pc)
{
    tess_triangular *t = pc->state;
    tess_matrix A;
    TESS_TRY(tess_triangular_take(plan, &A));
    if (t->fill.matrix)
        tess_fill_take_values(&t->fill, &A);
    const tess_status status = tess_triangular_compute(pc, t->fill.matrix ? t->fill.matrix : &A);
    tess_triangular_give_back(plan, &A);
    return status;
}

tess_status tess_triangular_set_up(tess_plan *plan, tess_pc *pc, tess_factor_fn rows)
{
    tess_triangular *t;
    TESS_TRY(TESS_CALLOC(pc->ctx, 1, &t));
    pc->state = t;
    t->compute = rows;
    const tess_matrix A =
        tess_is_complex(plan->matrix->type) ? tess_embedding(plan->matrix) : *plan->matrix;
    TESS_TRY(tess_triangular_prepare(plan, pc, &A));
    return tess_triangular_update(plan, pc);
}

void tess_triangular_free(tess_pc *pc)
{
    tess_triangular *t = pc->state;
    destroy(pc->ctx, t->factors);
    tess_staged_destroy(t->staged);
    tess_fill_free(&t->fill);
    tess_free(pc->ctx, t);
}

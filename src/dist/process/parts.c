/* Plans of a device of several parts: one plan per part (backend.c). The caller's vectors are
 * whole.
 *
 * If the matrix or its blocks are not square, every part has some block rows with all columns. Then
 * there is no halo: a part multiplies all of x, and writes its rows of y.
 */
#include "dist/process/parts.h"
#include "matrix/partition/partition.h"

typedef struct tess_parts_plan {
    tess_parts *parts;
    const tess_matrix *A;
    tess_part **part;
    tess_plan **plan;
    tess_matrix **rows; /* each part's block rows with all columns; NULL: A is dealt out */
    int64_t *firsts;    /* with `rows`: each part's first block row */
} tess_parts_plan;

static tess_parts_plan *state_of(const tess_plan *plan)
{
    return plan->state;
}

/* The number of scalar rows before a part's. */
static int64_t first_row(const tess_parts_plan *p, int rank)
{
    return p->rows ? p->firsts[rank] * p->A->block_height
                   : tess_part_first_row(p->part[rank], rank);
}

/* ---- Making and releasing ---- */

typedef struct making {
    tess_parts_plan *p;
    const tess_plan_options *options;
} making;

/* The part's own block gets A's coordinates of its block rows. */
static tess_status take_coordinates(const tess_matrix *A, const tess_part *part)
{
    tess_matrix *own = part->own;
    const int64_t count = own->block_rows * A->dimensions;
    if (!A->coordinates || count == 0)
        return TESS_OK;
    TESS_TRY(TESS_ALLOC(part->ctx, count, &own->coordinates));
    memcpy(own->coordinates, A->coordinates + part->firsts[part->comm.rank] * A->dimensions,
           (size_t)count * sizeof *own->coordinates);
    own->dimensions = A->dimensions;
    return TESS_OK;
}

static tess_status make_one(void *user, int rank)
{
    const making *m = user;
    const tess_parts_plan *p = m->p;
    const tess_parts_member *member = &p->parts->member[rank];
    const tess_comm comm = tess_team_comm(p->parts->team, rank);
    if (p->rows) {
        tess_plan_options plain = *m->options;
        plain.regroup = TESS_REGROUP_OFF; /* a part has no numbering of its own */
        TESS_TRY(tess_matrix_take_rows(member->ctx, p->A, p->firsts[rank], p->firsts[rank + 1],
                                       &p->rows[rank]));
        return tess_plan_create(member->ctx, p->rows[rank], member->device, &plain, &p->plan[rank]);
    }
    TESS_TRY(tess_part_deal(member->ctx, &comm, rank == 0 ? p->A : NULL, &p->part[rank]));
    p->part[rank]->same_process = true;
    TESS_TRY(take_coordinates(p->A, p->part[rank]));
    return tess_plan_create_part(p->part[rank], member->device, m->options, &p->plan[rank]);
}

static tess_status destroy_one(void *user, int rank)
{
    tess_parts_plan *p = user;
    tess_plan_destroy(p->plan[rank]);
    tess_part_destroy(p->part[rank]);
    if (p->rows)
        tess_matrix_destroy(p->rows[rank]);
    return TESS_OK;
}

static void release(tess_plan *plan)
{
    tess_parts_plan *p = state_of(plan);
    if (p->part && p->plan)
        (void)tess_parts_run(p->parts, destroy_one, p);
    TESS_FREE(plan->ctx, p->part, p->plan, p->rows, p->firsts, p);
}

/* Every part gets rows with all columns. */
static tess_status cut_rows(tess_ctx *ctx, tess_parts_plan *p)
{
    TESS_TRY(TESS_ALLOC(ctx, p->parts->count + 1, &p->firsts));
    TESS_TRY(TESS_CALLOC(ctx, p->parts->count, &p->rows));
    for (int r = 0; r <= p->parts->count; r++)
        p->firsts[r] = tess_partition_first_of(p->A, r, p->parts->count);
    return TESS_OK;
}

static tess_status prepare(tess_plan *plan, const tess_plan_options *options)
{
    tess_parts_plan *p;
    tess_parts *parts = tess_parts_of(plan->device);
    TESS_TRY(TESS_CALLOC(plan->ctx, 1, &p));
    p->parts = parts;
    p->A = plan->matrix;
    plan->state = p;
    tess_status status = TESS_CALLOC(plan->ctx, parts->count, &p->part);
    TESS_THEN(TESS_CALLOC(plan->ctx, parts->count, &p->plan));
    if (!tess_partition_fits(p->A))
        TESS_THEN(options->form ? tess_partition_refuse(plan->ctx, p->A, "product forms")
                                : cut_rows(plan->ctx, p));
    TESS_THEN(tess_parts_run(parts, make_one, &(making){p, options}));
    if (status != TESS_OK) {
        release(plan);
        return status;
    }
    tess_plan_name_as(plan, p->plan[0]);
    return TESS_OK;
}

/* ---- Products ---- */

typedef struct product {
    tess_parts_plan *p;
    bool transpose, several; /* several: k vectors, in that order */
    int k;
    tess_block_order order;
    double alpha, beta;
    const void *x, *w, *values;
    void *y;
    int64_t ldx, ldy;
    double *dots; /* the dot product as each part has it */
    bool in_turn; /* part `turn` alone computes */
    int turn;
} product;

/* The part's rows of whole vectors. */
static void *rows_of(const product *c, int rank, const void *vectors, int64_t ld)
{
    const int64_t step = c->several && c->order == TESS_ORDER_ROW_MAJOR ? ld : 1;
    char *data = (char *)(uintptr_t)vectors;
    return data ? data + (size_t)(first_row(c->p, rank) * step) * tess_type_size(c->p->A->type)
                : NULL;
}

/* Between two columns of a part lie other parts' rows. A device with memory of its own would copy
 * back stale values for them, so it multiplies one column after the other. */
static tess_status multiply_columns(const product *c, tess_plan *plan, const char *x, char *y)
{
    const size_t scalar = tess_type_size(plan->matrix->type);
    for (int v = 0; v < c->k; v++)
        TESS_TRY(tess_spmv(plan, c->alpha, x + (size_t)(v * c->ldx) * scalar, c->beta,
                           y + (size_t)(v * c->ldy) * scalar));
    return TESS_OK;
}

static tess_status multiply_one(void *user, int rank)
{
    const product *c = user;
    tess_plan *plan = c->p->plan[rank];
    const bool all_columns = c->p->rows != NULL;
    const void *x = all_columns && !c->transpose ? c->x : rows_of(c, rank, c->x, c->ldx);
    void *y = all_columns && c->transpose ? c->y : rows_of(c, rank, c->y, c->ldy);
    if (c->in_turn && c->turn != rank)
        return TESS_OK;
    if (c->transpose)
        return tess_spmv_transpose(plan, c->alpha, x, c->beta, y);
    if (c->several && c->order == TESS_ORDER_COLUMN_MAJOR &&
        c->p->parts->member[rank].device->backend->owns)
        return multiply_columns(c, plan, x, y);
    if (c->several)
        return tess_spmm(plan, c->k, c->order, c->alpha, x, c->ldx, c->beta, y, c->ldy);
    if (c->dots)
        return tess_spmv_dot(plan, c->alpha, x, c->beta, y, rows_of(c, rank, c->w, 0),
                             &c->dots[rank]);
    return tess_spmv(plan, c->alpha, x, c->beta, y);
}

static tess_status run(tess_plan *plan, tess_team_fn body, product *c)
{
    c->p = state_of(plan);
    return tess_parts_run(c->p->parts, body, c);
}

static tess_status spmv(tess_plan *plan, double alpha, const void *x, double beta, void *y)
{
    return run(plan, multiply_one, &(product){.alpha = alpha, .beta = beta, .x = x, .y = y});
}

/* Parts that have rows with all columns add to y one after the other, in their order. */
static tess_status transpose_in_turn(tess_plan *plan, product *c)
{
    const int count = state_of(plan)->parts->count;
    c->in_turn = true;
    for (; c->turn < count; c->turn++, c->beta = 1)
        TESS_TRY(run(plan, multiply_one, c));
    return TESS_OK;
}

static tess_status spmv_transpose(tess_plan *plan, double alpha, const void *x, double beta,
                                  void *y)
{
    product c = {.transpose = true, .alpha = alpha, .beta = beta, .x = x, .y = y};
    return state_of(plan)->rows ? transpose_in_turn(plan, &c) : run(plan, multiply_one, &c);
}

static tess_status spmm(tess_plan *plan, int k, tess_block_order order, double alpha, const void *X,
                        int64_t ldx, double beta, void *Y, int64_t ldy)
{
    return run(plan, multiply_one,
               &(product){.several = true,
                          .k = k,
                          .order = order,
                          .alpha = alpha,
                          .beta = beta,
                          .x = X,
                          .y = Y,
                          .ldx = ldx,
                          .ldy = ldy});
}

/* The whole dot product. Each part has it already, except where parts have rows with all columns:
 * then each has that of its own rows. */
static double sum_of(const tess_plan *plan, const double *dots)
{
    const tess_parts_plan *p = state_of(plan);
    double sum = dots[0];
    for (int r = 1; p->rows && r < p->parts->count; r++)
        sum += dots[r];
    return sum;
}

static tess_status spmv_dot(tess_plan *plan, double alpha, const void *x, double beta, void *y,
                            const void *w, double *dot)
{
    double dots[TESS_PARTS_MOST] = {0};
    TESS_TRY(run(plan, multiply_one,
                 &(product){.alpha = alpha, .beta = beta, .x = x, .y = y, .w = w, .dots = dots}));
    *dot = sum_of(plan, dots);
    return TESS_OK;
}

static tess_status dot_one(void *user, int rank)
{
    const product *c = user;
    tess_plan *plan = c->p->plan[rank];
    return plan->device->backend->dot(plan, rows_of(c, rank, c->x, 0), rows_of(c, rank, c->y, 0),
                                      &c->dots[rank]);
}

static tess_status dot_product(tess_plan *plan, const void *x, const void *y, double *dot)
{
    double dots[TESS_PARTS_MOST] = {0};
    TESS_TRY(run(plan, dot_one, &(product){.x = x, .y = (void *)(uintptr_t)y, .dots = dots}));
    *dot = sum_of(plan, dots);
    return TESS_OK;
}

/* ---- The rest ---- */

/* Gives a part its values. Its block rows are contiguous in A, and so are their values. */
static tess_status update_one(void *user, int rank)
{
    const product *c = user;
    const tess_matrix *A = c->p->A;
    const size_t bytes = tess_block_bytes(A->block_height, A->block_width, A->type);
    int64_t at = c->p->rows ? A->row_offsets[c->p->firsts[rank]] : 0;
    for (int r = 0; r < rank && !c->p->rows; r++)
        at += c->p->part[r]->entries;
    return tess_plan_update_values(c->p->plan[rank], (const char *)c->values + (size_t)at * bytes);
}

static tess_status update_values(tess_plan *plan, const void *values)
{
    TESS_TRY(run(plan, update_one, &(product){.values = values}));
    tess_plan_name_as(plan, state_of(plan)->plan[0]);
    return TESS_OK;
}

static void explain(tess_plan *plan)
{
    const tess_parts_plan *p = state_of(plan);
    for (int rank = 0; rank < p->parts->count; rank++)
        tess_append(plan->explain, sizeof plan->explain, "%s", tess_plan_explain(p->plan[rank]));
}

typedef struct each {
    tess_parts_plan *p;
    tess_part_fn body;
    void *user;
} each;

static tess_status each_one(void *user, int rank)
{
    const each *e = user;
    return e->body(e->user, rank, e->p->plan[rank], first_row(e->p, rank));
}

static tess_status each_part(tess_plan *plan, tess_part_fn body, void *user)
{
    tess_parts_plan *p = state_of(plan);
    if (p->rows)
        return tess_partition_refuse(plan->ctx, p->A, "solvers and vectors by part");
    return tess_parts_run(p->parts, each_one, &(each){p, body, user});
}

static int count_parts(const tess_plan *plan)
{
    return state_of(plan)->parts->count;
}

const tess_backend tess_parts_backend = {
    .name = "parts",
    .open = tess_parts_open,
    .close = tess_parts_close,
    .prepare = prepare,
    .release = release,
    .spmv = spmv,
    .spmv_transpose = spmv_transpose,
    .spmv_dot = spmv_dot,
    .dot = dot_product,
    .spmm = spmm,
    .update_values = update_values,
    .explain = explain,
    .each_part = each_part,
    .parts = count_parts,
};

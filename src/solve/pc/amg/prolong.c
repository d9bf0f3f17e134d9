/* The prolongator P = (I - omega D^-1 A) Q, for the tentative prolongator Q and the diagonal blocks
 * D of A; omega is 4/3 divided by the largest eigenvalue of D^-1 A. */
#include "solve/pc/amg/amg.h"

#include "matrix/multiply.h"

/* ---- Inverses of the diagonal blocks ---- */

/* Copies block `row` of the diagonal. Rows of padding become rows of the identity. */
static void get_diagonal(const tess_matrix *A, int64_t row, double *block)
{
    const int32_t b = A->block_height;
    const int64_t k = tess_matrix_find(A, row, row);
    if (k < 0)
        memset(block, 0, (size_t)(b * b) * sizeof *block);
    else
        memcpy(block, (const double *)A->values + k * b * b, (size_t)(b * b) * sizeof *block);
    for (int64_t i = tess_max(A->rows - row * b, 0); i < b; i++)
        block[i * b + i] = 1;
}

struct invert_blocks {
    const tess_amg_level *level;
    double *scratch; /* `room` numbers a share */
    int64_t room;
};

static void invert_blocks(void *arg, tess_range rows)
{
    const struct invert_blocks *job = arg;
    const tess_matrix *A = job->level->A;
    const int32_t b = A->block_height;
    double *work = job->scratch + rows.share * job->room, pivot;
    for (int64_t i = rows.first; i < rows.last; i++) {
        double *block = job->level->inverse + i * b * b;
        get_diagonal(A, i, block);
        if (tess_dense_invert(block, b, work, &pivot) < 0)
            continue;
        get_diagonal(A, i, block);
        tess_amg_invert_dense(NULL, block, b, work);
    }
}

tess_status tess_amg_invert_diagonal(tess_ctx *ctx, tess_amg_level *level)
{
    const tess_matrix *A = level->A;
    const int32_t b = A->block_height;
    const int64_t room = 2 * b * b + 2 * b;
    double *scratch;
    if (!level->inverse)
        TESS_TRY(TESS_ALLOC(ctx, A->block_rows * b * b, &level->inverse));
    TESS_TRY(TESS_ALLOC(ctx, room * ctx->threads, &scratch));
    tess_for(ctx, A->block_rows, invert_blocks, &(struct invert_blocks){level, scratch, room});
    tess_free(ctx, scratch);
    return TESS_OK;
}

/* ---- The largest eigenvalue of D^-1 A ---- */

enum { STEPS = 10, CHUNKS = 64 };

typedef struct lanczos {
    const tess_amg_level *level;
    tess_plan *plan;
    double *r, *z, *p, *q;
    int64_t n;
    tess_ctx *ctx;
} lanczos;

struct scale_chunks {
    const lanczos *s;
    double *part;
};

static void scale_chunks(void *arg, tess_range range)
{
    const struct scale_chunks *job = arg;
    const lanczos *s = job->s;
    const int32_t b = s->level->A->block_height;
    const int64_t rows = s->level->A->block_rows;
    double *part = job->part;
    for (int64_t c = range.first; c < range.last; c++) {
        part[c] = 0;
        for (int64_t i = rows * c / CHUNKS; i < rows * (c + 1) / CHUNKS; i++) {
            const double *inverse = s->level->inverse + i * b * b;
            const double *r = s->r + i * b;
            for (int32_t p = 0; p < b; p++) {
                double z = 0;
                for (int32_t q = 0; q < b; q++)
                    z += inverse[q * b + p] * r[q];
                s->z[i * b + p] = z;
                part[c] += z * r[p];
            }
        }
    }
}

/* z = D^-1 r; returns r.z, summed by chunks in order. */
static double scale(const lanczos *s)
{
    double part[CHUNKS], sum = 0;
    tess_for(s->ctx, CHUNKS, scale_chunks, &(struct scale_chunks){s, part});
    for (int c = 0; c < CHUNKS; c++)
        sum += part[c];
    return sum;
}

struct dot_chunks {
    int64_t n;
    const double *x, *y;
    double *part;
};

static void dot_chunks(void *arg, tess_range range)
{
    const struct dot_chunks *job = arg;
    const int64_t n = job->n;
    for (int64_t c = range.first; c < range.last; c++) {
        job->part[c] = 0;
        for (int64_t i = n * c / CHUNKS; i < n * (c + 1) / CHUNKS; i++)
            job->part[c] += job->x[i] * job->y[i];
    }
}

static double dot(const lanczos *s, const double *x, const double *y)
{
    double part[CHUNKS], sum = 0;
    tess_for(s->ctx, CHUNKS, dot_chunks, &(struct dot_chunks){s->n, x, y, part});
    for (int c = 0; c < CHUNKS; c++)
        sum += part[c];
    return sum;
}

struct add_range {
    double f;
    const double *x;
    double *y;
    bool swapped;
};

static void add_range(void *arg, tess_range range)
{
    const struct add_range *job = arg;
    const double f = job->f, *x = job->x;
    double *y = job->y;
    const bool swapped = job->swapped;
    for (int64_t i = range.first; i < range.last; i++)
        y[i] = swapped ? x[i] + f * y[i] : y[i] + f * x[i];
}

/* y = y + f x, or x + f y where `swapped`. */
static void add(const lanczos *s, double f, const double *x, double *y, bool swapped)
{
    tess_for(s->ctx, s->n, add_range, &(struct add_range){f, x, y, swapped});
}

/* How many eigenvalues of the tridiagonal matrix are above x, by Sturm's sequence. */
static int above(const double *diagonal, const double *square, int n, double x)
{
    int count = 0;
    double d = diagonal[0] - x;
    count += d > 0;
    for (int i = 1; i < n; i++) {
        if (d == 0)
            d = 1e-300;
        d = diagonal[i] - x - square[i] / d;
        count += d > 0;
    }
    return count;
}

static double largest_of(const double *diagonal, const double *square, int n)
{
    double low = 0, high = 0;
    for (int i = 0; i < n; i++)
        high = fmax(high, diagonal[i] + sqrt(square[i]) + (i + 1 < n ? sqrt(square[i + 1]) : 0));
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        if (above(diagonal, square, n, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Begins with random numbers, each multiplied by the root of its diagonal's size. Every row then
 * has about the same share of the norm r.D^-1 r, however different the sizes of rows are. */
static void begin(void *arg, tess_range range)
{
    const lanczos *s = arg;
    const int32_t b = s->level->A->block_height;
    for (int64_t i = range.first; i < range.last; i++) {
        const double inverse = fabs(s->level->inverse[i / b * b * b + i % b * (b + 1)]);
        s->r[i] = i < s->level->A->rows && inverse > 0
                      ? tess_random_unit(7, (uint64_t)i) / sqrt(inverse)
                      : 0;
        s->p[i] = s->q[i] = 0;
    }
}

/* Conjugate gradients with preconditioner D: their coefficients are the tridiagonal matrix of
 * Lanczos' method for D^-1 A. */
static tess_status iterate(lanczos *s, double *largest)
{
    double diagonal[STEPS], square[STEPS + 1] = {0}, last_alpha = 1, last_beta = 0;
    int steps = 0;
    tess_for(s->ctx, s->n, begin, s);
    double rz = scale(s);
    add(s, 0, s->z, s->p, true);
    for (; steps < STEPS && rz > 0 && isfinite(rz); steps++) {
        TESS_TRY(tess_spmv(s->plan, 1, s->p, 0, s->q));
        const double pq = dot(s, s->p, s->q), alpha = rz / pq;
        if (!(pq > 0) || !isfinite(alpha) || !(alpha > 0))
            break;
        diagonal[steps] = 1 / alpha + last_beta / last_alpha;
        square[steps] = last_beta / (last_alpha * last_alpha);
        add(s, -alpha, s->q, s->r, false);
        const double next = scale(s);
        last_beta = next / rz;
        last_alpha = alpha;
        rz = next;
        add(s, last_beta, s->z, s->p, true);
    }
    square[0] = 0;
    square[steps] = 0;
    *largest = steps > 0 ? largest_of(diagonal, square, steps) : 1;
    return TESS_OK;
}

tess_status tess_amg_largest(tess_amg *amg, tess_plan *plan, tess_amg_level *level)
{
    static const tess_plan_options plain = {.effort = TESS_EFFORT_ESTIMATE, .format = "bsr"};
    tess_ctx *ctx = amg->ctx;
    lanczos s = {.level = level, .n = level->A->block_rows * level->A->block_height, .ctx = ctx};
    tess_plan *own = NULL;
    double *vectors = NULL;
    tess_status status;
    if (!plan)
        TESS_TRY(tess_plan_create(ctx, level->A, amg->host, &plain, &own));
    s.plan = plan ? plan : own;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 4 * s.n, &vectors));
    s.r = vectors;
    s.z = s.r + s.n;
    s.p = s.z + s.n;
    s.q = s.p + s.n;
    TESS_TRY_CLEAN(iterate(&s, &level->largest));
    if (!(level->largest > 0) || !isfinite(level->largest))
        level->largest = 1;
cleanup:
    tess_free(ctx, vectors);
    tess_plan_destroy(own);
    return status;
}

/* ---- Smoothing ---- */

/* block (b x k) = -omega inverse block. */
static inline __attribute__((always_inline)) void smooth_block(const double *restrict inverse,
                                                               double omega, const int32_t b,
                                                               const int32_t k,
                                                               double *restrict block)
{
    double column[TESS_AMG_MODES];
    for (int32_t j = 0; j < k; j++) {
        for (int32_t p = 0; p < b; p++)
            column[p] = 0;
        for (int32_t q = 0; q < b; q++)
            for (int32_t p = 0; p < b; p++)
                column[p] += inverse[q * b + p] * block[j * b + q];
        for (int32_t p = 0; p < b; p++)
            block[j * b + p] = -omega * column[p];
    }
}

static void smooth(const double *inverse, double omega, int32_t b, int32_t k, double *block)
{
    switch (b) {
    case 1:
        smooth_block(inverse, omega, 1, k, block);
        break;
    case 2:
        smooth_block(inverse, omega, 2, k, block);
        break;
    case 3:
        smooth_block(inverse, omega, 3, k, block);
        break;
    case 6:
        smooth_block(inverse, omega, 6, k, block);
        break;
    default:
        smooth_block(inverse, omega, b, k, block);
    }
}

double tess_amg_omega(const tess_amg_level *level)
{
    return 4.0 / 3 / level->largest;
}

static void smooth_row(void *prolongator, const void *level_of, int64_t i)
{
    const tess_amg_level *level = level_of;
    const tess_matrix *Q = level->tentative, *P = prolongator;
    const double omega = tess_amg_omega(level);
    const int32_t b = Q->block_height, k = Q->block_width;
    const int64_t size = (int64_t)b * k;
    double *values = P->values;
    for (int64_t l = P->row_offsets[i]; l < P->row_offsets[i + 1]; l++)
        smooth(level->inverse + i * b * b, omega, b, k, values + l * size);
    if (Q->row_offsets[i + 1] == Q->row_offsets[i])
        return;
    const int64_t own = tess_matrix_find(P, i, Q->columns[Q->row_offsets[i]]);
    const double *from = (const double *)Q->values + Q->row_offsets[i] * size;
    for (int64_t p = 0; p < size; p++)
        values[own * size + p] += from[p];
}

tess_status tess_amg_prolong(tess_ctx *ctx, tess_amg_level *level)
{
    TESS_TRY(tess_multiply_values(ctx, level->filtered ? level->filtered : level->A,
                                  level->tentative, level->P));
    tess_for_each(ctx, level->P->block_rows, 0, smooth_row, level->P, level);
    return TESS_OK;
}

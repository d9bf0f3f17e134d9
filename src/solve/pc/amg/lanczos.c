/* The largest eigenvalue of D^-1 A, for the diagonal blocks D of A, by a few steps of Lanczos'
 * method. The coefficients of conjugate gradients with D are those of Lanczos' method for D^-1 A:
 *
 *     r: random,  z = D^-1 r,  p = z                 begin
 *     q = A p,  alpha = r.z / p.q                    multiply
 *     r = r - alpha q,  z = D^-1 r                   advance
 *     p = z + beta p,  beta = r.z / r.z before       follow
 *
 * The four have one implementation for the host, below, and one for each device that has the
 * matrix.
 */
#include "solve/pc/amg/device.h"

enum { STEPS = 8, CHUNKS = 64 };

/* ---- The tridiagonal matrix ---- */

/* Counts the eigenvalues of the tridiagonal matrix above x, by the signs of its leading minors. */
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

static tess_status iterate(const tess_lanczos_ops *ops, void *vectors, double *largest)
{
    double diagonal[STEPS], square[STEPS + 1] = {0}, last_alpha = 1, last_beta = 0, rz, pq, next;
    int steps = 0;
    TESS_TRY(ops->begin(vectors, &rz));
    TESS_TRY(ops->follow(vectors, 0));
    for (; steps < STEPS && rz > 0 && isfinite(rz); steps++) {
        TESS_TRY(ops->multiply(vectors, &pq));
        const double alpha = rz / pq;
        if (!(pq > 0) || !isfinite(alpha) || !(alpha > 0))
            break;
        diagonal[steps] = 1 / alpha + last_beta / last_alpha;
        square[steps] = last_beta / (last_alpha * last_alpha);
        TESS_TRY(ops->advance(vectors, alpha, &next));
        last_beta = next / rz;
        last_alpha = alpha;
        rz = next;
        TESS_TRY(ops->follow(vectors, last_beta));
    }
    square[0] = 0;
    square[steps] = 0;
    *largest = steps > 0 ? largest_of(diagonal, square, steps) : 1;
    if (!(*largest > 0) || !isfinite(*largest))
        *largest = 1;
    return TESS_OK;
}

/* ---- Vectors on the host ---- */

typedef struct lanczos {
    const tess_amg_level *level;
    tess_plan *plan;
    double *r, *z, *p, *q;
    int64_t n;
    tess_ctx *ctx;
    double factor, part[CHUNKS]; /* alpha or beta; partial sums */
} lanczos;

/* Adds up the chunks' sums in order. */
static double sum_of(const lanczos *s)
{
    double sum = 0;
    for (int c = 0; c < CHUNKS; c++)
        sum += s->part[c];
    return sum;
}

/* r = r - factor q and z = D^-1 r of some block rows. Returns their part of r.z. */
static inline __attribute__((always_inline)) double scale_rows(const lanczos *s, int64_t first,
                                                               int64_t last, const int32_t b)
{
    double sum = 0;
    for (int64_t i = first; i < last; i++) {
        const double *inverse = s->level->inverse + i * b * b, *q = s->q + i * b;
        double *r = s->r + i * b;
        for (int32_t p = 0; p < b; p++)
            r[p] -= s->factor * q[p];
        for (int32_t p = 0; p < b; p++) {
            double z = 0;
            for (int32_t l = 0; l < b; l++)
                z += inverse[l * b + p] * r[l];
            s->z[i * b + p] = z;
            sum += z * r[p];
        }
    }
    return sum;
}

static void scale_chunks(void *arg, tess_range range)
{
    lanczos *s = arg;
    const int32_t b = s->level->A->block_height;
    const int64_t rows = s->level->A->block_rows;
    for (int64_t c = range.first; c < range.last; c++) {
        const int64_t first = rows * c / CHUNKS, last = rows * (c + 1) / CHUNKS;
        s->part[c] = b == 1   ? scale_rows(s, first, last, 1)
                     : b == 3 ? scale_rows(s, first, last, 3)
                     : b == 6 ? scale_rows(s, first, last, 6)
                              : scale_rows(s, first, last, b);
    }
}

static tess_status advance(void *vectors, double alpha, double *rz)
{
    lanczos *s = vectors;
    s->factor = alpha;
    tess_for(s->ctx, CHUNKS, scale_chunks, s);
    *rz = sum_of(s);
    return TESS_OK;
}

/* Sets r to random numbers, each times the root of its diagonal's size. Every row then has the same
 * share of the norm that D gives, however far apart the sizes of rows are. */
static void begin_range(void *arg, tess_range range)
{
    const lanczos *s = arg;
    const int32_t b = s->level->A->block_height;
    for (int64_t i = range.first; i < range.last; i++) {
        const double inverse = fabs(s->level->inverse[i / b * b * b + i % b * (b + 1)]);
        s->r[i] = i < s->level->A->rows && inverse > 0
                      ? tess_random_unit(TESS_LANCZOS_SEED, (uint64_t)i) / sqrt(inverse)
                      : 0;
        s->p[i] = s->q[i] = 0;
    }
}

static tess_status begin(void *vectors, double *rz)
{
    const lanczos *s = vectors;
    tess_for(s->ctx, s->n, begin_range, vectors);
    return advance(vectors, 0, rz);
}

static void dot_chunks(void *arg, tess_range range)
{
    lanczos *s = arg;
    const int64_t n = s->n;
    for (int64_t c = range.first; c < range.last; c++) {
        double sum = 0;
        for (int64_t i = n * c / CHUNKS; i < n * (c + 1) / CHUNKS; i++)
            sum += s->p[i] * s->q[i];
        s->part[c] = sum;
    }
}

static tess_status multiply(void *vectors, double *pq)
{
    lanczos *s = vectors;
    TESS_TRY(tess_spmv(s->plan, 1, s->p, 0, s->q));
    tess_for(s->ctx, CHUNKS, dot_chunks, s);
    *pq = sum_of(s);
    return TESS_OK;
}

static void follow_range(void *arg, tess_range range)
{
    const lanczos *s = arg;
    for (int64_t i = range.first; i < range.last; i++)
        s->p[i] = s->z[i] + s->factor * s->p[i];
}

static tess_status follow(void *vectors, double beta)
{
    lanczos *s = vectors;
    s->factor = beta;
    tess_for(s->ctx, s->n, follow_range, s);
    return TESS_OK;
}

static tess_status on_host(tess_amg *amg, tess_plan *plan, tess_amg_level *level)
{
    static const tess_plan_options plain = {.effort = TESS_EFFORT_ESTIMATE, .format = "bsr"};
    static const tess_lanczos_ops ops = {begin, multiply, advance, follow};
    tess_ctx *ctx = amg->ctx;
    lanczos s = {.level = level, .n = level->A->block_rows * level->A->block_height, .ctx = ctx};
    tess_plan *own = NULL;
    double *vectors = NULL;
    tess_status status;
    TESS_TRY(tess_amg_need_inverse(amg, level));
    if (!plan)
        TESS_TRY(tess_amg_need_values(amg, level));
    if (!plan)
        TESS_TRY(tess_plan_create(ctx, level->A, amg->host, &plain, &own));
    s.plan = plan ? plan : own;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 4 * s.n, &vectors));
    s.r = vectors;
    s.z = s.r + s.n;
    s.p = s.z + s.n;
    s.q = s.p + s.n;
    TESS_TRY_CLEAN(iterate(&ops, &s, &level->largest));
cleanup:
    tess_free(ctx, vectors);
    tess_plan_destroy(own);
    return status;
}

/* ---- Where it is computed ---- */

/* Without room for vectors on the device the host computes. */
tess_status tess_amg_largest(tess_amg *amg, tess_plan *plan, tess_amg_level *level)
{
    const tess_amg_device_ops *ops = amg->device->backend->multigrid;
    tess_plan *exact = plan->matrix->type == TESS_F64 ? plan : NULL;
    if (!ops || (!exact && !level->device))
        return on_host(amg, exact, level);
    void *vectors;
    const tess_kept_error kept = tess_error_keep(amg->ctx);
    tess_status status = ops->open_vectors(plan, level, tess_spmv, &vectors);
    if (status == TESS_ERR_MEMORY) {
        tess_error_restore(amg->ctx, &kept);
        return on_host(amg, exact, level);
    }
    TESS_TRY(status);
    status = iterate(ops->lanczos, vectors, &level->largest);
    ops->close_vectors(vectors);
    return status;
}

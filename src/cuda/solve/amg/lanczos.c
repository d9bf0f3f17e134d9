/* Vectors of Lanczos' method in device memory (solve/pc/amg/device.h). */
#include "cuda/solve/amg/lanczos.h"

#include "cuda/driver/module.h"
#include "cuda/solve/amg/coarsen_level.h"

/* ---- Launches ---- */

static int64_t blocks_for(const tess_lanczos_vectors *v)
{
    return tess_ceil_div(v->count, TESS_LANCZOS_THREADS);
}

void tess_lanczos_begin(const tess_lanczos_vectors *v, tess_cuda_launch *launch)
{
    tess_cuda_launch_start(launch, "begin", blocks_for(v), TESS_LANCZOS_THREADS);
    TESS_CUDA_POINTERS(launch, v->inverse, v->r[0], v->p, v->q);
    TESS_CUDA_INTEGERS(launch, v->count, v->rows, v->block, TESS_LANCZOS_SEED);
}

static int64_t partial_count(const tess_lanczos_vectors *v)
{
    return tess_min(blocks_for(v), TESS_LANCZOS_SUMS);
}

int tess_lanczos_advance(const tess_lanczos_vectors *v, double alpha, tess_cuda_launch *launch)
{
    const int64_t count = partial_count(v);
    tess_cuda_launch_start(launch, "advance", count, TESS_LANCZOS_THREADS);
    TESS_CUDA_POINTERS(launch, v->inverse, v->r[0], v->q, v->r[1], v->z, v->partial);
    TESS_CUDA_INTEGERS(launch, v->count, v->block);
    TESS_CUDA_NUMBERS(launch, alpha);
    return (int)count;
}

void tess_lanczos_product(const tess_lanczos_vectors *v, const tess_coarsen_matrix *A,
                          tess_cuda_launch *launch)
{
    tess_cuda_launch_start(launch, "product", blocks_for(v), TESS_LANCZOS_THREADS);
    TESS_CUDA_POINTERS(launch, A->offsets, A->columns, A->values, v->p, v->q);
    TESS_CUDA_INTEGERS(launch, v->count, v->rows, v->block);
}

int tess_lanczos_multiply(const tess_lanczos_vectors *v, tess_cuda_launch *launch)
{
    const int64_t count = partial_count(v);
    tess_cuda_launch_start(launch, "multiply", count, TESS_LANCZOS_THREADS);
    TESS_CUDA_POINTERS(launch, v->p, v->q, v->partial);
    TESS_CUDA_INTEGERS(launch, v->count);
    return (int)count;
}

void tess_lanczos_follow(const tess_lanczos_vectors *v, double beta, tess_cuda_launch *launch)
{
    tess_cuda_launch_start(launch, "follow", blocks_for(v), TESS_LANCZOS_THREADS);
    TESS_CUDA_POINTERS(launch, v->z, v->p);
    TESS_CUDA_INTEGERS(launch, v->count);
    TESS_CUDA_NUMBERS(launch, beta);
}

/* ---- Steps ---- */

typedef struct device_vectors {
    tess_plan *plan;
    tess_spmv_fn spmv;
    const tess_coarsen_matrix *own; /* the A of products; NULL: the plan's */
    cu_pointer memory;              /* of all vectors */
    tess_lanczos_vectors v;
    cu_function begin, advance, product, multiply, follow;
} device_vectors;

static tess_status launch(const device_vectors *s, cu_function function, tess_cuda_launch *l)
{
    tess_cuda *cuda = tess_cuda_of(s->plan->device);
    return tess_cuda_launch_one(cuda, function, l, tess_cuda_plan_of(s->plan)->stream);
}

/* Runs a launch that leaves partial sums, and adds them up in order. */
static tess_status add_partial(const device_vectors *s, cu_function function, tess_cuda_launch *l,
                               int count, double *out)
{
    const tess_cuda_plan *p = tess_cuda_plan_of(s->plan);
    double partial[TESS_LANCZOS_SUMS], sum = 0;
    TESS_TRY(tess_cuda_enter(p->cuda));
    tess_status status = launch(s, function, l);
    if (status == TESS_OK)
        status = tess_cuda_download(p->cuda, partial, s->v.partial, (size_t)count * sizeof *partial,
                                    p->stream);
    TESS_TRY(tess_cuda_leave_with(p->cuda, status));
    for (int i = 0; i < count; i++)
        sum += partial[i];
    *out = sum;
    return TESS_OK;
}

static tess_status advance(void *vectors, double alpha, double *rz)
{
    device_vectors *s = vectors;
    tess_cuda_launch l;
    const int count = tess_lanczos_advance(&s->v, alpha, &l);
    TESS_TRY(add_partial(s, s->advance, &l, count, rz));
    const uint64_t before = s->v.r[0];
    s->v.r[0] = s->v.r[1];
    s->v.r[1] = before;
    return TESS_OK;
}

static tess_status begin(void *vectors, double *rz)
{
    device_vectors *s = vectors;
    tess_cuda *cuda = tess_cuda_of(s->plan->device);
    tess_cuda_launch l;
    tess_lanczos_begin(&s->v, &l);
    TESS_TRY(tess_cuda_enter(cuda));
    TESS_TRY(tess_cuda_leave_with(cuda, launch(s, s->begin, &l)));
    return advance(vectors, 0, rz);
}

static tess_status product(const device_vectors *s)
{
    tess_cuda *cuda = tess_cuda_of(s->plan->device);
    tess_cuda_launch l;
    if (!s->own)
        return s->spmv(s->plan, 1, (const void *)(uintptr_t)s->v.p, 0, (void *)(uintptr_t)s->v.q);
    tess_lanczos_product(&s->v, s->own, &l);
    TESS_TRY(tess_cuda_enter(cuda));
    return tess_cuda_leave_with(cuda, launch(s, s->product, &l));
}

static tess_status multiply(void *vectors, double *pq)
{
    const device_vectors *s = vectors;
    tess_cuda_launch l;
    TESS_TRY(product(s));
    const int count = tess_lanczos_multiply(&s->v, &l);
    return add_partial(s, s->multiply, &l, count, pq);
}

static tess_status follow(void *vectors, double beta)
{
    const device_vectors *s = vectors;
    tess_cuda *cuda = tess_cuda_of(s->plan->device);
    tess_cuda_launch l;
    tess_lanczos_follow(&s->v, beta, &l);
    TESS_TRY(tess_cuda_enter(cuda));
    return tess_cuda_leave_with(cuda, launch(s, s->follow, &l));
}

const tess_lanczos_ops tess_cuda_lanczos_ops = {begin, multiply, advance, follow};

/* ---- Their memory ---- */

static tess_status fill(device_vectors *s, const tess_amg_level *level)
{
    const tess_cuda_plan *p = tess_cuda_plan_of(s->plan);
    tess_cuda *cuda = p->cuda;
    tess_lanczos_vectors *v = &s->v;
    const uint64_t blocks = (uint64_t)(v->count * v->block) * sizeof(double);
    const uint64_t vector = (uint64_t)v->count * sizeof(double);
    const struct {
        const char *entry;
        cu_function *function;
    } entries[] = {{"begin", &s->begin},
                   {"advance", &s->advance},
                   {"product", &s->product},
                   {"multiply", &s->multiply},
                   {"follow", &s->follow}};
    char defines[32];
    snprintf(defines, sizeof defines, "-DTHREADS=%d", TESS_LANCZOS_THREADS);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        TESS_TRY(
            tess_cuda_helper(cuda, "lanczos.cu", defines, entries[i].entry, entries[i].function));
    const tess_coarsen_level *on_device = level->device;
    s->own = on_device && s->plan->matrix->type != TESS_F64 ? &on_device->matrix[COARSEN_A] : NULL;
    const uint64_t own = on_device ? 0 : blocks;
    TESS_TRY(tess_cuda_alloc(cuda, own + 5 * vector + TESS_LANCZOS_SUMS * sizeof(double),
                             "vectors of Lanczos' method", &s->memory));
    v->inverse = on_device ? on_device->inverse : s->memory;
    v->r[0] = s->memory + own;
    v->r[1] = v->r[0] + vector;
    v->z = v->r[1] + vector;
    v->p = v->z + vector;
    v->q = v->p + vector;
    v->partial = v->q + vector;
    return own > 0 ? tess_cuda_upload(cuda, v->inverse, level->inverse, blocks, p->stream)
                   : TESS_OK;
}

tess_status tess_cuda_open_vectors(tess_plan *plan, const tess_amg_level *level, tess_spmv_fn spmv,
                                   void **out)
{
    tess_cuda *cuda = tess_cuda_of(plan->device);
    const tess_matrix *A = level->A;
    device_vectors *s;
    TESS_TRY(TESS_ALLOC(cuda->ctx, 1, &s));
    *s = (device_vectors){
        .plan = plan,
        .spmv = spmv,
        .v = {.count = A->block_rows * A->block_height, .rows = A->rows, .block = A->block_height}};
    tess_status status = tess_cuda_enter(cuda);
    if (status == TESS_OK)
        status = tess_cuda_leave_with(cuda, fill(s, level));
    if (status != TESS_OK) {
        tess_cuda_close_vectors(s);
        return status;
    }
    *out = s;
    return TESS_OK;
}

void tess_cuda_close_vectors(void *vectors)
{
    device_vectors *s = vectors;
    tess_cuda *cuda = tess_cuda_of(s->plan->device);
    const bool entered = tess_cuda_enter(cuda) == TESS_OK;
    if (entered)
        (void)cuda->driver.cuStreamSynchronize(tess_cuda_plan_of(s->plan)->stream);
    tess_cuda_free(cuda, s->memory);
    if (entered)
        tess_cuda_leave(cuda);
    tess_free(cuda->ctx, s);
}

/* Times products by the device's own clock: events in the stream. */
#include "cuda/driver/gate.h"
#include "cuda/plan/plan.h"

void tess_cuda_events_destroy(tess_cuda *cuda, cu_event *events, int64_t count)
{
    for (int64_t i = 0; events && i < count; i++)
        if (events[i])
            (void)cuda->driver.cuEventDestroy(events[i]);
    tess_free(cuda->ctx, events);
}

tess_status tess_cuda_events_create(tess_cuda *cuda, int64_t count, cu_event **out)
{
    cu_event *events;
    TESS_TRY(TESS_CALLOC(cuda->ctx, count, &events));
    for (int64_t i = 0; i < count; i++) {
        tess_status status = TESS_CU(cuda, cuEventCreate(&events[i], CU_EVENT_DEFAULT_FLAGS));
        if (status != TESS_OK) {
            tess_cuda_events_destroy(cuda, events, count);
            return status;
        }
    }
    *out = events;
    return TESS_OK;
}

tess_status tess_cuda_events_read(tess_cuda *cuda, const cu_event *events, int count,
                                  double *seconds)
{
    for (int i = 0; i < count; i++) {
        float milliseconds = 0;
        TESS_TRY(TESS_CU(cuda, cuEventSynchronize(events[2 * i + 1])));
        TESS_TRY(
            TESS_CU(cuda, cuEventElapsedTime(&milliseconds, events[2 * i], events[2 * i + 1])));
        seconds[i] = 1e-3 * (double)milliseconds;
    }
    return TESS_OK;
}

/* A gate holds GATED repetitions at a time, as many as a stream takes before the host has to wait.
 * Without a gate the device would wait for the host, and a product of a few microseconds would seem
 * as long as the host needs to launch it. Iterations of a solver come from a graph and have no such
 * gaps. */
enum { GATED = 128 };

static tess_status next_gate(tess_cuda *cuda, cu_stream stream)
{
    tess_cuda_open_gate(cuda);
    TESS_TRY(TESS_CU(cuda, cuStreamSynchronize(stream)));
    return tess_cuda_shut_gate(cuda, stream);
}

tess_status tess_cuda_time_launches(tess_cuda *cuda, cu_stream stream,
                                    tess_status (*launch)(void *user), void *user, bool gated,
                                    int reps, double *seconds)
{
    cu_event *events = NULL;
    tess_status status;
    TESS_TRY_CLEAN(tess_cuda_events_create(cuda, 2 * reps, &events));
    for (int i = gated ? -1 : 0; i < reps; i++) { /* -1 is not timed: it makes variants */
        if (i >= 0 && i % GATED == 0 && gated)
            TESS_TRY_CLEAN(next_gate(cuda, stream));
        if (i >= 0)
            TESS_TRY_CLEAN(TESS_CU(cuda, cuEventRecord(events[2 * i], stream)));
        TESS_TRY_CLEAN(launch(user));
        if (i >= 0)
            TESS_TRY_CLEAN(TESS_CU(cuda, cuEventRecord(events[2 * i + 1], stream)));
    }
    tess_cuda_open_gate(cuda);
    TESS_TRY_CLEAN(tess_cuda_events_read(cuda, events, reps, seconds));

cleanup:
    tess_cuda_open_gate(cuda);
    tess_cuda_events_destroy(cuda, events, 2 * reps);
    return status;
}

/* A product whose vectors are in device memory. */
typedef struct timed_product {
    tess_plan *plan;
    tess_product_fn run;
    const tess_product *product;
    double alpha, beta;
    cu_pointer x, y;
} timed_product;

static tess_status launch_product(void *user)
{
    const timed_product *t = user;
    return t->run(t->plan, t->product, t->alpha, (void *)(uintptr_t)t->x, t->beta,
                  (void *)(uintptr_t)t->y);
}

static tess_status time_product(timed_product *t, const void *x, void *y, int reps, double *seconds)
{
    tess_cuda_plan *p = tess_cuda_plan_of(t->plan->inner ? t->plan->inner : t->plan);
    tess_cuda *cuda = p->cuda;
    size_t size = tess_type_size(p->matrix.type);
    size_t x_bytes = size * (size_t)tess_product_x_size(&p->matrix, t->product);
    size_t y_bytes = size * (size_t)tess_product_y_size(&p->matrix, t->product);
    tess_status status;
    TESS_TRY_CLEAN(tess_cuda_alloc(cuda, x_bytes, "x", &t->x));
    TESS_TRY_CLEAN(tess_cuda_alloc(cuda, y_bytes, "y", &t->y));
    TESS_TRY_CLEAN(tess_cuda_upload(cuda, t->x, x, x_bytes, p->stream));
    if (t->beta != 0)
        TESS_TRY_CLEAN(tess_cuda_upload(cuda, t->y, y, y_bytes, p->stream));
    else if (y_bytes > 0) /* NaNs show a row that no thread writes */
        TESS_TRY_CLEAN(TESS_CU(cuda, cuMemsetD8Async(t->y, 0xff, y_bytes, p->stream)));
    TESS_TRY_CLEAN(
        tess_cuda_time_launches(cuda, p->stream, launch_product, t, t->beta == 0, reps, seconds));
    TESS_TRY_CLEAN(tess_cuda_download(cuda, y, t->y, y_bytes, p->stream));

cleanup:
    tess_cuda_free(cuda, t->x);
    tess_cuda_free(cuda, t->y);
    return status;
}

tess_status tess_cuda_time_product(tess_plan *plan, tess_product_fn run,
                                   const tess_product *product, double alpha, const void *x,
                                   double beta, void *y, int reps, double *seconds)
{
    tess_cuda *cuda = tess_cuda_of(plan->device);
    timed_product t = {.plan = plan, .run = run, .product = product, .alpha = alpha, .beta = beta};
    TESS_TRY(tess_cuda_enter(cuda));
    return tess_cuda_leave_with(cuda, time_product(&t, x, y, reps, seconds));
}

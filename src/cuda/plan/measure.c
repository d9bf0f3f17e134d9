/* Products timed on the device with its own clock. */
#include "cuda/driver/gate.h"
#include "cuda/plan/plan.h"

void tess_cuda_events_destroy(tess_cuda *cuda, cu_event *events, int count)
{
    for (int i = 0; events && i < 2 * count; i++)
        if (events[i])
            (void)cuda->driver.cuEventDestroy(events[i]);
    tess_free(cuda->ctx, events);
}

tess_status tess_cuda_events_create(tess_cuda *cuda, int count, cu_event **out)
{
    cu_event *events;
    TESS_TRY(TESS_CALLOC(cuda->ctx, 2 * (int64_t)count, &events));
    for (int i = 0; i < 2 * count; i++) {
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

/* GATED repetitions at a time wait behind a gate, as many as a stream holds. Without it the device
 * would wait for the host, and a product of a few microseconds would seem as long as its launch.
 * Iterations of a solver come from a graph and have no such gaps. */
enum { GATED = 128 };

static tess_status next_gate(tess_cuda *cuda, cu_stream stream)
{
    tess_cuda_open_gate(cuda);
    TESS_TRY(TESS_CU(cuda, cuStreamSynchronize(stream)));
    return tess_cuda_shut_gate(cuda, stream);
}

static tess_status time_product(tess_plan *plan, const tess_product *product, double alpha,
                                const void *x, double beta, void *y, int reps, double *seconds)
{
    tess_cuda_plan *p = tess_cuda_plan_of(plan);
    tess_cuda *cuda = p->cuda;
    size_t size = tess_type_size(p->matrix.type);
    size_t x_bytes = size * (size_t)tess_product_x_size(&p->matrix, product);
    size_t y_bytes = size * (size_t)tess_product_y_size(&p->matrix, product);
    cu_pointer device_x = 0, device_y = 0;
    cu_event *events = NULL;
    tess_status status;
    TESS_TRY_CLEAN(tess_cuda_alloc(cuda, x_bytes, "x", &device_x));
    TESS_TRY_CLEAN(tess_cuda_alloc(cuda, y_bytes, "y", &device_y));
    TESS_TRY_CLEAN(tess_cuda_events_create(cuda, reps, &events));
    TESS_TRY_CLEAN(tess_cuda_upload(cuda, device_x, x, x_bytes, p->stream));
    if (beta != 0)
        TESS_TRY_CLEAN(tess_cuda_upload(cuda, device_y, y, y_bytes, p->stream));
    else if (y_bytes > 0) /* NaNs: a row nobody writes is seen */
        TESS_TRY_CLEAN(TESS_CU(cuda, cuMemsetD8Async(device_y, 0xff, y_bytes, p->stream)));
    for (int i = beta == 0 ? -1 : 0; i < reps; i++) { /* the first makes what is made lazily */
        if (i >= 0 && i % GATED == 0 && beta == 0)
            TESS_TRY_CLEAN(next_gate(cuda, p->stream));
        if (i >= 0)
            TESS_TRY_CLEAN(TESS_CU(cuda, cuEventRecord(events[2 * i], p->stream)));
        TESS_TRY_CLEAN(tess_product_run(plan, product, alpha, (void *)(uintptr_t)device_x, beta,
                                        (void *)(uintptr_t)device_y));
        if (i >= 0)
            TESS_TRY_CLEAN(TESS_CU(cuda, cuEventRecord(events[2 * i + 1], p->stream)));
    }
    tess_cuda_open_gate(cuda);
    TESS_TRY_CLEAN(tess_cuda_events_read(cuda, events, reps, seconds));
    TESS_TRY_CLEAN(tess_cuda_download(cuda, y, device_y, y_bytes, p->stream));

cleanup:
    tess_cuda_open_gate(cuda);
    tess_cuda_events_destroy(cuda, events, reps);
    tess_cuda_free(cuda, device_x);
    tess_cuda_free(cuda, device_y);
    return status;
}

tess_status tess_cuda_time_product(tess_plan *plan, const tess_product *product, double alpha,
                                   const void *x, double beta, void *y, int reps, double *seconds)
{
    tess_cuda *cuda = tess_cuda_of(plan->device);
    TESS_TRY(tess_cuda_enter(cuda));
    tess_status status = time_product(plan, product, alpha, x, beta, y, reps, seconds);
    tess_cuda_leave(cuda);
    return status;
}

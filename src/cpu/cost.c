/* The bytes that a kernel moves and the bytes that its format keeps in memory, for the performance
 * model. */
#include "cpu/fields.h"
#include "cpu/formats.h"

/* What one format stores, counted once for each number of streams. */
typedef struct by_streams {
    const tess_cpu_format *format;
    tess_cpu_stored stored[TESS_CPU_STREAMS + 1];
    bool counted[TESS_CPU_STREAMS + 1];
} by_streams;

static tess_status count(const tess_device *device, const tess_matrix *A, int streams,
                         by_streams *known)
{
    if (known->counted[streams])
        return TESS_OK;
    TESS_TRY(known->format->count(device, A, streams, &known->stored[streams]));
    known->counted[streams] = true;
    return TESS_OK;
}

/* "bsr streams=2", "bsr any streams=1", "bsr streams=2 prefetch", "symmetric streams=1 lanes" */
static void name_class(const tess_cpu_kernel *kernel, tess_candidate *c)
{
    const char streams = (char)('0' + kernel->streams);
    if (kernel->block_height == 0)
        snprintf(c->class_name, sizeof c->class_name, "%.9s any streams=%c", c->format, streams);
    else
        snprintf(c->class_name, sizeof c->class_name, "%.9s streams=%c%s", c->format, streams,
                 kernel->prefetch    ? " prefetch"
                 : kernel->lanes > 0 ? " lanes"
                                     : "");
}

static void price(const tess_cpu_format *format, const tess_cpu_kernel *kernel,
                  const tess_matrix *A, const tess_cpu_stored *stored, tess_candidate *c)
{
    const double zeros =
        kernel->lanes > 0 ? stored->values * (1 / tess_symmetric_lanes_fill(A, kernel->lanes) - 1)
                          : 0;
    name_class(kernel, c);
    if (format->irregular_as)
        snprintf(c->irregular_as, sizeof c->irregular_as, "%s%s", format->irregular_as,
                 c->class_name + strlen(c->format));
    snprintf(c->single_class, sizeof c->single_class, "%.9s%s streams=1", c->format,
             kernel->block_height == 0 ? " any" : "");
    c->by_fields = tess_cpu_fields_fit(A);
    c->unsteady = kernel->block_height == 0; /* rows end in scalars that fill no SIMD vector */
    c->naive =
        format->naive && kernel->block_height > 0 && kernel->streams == 1 && !kernel->prefetch;
    c->bytes = stored->moved + zeros;
    c->memory = stored->kept + zeros;
    c->alone = (double)stored->lockstep.alone;
    c->left = (double)stored->lockstep.left / stored->blocks;
}

tess_status tess_cpu_costs(tess_device *device, const tess_matrix *A, tess_candidates *list)
{
    by_streams known = {0};
    for (int64_t i = 0; i < list->count; i++) {
        tess_candidate *c = &list->items[i];
        const tess_cpu_kernel *kernel = tess_cpu_find(device, c->format, A, c->kernel);
        const tess_cpu_format *format;
        TESS_TRY(tess_cpu_format_named(device->ctx, c->format, &format));
        if (!kernel || !format->count)
            continue;
        if (known.format != format)
            known = (by_streams){.format = format};
        TESS_TRY(count(device, A, kernel->streams, &known));
        price(format, kernel, A, &known.stored[kernel->streams], c);
    }
    return TESS_OK;
}

/* The list of formats. */
#include "cpu/formats.h"

static const tess_cpu_format *const formats[] = {&tess_cpu_format_bsr, &tess_cpu_format_symmetric,
                                                 &tess_cpu_format_fbcsr};
enum { FORMATS = sizeof formats / sizeof *formats };

tess_status tess_cpu_format_named(tess_ctx *ctx, const char *name, const tess_cpu_format **out)
{
    const char *names[FORMATS];
    for (int i = 0; i < FORMATS; i++) {
        names[i] = formats[i]->name;
        if (!name || strcmp(name, names[i]) == 0) {
            *out = formats[i];
            return TESS_OK;
        }
    }
    return tess_fail(ctx, TESS_ERR_UNSUPPORTED, "device 'cpu' has no format '%s' (%s)", name,
                     tess_suggest(&(tess_suggestion){""}, name, names, FORMATS));
}

tess_status tess_cpu_candidates(tess_device *device, const tess_matrix *A,
                                const tess_product *product, tess_candidates *list)
{
    for (int i = 0; i < FORMATS; i++)
        if ((formats[i]->complex || !tess_is_complex(A->type)) &&
            (!product->format || strcmp(product->format, formats[i]->name) == 0))
            TESS_TRY(formats[i]->candidates(device, A, product, list));
    return TESS_OK;
}

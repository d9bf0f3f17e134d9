/* Names and short texts of the pinned status codes; the names and sizes of types. */
#include "core/core.h"
#include "core/paste.h"

const char *const tess_type_names[] = {
    [TESS_F64] = "f64", [TESS_F32] = "f32", [TESS_C64] = "c64", [TESS_C32] = "c32", NULL};

static const struct {
    const char *name, *text;
} statuses[] = {
    [TESS_OK] = {"TESS_OK", "success"},
    [TESS_ERR_ARGUMENT] = {"TESS_ERR_ARGUMENT", "invalid argument"},
    [TESS_ERR_MEMORY] = {"TESS_ERR_MEMORY", "out of memory"},
    [TESS_ERR_IO] = {"TESS_ERR_IO", "input/output error"},
    [TESS_ERR_FORMAT] = {"TESS_ERR_FORMAT", "malformed file"},
    [TESS_ERR_MATRIX] = {"TESS_ERR_MATRIX", "invalid matrix"},
    [TESS_ERR_OVERFLOW] = {"TESS_ERR_OVERFLOW", "size too large"},
    [TESS_ERR_UNSUPPORTED] = {"TESS_ERR_UNSUPPORTED", "not supported"},
    [TESS_ERR_OPTION] = {"TESS_ERR_OPTION", "bad option"},
    [TESS_ERR_PATTERN] = {"TESS_ERR_PATTERN", "outside the sparsity pattern"},
    [TESS_ERR_DEVICE] = {"TESS_ERR_DEVICE", "device error"},
    [TESS_ERR_CANCELLED] = {"TESS_ERR_CANCELLED", "cancelled"},
    [TESS_ERR_INTERNAL] = {"TESS_ERR_INTERNAL", "internal error"},
    [TESS_ERR_PART] = {"TESS_ERR_PART", "another part has failed"},
};

size_t tess_type_bytes(tess_type type)
{
    return tess_type_exists(type) ? tess_type_size(type) : 0;
}

tess_status tess_check_type(tess_ctx *ctx, tess_type type)
{
    if (tess_type_exists(type))
        return TESS_OK;
    return tess_fail(ctx, TESS_ERR_ARGUMENT,
                     "type %d is none of TESS_F64, TESS_F32, TESS_C64, TESS_C32", (int)type);
}

static int known(tess_status status)
{
    return (unsigned)status < sizeof statuses / sizeof statuses[0];
}

const char *tess_status_name(tess_status status)
{
    return known(status) ? statuses[status].name : "TESS_ERR_?";
}

const char *tess_status_text(tess_status status)
{
    return known(status) ? statuses[status].text : "unknown status";
}

const char *tess_version(void)
{
    return TESS_TEXT(TESS_VERSION_MAJOR) "." TESS_TEXT(TESS_VERSION_MINOR) "." TESS_TEXT(
        TESS_VERSION_PATCH);
}

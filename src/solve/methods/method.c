/* Methods by name, and what all of them share. */
#include <float.h>

#include "solve/methods/method.h"

const tess_method *const tess_methods[] = {
#define METHOD(name, file) &tess_method_##name,
#include "solve/methods/methods.def"
    NULL,
};

const char *const tess_method_names[] = {
#define METHOD(name, file) #name,
#include "solve/methods/methods.def"
    NULL,
};

void tess_system_end(tess_system *system, tess_reason reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(system->text, sizeof system->text, format, arguments);
    va_end(arguments);
    system->reason = reason;
    system->done = true;
}

double tess_least_rounding(tess_type type)
{
    return 4 * (tess_real_type(type) == TESS_F32 ? FLT_EPSILON : DBL_EPSILON);
}

void tess_system_scale(tess_system *system, double norm)
{
    const double scale = system->drift * system->residual / norm;
    system->scale = isfinite(scale) && scale > 0 ? scale : 1;
}

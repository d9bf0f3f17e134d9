/* Numbers, clocks and vectors. */
#include "util.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

tess_matrix_view view_of(const tess_matrix *A)
{
    tess_matrix_view view;
    tess_matrix_get_view(A, &view);
    return view;
}

double product_bytes(const tess_matrix_view *A)
{
    const double value = (double)type_size(A->type), blocks = (double)A->blocks;
    return value * blocks * A->block_height * A->block_width + 4 * blocks +
           4 * (double)(A->block_rows + 1) + value * (double)(A->rows + A->cols);
}

static const char *const type_names[] = {
    [TESS_F64] = "f64", [TESS_F32] = "f32", [TESS_C64] = "c64", [TESS_C32] = "c32"};

const char *type_name(tess_type type)
{
    return type_names[type];
}

bool parse_type(const char *name, tess_type *type)
{
    for (int i = 0; i <= TESS_C32; i++)
        if (strcmp(name, type_names[i]) == 0) {
            *type = (tess_type)i;
            return true;
        }
    return false;
}

/* Real number i of an array, where a complex scalar has two. */
static double get_real(const void *array, tess_type type, int64_t i)
{
    const bool f64 = type == TESS_F64 || type == TESS_C64;
    return f64 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

static void put_real(void *array, tess_type type, int64_t i, double value)
{
    if (type == TESS_F64 || type == TESS_C64)
        ((double *)array)[i] = value;
    else
        ((float *)array)[i] = (float)value;
}

tess_complex get_scalar(const void *array, tess_type type, int64_t i)
{
    if (!is_complex(type))
        return (tess_complex){get_real(array, type, i), 0};
    return (tess_complex){get_real(array, type, 2 * i), get_real(array, type, 2 * i + 1)};
}

void put_scalar(void *array, tess_type type, int64_t i, tess_complex value)
{
    const int64_t at = is_complex(type) ? 2 * i : i;
    put_real(array, type, at, value.re);
    if (is_complex(type))
        put_real(array, type, at + 1, value.im);
}

void *zero_vector(tess_type type, int64_t count)
{
    return calloc((size_t)count + 1, type_size(type));
}

/* SplitMix64 of a counter: number i does not depend on the numbers before it. */
static double random_unit(uint64_t i)
{
    uint64_t z = (0x6a09e667f3bcc908u + i) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return 2 * (((double)(z >> 11) + 0.5) * 0x1p-53) - 1;
}

void *random_vector(tess_type type, int64_t count)
{
    void *x = zero_vector(type, count);
    const int64_t reals = is_complex(type) ? 2 * count : count;
    for (int64_t i = 0; x && i < reals; i++)
        put_real(x, type, i, random_unit((uint64_t)i));
    return x;
}

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool parse_int(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)text[0]) && text[0] != '-' && text[0] != '+')
        return false;
    long long parsed = strtoll(text, &end, 10);
    if (errno || end == text || *end)
        return false;
    *value = parsed;
    return true;
}

bool parse_real(const char *text, double *value)
{
    char *end;
    if (!*text || isspace((unsigned char)text[0]))
        return false;
    /* The decimal point is a point in every locale. */
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return false;
    double parsed = strtod_l(text, &end, c_locale);
    freelocale(c_locale);
    if (end == text || *end || !isfinite(parsed))
        return false;
    *value = parsed;
    return true;
}

bool ends_with(const char *name, const char *end)
{
    const size_t length = strlen(name), last = strlen(end);
    return length > last && strcmp(name + length - last, end) == 0;
}

/* Decimal text <-> double, exactly rounded, whatever LC_NUMERIC says.
 *
 * Reading: up to 19 digits make an integer w and a power of ten q.
 *   - Small w and q: one exact multiplication or division.
 *   - The others: a 64 x 128 bit product with a table of powers of five (Lemire, "Number parsing at
 *     a gigabyte per second", 2021).
 *   - The few cases whose rounding the product leaves open: strtod in the C locale.
 *
 * Writing: the shortest text that reads back to the same bits (Giulietti, "The Schubfach way to
 * render doubles", 2020), from the same table.
 */
#pragma once

#include <locale.h>

#include "core/core.h"

enum { TESS_POWER_MIN = -342, TESS_POWER_MAX = 324, TESS_DECIMAL_TEXT = 32 };

/* The leading 128 bits of 5^q, high word first, truncated. The table is computed at run time, so
 * the build generates no file. */
typedef struct tess_decimal {
    uint64_t power[TESS_POWER_MAX - TESS_POWER_MIN + 1][2];
    locale_t c_locale;
} tess_decimal;

tess_status tess_decimal_create(tess_ctx *ctx, tess_decimal **out);
void tess_decimal_destroy(tess_ctx *ctx, tess_decimal *decimal);

/* w * 10^q for w < 2^64, rounded to nearest even; false when the product leaves the rounding
 * open. */
bool tess_decimal_scale(const tess_decimal *decimal, uint64_t w, int64_t q, double *value);

/* The slow path: any number of digits. [begin, end) is a checked number without its sign. */
double tess_decimal_slow(const tess_decimal *decimal, const char *begin, const char *end);

/* The shortest decimal text of a finite value, at most TESS_DECIMAL_TEXT bytes, not terminated;
 * returns its end. */
char *tess_decimal_format(const tess_decimal *decimal, double value, char *text);
char *tess_decimal_format_int(int64_t value, char *text);

/* Reads eight ASCII digits at once. Returns whether all bytes are in '0'..'9'; *value is their
 * number. */
static inline bool tess_eight_digits(const char *p, uint64_t *value)
{
    uint64_t v;
    memcpy(&v, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    if ((((v + 0x4646464646464646u) | (v - 0x3030303030303030u)) & 0x8080808080808080u) != 0)
        return false;
    v -= 0x3030303030303030u;
    v = v * 10 + (v >> 8); /* pairs of digits in every other byte */
    *value = (((v & 0x000000ff000000ffu) * 0x000f424000000064u) +
              (((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u)) >>
             32;
    return true;
}

static inline const char *tess_decimal_digits(const char *p, uint64_t *w)
{
    uint64_t eight, sum = *w;
    while (tess_eight_digits(p, &eight)) {
        sum = sum * 100000000 + eight;
        p += 8;
    }
    for (unsigned digit; (digit = (unsigned)*p - '0') <= 9; p++)
        sum = sum * 10 + digit;
    *w = sum;
    return p;
}

/* Reads one number at p: [+-] digits [. digits] [(e|E|d|D) [+-] digits]. Returns its end, or NULL
 * if there is no number. A value too large for a double gives an infinity, one too small gives
 * zero. The text must end with a byte that no number contains (a newline, say), and 8 bytes after
 * it must be readable. *integral: whether the number has neither point nor exponent. */
static inline const char *tess_decimal_parse(const tess_decimal *decimal, const char *p,
                                             double *value, bool *integral)
{
    static const double exact[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    bool negative = *p == '-';
    p += negative || *p == '+';
    const char *begin = p;
    uint64_t w = 0;
    int64_t exponent = 0;
    p = tess_decimal_digits(p, &w);
    int64_t digits = p - begin;
    *integral = true;
    if (*p == '.') {
        const char *point = ++p;
        p = tess_decimal_digits(p, &w);
        exponent = point - p;
        digits += p - point;
        *integral = false;
    }
    if (digits == 0)
        return NULL;
    if ((*p | 0x20) == 'e' || (*p | 0x20) == 'd') {
        bool minus = p[1] == '-';
        p += 1 + (minus || p[1] == '+');
        int64_t e = 0;
        const char *first = p;
        for (unsigned digit; (digit = (unsigned)*p - '0') <= 9; p++)
            e = e < 100000 ? e * 10 + digit : e;
        if (p == first)
            return NULL;
        exponent += minus ? -e : e;
        *integral = false;
    }
    double magnitude;
    if (digits <= 19 && w <= (uint64_t)1 << 53 && exponent >= -22 && exponent <= 22)
        magnitude = exponent < 0 ? (double)w / exact[-exponent] : (double)w * exact[exponent];
    else if (digits > 19 || !tess_decimal_scale(decimal, w, exponent, &magnitude))
        magnitude = tess_decimal_slow(decimal, begin, p);
    *value = negative ? -magnitude : magnitude;
    return p;
}

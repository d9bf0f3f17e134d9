/* Powers of five to 128 bits, the product that scales a decimal, and the shortest decimal text. */
#include "core/decimal.h"

typedef unsigned __int128 u128;

/* ---- The table ---- */

enum { LIMBS = 42 };

/* The leading 128 bits of a little-endian number of 32-bit limbs, shifted so that its top bit is
 * bit 127. */
static void leading_bits(const uint32_t *limb, uint64_t power[2])
{
    int top = LIMBS - 1;
    while (limb[top] == 0)
        top--;
    uint32_t word[5] = {0}; /* top five limbs, highest first */
    for (int i = 0; i < 5 && top - i >= 0; i++)
        word[i] = limb[top - i];
    u128 bits = (u128)word[0] << 96 | (u128)word[1] << 64 | (u128)word[2] << 32 | word[3];
    int shift = __builtin_clz(word[0]);
    if (shift > 0)
        bits = bits << shift | word[4] >> (32 - shift);
    power[0] = (uint64_t)(bits >> 64);
    power[1] = (uint64_t)bits;
}

static void fill_powers(tess_decimal *decimal)
{
    uint64_t(*power)[2] = decimal->power - TESS_POWER_MIN;
    uint32_t limb[LIMBS] = {1};
    for (int q = 0; q <= TESS_POWER_MAX; q++) {
        leading_bits(limb, power[q]);
        uint64_t carry = 0;
        for (int i = 0; i < LIMBS; i++) {
            carry += (uint64_t)limb[i] * 5;
            limb[i] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    /* 2^1312 / 5^k by repeated division: rounding down after every division by 5 rounds the whole
     * quotient down. */
    memset(limb, 0, sizeof limb);
    limb[LIMBS - 1] = 1;
    for (int q = -1; q >= TESS_POWER_MIN; q--) {
        uint64_t rest = 0;
        for (int i = LIMBS - 1; i >= 0; i--) {
            rest = rest << 32 | limb[i];
            limb[i] = (uint32_t)(rest / 5);
            rest %= 5;
        }
        leading_bits(limb, power[q]);
    }
}

tess_status tess_decimal_create(tess_ctx *ctx, tess_decimal **out)
{
    tess_decimal *decimal;
    TESS_TRY(TESS_ALLOC(ctx, 1, &decimal));
    decimal->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!decimal->c_locale) {
        tess_free(ctx, decimal);
        return tess_fail(ctx, TESS_ERR_MEMORY, "out of memory: the C locale cannot be loaded");
    }
    fill_powers(decimal);
    *out = decimal;
    return TESS_OK;
}

void tess_decimal_destroy(tess_ctx *ctx, tess_decimal *decimal)
{
    if (decimal)
        freelocale(decimal->c_locale);
    tess_free(ctx, decimal);
}

/* ---- Reading ---- */

static double make_double(uint64_t mantissa, int64_t exponent)
{
    uint64_t bits = (mantissa & (((uint64_t)1 << 52) - 1)) | (uint64_t)exponent << 52;
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

/* The 128 leading bits of w * 5^q. The second product, with the lower 64 bits of the power, is
 * computed only where the first leaves the rounding open. */
static u128 scaled_product(const tess_decimal *decimal, uint64_t w, int64_t q)
{
    const uint64_t *power = decimal->power[q - TESS_POWER_MIN];
    /* Reciprocals that may be exact halfway points must err upwards. */
    uint64_t low_word = power[1] + (q < 0 && q >= -27);
    u128 product = (u128)w * power[0];
    if (((uint64_t)(product >> 64) & 0x1ff) == 0x1ff)
        product += ((u128)w * low_word) >> 64;
    return product;
}

bool tess_decimal_scale(const tess_decimal *decimal, uint64_t w, int64_t q, double *value)
{
    if (w == 0 || q < TESS_POWER_MIN) {
        *value = 0;
        return true;
    }
    if (q > 308) {
        *value = (double)__builtin_inf();
        return true;
    }
    int zeros = __builtin_clzll(w);
    u128 product = scaled_product(decimal, w << zeros, q);
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    if (low == UINT64_MAX && (q < -27 || q > 55))
        return false;
    int upper = (int)(high >> 63);
    uint64_t mantissa = high >> (upper + 9); /* 53 bits and one to round by */
    int64_t exponent = ((217706 * q) >> 16) + 63 + upper - zeros + 1023;
    if (exponent <= 0) { /* subnormal */
        if (exponent <= -63) {
            *value = 0;
            return true;
        }
        mantissa >>= 1 - exponent;
        mantissa = (mantissa + (mantissa & 1)) >> 1;
        *value = make_double(mantissa, (int64_t)(mantissa >> 52));
        return true;
    }
    if (low <= 1 && q >= -4 && q <= 23 && (mantissa & 3) == 1 && mantissa << (upper + 9) == high)
        mantissa &= ~(uint64_t)1; /* exactly halfway: to even */
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    if (mantissa >> 53) {
        mantissa >>= 1;
        exponent++;
    }
    *value = exponent >= 0x7ff ? (double)__builtin_inf() : make_double(mantissa, exponent);
    return true;
}

/* The number after the 'e' at p; 0 where the text ends before an 'e'. */
static int64_t read_exponent(const char *p, const char *end)
{
    if (p == end)
        return 0;
    bool minus = p[1] == '-';
    int64_t e = 0;
    for (p += 1 + (minus || p[1] == '+'); p < end; p++)
        e = e < 100000 ? e * 10 + ((unsigned)*p - '0') : e;
    return minus ? -e : e;
}

/* A number of more than 19 digits lies between its first 19 digits and that value plus one unit of
 * the 19th. Where both bounds round to the same double, that is the result. */
static bool bracket(const tess_decimal *decimal, const char *begin, const char *end, double *value)
{
    uint64_t w = 0;
    int64_t exponent = 0, taken = 0;
    bool after_point = false;
    const char *p = begin;
    for (; p < end && (*p == '.' || (unsigned)*p - '0' <= 9); p++) {
        if (*p == '.') {
            after_point = true;
            continue;
        }
        if (taken < 19) {
            w = w * 10 + ((unsigned)*p - '0');
            taken += w > 0;
            exponent -= after_point;
        } else {
            exponent += !after_point;
        }
    }
    exponent += read_exponent(p, end);
    double above;
    return tess_decimal_scale(decimal, w, exponent, value) &&
           tess_decimal_scale(decimal, w + 1, exponent, &above) && *value == above;
}

double tess_decimal_slow(const tess_decimal *decimal, const char *begin, const char *end)
{
    double value;
    if (bracket(decimal, begin, end, &value))
        return value;
    /* Room for every halfway point between doubles (767 digits). Of the digits beyond only whether
     * they are all zero matters: a final 1 stands for a non-zero tail. */
    char text[1200];
    size_t length = 0;
    int64_t dropped = 0;
    bool after_point = false, tail = false;
    const char *p = begin;
    for (; p < end && (*p == '.' || (unsigned)*p - '0' <= 9); p++) {
        if (*p == '.') {
            after_point = true;
        } else if (length < 1000) {
            if (length > 0 || *p != '0')
                text[length++] = *p;
            dropped -= after_point;
        } else {
            tail |= *p != '0';
            dropped += !after_point;
        }
    }
    text[length++] = tail ? '1' : '0';
    dropped--;
    dropped += read_exponent(p, end);
    text[length++] = 'e';
    char *stop = tess_decimal_format_int(dropped, text + length);
    *stop = '\0';
    return strtod_l(text, NULL, decimal->c_locale);
}

/* ---- Writing ---- */

/* The upper 64 bits of g * c / 2^64, with the last bit set when non-zero bits below were lost. */
static uint64_t round_to_odd(uint64_t high, uint64_t low, uint64_t c)
{
    u128 y = (u128)high * c + (uint64_t)(((u128)low * c) >> 64);
    return (uint64_t)(y >> 64) | ((uint64_t)y > 1);
}

/* The shortest d with d * 10^k nearest to the positive double with these fields. */
static uint64_t shortest(const tess_decimal *decimal, uint64_t fraction, int exponent, int *k_out)
{
    uint64_t c = exponent ? fraction | (uint64_t)1 << 52 : fraction;
    int q = (exponent ? exponent : 1) - 1075;
    if (exponent && q <= 0 && -q < 53 && (c & (((uint64_t)1 << -q) - 1)) == 0) {
        *k_out = 0;
        return c >> -q; /* a small integer */
    }
    bool closer_below = fraction == 0 && exponent > 1;
    uint64_t odd = c & 1;
    int k = (q * 1262611 - (closer_below ? 524031 : 0)) >> 22;
    int h = q + ((-k * 1741647) >> 19) + 1;
    const uint64_t *power = decimal->power[-k - TESS_POWER_MIN];
    uint64_t high = power[0], low = power[1] + (-k < 0 || -k > 55);
    uint64_t lower = round_to_odd(high, low, (4 * c - 2 + closer_below) << h) + odd;
    uint64_t middle = round_to_odd(high, low, (4 * c) << h);
    uint64_t upper = round_to_odd(high, low, (4 * c + 2) << h) - odd;
    uint64_t s = middle / 4, ten = s / 10;
    *k_out = k;
    if (s >= 10) {
        bool below = lower <= 40 * ten, above = 40 * ten + 40 <= upper;
        if (below != above) {
            *k_out = k + 1;
            return ten + above;
        }
    }
    bool below = lower <= 4 * s, above = 4 * s + 4 <= upper;
    if (below != above)
        return s + above;
    return s + (middle > 4 * s + 2 || (middle == 4 * s + 2 && (s & 1)));
}

char *tess_decimal_format_int(int64_t value, char *text)
{
    char digits[20];
    int count = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (value < 0)
        *text++ = '-';
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    while (count > 0)
        *text++ = digits[--count];
    return text;
}

char *tess_decimal_format(const tess_decimal *decimal, double value, char *text)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    if (bits >> 63)
        *text++ = '-';
    bits &= ~((uint64_t)1 << 63);
    if (bits == 0) {
        *text++ = '0';
        return text;
    }
    int k;
    uint64_t d = shortest(decimal, bits & (((uint64_t)1 << 52) - 1), (int)(bits >> 52), &k);
    for (; d % 10 == 0; k++)
        d /= 10;
    char digits[20];
    int count = (int)(tess_decimal_format_int((int64_t)d, digits) - digits);
    int point = count + k; /* the value is 0.digits * 10^point */
    if (point > 17 || point < -3) {
        *text++ = digits[0];
        if (count > 1)
            *text++ = '.';
        memcpy(text, digits + 1, (size_t)count - 1);
        text += count - 1;
        *text++ = 'e';
        return tess_decimal_format_int(point - 1, text);
    }
    if (point <= 0) {
        memcpy(text, "0.0000", 2 + (size_t)-point);
        text += 2 - point;
        memcpy(text, digits, (size_t)count);
        return text + count;
    }
    int whole = tess_min(point, count);
    memcpy(text, digits, (size_t)whole);
    text += whole;
    for (int i = count; i < point; i++)
        *text++ = '0';
    if (count > point) {
        *text++ = '.';
        memcpy(text, digits + point, (size_t)(count - point));
        text += count - point;
    }
    return text;
}

/* The lesser and the greater of two numbers, and a number held within limits. The result has the
 * type of a + b: int, int64_t or double. The library has the same inside, which a client cannot
 * include. */
#ifndef TESSERA_ORDER_H
#define TESSERA_ORDER_H

#include <stdint.h>

static inline int lesser_int(int a, int b)
{
    return a < b ? a : b;
}

static inline int greater_int(int a, int b)
{
    return a > b ? a : b;
}

static inline int clamp_int(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

static inline int64_t lesser_int64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t greater_int64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t clamp_int64(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static inline double lesser_double(double a, double b)
{
    return a < b ? a : b;
}

static inline double greater_double(double a, double b)
{
    return a > b ? a : b;
}

static inline double clamp_double(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

#define ORDERED(name, number) \
    _Generic((number), int : name##_int, int64_t : name##_int64, double : name##_double)

/* The second where one of them is NaN. */
#define lesser(a, b) ORDERED(lesser, (a) + (b))((a), (b))
#define greater(a, b) ORDERED(greater, (a) + (b))((a), (b))
/* NaN stays. */
#define clamp(value, least, most) \
    ORDERED(clamp, (value) + (least) + (most))((value), (least), (most))

#endif

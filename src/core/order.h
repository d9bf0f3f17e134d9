/* The lesser and the greater of two numbers, and a number held within limits. The result has the
 * type of a + b: int, int64_t, uint64_t (size_t) or double. Each argument is evaluated once. */
#pragma once

#include <stdint.h>

#define ORDER_TYPE int
#define ORDER_NAME(name) name##_int
#include "core/order.inc.c"
#define ORDER_TYPE int64_t
#define ORDER_NAME(name) name##_int64
#include "core/order.inc.c"
#define ORDER_TYPE uint64_t
#define ORDER_NAME(name) name##_uint64
#include "core/order.inc.c"
#define ORDER_TYPE double
#define ORDER_NAME(name) name##_double
#include "core/order.inc.c"

/* clang-format off */
#define TESS_ORDER(name, x)                                                          \
    _Generic((x), int: name##_int, int64_t: name##_int64, uint64_t: name##_uint64,   \
             double: name##_double)
/* clang-format on */

/* a < b ? a : b, so that the second is taken where one of them is NaN. */
#define tess_min(a, b) TESS_ORDER(tess_min, (a) + (b))((a), (b))
/* a > b ? a : b */
#define tess_max(a, b) TESS_ORDER(tess_max, (a) + (b))((a), (b))
/* `value`, or the limit that it is beyond; NaN stays. */
#define tess_clamp(value, least, most) \
    TESS_ORDER(tess_clamp, (value) + (least) + (most))((value), (least), (most))

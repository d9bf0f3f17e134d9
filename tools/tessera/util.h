/* Small functions that the command needs and the library does not offer to its users. */
#ifndef TESSERA_UTIL_H
#define TESSERA_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/tessera.h>

#include "order.h"

tess_matrix_view view_of(const tess_matrix *A);
/* The bytes that y = A x must move: the matrix as stored, with offsets of 4 bytes, x and y. */
double product_bytes(const tess_matrix_view *A);

static inline size_t type_size(tess_type type)
{
    return tess_type_bytes(type);
}

const char *type_name(tess_type type);
/* The type called `name`; false: there is none. */
bool parse_type(const char *name, tess_type *type);

static inline bool is_complex(tess_type type)
{
    return type == TESS_C64 || type == TESS_C32;
}

/* Scalar i of an array of any type. For real types get_scalar returns the imaginary part 0, and
 * put_scalar drops it. */
tess_complex get_scalar(const void *array, tess_type type, int64_t i);
void put_scalar(void *array, tess_type type, int64_t i, tess_complex value);
/* A vector of `count` zeros, or of random numbers in [-1, 1), the same in every run. The real and
 * imaginary parts of a complex number are both in [-1, 1). Free with free(). NULL: no memory. */
void *zero_vector(tess_type type, int64_t count);
void *random_vector(tess_type type, int64_t count);

/* Seconds on a monotonic clock. */
double seconds_now(void);

/* Parses the whole of `text` as a number; false if a part is left over or out of range. The library
 * has the same functions inside, where a client cannot call them. */
bool parse_int(const char *text, int64_t *value);
bool parse_real(const char *text, double *value);
/* Whether a name has this ending and something before it. */
bool ends_with(const char *name, const char *end);

#endif

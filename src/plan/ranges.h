/* Vectors in memory as ranges of addresses, and whether two lists of vectors overlap. */
#pragma once

#include "core/core.h"

/* `count` vectors of `length` scalars of `size` bytes, `ld` scalars from one to the next. Vectors
 * of one list do not overlap: ld >= length. */
typedef struct tess_ranges {
    const void *base;
    int64_t count, length, ld;
    size_t size;
} tess_ranges;

bool tess_ranges_overlap(tess_ranges a, tess_ranges b);

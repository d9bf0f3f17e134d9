/* The device sources of src/cuda, embedded at build time (cmake/embed.cmake). */
#pragma once

#include <stddef.h>

typedef struct tess_cuda_source {
    const char *name; /* file name: "sliced.cu" */
    const char *text; /* ends with a zero byte */
    size_t bytes;
} tess_cuda_source;

extern const tess_cuda_source tess_cuda_sources[]; /* up to an entry without a name */

/* A resident: a matrix (A or A^T) in one layout, its arrays in device memory. */
#pragma once

#include "cuda/driver/device.h"
#include "cuda/kernels/layout.h"

/* A map: where in the matrix each stored scalar of the layout comes from (update.cu). */
typedef struct tess_cuda_map {
    cu_pointer numbers; /* 0: not made */
    cu_function gather; /* the layout's own, with `numbers` = its starts; NULL: update.cu */
    int64_t run, shift, inner_stride, outer_stride;
} tess_cuda_map;

typedef struct tess_cuda_resident {
    struct tess_cuda_resident *next;
    const tess_matrix *matrix; /* whose values it holds */
    int users;                 /* variants, and holders by tess_cuda_hold_resident */
    tess_cuda_layout *layout;
    cu_pointer arrays[TESS_CUDA_ARRAYS];
    cu_pointer workspace;
    tess_cuda_map map; /* for values given in device memory, once asked for (update.c) */
    size_t bytes;      /* of device memory, all arrays together */
} tess_cuda_resident;

tess_status tess_cuda_resident_create(tess_cuda *cuda, const tess_matrix *A,
                                      const char *layout_name, tess_cuda_resident **out);
/* Takes the matrix's values, which have changed. */
tess_status tess_cuda_resident_update(tess_cuda *cuda, tess_cuda_resident *resident,
                                      cu_stream stream);
void tess_cuda_resident_destroy(tess_cuda *cuda, tess_cuda_resident *resident); /* NULL is fine */

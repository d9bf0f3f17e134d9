/* The templates for one precision. Of each entry, kernels.def makes a function that calls one. */
#include "cpu/kernels/bsr_spmv.inc.c"

#define SPMV_FUNCTION(r, c, n) PASTE(spmv_##r##x##c##_##n, SUFFIX)
#define BSR_SPMV(r, c, n)                                                                       \
    static __attribute__((noinline)) void SPMV_FUNCTION(r, c, n##_brief)(                       \
        const tess_cpu_spmv_args *args, const int64_t *bounds)                                  \
    {                                                                                           \
        if (SCALARS(r, c))                                                                      \
            NAME(fixed_rows)(args, bounds, r, c, n, 1, false, SPMV_FUNCTION(r, c, 1_brief));    \
    }                                                                                           \
    static void SPMV_FUNCTION(r, c, n)(const tess_cpu_spmv_args *args, const int64_t *bounds)   \
    {                                                                                           \
        NAME(bsr_spmv)                                                                          \
        (args, bounds, r, c, n, false, SPMV_FUNCTION(r, c, 1), SPMV_FUNCTION(r, c, n##_brief)); \
    }
#define BSR_SPMV_PREFETCH(r, c)                                                    \
    static void SPMV_FUNCTION(r, c, prefetch)(const tess_cpu_spmv_args *args,      \
                                              const int64_t *bounds)               \
    {                                                                              \
        NAME(bsr_spmv)(args, bounds, r, c, 2, true, SPMV_FUNCTION(r, c, 1), NULL); \
    }
#include "cpu/kernels.def"
#undef SPMV_FUNCTION

#include "cpu/kernels/bsr_spmm.inc.c"

#define BSR_SPMM(r, c)                                                                       \
    static void PASTE(spmm_##r##x##c, SUFFIX)(const tess_cpu_spmm_args *args, int64_t first, \
                                              int64_t last)                                  \
    {                                                                                        \
        NAME(bsr_spmm)(args, first, last, r, c);                                             \
    }
#include "cpu/kernels.def"

#include "cpu/kernels/complex_spmv.inc.c"

#define COMPLEX_FUNCTION(r, c, n) PASTE(complex_spmv_##r##x##c##_##n, SUFFIX)
#define COMPLEX_SPMV(r, c, n)                                                                    \
    static void COMPLEX_FUNCTION(r, c, n)(const tess_cpu_spmv_args *args, const int64_t *bounds) \
    {                                                                                            \
        NAME(complex_spmv)(args, bounds, r, c, n, COMPLEX_FUNCTION(r, c, 1));                    \
    }
#include "cpu/kernels.def"
#undef COMPLEX_FUNCTION

#include "cpu/kernels/complex_spmm.inc.c"

#define COMPLEX_SPMM(r, c)                                                            \
    static void PASTE(complex_spmm_##r##x##c, SUFFIX)(const tess_cpu_spmm_args *args, \
                                                      int64_t first, int64_t last)    \
    {                                                                                 \
        NAME(complex_spmm)(args, first, last, r, c);                                  \
    }
#include "cpu/kernels.def"

#include "cpu/kernels/symmetric_spmv.inc.c"

#define SYMMETRIC_SPMV(b, n)                                                                 \
    static void PASTE(symmetric_spmv_##b##_##n, SUFFIX)(const tess_cpu_symmetric_args *args, \
                                                        const tess_cpu_chunk *chunks)        \
    {                                                                                        \
        NAME(symmetric_spmv)(args, chunks, b, n);                                            \
    }
#include "cpu/kernels.def"

#include "cpu/kernels/symmetric_lanes.inc.c"

#define SYMMETRIC_LANES(b)                                                              \
    static void PASTE(symmetric_lanes_##b, SUFFIX)(const tess_cpu_symmetric_args *args, \
                                                   const tess_cpu_chunk *chunk)         \
    {                                                                                   \
        NAME(symmetric_lanes)(args, chunk, b);                                          \
    }
#include "cpu/kernels.def"

#include "cpu/kernels/symmetric_spmm.inc.c"

#define SYMMETRIC_SPMM(b)                                                                   \
    static void PASTE(symmetric_spmm_##b, SUFFIX)(const tess_cpu_symmetric_spmm_args *args, \
                                                  const tess_cpu_chunk *chunk)              \
    {                                                                                       \
        NAME(symmetric_spmm)(args, chunk, b);                                               \
    }
#include "cpu/kernels.def"

#include "cpu/kernels/fbcsr_spmv.inc.c"

#define FBCSR_SPMV(name, h, w, shift)                                                           \
    static void PASTE(fbcsr_spmv_##name, SUFFIX)(const tess_cpu_fbcsr_args *args,               \
                                                 const tess_cpu_fbcsr_piece *pieces, int count) \
    {                                                                                           \
        NAME(fbcsr_spmv)(args, pieces, count, h, w, shift);                                     \
    }
#include "cpu/kernels.def"

#undef REAL
#undef SUFFIX
#undef W

/* All kernels of one ISA: the templates expanded for both precisions, one function for each line of
 * kernels.def, and the table of them. The ISA's file sets ISA, ISA_INDEX and ISA_TABLE and includes
 * its vector header first. */
#include "cpu/kernel.h"

#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
#define NAME(stem) PASTE(stem, SUFFIX)

/* The vector layer for REAL, whose SUFFIX says which. */
#define V NAME(simd)
#define LOAD NAME(simd_load)
#define LOAD_PART NAME(simd_load_part)
#define STORE NAME(simd_store)
#define STORE_PART NAME(simd_store_part)
#define SUMS NAME(simd_sums)
#define ADD_LANE NAME(simd_add_lane)
#define ADD_PRODUCT NAME(simd_add_product)
#define BETWEEN NAME(simd_between)

#define REAL double
#define SUFFIX f64
#define W ((int)(SIMD_BYTES_F64 / 8))
#include "cpu/isa/templates.inc.c"

#define REAL float
#define SUFFIX f32
#define W ((int)(SIMD_BYTES_F32 / 4))
#include "cpu/isa/templates.inc.c"

/* Names in the table: "bsr_spmv_3x3_f64_neon_streams2", "bsr_spmv_any_f64_neon". select.c knows the
 * former names. */
#define FORM_1 ""
#define FORM_2 "_streams2"
#define FORM_3 "_streams3"
#define FORM_4 "_streams4"
#define FORM_prefetch "_prefetch"
#define KERNEL_NAME(family, r, c, suffix, form)          \
    (r) == 0 ? family "_any_" #suffix "_" TEXT(ISA) form \
             : family "_" #r "x" #c "_" #suffix "_" TEXT(ISA) form
#define ENTRY(of, r, c, bytes, ...) \
    {.family = TESS_CPU_##of,       \
     .isa = ISA_INDEX,              \
     .scalar_bytes = bytes,         \
     .block_height = r,             \
     .block_width = c,              \
     __VA_ARGS__},
#define SPMV_ENTRY(r, c, form, n, fetches, suffix, bytes)                                    \
    ENTRY(BSR_SPMV, r, c, bytes, .name = KERNEL_NAME("bsr_spmv", r, c, suffix, FORM_##form), \
          .streams = n, .prefetch = fetches, .spmv = spmv_##r##x##c##_##form##_##suffix)
#define SPMM_ENTRY(r, c, suffix, bytes)                                                           \
    ENTRY(BSR_SPMM, r, c, bytes, .name = KERNEL_NAME("bsr_spmm", r, c, suffix, ""), .streams = 1, \
          .spmm = spmm_##r##x##c##_##suffix)
/* A complex type has the functions of its parts' type, `real`. */
#define COMPLEX_SPMV_ENTRY(r, c, n, suffix, real, bytes)                                  \
    ENTRY(BSR_SPMV, r, c, bytes, .name = KERNEL_NAME("bsr_spmv", r, c, suffix, FORM_##n), \
          .streams = n, .complex = true, .spmv = complex_spmv_##r##x##c##_##n##_##real)
#define COMPLEX_SPMM_ENTRY(r, c, suffix, real, bytes)                                             \
    ENTRY(BSR_SPMM, r, c, bytes, .name = KERNEL_NAME("bsr_spmm", r, c, suffix, ""), .streams = 1, \
          .complex = true, .spmm = complex_spmm_##r##x##c##_##real)
#define SYMMETRIC_ENTRY(b, n, suffix, bytes)                                           \
    ENTRY(SYMMETRIC_SPMV, b, b, bytes,                                                 \
          .name = KERNEL_NAME("symmetric_spmv", b, b, suffix, FORM_##n), .streams = n, \
          .symmetric = symmetric_spmv_##b##_##n##_##suffix)
#define LANES_ENTRY(b, suffix, bytes)                                                  \
    ENTRY(SYMMETRIC_SPMV, b, b, bytes,                                                 \
          .name = KERNEL_NAME("symmetric_spmv", b, b, suffix, "_lanes"), .streams = 1, \
          .lanes = (bytes == 8 ? SIMD_BYTES_F64 : SIMD_BYTES_F32) / bytes,             \
          .symmetric = symmetric_lanes_##b##_##suffix)
#define SYMMETRIC_SPMM_ENTRY(b, suffix, bytes)                                                  \
    ENTRY(SYMMETRIC_SPMM, b, b, bytes, .name = KERNEL_NAME("symmetric_spmm", b, b, suffix, ""), \
          .streams = 1, .symmetric_spmm = symmetric_spmm_##b##_##suffix)
#define FBCSR_ENTRY(shape, h, w, s, suffix, bytes)                                         \
    ENTRY(FBCSR_SPMV, h, w, bytes, .name = "fbcsr_spmv_" #shape "_" #suffix "_" TEXT(ISA), \
          .shift = s, .streams = 1, .fbcsr = fbcsr_spmv_##shape##_##suffix)

static const tess_cpu_kernel kernels[] = {
#define BSR_SPMV(r, c, n) \
    SPMV_ENTRY(r, c, n, n, false, f64, 8) SPMV_ENTRY(r, c, n, n, false, f32, 4)
#define BSR_SPMV_PREFETCH(r, c) \
    SPMV_ENTRY(r, c, prefetch, 2, true, f64, 8) SPMV_ENTRY(r, c, prefetch, 2, true, f32, 4)
#define BSR_SPMM(r, c) SPMM_ENTRY(r, c, f64, 8) SPMM_ENTRY(r, c, f32, 4)
#define COMPLEX_SPMV(r, c, n) \
    COMPLEX_SPMV_ENTRY(r, c, n, c64, f64, 16) COMPLEX_SPMV_ENTRY(r, c, n, c32, f32, 8)
#define COMPLEX_SPMM(r, c) \
    COMPLEX_SPMM_ENTRY(r, c, c64, f64, 16) COMPLEX_SPMM_ENTRY(r, c, c32, f32, 8)
#define SYMMETRIC_SPMV(b, n) SYMMETRIC_ENTRY(b, n, f64, 8) SYMMETRIC_ENTRY(b, n, f32, 4)
#define SYMMETRIC_LANES(b) LANES_ENTRY(b, f64, 8) LANES_ENTRY(b, f32, 4)
#define SYMMETRIC_SPMM(b) SYMMETRIC_SPMM_ENTRY(b, f64, 8) SYMMETRIC_SPMM_ENTRY(b, f32, 4)
#define FBCSR_SPMV(name, h, w, s) \
    FBCSR_ENTRY(name, h, w, s, f64, 8) FBCSR_ENTRY(name, h, w, s, f32, 4)
#include "cpu/kernels.def"
};

const tess_cpu_kernel_table ISA_TABLE = {kernels, sizeof kernels / sizeof kernels[0]};

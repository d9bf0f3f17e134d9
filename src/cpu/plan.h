/* A plan's state, and the products that it offers.
 *
 *     kernels.def ──> isa/isa_*.c (functions and one table each) ──> select.c (which one)
 *     matrix ──> work.c (who does what) ──> plan.c ──> spmv.c, spmm.c ... ──> backend.c (the table)
 */
#pragma once

#include "cpu/fbcsr.h"
#include "cpu/select.h"
#include "cpu/symmetric.h"

/* ---- plan.c ---- */

typedef struct tess_cpu_plan {
    tess_ctx *ctx;
    const struct tess_cpu_format *format; /* formats.h */
    tess_matrix matrix; /* a copy of the struct: update_values changes its values */
    const tess_cpu_kernel *kernels[TESS_CPU_FAMILIES];
    tess_cpu_work work;
    void *piece_sums;     /* pieces * r */
    void *padded_x;       /* block_cols * c, only when cols is not a multiple of c */
    double *partial_dots; /* of complex vectors: pairs */

    /* spmm.c, made at the first product that needs them. */
    int spmm_vectors;      /* for which the next two have room */
    void *spmm_x;          /* block_cols * c rows */
    void *spmm_piece_sums; /* pieces * r rows */

    /* transpose.c, made at the first product with the transpose. */
    struct tess_cpu_plan *transposed;
    tess_matrix *transpose;
    bool transpose_stale; /* the values have changed since */

    struct tess_cpu_fields *fields; /* fields.c, made at the first product by fields */

    tess_cpu_half *half;   /* format symmetric: all products use it */
    tess_cpu_fbcsr *fbcsr; /* format fbcsr: products with one vector use it */
} tess_cpu_plan;

/* How many threads share a product with A stored whole. */
int tess_cpu_shares(const tess_device *device, const tess_matrix *A);
/* A state for A stored whole, with the kernel `named` (or NULL) and otherwise the best ones. */
tess_status tess_cpu_plan_create(const tess_device *device, const tess_matrix *A,
                                 const tess_cpu_kernel *named, tess_cpu_plan **out);
void tess_cpu_plan_destroy(tess_cpu_plan *plan);

/* ---- format_fbcsr.c ---- */

/* A state for A in format fbcsr, with these shapes and kernels. */
tess_status tess_cpu_plan_create_fbcsr(const tess_device *device, const tess_matrix *A,
                                       const tess_fbcsr_options *shapes, tess_cpu_isa isa,
                                       tess_cpu_plan **out);

/* ---- spmv.c ---- */

/* y = alpha A x + beta y. */
void tess_cpu_spmv(tess_cpu_plan *plan, double alpha, const void *x, double beta, void *y);
/* What a kernel of A stored whole is given. */
tess_cpu_spmv_args tess_cpu_bsr_args(const tess_matrix *A, tess_complex alpha, const void *x,
                                     tess_complex beta, void *y);
/* The same for a matrix stored whole, of any type. `conjugate`: y = alpha conj(A) x + beta y. */
void tess_cpu_multiply(tess_cpu_plan *plan, tess_complex alpha, const void *x, tess_complex beta,
                       bool conjugate, void *y);
/* tess_cpu_spmv; then returns w . y. */
double tess_cpu_spmv_dot(tess_cpu_plan *plan, double alpha, const void *x, double beta, void *y,
                         const void *w);

/* ---- dot.c ---- */

/* w . y, summed in an order that depends on the length alone: the sums of chunks by shares, then
 * their sum by one thread. */
double tess_cpu_dot(tess_cpu_plan *plan, const void *w, const void *y);
/* w^H y of complex vectors, likewise. */
tess_status tess_cpu_complex_dot(tess_plan *plan, const void *w, const void *y, tess_complex *dot);
/* Scalars of one partial sum of tess_cpu_dot. */
#define TESS_CPU_DOT_CHUNK 4096

/* ---- spmm.c ---- */

/* Y = alpha A X + beta Y for k vectors. */
tess_status tess_cpu_spmm(tess_plan *plan, int k, tess_block_order order, double alpha,
                          const void *X, int64_t ldx, double beta, void *Y, int64_t ldy);

/* The same of complex matrices. */
tess_status tess_cpu_complex_spmm(tess_plan *plan, int k, tess_block_order order,
                                  tess_complex alpha, const void *X, int64_t ldx, tess_complex beta,
                                  void *Y, int64_t ldy);

/* ---- transpose.c ---- */

/* The state whose product is A^T's; A is stored whole. */
tess_status tess_cpu_need_transpose(const tess_plan *plan, tess_cpu_plan **out);
/* y = alpha A^T x + beta y. */
tess_status tess_cpu_spmv_transpose(tess_plan *plan, double alpha, const void *x, double beta,
                                    void *y);
/* y = alpha op(A) x + beta y of complex matrices. */
tess_status tess_cpu_complex_spmv(tess_plan *plan, tess_operation operation, tess_complex alpha,
                                  const void *x, tess_complex beta, void *y);

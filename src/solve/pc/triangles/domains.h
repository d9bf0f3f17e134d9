/* Triangular factors by blocks: M = L U or M = L D L^T, L with unit diagonal blocks.
 *
 * The rows are cut into consecutive domains. Blocks that couple two domains are dropped, so that
 * different threads factor and solve the domains without waiting. Everything lies in memory in the
 * order in which a solve reads it:
 *
 *     lower    rows of a domain downwards: the blocks left of the diagonal
 *     upper    rows of a domain upwards: the blocks right of the diagonal, then the inverse of the
 *              diagonal block. Place p = first + last - 1 - row of domain first..last-1.
 *     inverse  symmetric factors have no upper; the inverses of D, row by row
 *
 * Factors of a complex matrix are computed as those of its embedding (embed.c), whose blocks are
 * twice as high and wide, and stored as complex blocks. L^T and U^T are then L^H and U^H.
 */
#pragma once

#include "solve/pc/pc.h"

/* The largest height of a block of factors: a vector's block lies on a thread's stack. */
#define TESS_FACTOR_BLOCK_MAX 4096

typedef struct tess_factors {
    int32_t block; /* height of a block; of complex factors that of the embedding */
    int64_t block_rows;
    int domains;
    bool symmetric;
    int64_t *domain_rows;                   /* domains + 1 */
    int64_t *lower_offsets, *upper_offsets; /* block_rows + 1 each; upper by place p */
    int32_t *lower_columns, *upper_columns;
    void *lower, *upper, *inverse; /* of the pc's type */
} tess_factors;

/* Where the numbers of a factorisation are computed: always double, in the layout above. */
typedef struct tess_factor_values {
    double *lower, *upper, *inverse;
} tess_factor_values;

static inline int64_t tess_factor_place(const tess_factors *f, int64_t domain, int64_t row)
{
    return f->domain_rows[domain] + f->domain_rows[domain + 1] - 1 - row;
}

/* Returns the inverse of a row's diagonal block among the values. */
static inline double *tess_factor_inverse(const tess_factors *f, const tess_factor_values *v,
                                          int domain, int64_t row)
{
    const int64_t size = (int64_t)f->block * f->block;
    if (f->symmetric)
        return v->inverse + row * size;
    const int64_t p = tess_factor_place(f, domain, row);
    return v->upper + (f->upper_offsets[p + 1] + p) * size;
}

/* Returns the bytes in which a block is stored that was computed as `block` x `block` doubles. */
static inline size_t tess_factor_bytes(tess_type type, int32_t block)
{
    const size_t reals = (size_t)block * (size_t)block;
    return (tess_is_complex(type) ? reals / 2 : reals) * tess_type_size(tess_real_type(type));
}

/* factors_solve_*.c: z = M^-1 r, or M^-T r, on one domain. The names say the types of vectors and
 * factors. r and z may be the same. */
void tess_factors_solve_f64_f64(const tess_factors *f, int domain, bool transpose, const double *r,
                                double *z);
void tess_factors_solve_f64_f32(const tess_factors *f, int domain, bool transpose, const double *r,
                                double *z);
void tess_factors_solve_f32_f32(const tess_factors *f, int domain, bool transpose, const float *r,
                                float *z);

/* The same for complex vectors and factors, which are arrays of pairs. */
void tess_factors_solve_c64_c64(const tess_factors *f, int domain, bool transpose, const double *r,
                                double *z);
void tess_factors_solve_c64_c32(const tess_factors *f, int domain, bool transpose, const double *r,
                                double *z);
void tess_factors_solve_c32_c32(const tess_factors *f, int domain, bool transpose, const float *r,
                                float *z);

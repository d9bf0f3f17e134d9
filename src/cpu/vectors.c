/* Vectors copied by threads, and several vectors put side by side. */
#include "cpu/vectors.h"

#include <string.h>

#include <omp.h>

void tess_cpu_copy(void *to, const void *from, size_t bytes, int shares)
{
    enum { CHUNK = 64 * 1024 };
    const int64_t chunks = (int64_t)((bytes + CHUNK - 1) / CHUNK);
#pragma omp parallel for schedule(static) num_threads(shares) if (shares > 1 && !omp_in_parallel())
    for (int64_t i = 0; i < chunks; i++) {
        size_t first = (size_t)i * CHUNK, left = bytes - first;
        memcpy((char *)to + first, (const char *)from + first, left < CHUNK ? left : CHUNK);
    }
}

/* Rows first .. last-1 of X side by side, `count` a row; zeros below X. Inlined for each size. */
static inline __attribute__((always_inline)) void pack_rows(const tess_cpu_vectors *X, int64_t rows,
                                                            int64_t first, int64_t last,
                                                            int64_t count, char *to,
                                                            const int64_t scalar)
{
    const char *from = X->data;
    int64_t inside = last < rows ? last : rows;
    for (int64_t v = 0; v < count; v++)
        for (int64_t i = first; i < inside; i++)
            memcpy(to + (i * count + v) * scalar, from + (i * X->row + v * X->vector) * scalar,
                   (size_t)scalar);
    if (inside < last) {
        int64_t below = first > inside ? first : inside;
        memset(to + below * count * scalar, 0, (size_t)((last - below) * count * scalar));
    }
}

void tess_cpu_pack(const tess_matrix *A, const tess_cpu_vectors *X, int64_t count, void *to,
                   int shares)
{
    enum { CHUNK = 128 }; /* rows that stay in the first cache while all vectors are copied */
    const int64_t rows = A->block_cols * A->block_width;
#pragma omp parallel for schedule(static) num_threads(shares) if (shares > 1 && !omp_in_parallel())
    for (int64_t first = 0; first < rows; first += CHUNK) {
        int64_t last = first + CHUNK < rows ? first + CHUNK : rows;
        if (A->type == TESS_F64)
            pack_rows(X, A->cols, first, last, count, to, sizeof(double));
        else
            pack_rows(X, A->cols, first, last, count, to, sizeof(float));
    }
}

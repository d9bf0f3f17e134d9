/* Sums of pieces, vectors copied by threads, and several vectors put side by side. */
#include "cpu/vectors.h"

void tess_cpu_put_pieces(tess_type type, const void *sums, int64_t first, int64_t step,
                         int64_t pieces, tess_complex alpha, tess_complex beta, void *y, int64_t to)
{
    const bool complex = tess_is_complex(type);
    double sum = 0;
    tess_complex complex_sum = {0, 0};
    for (int64_t i = first; i < first + pieces * step; i += step) {
        if (complex)
            complex_sum = tess_complex_sum(complex_sum, tess_get_complex(sums, type, i));
        else
            sum += tess_get(sums, type, i);
    }
    if (complex)
        tess_cpu_put_complex(y, type, to, alpha, complex_sum, beta);
    else
        tess_cpu_put(y, type, to, alpha.re, sum, beta.re);
}

enum { COPY_BYTES = 64 * 1024 };

struct copy {
    void *to;
    const void *from;
    int64_t bytes;
};

static void copy(void *arg, tess_range range)
{
    const struct copy *job = arg;
    const int64_t first = range.first * COPY_BYTES;
    memcpy((char *)job->to + first, (const char *)job->from + first,
           (size_t)(tess_min(range.last * COPY_BYTES, job->bytes) - first));
}

void tess_cpu_copy(tess_ctx *ctx, void *to, const void *from, size_t bytes, int shares)
{
    tess_for_shares(ctx, shares, tess_ceil_div((int64_t)bytes, COPY_BYTES), copy,
                    &(struct copy){to, from, (int64_t)bytes});
}

/* Puts rows first .. last-1 of X side by side, `count` scalars per row, with zeros below X. Inlined
 * for each size of scalars. */
static inline __attribute__((always_inline)) void pack_rows(const tess_cpu_vectors *X, int64_t rows,
                                                            int64_t first, int64_t last,
                                                            int64_t count, char *to,
                                                            const int64_t scalar)
{
    const char *from = X->data;
    int64_t inside = tess_min(last, rows);
    for (int64_t v = 0; v < count; v++)
        for (int64_t i = first; i < inside; i++)
            memcpy(to + (i * count + v) * scalar, from + (i * X->row + v * X->vector) * scalar,
                   (size_t)scalar);
    if (inside < last) {
        int64_t below = tess_max(first, inside);
        memset(to + below * count * scalar, 0, (size_t)((last - below) * count * scalar));
    }
}

enum { PACK_ROWS = 128 }; /* they stay in the first cache while all vectors are copied */

struct pack {
    const tess_matrix *A;
    const tess_cpu_vectors *X;
    int64_t count, rows;
    void *to;
};

static void pack(void *arg, tess_range range)
{
    const struct pack *job = arg;
    const tess_matrix *A = job->A;
    for (int64_t i = range.first; i < range.last; i++) {
        const int64_t first = i * PACK_ROWS, last = tess_min(first + PACK_ROWS, job->rows);
        const size_t size = tess_type_size(A->type);
        if (size == sizeof(double))
            pack_rows(job->X, A->cols, first, last, job->count, job->to, sizeof(double));
        else if (size == sizeof(float))
            pack_rows(job->X, A->cols, first, last, job->count, job->to, sizeof(float));
        else
            pack_rows(job->X, A->cols, first, last, job->count, job->to, sizeof(tess_complex));
    }
}

void tess_cpu_pack(tess_ctx *ctx, const tess_matrix *A, const tess_cpu_vectors *X, int64_t count,
                   void *to, int shares)
{
    const int64_t rows = A->block_cols * A->block_width;
    tess_for_shares(ctx, shares, tess_ceil_div(rows, PACK_ROWS), pack,
                    &(struct pack){A, X, count, rows, to});
}

struct unpack {
    tess_type type;
    const void *from;
    int64_t count;
    const tess_cpu_vectors *Y;
    double beta;
};

static void unpack(void *arg, tess_range range)
{
    const struct unpack *job = arg;
    const tess_cpu_vectors *Y = job->Y;
    for (int64_t i = range.first; i < range.last; i++)
        for (int64_t v = 0; v < job->count; v++)
            tess_cpu_put(Y->data, job->type, i * Y->row + v * Y->vector, 1,
                         tess_get(job->from, job->type, i * job->count + v), job->beta);
}

void tess_cpu_unpack(tess_ctx *ctx, tess_type type, int64_t rows, const void *from, int64_t count,
                     const tess_cpu_vectors *Y, double beta, int shares)
{
    tess_for_shares(ctx, shares, rows, unpack, &(struct unpack){type, from, count, Y, beta});
}

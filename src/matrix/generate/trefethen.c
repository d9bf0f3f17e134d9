/* trefethen: the n x n matrix of Problem 7 of Trefethen's "hundred digits", as the SuiteSparse
 * collection holds it: the primes 2, 3, 5, ... on the diagonal, 1 where |i - j| is a power of two.
 * skip=1 drops the first row and column: Trefethen_20000b is n=20000,skip=1.
 */
#include "matrix/generate/generate.h"

typedef struct problem {
    int64_t n, skip, order;
    int64_t *primes;
} problem;

static int64_t count(const void *context, int64_t row)
{
    const problem *P = context;
    int64_t found = 1;
    for (int64_t d = 1; d < P->order; d *= 2)
        found += (d <= row) + (row + d < P->order);
    return found;
}

static void fill(const void *context, int64_t row, int32_t *columns, double *values)
{
    const problem *P = context;
    int64_t found = 0, d = 1;
    while (2 * d <= row)
        d *= 2;
    for (; d > 0 && row > 0; d /= 2) {
        columns[found] = (int32_t)(row - d);
        values[found++] = 1;
    }
    columns[found] = (int32_t)row;
    values[found++] = (double)P->primes[P->skip + row];
    for (d = 1; row + d < P->order; d *= 2) {
        columns[found] = (int32_t)(row + d);
        values[found++] = 1;
    }
}

/* The first n primes by Eratosthenes over the odd numbers: composite[i] stands for 2i+1. The n-th
 * prime is below n (ln n + ln ln n) from n = 6 on. */
static tess_status find_primes(tess_ctx *ctx, int64_t n, int64_t *primes)
{
    double real = (double)n, bound = n < 6 ? 14 : real * (log(real) + log(log(real))) + 1;
    int64_t half = (int64_t)bound / 2 + 1, found = 1;
    unsigned char *composite;
    TESS_TRY(TESS_CALLOC(ctx, half, &composite));
    primes[0] = 2;
    for (int64_t i = 1; i < half && found < n; i++) {
        if (composite[i])
            continue;
        int64_t p = 2 * i + 1;
        primes[found++] = p;
        for (int64_t j = (p * p - 1) / 2; j < half; j += p)
            composite[j] = 1;
    }
    tess_free(ctx, composite);
    return TESS_OK;
}

tess_status tess_generate_trefethen(tess_ctx *ctx, const char *what, const char *keys,
                                    tess_matrix **out, void **rhs)
{
    problem P = {.n = 2000};
    int type = TESS_F64;
    const tess_option table[] = {
        TESS_OPTION_COUNT("n", &P.n, 1, 100000000),
        TESS_OPTION_COUNT("skip", &P.skip, 0, 99999999),
        TESS_OPTION_TYPE(&type),
    };
    TESS_TRY(tess_options_parse(ctx, what, keys, table, sizeof table / sizeof table[0]));
    if (P.skip >= P.n)
        return tess_fail(ctx, TESS_ERR_OPTION, "%s: skip=%lld leaves nothing of n=%lld", what,
                         (long long)P.skip, (long long)P.n);
    P.order = P.n - P.skip;
    const tess_row_rule rule = tess_rule(type, P.order, P.order, 1, 1, &P, count, fill);
    TESS_TRY(TESS_ALLOC(ctx, P.n, &P.primes));
    tess_status status = find_primes(ctx, P.n, P.primes);
    TESS_THEN(tess_generate_with_rhs(ctx, &rule, NULL, out, rhs));
    tess_free(ctx, P.primes);
    return status;
}

/* Products and new values of matrices that are not square, or whose blocks are not, against `ref`.
 */
#include "any_shape.h"

#include <math.h>
#include <string.h>

static void ok(tess_ctx *ctx, tess_status status)
{
    if (status != TESS_OK)
        fail_msg("%s", tess_ctx_error(ctx));
}

/* Sizes from the seed: fewer rows than parts, ragged last blocks, empty rows among them. */
static tess_matrix *draw(tess_ctx *ctx, uint64_t seed)
{
    const int r = 1 + (int)tess_random_below(seed, 0, 7),
              c = 1 + (int)tess_random_below(seed, 1, 7);
    const int64_t rows = 1 + tess_random_below(seed, 2, seed % 3 ? 60 : 4);
    int64_t cols = 1 + tess_random_below(seed, 3, 60);
    cols += rows * r == cols * c && r == c;
    char text[128];
    tess_matrix *A;
    snprintf(text, sizeof text, "random:rows=%d,cols=%d,avg=%d,r=%d,c=%d,seed=%d,type=%s",
             (int)rows, (int)cols, 1 + (int)(seed % 5), r, c, (int)seed, seed % 2 ? "f64" : "f32");
    ok(ctx, tess_matrix_generate(ctx, text, &A, NULL));
    return A;
}

typedef struct subject {
    const tess_matrix *A, *T;
    tess_plan *plan;
    const char *what;
} subject;

static void check_vectors(tess_ctx *ctx, const subject *s, uint64_t seed)
{
    const tess_type type = s->A->type;
    void *x = test_vector(s->A->cols + 1, type, seed),
         *u = test_vector(s->A->rows + 1, type, seed + 1);
    void *y = test_vector(s->A->rows + 1, type, seed + 2),
         *y0 = test_vector(s->A->rows + 1, type, seed + 2);
    void *z = test_vector(s->A->cols + 1, type, seed + 3),
         *z0 = test_vector(s->A->cols + 1, type, seed + 3);
    double dot = 0, want = 0, large = 0;
    ok(ctx, tess_spmv(s->plan, 1.5, x, -0.5, y));
    test_check_spmv(s->what, s->A, 1.5, x, -0.5, y0, y);
    ok(ctx, tess_spmv_transpose(s->plan, 2, u, 0.5, z));
    test_check_spmv(s->what, s->T, 2, u, 0.5, z0, z);
    ok(ctx, tess_spmv_dot(s->plan, 1, x, 0, y, u, &dot));
    test_check_spmv(s->what, s->A, 1, x, 0, NULL, y);
    for (int64_t i = 0; i < s->A->rows; i++) {
        const double term = tess_get(u, type, i) * tess_get(y, type, i);
        want += term;
        large += fabs(term);
    }
    if (!(fabs(dot - want) <= (type == TESS_F64 ? 1e-13 : 1e-5) * large))
        fail_msg("%s: dot %g, expected %g", s->what, dot, want);
    free(x), free(u), free(y), free(y0), free(z), free(z0);
}

static void check_several(tess_ctx *ctx, const subject *s, tess_block_order order)
{
    enum { K = 3 };
    const tess_type type = s->A->type;
    const int64_t rows = s->A->rows, cols = s->A->cols;
    const bool by_row = order == TESS_ORDER_ROW_MAJOR;
    const int64_t ldx = by_row ? K + 1 : cols + 2, ldy = by_row ? K + 2 : rows + 3;
    void *X = test_vector(ldx * (by_row ? cols : K) + 1, type, 5);
    void *Y = test_vector(ldy * (by_row ? rows : K) + 1, type, 6);
    void *x = test_vector(cols + 1, type, 7), *y = test_vector(rows + 1, type, 8);
    ok(ctx, tess_spmm(s->plan, K, order, 1, X, ldx, 0, Y, ldy));
    for (int v = 0; v < K; v++) {
        for (int64_t i = 0; i < cols; i++)
            tess_copy_scalar(type, x, i, X, by_row ? i * ldx + v : v * ldx + i);
        for (int64_t i = 0; i < rows; i++)
            tess_copy_scalar(type, y, i, Y, by_row ? i * ldy + v : v * ldy + i);
        test_check_spmv(s->what, s->A, 1, x, 0, NULL, y);
    }
    free(X), free(Y), free(x), free(y);
}

/* New values in the same pattern. */
static void check_update(tess_ctx *ctx, const subject *s)
{
    tess_matrix *B, *U;
    ok(ctx, tess_matrix_transpose(ctx, s->T, &B));
    void *values = test_vector(tess_matrix_stored(B) + 1, B->type, 17);
    memcpy(B->values, values, (size_t)tess_matrix_stored(B) * tess_type_size(B->type));
    free(values);
    ok(ctx, tess_matrix_transpose(ctx, B, &U));
    ok(ctx, tess_plan_update_values(s->plan, B->values));
    check_vectors(ctx, &(subject){B, U, s->plan, s->what}, 31);
    tess_matrix_destroy(U);
    tess_matrix_destroy(B);
}

void check_any_shape(tess_ctx *ctx, const char *name, uint64_t seed)
{
    tess_device *device = test_device(ctx, name);
    tess_matrix *A = draw(ctx, seed), *T;
    char what[160];
    subject s = {.A = A, .what = what};
    snprintf(what, sizeof what, "%s, seed %d", name, (int)seed);
    ok(ctx, tess_matrix_transpose(ctx, A, &T));
    s.T = T;
    ok(ctx, tess_plan_create(ctx, A, device, NULL, &s.plan));
    check_vectors(ctx, &s, seed);
    check_several(ctx, &s, TESS_ORDER_COLUMN_MAJOR);
    check_several(ctx, &s, TESS_ORDER_ROW_MAJOR);
    check_update(ctx, &s);
    tess_plan_destroy(s.plan);
    tess_matrix_destroy(T);
    tess_matrix_destroy(A);
    tess_device_close(device);
}

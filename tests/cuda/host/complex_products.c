#include "complex_products.h"

#include <math.h>
#include <string.h>

#include "backend/backend.h"

/* One plan under test, and where its vectors are. */
typedef struct session {
    tess_ctx *ctx;
    tess_device *there; /* NULL: the host's memory */
    tess_plan *plan;
    tess_type type;
    const char *what;
} session;

static void must(const session *s, tess_status status)
{
    if (status != TESS_OK)
        fail_msg("%s: %s: %s", s->what, tess_status_name(status), tess_ctx_error(s->ctx));
}

/* A copy where the plan gets it. */
static void *bring(const session *s, const void *host, int64_t count)
{
    const size_t bytes = (size_t)count * tess_type_size(s->type);
    void *copy;
    if (!s->there) {
        copy = malloc(bytes + 1);
        memcpy(copy, host, bytes);
        return copy;
    }
    must(s, tess_device_alloc(s->there, bytes, &copy));
    must(s, tess_device_copy_to(s->there, copy, host, bytes));
    return copy;
}

/* Such a copy back, and its end. */
static void *take(const session *s, void *copy, int64_t count)
{
    const size_t bytes = (size_t)count * tess_type_size(s->type);
    if (!s->there)
        return copy;
    void *host = malloc(bytes + 1);
    must(s, tess_device_copy_from(s->there, host, copy, bytes));
    tess_device_free(s->there, copy);
    return host;
}

static void let_go(const session *s, void *copy)
{
    if (s->there)
        tess_device_free(s->there, copy);
    else
        free(copy);
}

/* y before a product: NaN where it must not be read. */
static void *old_vector(const session *s, int64_t count, tess_complex beta)
{
    void *y = test_vector(count, s->type, 2);
    for (int64_t i = 0; tess_complex_is_zero(beta) && i < count; i++)
        tess_put_complex(y, s->type, i, (tess_complex){NAN, NAN});
    return y;
}

/* B is op(A). */
static void check_one(const session *s, tess_operation operation, const tess_matrix *B,
                      tess_complex alpha, tess_complex beta)
{
    void *x = test_vector(B->cols, s->type, 1), *y0 = old_vector(s, B->rows, beta), *y[2];
    void *x_there = bring(s, x, B->cols);
    for (int turn = 0; turn < 2; turn++) {
        void *y_there = bring(s, y0, B->rows);
        must(s, tess_spmv_complex(s->plan, operation, alpha, x_there, beta, y_there));
        y[turn] = take(s, y_there, B->rows);
    }
    test_check_spmv_complex(s->what, B, alpha, x, beta, y0, y[0]);
    if (memcmp(y[0], y[1], (size_t)B->rows * tess_type_size(s->type)) != 0)
        fail_msg("%s: two runs differ", s->what);
    let_go(s, x_there);
    free(x), free(y0), free(y[0]), free(y[1]);
}

static void check_several(const session *s, const tess_matrix *A, int k, bool row_major,
                          tess_complex alpha, tess_complex beta)
{
    const int64_t ldx = row_major ? k + 1 : A->cols + 1, ldy = row_major ? k + 2 : A->rows + 2;
    const int64_t x_count = row_major ? A->cols * ldx : k * ldx;
    const int64_t y_count = row_major ? A->rows * ldy : k * ldy;
    void *X = test_vector(x_count, s->type, 3), *Y0 = old_vector(s, y_count, beta);
    void *x = test_vector(A->cols, s->type, 1), *y = test_vector(A->rows, s->type, 1);
    void *y0 = test_vector(A->rows, s->type, 1);
    void *X_there = bring(s, X, x_count), *Y_there = bring(s, Y0, y_count);
    must(s,
         tess_spmm_complex(s->plan, k, row_major ? TESS_ORDER_ROW_MAJOR : TESS_ORDER_COLUMN_MAJOR,
                           alpha, X_there, ldx, beta, Y_there, ldy));
    void *Y = take(s, Y_there, y_count);
    for (int v = 0; v < k; v++) {
        for (int64_t i = 0; i < A->cols; i++)
            tess_copy_scalar(s->type, x, i, X, row_major ? i * ldx + v : v * ldx + i);
        for (int64_t i = 0; i < A->rows; i++) {
            const int64_t at = row_major ? i * ldy + v : v * ldy + i;
            tess_copy_scalar(s->type, y, i, Y, at);
            tess_copy_scalar(s->type, y0, i, Y0, at);
        }
        test_check_spmv_complex(s->what, A, alpha, x, beta, y0, y);
    }
    let_go(s, X_there);
    free(X), free(Y0), free(Y), free(x), free(y), free(y0);
}

/* w^H y behind a product; w = NULL: y^H y. The result is the host's, or with vectors on a device
 * the device's. */
static void check_dot(const session *s, const tess_matrix *A, bool own)
{
    void *x = test_vector(A->cols, s->type, 1), *w = test_vector(A->rows, s->type, 4);
    void *x_there = bring(s, x, A->cols), *w_there = bring(s, w, A->rows);
    void *y_there = bring(s, w, A->rows), *dot_there = NULL;
    tess_complex dot = {-1, -1}, sum = {0, 0};
    double scale = 0;
    if (s->there)
        must(s, tess_device_alloc(s->there, sizeof dot, &dot_there));
    must(s, tess_spmv_dot_complex(s->plan, (tess_complex){1, 0.5}, x_there, (tess_complex){0, 0},
                                  y_there, own ? NULL : w_there, s->there ? dot_there : &dot));
    if (s->there)
        must(s, tess_device_copy_from(s->there, &dot, dot_there, sizeof dot));
    void *y = take(s, y_there, A->rows);
    for (int64_t i = 0; i < A->rows; i++) {
        const tess_complex b = tess_get_complex(y, s->type, i);
        const tess_complex a = own ? b : tess_get_complex(w, s->type, i);
        sum = tess_complex_sum(sum, tess_complex_product(tess_conjugate(a), b));
        scale += hypot(a.re, a.im) * hypot(b.re, b.im);
    }
    if (!(hypot(sum.re - dot.re, sum.im - dot.im) <= 1e-12 * scale))
        fail_msg("%s: dot = %.17g%+.17gi instead of %.17g%+.17gi", s->what, dot.re, dot.im, sum.re,
                 sum.im);
    let_go(s, x_there);
    let_go(s, w_there);
    if (s->there)
        tess_device_free(s->there, dot_there);
    free(x), free(w), free(y);
}

void test_complex_products(tess_ctx *ctx, tess_device *there, tess_plan *plan, const tess_matrix *A,
                           int several, const char *what)
{
    const session s = {ctx, there, plan, A->type, what};
    const tess_complex none = {0, 0}, one = {1, 0}, alpha = {-0.5, 1.25}, beta = {0.75, -2};
    tess_matrix *T, *H;
    must(&s, tess_matrix_transpose(ctx, A, &T));
    must(&s, tess_matrix_conjugate_transpose(ctx, A, &H));
    check_one(&s, TESS_OPERATION_NONE, A, one, none);
    check_one(&s, TESS_OPERATION_NONE, A, alpha, beta);
    check_one(&s, TESS_OPERATION_TRANSPOSE, T, alpha, none);
    check_one(&s, TESS_OPERATION_CONJUGATE_TRANSPOSE, H, alpha, beta);
    check_one(&s, TESS_OPERATION_CONJUGATE_TRANSPOSE, H, one, none);
    check_one(&s, TESS_OPERATION_TRANSPOSE, T, alpha, beta);
    if (several > 0) {
        check_several(&s, A, several, false, alpha, beta);
        check_several(&s, A, several, true, alpha, none);
        check_dot(&s, A, false);
        check_dot(&s, A, true);
    }
    tess_matrix_destroy(T);
    tess_matrix_destroy(H);
}

/* Compares results of two revisions bit by bit: this program is compiled against each of them, with
 * the public header alone, and same_bits.sh compares what it prints.
 *
 *   same_bits kernels      prints the cases, one for every kernel that the revision lists for every
 *                          matrix: MATRIX TYPE FORMAT KERNEL PARAMS, "-" for no parameters
 *   same_bits run < CASES  prints hashes of y for each case by 1 and 2 threads: product, transposed
 *                          product, product with three vectors
 *   same_bits solvers      prints the specs of every method with every preconditioner
 *   same_bits solve < SPECS  prints the history (%a) and a hash of x for each spec
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/tessera.h"

enum { VECTORS = 3, NAME = 256 };
static const char *const matrices[] = {"elasticity:n=10", "stencil27:n=12,b=4", "stencil7:n=24",
                                       "cdr:n=14", "random:rows=3000,cols=2500,avg=9,r=2,c=3"};
static const char *const symmetric = "elasticity:n=6", *const general = "cdr:n=8";

static void check(tess_ctx *ctx, tess_status status, const char *what)
{
    if (status == TESS_OK)
        return;
    fprintf(stderr, "same_bits: %s: %s\n", what, ctx ? tess_ctx_error(ctx) : "no context");
    exit(1);
}

static tess_ctx *context(int threads)
{
    tess_ctx *ctx;
    check(NULL, tess_ctx_create(&(tess_ctx_options){.threads = threads}, &ctx), "context");
    return ctx;
}

static tess_matrix *generate(tess_ctx *ctx, const char *spec, const char *type)
{
    char text[2 * NAME];
    tess_matrix *A;
    snprintf(text, sizeof text, "%s,type=%s", spec, type);
    check(ctx, tess_matrix_generate(ctx, text, &A, NULL), text);
    return A;
}

static void put(void *array, int is_float, int64_t i, double value)
{
    if (is_float)
        ((float *)array)[i] = (float)value;
    else
        ((double *)array)[i] = value;
}

/* A hash of the bytes (FNV-1a), and the first number for people. */
static void print(const char *what, const void *array, int is_float, int64_t count)
{
    const unsigned char *bytes = array;
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < (size_t)count * (is_float ? sizeof(float) : sizeof(double)); i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    printf("%s %016llx %.17g\n", what, (unsigned long long)hash,
           is_float ? (double)*(const float *)array : *(const double *)array);
}

static void *vectors(int64_t count, int is_float)
{
    void *x = malloc((size_t)count * sizeof(double));
    if (!x)
        exit(1);
    for (int64_t i = 0; i < count; i++)
        put(x, is_float, i, (double)((i * 7919) % 1013) / 1013 - 0.4);
    return x;
}

/* ---- Products ---- */

static void list_kernels(void)
{
    tess_ctx *ctx = context(2);
    tess_device *device;
    check(ctx, tess_device_open(ctx, "cpu", &device), "cpu");
    for (size_t m = 0; m < 2 * sizeof matrices / sizeof *matrices; m++) {
        const char *type = m % 2 ? "f32" : "f64";
        tess_matrix *A = generate(ctx, matrices[m / 2], type);
        tess_prediction *p;
        check(ctx, tess_predict(ctx, A, device, NULL, &p), matrices[m / 2]);
        for (int64_t i = 0; i < p->kernel_count; i++)
            printf("%s %s %s %s %s\n", matrices[m / 2], type, p->kernels[i].format,
                   p->kernels[i].kernel, p->kernels[i].params[0] ? p->kernels[i].params : "-");
        tess_prediction_destroy(p);
        tess_matrix_destroy(A);
    }
    tess_device_close(device);
    tess_ctx_destroy(ctx);
}

static void multiply(int threads, const char *spec, const char *type, const char *format,
                     const char *kernel, const char *params)
{
    int is_float = strcmp(type, "f32") == 0;
    tess_ctx *ctx = context(threads);
    tess_device *device;
    tess_plan *plan;
    tess_matrix *A = generate(ctx, spec, type);
    const tess_plan_options options = {
        .format = format, .kernel = kernel, .params = strcmp(params, "-") ? params : NULL};
    check(ctx, tess_device_open(ctx, "cpu", &device), "cpu");
    check(ctx, tess_plan_create(ctx, A, device, &options, &plan), kernel);
    tess_matrix_view info;
    tess_matrix_get_view(A, &info);
    int64_t size = info.rows > info.cols ? info.rows : info.cols;
    void *x = vectors(VECTORS * size, is_float), *y = vectors(VECTORS * size, is_float);
    check(ctx, tess_spmv(plan, 1.25, x, -0.5, y), kernel);
    print("spmv", y, is_float, info.rows);
    check(ctx, tess_spmv_transpose(plan, 1, x, 0, y), kernel);
    print("transpose", y, is_float, info.cols);
    check(ctx, tess_spmm(plan, VECTORS, TESS_ORDER_ROW_MAJOR, 1, x, VECTORS, 0, y, VECTORS),
          kernel);
    print("spmm", y, is_float, VECTORS * info.rows);
    free(x);
    free(y);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    tess_ctx_destroy(ctx);
}

static void run_kernels(void)
{
    char spec[NAME], type[8], format[NAME], kernel[NAME], params[NAME];
    for (int i = 1; scanf("%255s %7s %255s %255s %255s", spec, type, format, kernel, params) == 5;
         i++)
        for (int threads = 1; threads <= 2; threads++) {
            printf("case %d, %s %s, %d threads\n", i, spec, type, threads);
            multiply(threads, spec, type, format, kernel, params);
        }
}

/* ---- Solves ---- */

static void solve(int threads, const char *matrix, const char *type, const char *spec)
{
    int is_float = strcmp(type, "f32") == 0;
    tess_ctx *ctx = context(threads);
    tess_device *device;
    tess_plan *plan;
    tess_solver *solver;
    tess_result result;
    tess_matrix *A = generate(ctx, matrix, type);
    const tess_plan_options guess = {.effort = TESS_EFFORT_ESTIMATE, .format = "bsr"};
    tess_matrix_view info;
    tess_matrix_get_view(A, &info);
    check(ctx, tess_device_open(ctx, "cpu", &device), "cpu");
    check(ctx, tess_plan_create(ctx, A, device, &guess, &plan), matrix);
    void *b = vectors(info.rows, is_float), *x = calloc((size_t)info.rows, sizeof(double));
    printf("%s, %s %s, %d threads\n", spec, matrix, type, threads);
    /* Both revisions have to refuse the same solvers. */
    tess_status status = tess_solver_create(plan, spec, &solver);
    if (status == TESS_OK)
        status = tess_solver_solve(solver, b, x, &result);
    if (status == TESS_OK) {
        printf("reason %d, %lld iterations\n", (int)result.reason, (long long)result.iterations);
        for (int64_t i = 0; i < result.history_count; i++)
            printf("%a\n", result.history[i]);
        print("x", x, is_float, info.rows);
        tess_solver_destroy(solver);
    } else {
        printf("status %d\n", (int)status);
    }
    free(b);
    free(x);
    tess_plan_destroy(plan);
    tess_device_close(device);
    tess_matrix_destroy(A);
    tess_ctx_destroy(ctx);
}

/* Every method with every preconditioner that the revision lists, and with some options. */
static void list_solvers(void)
{
    static const char *const options[] = {"ilu0,schedule=levels", "ssor,schedule=colours",
                                          "bjacobi,inner=f32", "ilu0,schedule=domains"};
    const char *method, *pc;
    for (int m = 0; (method = tess_solve_method_name(m)); m++) {
        for (int i = 0; (pc = tess_solve_pc_name(i)); i++)
            printf("%s:max=40,tol=1e-10,pc=%s\n", method, pc);
        for (size_t i = 0; i < sizeof options / sizeof *options; i++)
            printf("%s:max=40,tol=1e-10,pc=%s\n", method, options[i]);
    }
}

static void run_solvers(void)
{
    char spec[NAME];
    while (scanf("%255s", spec) == 1)
        for (int i = 0; i < 8; i++)
            solve(1 + i % 2, i / 2 % 2 ? general : symmetric, i / 4 % 2 ? "f32" : "f64", spec);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "kernels") == 0) {
        list_kernels();
    } else if (argc == 2 && strcmp(argv[1], "run") == 0) {
        run_kernels();
    } else if (argc == 2 && strcmp(argv[1], "solvers") == 0) {
        list_solvers();
    } else if (argc == 2 && strcmp(argv[1], "solve") == 0) {
        run_solvers();
    } else {
        fprintf(stderr, "usage: same_bits kernels | run < CASES | solvers | solve < SPECS\n");
        return 2;
    }
    return fflush(stdout) != 0;
}

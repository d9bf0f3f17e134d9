/* tessera spmv: one product y = A x on a device, timed and verified against the reference. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "backend/backend.h"
#include "ref/ref.h"

typedef struct spmv_args {
    common_args common;
    const char *x, *out;
    int64_t repeat;
    bool explain;
} spmv_args;

/* What one run needs; all of it is released at one place. */
typedef struct spmv_run {
    tess_matrix *matrix;
    tess_device *device;
    tess_plan *plan;
    void *x, *y;
    double *seconds;
    double best;
    verdict verdict;
} spmv_run;

enum { DEFAULT_REPEAT = 20, X_SEED = 1 };

static tess_status make_x(cli_app *app, const spmv_args *args, spmv_run *r)
{
    const tess_matrix *A = r->matrix;
    if (args->x) {
        int64_t count;
        TESS_TRY(tess_vector_read(app->ctx, args->x, A->type, &count, &r->x));
        if (count != A->cols)
            return tess_fail(app->ctx, TESS_ERR_ARGUMENT,
                             "%s has %lld elements, the matrix %lld columns", args->x,
                             (long long)count, (long long)A->cols);
        return TESS_OK;
    }
    TESS_TRY(tess_alloc_bytes(app->ctx, A->cols, tess_type_size(A->type), &r->x));
    for (int64_t i = 0; i < A->cols; i++)
        tess_ref_put(r->x, A->type, i, tess_random_unit(X_SEED, (uint64_t)i));
    return TESS_OK;
}

static tess_status multiply(cli_app *app, const spmv_args *args, spmv_run *r)
{
    static const tess_product spmv = {.kind = TESS_PRODUCT_SPMV};
    int reps = (int)(args->repeat ? args->repeat : DEFAULT_REPEAT);
    TESS_TRY(make_x(app, args, r));
    TESS_TRY(tess_alloc_bytes(app->ctx, r->matrix->rows, tess_type_size(r->matrix->type), &r->y));
    TESS_TRY(TESS_ALLOC(app->ctx, reps, &r->seconds));
    TESS_TRY(tess_plan_create(app->ctx, r->matrix, r->device, NULL, &r->plan));
    TESS_TRY(tess_product_time(r->plan, &spmv, 1.0, r->x, 0.0, r->y, reps, r->seconds));
    r->best = r->seconds[0];
    for (int i = 1; i < reps; i++)
        r->best = r->seconds[i] < r->best ? r->seconds[i] : r->best;
    TESS_TRY(verify_spmv(app->ctx, r->matrix, r->x, r->y, &r->verdict));
    return TESS_OK;
}

static int print_result(cli_app *app, const spmv_args *args, const spmv_run *r)
{
    static const tess_product spmv = {.kind = TESS_PRODUCT_SPMV};
    const tess_matrix *A = r->matrix;
    const verdict *v = &r->verdict;
    double bytes = tess_product_bytes(A, &spmv), flops = tess_product_flops(A, &spmv);
    if (args->common.json)
        return print_json(
            app,
            json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:i, s:i, s:I, s:f, s:f, s:f, s:f, "
                      "s:f, s:f, s:b}",
                      "device", r->device->backend->name, "format", r->plan->format, "kernel",
                      r->plan->kernel, "params", r->plan->params, "type", tess_type_name(A->type),
                      "rows", (json_int_t)A->rows, "cols", (json_int_t)A->cols, "block_rows",
                      A->block_height, "block_cols", A->block_width, "blocks",
                      (json_int_t)A->blocks, "bytes", bytes, "seconds", r->best, "gb_per_s",
                      bytes / r->best * 1e-9, "gflop_per_s", flops / r->best * 1e-9, "error",
                      v->relative, "error_bound", v->bound, "correct", v->good));
    char a[TEXT_MAX], b[TEXT_MAX];
    printf("matrix   ");
    print_matrix_line(A);
    printf("\n");
    printf("device   %s\n", tess_device_description(r->device));
    printf("kernel   %s%s%s%s%s\n", r->plan->format, *r->plan->kernel ? " " : "", r->plan->kernel,
           *r->plan->params ? " " : "", r->plan->params);
    printf("time     %s%s%s (%s moved: %s%.2f GB/s%s, %.2f GFLOP/s)\n", bold(app),
           text_seconds(r->best, a), plain(app), text_bytes(bytes, b), bold(app),
           bytes / r->best * 1e-9, plain(app), flops / r->best * 1e-9);
    printf("result   %s%s%s: largest error %.2g of |A||x| (rounding allows %.2g)\n",
           v->good ? green(app) : red(app), v->good ? "correct" : "WRONG", plain(app), v->relative,
           v->bound);
    return EXIT_DONE;
}

static int run(cli_app *app, void *arguments)
{
    spmv_args *args = arguments;
    spmv_run r = {0};
    int exit_status = EXIT_DONE;
    r.matrix = input_matrix(app, &args->common, args->common.operands[0], &exit_status);
    if (r.matrix)
        r.device = open_device_for(app, &args->common, r.matrix, &exit_status);
    if (r.device) {
        tess_status status = multiply(app, args, &r);
        exit_status = status == TESS_OK ? print_result(app, args, &r) : fail_status(app, status);
        if (status == TESS_OK && args->explain && !args->common.json)
            printf("\n%s\n", tess_plan_explain(r.plan));
        if (exit_status == EXIT_DONE && args->out)
            exit_status = output_vector(app, r.matrix->type, r.matrix->rows, r.y, args->out);
        if (status == TESS_OK && !r.verdict.good)
            exit_status = fail(app, EXIT_FAILED, "row %lld is wrong", (long long)r.verdict.row);
    }
    tess_free(app->ctx, r.seconds);
    tess_free(app->ctx, r.y);
    tess_free(app->ctx, r.x);
    tess_plan_destroy(r.plan);
    tess_device_close(r.device);
    tess_matrix_destroy(r.matrix);
    return exit_status;
}

static const cli_option options[] = {
    {"x", OPTION_TEXT, offsetof(spmv_args, x), "FILE", "take x from FILE", 0, 0},
    {"out", OPTION_TEXT, offsetof(spmv_args, out), "FILE", "write y to FILE", 0, 0},
    {"repeat", OPTION_INT, offsetof(spmv_args, repeat), "N",
     "multiply N times, report the fastest (default 20)", 1, 1000000},
    {"explain", OPTION_FLAG, offsetof(spmv_args, explain), NULL, "say what was chosen, and why", 0,
     0},
};

const cli_command command_spmv = {
    .name = "spmv",
    .operands = "INPUT",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "multiply once, verify the result, say how fast it was",
    .description =
        "Computes y = A x on a device, compares every row with the reference backend and prints "
        "time, bytes moved and error. Without --x, x is random but always the same. A row that "
        "rounding cannot "
        "explain makes the command fail with exit status 1.",
    .examples = "tessera spmv A.mtx.gz\n"
                "tessera spmv gen:stencil27:n=48,b=3 --device cpu:4",
    .uses = USES_DEVICE | USES_TYPE | USES_BLOCK,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .args_size = sizeof(spmv_args),
    .run = run,
};

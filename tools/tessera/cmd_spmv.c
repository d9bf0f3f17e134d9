/* tessera spmv: one product y = A x on a device, timed and verified against the reference. */
#include <stdlib.h>
#include <string.h>

#include "command.h"

typedef struct spmv_args {
    common_args common;
    const char *x, *out;
    int64_t repeat;
    bool explain;
} spmv_args;

/* What one run needs. All of it is released in one place. */
typedef struct spmv_run {
    tess_matrix *matrix;
    tess_device *device;
    tess_plan *plan;
    void *x, *y;
    double *seconds;
    double best;
    verdict verdict;
} spmv_run;

enum { DEFAULT_REPEAT = 20 };

static int make_vectors(cli_app *app, const spmv_args *args, spmv_run *r)
{
    const tess_matrix_view A = view_of(r->matrix);
    if (args->x)
        TRY_EXIT(input_vector(app, args->x, A.type, A.cols, "columns", &r->x));
    else
        r->x = random_vector(A.type, A.cols);
    r->y = zero_vector(A.type, A.rows);
    return r->x && r->y ? EXIT_DONE : fail_memory(app);
}

static int multiply(cli_app *app, const spmv_args *args, spmv_run *r)
{
    int reps = (int)(args->repeat ? args->repeat : DEFAULT_REPEAT);
    TRY_EXIT(make_vectors(app, args, r));
    r->seconds = calloc((size_t)reps, sizeof *r->seconds);
    if (!r->seconds)
        return fail_memory(app);
    TRY_EXIT(create_plan(app, &args->common, r->matrix, r->device, &r->plan));
    TRY_CALL(app, tess_plan_time(r->plan, r->x, r->y, reps, r->seconds));
    r->best = r->seconds[0];
    for (int i = 1; i < reps; i++)
        r->best = lesser(r->seconds[i], r->best);
    return verify_spmv(app, r->matrix, r->x, r->y, &r->verdict);
}

static int print_result(cli_app *app, const spmv_args *args, const spmv_run *r)
{
    const tess_matrix_view view = view_of(r->matrix), *A = &view;
    const verdict *v = &r->verdict;
    const tess_plan_info plan = plan_info(r->plan);
    double bytes = plan.bytes, flops = plan.flops;
    if (args->common.json)
        return print_json(
            app,
            with_regrouping(
                &plan,
                json_make("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:i, s:i, s:I, s:f, s:f, s:f, s:f, "
                          "s:f, s:f, s:b}",
                          "device", device_info(r->device).backend, "format", plan.format, "kernel",
                          plan.kernel, "params", plan.params, "type", type_name(A->type), "rows",
                          (json_int_t)A->rows, "cols", (json_int_t)A->cols, "block_rows",
                          A->block_height, "block_cols", A->block_width, "blocks",
                          (json_int_t)A->blocks, "bytes", bytes, "seconds", r->best, "gb_per_s",
                          bytes / r->best * 1e-9, "gflop_per_s", flops / r->best * 1e-9, "error",
                          v->relative, "error_bound", v->bound, "correct", v->good)));
    char a[TEXT_MAX], b[TEXT_MAX];
    printf("matrix   ");
    print_matrix_line(r->matrix);
    printf("\n");
    printf("device   %s\n", tess_device_description(r->device));
    printf("kernel   %s%s%s%s%s\n", plan.format, *plan.kernel ? " " : "", plan.kernel,
           *plan.params ? " " : "", plan.params);
    if (*plan.regrouping)
        printf("regroup  %s\n", plan.regrouping);
    printf("time     %s%s%s (%s moved: %s%.2f GB/s%s, %.2f GFLOP/s)\n", bold(app),
           text_seconds(r->best, a), plain(app), text_bytes(bytes, b), bold(app),
           bytes / r->best * 1e-9, plain(app), flops / r->best * 1e-9);
    printf("result   %s%s%s: largest error %.2g of |A||x| (rounding allows %.2g)\n",
           v->good ? green(app) : red(app), v->good ? "correct" : "WRONG", plain(app), v->relative,
           v->bound);
    if (v->not_finite > 0)
        printf("         %s of y's rows are NaN or infinite%s\n", text_count(v->not_finite, a),
               v->good ? ", as A and x make them" : "");
    if (v->by_zeros > 0)
        printf("         %s of them by zeros that the format stores beside A's entries\n",
               text_count(v->by_zeros, a));
    return EXIT_DONE;
}

static int run(cli_app *app, void *arguments)
{
    spmv_args *args = arguments;
    spmv_run r = {0};
    int exit_status = EXIT_DONE;
    r.matrix = input_matrix(app, &args->common, args->common.operands[0], &exit_status);
    if (r.matrix)
        exit_status = output_check_vector(app, view_of(r.matrix).type, args->out);
    if (r.matrix && exit_status == EXIT_DONE)
        r.device = open_device_for(app, &args->common, r.matrix, &exit_status);
    if (r.device) {
        exit_status = multiply(app, args, &r);
        const bool multiplied = exit_status == EXIT_DONE;
        if (multiplied)
            exit_status = print_result(app, args, &r);
        if (multiplied && args->explain && !args->common.json)
            printf("\n%s\n", tess_plan_explain(r.plan));
        if (exit_status == EXIT_DONE && args->out)
            exit_status =
                output_vector(app, view_of(r.matrix).type, view_of(r.matrix).rows, r.y, args->out);
        if (multiplied && !r.verdict.good)
            exit_status = fail(
                app, EXIT_FAILED,
                "row %lld of y (counted from 1) is wrong: compare with --device ref, and report "
                "the matrix",
                (long long)r.verdict.row + 1);
    }
    free(r.seconds);
    free(r.y);
    free(r.x);
    tess_plan_destroy(r.plan);
    tess_device_close(r.device);
    tess_matrix_destroy(r.matrix);
    return exit_status;
}

static const cli_option options[] = {
    {"x", OPTION_TEXT, offsetof(spmv_args, x), "FILE", "take x from FILE", 0, 0},
    {"out", OPTION_OUTPUT, offsetof(spmv_args, out), "FILE",
     "write y to FILE (.mtx, .npy, else text; -: standard output)", 0, 0},
    {"repeat", OPTION_INT, offsetof(spmv_args, repeat), "N",
     "multiply N times, report the fastest (default 20)", 1, 1000000},
    {"explain", OPTION_FLAG, offsetof(spmv_args, explain), NULL, "say what was chosen, and why", 0,
     0},
};

static const cli_rule rules[] = {
    {"params", WITHOUT, "kernel,format"},
    {"explain", WITH, "json"},
    {0},
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
        "rounding cannot explain makes the command fail with exit status 1. GB/s are the bytes of "
        "matrix and vectors over time, whatever the format; GFLOP/s count the zeros inside "
        "blocks.\n\n"
        "A Matrix Market file is stored with the blocks that `tessera info` recommends; --block 1 "
        "stores plain CSR. --out - writes y to standard output and the report to stderr.\n\n"
        "--kernel, --format and --params name what runs; `tessera bench` lists what there is. "
        "Without them the fastest is chosen. --regroup on permutes the unknowns inside, so that "
        "blocks appear which the numbering hides; auto does so where it pays. Vectors stay in the "
        "matrix's numbering.",
    .examples = "tessera spmv A.mtx.gz\n"
                "tessera spmv gen:stencil27:n=48,b=3 --device cpu:4",
    .uses = USES_DEVICE | USES_TYPE | USES_BLOCK | USES_KERNEL,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .rules = rules,
    .args_size = sizeof(spmv_args),
    .run = run,
};

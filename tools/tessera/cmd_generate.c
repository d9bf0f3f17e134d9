/* tessera generate: a test problem into a file, and its right-hand side into another. */
#include "command.h"

typedef struct generate_args {
    common_args common;
    const char *rhs;
} generate_args;

static int run(cli_app *app, void *arguments)
{
    generate_args *args = arguments;
    tess_matrix *A;
    void *rhs = NULL;
    tess_status status =
        tess_matrix_generate(app->ctx, args->common.operands[0], &A, args->rhs ? &rhs : NULL);
    if (status != TESS_OK)
        return fail_status(app, status);
    int exit_status = EXIT_DONE;
    if (args->rhs)
        exit_status = output_vector(app, view_of(A).type, view_of(A).rows, rhs, args->rhs);
    if (exit_status == EXIT_DONE)
        exit_status = output_matrix(app, A, args->common.operands[1], false, args->common.json);
    tess_release(app->ctx, rhs);
    tess_matrix_destroy(A);
    return exit_status;
}

static const cli_option options[] = {
    {"rhs", OPTION_OUTPUT, offsetof(generate_args, rhs), "FILE",
     "write the problem's right-hand side there", 0, 0},
};

const cli_command command_generate = {
    .name = "generate",
    .operands = "SPEC OUTPUT",
    .min_operands = 2,
    .max_operands = 2,
    .output_operand = 2,
    .summary = "write a test problem to a file",
    .description =
        "SPEC names a problem and its keys; the same text always gives the same bits. stencil7 "
        "and stencil27: n, b, seed. elasticity: n, thin, free. diffusion: n, jump, aniso, free. "
        "cdr: n, b, convection, reaction, seed. powerlaw: rows, avg, b, long, length, seed. "
        "random: rows, cols, avg, count, r, c, seed. trefethen: n, skip. promote: b and a FILE "
        "(promote:b=4:A.mtx), whose every non-zero becomes a dense block. tile: copies and a "
        "FILE, repeated along the diagonal. planted: rows, cols, shapes (as row:32/4x4), blocks, "
        "fill, noise, seed. All take type=f64|f32|c64|c32.",
    .examples = "tessera generate stencil27:n=48,b=3 A.tess\n"
                "tessera generate elasticity:n=32 A.mtx.gz --rhs b.mtx",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .args_size = sizeof(generate_args),
    .run = run,
};

/* tessera convert: a matrix from one file into another, in other blocks or precision. */
#include "command.h"

typedef struct convert_args {
    common_args common;
} convert_args;

static int run(cli_app *app, void *arguments)
{
    convert_args *args = arguments;
    int exit_status = EXIT_DONE;
    tess_matrix *A = input_matrix(app, &args->common, args->common.operands[0], &exit_status);
    if (A)
        exit_status = output_matrix(app, A, args->common.operands[1], args->common.json);
    tess_matrix_destroy(A);
    return exit_status;
}

const cli_command command_convert = {
    .name = "convert",
    .operands = "INPUT OUTPUT",
    .min_operands = 2,
    .max_operands = 2,
    .summary = "write a matrix in another format, blocking or precision",
    .description =
        "Reads a matrix and writes it to a file whose kind its name tells: .mtx and .mtx.gz are "
        "Matrix Market, which every tool reads; .tess is Tessera's own, which keeps blocks and is "
        "read at the speed of the disk. A failure leaves no partial file.",
    .examples = "tessera convert A.mtx.gz A.tess --block auto\n"
                "tessera convert A.tess A.mtx",
    .uses = USES_TYPE | USES_BLOCK,
    .args_size = sizeof(convert_args),
    .run = run,
};

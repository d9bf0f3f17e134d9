/* tessera convert: a matrix from one file into another, in other blocks or precision. */
#include "command.h"

typedef struct convert_args {
    common_args common;
    bool symmetric;
} convert_args;

static int run(cli_app *app, void *arguments)
{
    convert_args *args = arguments;
    const char *path = args->common.operands[1];
    int exit_status = EXIT_DONE;
    /* Matrix Market has no blocks: the entries go through as they are, zeros too. */
    args->common.as_it_is = !ends_with(path, ".tess");
    tess_matrix *A = input_matrix(app, &args->common, args->common.operands[0], &exit_status);
    if (A)
        exit_status = output_matrix(app, A, path, args->symmetric, args->common.json);
    tess_matrix_destroy(A);
    return exit_status;
}

static const cli_option options[] = {
    {"symmetric", OPTION_FLAG, offsetof(convert_args, symmetric), NULL,
     "write a symmetric or hermitian matrix's lower triangle, and say so (.mtx)", 0, 0},
};

const cli_command command_convert = {
    .name = "convert",
    .operands = "INPUT OUTPUT",
    .min_operands = 2,
    .max_operands = 2,
    .output_operand = 2,
    .summary = "write a matrix in another format, blocking or precision",
    .description =
        "Reads a matrix and writes it to a file whose kind its name tells: .mtx and .mtx.gz are "
        "Matrix Market, which every tool reads; .tess is Tessera's own, which keeps blocks and is "
        "read at the speed of the disk. A failure leaves no partial file. OUTPUT - is Matrix "
        "Market to standard output.\n\n"
        "A Matrix Market file becomes a .tess file with the blocks that `tessera info` "
        "recommends; --block 1 stores plain CSR. Entries go from one Matrix Market file to "
        "another as they are. --symmetric compares every entry with its mirror, and refuses the "
        "matrix if one differs. --type c64 and c32 make a real matrix complex; a complex one "
        "becomes real only where all imaginary parts are 0.",
    .examples = "tessera convert A.mtx.gz A.tess\n"
                "tessera convert A.tess A.mtx --symmetric\n"
                "tessera convert A.tess - | head",
    .uses = USES_TYPE | USES_BLOCK,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .args_size = sizeof(convert_args),
    .run = run,
};

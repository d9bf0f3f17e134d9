/* What a command works on: the matrix an operand names, and the device of --device. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "matrix/matrix.h"

static tess_status read_input(tess_ctx *ctx, const common_args *common, const char *input,
                              tess_matrix **out)
{
    tess_matrix *A;
    TESS_TRY(tess_matrix_input(ctx, input, &A));
    if (common->block.given) {
        tess_blocking blocking = {common->block.rows, common->block.cols};
        tess_matrix *blocked;
        tess_status status = tess_matrix_to_blocks(ctx, A, &blocking, &blocked);
        tess_matrix_destroy(A);
        TESS_TRY(status);
        A = blocked;
    }
    if (common->type.given && common->type.type != A->type) {
        tess_matrix *converted;
        tess_status status = tess_matrix_to_type(ctx, A, common->type.type, &converted);
        tess_matrix_destroy(A);
        TESS_TRY(status);
        A = converted;
    }
    *out = A;
    return TESS_OK;
}

tess_matrix *input_matrix(cli_app *app, const common_args *common, const char *input,
                          int *exit_status)
{
    tess_matrix *A;
    tess_status status = read_input(app->ctx, common, input, &A);
    if (status == TESS_OK)
        return A;
    *exit_status = fail_status(app, status);
    return NULL;
}

tess_device *open_device(cli_app *app, const common_args *common, int *exit_status)
{
    tess_device *device;
    tess_status status =
        tess_device_open(app->ctx, common->device ? common->device : "cpu", &device);
    if (status != TESS_OK && !common->device)
        status = tess_device_open(app->ctx, "ref", &device);
    if (status == TESS_OK)
        return device;
    *exit_status = fail_status(app, status);
    return NULL;
}

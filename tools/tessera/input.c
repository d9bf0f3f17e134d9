/* What a command works on: the matrix an operand names, and the device of --device. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "matrix/matrix.h"
#include "ref/ref.h"

/* A generated problem's right-hand side, in the type that the matrix was converted to. */
static tess_status convert_rhs(tess_ctx *ctx, tess_type from, tess_type to, int64_t rows,
                               void **rhs)
{
    if (!*rhs || from == to)
        return TESS_OK;
    void *converted;
    TESS_TRY(tess_alloc_bytes(ctx, rows, tess_type_size(to), &converted));
    for (int64_t i = 0; i < rows; i++)
        tess_ref_put(converted, to, i, tess_ref_get(*rhs, from, i));
    tess_free(ctx, *rhs);
    *rhs = converted;
    return TESS_OK;
}

/* rhs may be NULL; *rhs stays NULL for what is not generated. */
static tess_status read_input(tess_ctx *ctx, const common_args *common, const char *input,
                              tess_matrix **out, void **rhs)
{
    tess_matrix *A;
    if (strcmp(input, "-") == 0)
        input = "/dev/stdin";
    if (rhs && strncmp(input, "gen:", 4) == 0)
        TESS_TRY(tess_matrix_generate(ctx, input, &A, rhs));
    else
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
        if (status == TESS_OK && rhs)
            status = convert_rhs(ctx, A->type, common->type.type, A->rows, rhs);
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
    return input_system(app, common, input, NULL, exit_status);
}

tess_matrix *input_system(cli_app *app, const common_args *common, const char *input, void **rhs,
                          int *exit_status)
{
    tess_matrix *A;
    tess_status status = read_input(app->ctx, common, input, &A, rhs);
    if (status == TESS_OK)
        return A;
    *exit_status = fail_status(app, status);
    return NULL;
}

tess_device *open_device_for(cli_app *app, const common_args *common, const tess_matrix *A,
                             int *exit_status)
{
    tess_device *device;
    tess_status status =
        tess_device_open_for(app->ctx, common->device ? common->device : "cpu", A, &device);
    if (status != TESS_OK && !common->device)
        status = tess_device_open(app->ctx, "ref", &device);
    if (status == TESS_OK)
        return device;
    *exit_status = fail_status(app, status);
    return NULL;
}

tess_device *open_device(cli_app *app, const common_args *common, int *exit_status)
{
    return open_device_for(app, common, NULL, exit_status);
}

/* What a command works on: the matrix an operand names, and the device of --device. */
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "matrix/matrix.h"
#include "ref/ref.h"

/* The same matrix in another precision. */
static tess_status convert_type(tess_ctx *ctx, const tess_matrix *A, tess_type type,
                                tess_matrix **out)
{
    tess_matrix *B;
    TESS_TRY(tess_matrix_allocate(ctx, type, A->rows, A->cols, A->block_height, A->block_width,
                                  A->blocks, &B));
    memcpy(B->row_offsets, A->row_offsets, (size_t)(A->block_rows + 1) * sizeof *A->row_offsets);
    memcpy(B->columns, A->columns, (size_t)A->blocks * sizeof *A->columns);
    int64_t stored = tess_matrix_stored(A);
    for (int64_t i = 0; i < stored; i++)
        tess_ref_put(B->values, type, i, tess_ref_get(A->values, A->type, i));
    *out = B;
    return TESS_OK;
}

static tess_status read_input(tess_ctx *ctx, const common_args *common, const char *input,
                              tess_matrix **out)
{
    tess_matrix *A;
    if (strncmp(input, "gen:", 4) == 0)
        TESS_TRY(tess_matrix_generate(ctx, input, &A, NULL));
    else
        TESS_TRY(tess_matrix_read(ctx, input, &A));
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
        tess_status status = convert_type(ctx, A, common->type.type, &converted);
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

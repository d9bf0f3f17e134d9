/* What a command works on: the matrix an operand names, a vector of a file, and the device of
 * --device. */
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* The library's array as one of malloc's, in another precision if asked; the library's is released.
 */
static void *take_vector(tess_ctx *ctx, tess_type from, tess_type to, int64_t count, void *values)
{
    void *taken = zero_vector(to, count);
    for (int64_t i = 0; taken && i < count; i++)
        put_scalar(taken, to, i, get_scalar(values, from, i));
    tess_release(ctx, values);
    return taken;
}

/* *A becomes the matrix that `status` says was made of it. */
static tess_status replace(tess_status status, tess_matrix *made, tess_matrix **A)
{
    tess_matrix_destroy(*A);
    *A = status == TESS_OK ? made : NULL;
    return status;
}

/* The matrix as it was read or generated, in the blocks and precision that were asked for. */
static tess_status convert(tess_ctx *ctx, const common_args *common, tess_matrix **A)
{
    tess_status status = TESS_OK;
    tess_matrix *made = NULL;
    if (common->block.given) {
        tess_blocking blocking = {common->block.rows, common->block.cols};
        status = tess_matrix_to_blocks(ctx, *A, &blocking, &made);
        status = replace(status, made, A);
    }
    if (status == TESS_OK && common->type.given && common->type.type != view_of(*A).type) {
        status = tess_matrix_to_type(ctx, *A, common->type.type, &made);
        status = replace(status, made, A);
    }
    return status;
}

tess_matrix *input_matrix(cli_app *app, const common_args *common, const char *input,
                          int *exit_status)
{
    return input_system(app, common, input, NULL, exit_status);
}

tess_matrix *input_system(cli_app *app, const common_args *common, const char *input, void **rhs,
                          int *exit_status)
{
    tess_matrix *A = NULL;
    void *b = NULL;
    tess_type type = TESS_F64;
    if (strcmp(input, "-") == 0)
        input = "/dev/stdin";
    tess_status status = rhs && strncmp(input, "gen:", 4) == 0
                             ? tess_matrix_generate(app->ctx, input, &A, &b)
                             : tess_matrix_input(app->ctx, input, &A);
    if (status == TESS_OK) {
        type = view_of(A).type;
        status = convert(app->ctx, common, &A);
    }
    if (status != TESS_OK) {
        tess_release(app->ctx, b);
        *exit_status = fail_status(app, status);
        return NULL;
    }
    if (!b)
        return A;
    *rhs = take_vector(app->ctx, type, view_of(A).type, view_of(A).rows, b);
    if (*rhs)
        return A;
    tess_matrix_destroy(A);
    *exit_status = fail_memory(app);
    return NULL;
}

int input_vector(cli_app *app, const char *path, tess_type type, int64_t expected, const char *what,
                 void **out)
{
    int64_t count;
    void *values;
    TRY_CALL(app, tess_vector_read(app->ctx, path, type, &count, &values));
    if (count != expected) {
        tess_release(app->ctx, values);
        return fail(app, EXIT_USAGE, "%s has %lld elements, the matrix %lld %s", path,
                    (long long)count, (long long)expected, what);
    }
    *out = take_vector(app->ctx, type, type, count, values);
    return *out ? EXIT_DONE : fail_memory(app);
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

tess_device_info device_info(const tess_device *device)
{
    tess_device_info info = {0};
    (void)tess_device_get_info(device, sizeof info, &info);
    return info;
}

tess_plan_info plan_info(const tess_plan *plan)
{
    tess_plan_info info = {0};
    (void)tess_plan_get_info(plan, sizeof info, &info);
    return info;
}

/* What a command works on: the matrix that an operand names, a vector from a file, and the device
 * of --device. */
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* Copies the library's array into one of malloc, in another precision if asked, and releases the
 * library's. */
static void *take_vector(tess_ctx *ctx, tess_type from, tess_type to, int64_t count, void *values)
{
    void *taken = zero_vector(to, count);
    for (int64_t i = 0; taken && i < count; i++)
        put_scalar(taken, to, i, get_scalar(values, from, i));
    tess_release(ctx, values);
    return taken;
}

/* Replaces *A by the matrix that was made from it; by NULL if `status` is a failure. */
static tess_status replace(tess_status status, tess_matrix *made, tess_matrix **A)
{
    tess_matrix_destroy(*A);
    *A = status == TESS_OK ? made : NULL;
    return status;
}

/* Whether INPUT is a Matrix Market file, which has no blocks of its own. */
static bool lacks_blocks(const char *input, const tess_matrix *A)
{
    static const char *const generated[] = {"gen:", "promote:", "tile:"};
    for (size_t i = 0; i < sizeof generated / sizeof *generated; i++)
        if (strncmp(input, generated[i], strlen(generated[i])) == 0)
            return false;
    return !ends_with(input, ".tess") && view_of(A).block_height == 1 &&
           view_of(A).block_width == 1;
}

/* The block size that `info` recommends. */
static tess_status recommend(cli_app *app, const tess_matrix *A, tess_blocking *blocking)
{
    tess_detection *found;
    const tess_status status = tess_detect(app->ctx, A, NULL, &found);
    if (status != TESS_OK)
        return status;
    *blocking = (tess_blocking){found->recommended.rows, found->recommended.cols};
    tess_detection_destroy(found);
    if ((app->command->uses & USES_SQUARE_BLOCKS) && blocking->rows != blocking->cols)
        *blocking = (tess_blocking){1, 1};
    return TESS_OK;
}

/* Refuses blocks that would mostly be padding. Small ones cost nothing. */
static int check_block(cli_app *app, const block_choice *block, const tess_matrix *A)
{
    enum { SMALL = 64 };
    const tess_matrix_view view = view_of(A);
    if (!block->given || ((block->rows <= SMALL || block->rows <= view.rows) &&
                          (block->cols <= SMALL || block->cols <= view.cols)))
        return EXIT_DONE;
    return fail(
        app, EXIT_USAGE,
        "--block: blocks of %d x %d are larger than the matrix, %lld x %lld: choose smaller "
        "ones, or --block auto",
        (int)block->rows, (int)block->cols, (long long)view.rows, (long long)view.cols);
}

/* The matrix as it was read or generated, in the blocks and precision that were asked for. */
static tess_status convert(cli_app *app, const common_args *common, const char *input,
                           tess_matrix **A)
{
    tess_ctx *ctx = app->ctx;
    tess_status status = TESS_OK;
    tess_matrix *made = NULL;
    tess_blocking blocking = {common->block.rows, common->block.cols};
    bool block = common->block.given;
    if (!block && (app->command->uses & USES_BLOCK) && !common->as_it_is &&
        lacks_blocks(input, *A)) {
        status = recommend(app, *A, &blocking);
        block = status == TESS_OK && (blocking.rows > 1 || blocking.cols > 1);
    }
    if (block) {
        status = tess_matrix_to_blocks(ctx, *A, &blocking, &made);
        status = replace(status, made, A);
    }
    if (status == TESS_OK && common->type.given && common->type.type != view_of(*A).type) {
        status = tess_matrix_to_type(ctx, *A, common->type.type, &made);
        status = replace(status, made, A);
    }
    return status;
}

/* Prints what is wrong with a file, and what to do about it. */
static int fail_reading(cli_app *app, tess_status status, const char *hint)
{
    const char *sentence = tess_ctx_error(app->ctx);
    if (status == TESS_ERR_FORMAT)
        hint = "mend it there, or fetch the file again";
    return status == TESS_ERR_IO || status == TESS_ERR_FORMAT
               ? fail(app, EXIT_USAGE, "%s; %s", sentence, hint)
               : fail_status(app, status);
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
    *exit_status = status == TESS_OK ? check_block(app, &common->block, A) : EXIT_DONE;
    if (status == TESS_OK && *exit_status == EXIT_DONE) {
        type = view_of(A).type;
        status = convert(app, common, input, &A);
    }
    if (status != TESS_OK || *exit_status != EXIT_DONE) {
        tess_matrix_destroy(A);
        tess_release(app->ctx, b);
        if (status == TESS_OK)
            return NULL;
        *exit_status = fail_reading(app, status,
                                    "INPUT is a file, - or gen:NAME ('tessera help generate' lists "
                                    "the names)");
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

int input_numbers(cli_app *app, const char *path, tess_type type, int64_t *count, void **out)
{
    void *values;
    const tess_status status = tess_vector_read(app->ctx, path, type, count, &values);
    if (status != TESS_OK)
        return fail_reading(app, status, "name a file of one vector: .mtx, .npy or text");
    *out = take_vector(app->ctx, type, type, *count, values);
    return *out ? EXIT_DONE : fail_memory(app);
}

int input_vector(cli_app *app, const char *path, tess_type type, int64_t expected, const char *what,
                 void **out)
{
    int64_t count;
    void *values;
    TRY_EXIT(input_numbers(app, path, type, &count, &values));
    if (count != expected) {
        free(values);
        return fail(app, EXIT_USAGE,
                    "%s has %lld elements, the matrix %lld %s: name a vector of %lld", path,
                    (long long)count, (long long)expected, what, (long long)expected);
    }
    *out = values;
    return EXIT_DONE;
}

tess_device *open_device_for(cli_app *app, const common_args *common, const tess_matrix *A,
                             int *exit_status)
{
    tess_device *device;
    tess_status status =
        tess_device_open_for(app->ctx, common->device ? common->device : "cpu", A, &device);
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

int create_plan(cli_app *app, const common_args *common, const tess_matrix *A, tess_device *device,
                tess_plan **out)
{
    static const char *const choices[] = {
        [TESS_REGROUP_AUTO] = "auto", [TESS_REGROUP_ON] = "on", [TESS_REGROUP_OFF] = "off"};
    tess_plan_options options = {.format = common->format,
                                 .kernel = common->kernel,
                                 .params = common->params,
                                 .form = common->form};
    int choice = 0;
    while (common->regroup && choice < 3 && strcmp(common->regroup, choices[choice]) != 0)
        choice++;
    if (choice == 3)
        return fail(app, EXIT_USAGE, "--regroup '%s' is none of auto, on, off", common->regroup);
    options.regroup = (tess_regroup)choice;
    const tess_status status = tess_plan_create(app->ctx, A, device, &options, out);
    return status == TESS_OK ? EXIT_DONE : fail_status(app, status);
}

tess_plan_info plan_info(const tess_plan *plan)
{
    tess_plan_info info = {0};
    (void)tess_plan_get_info(plan, sizeof info, &info);
    return info;
}

json_t *with_regrouping(const tess_plan_info *plan, json_t *object)
{
    if (object && *plan->regrouping)
        json_object_set_new(object, "regrouped",
                            json_make("{s:i, s:f, s:f, s:s}", "block", plan->regrouped_block,
                                      "permuted_bytes", plan->permuted_bytes, "moves", plan->moves,
                                      "reason", plan->regrouping));
    return object;
}

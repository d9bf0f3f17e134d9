/* Predicts CG iterations on regular matrices of any size, for `tessera predict --map`. */
#include "inspect/inspect.h"
#include "plan/model/model.h"

/* The bytes per stored element of a matrix, of the format that was chosen for it. One with fewer
 * blocks than block rows has hardly anything but offsets: it stands for one block in each block
 * row, with its column and its offset. */
static double element_bytes(const tess_model_problem *like)
{
    const double scalar = (double)tess_type_size(like->type), b = like->block;
    return like->blocks < like->block_rows ? scalar + 8 / (b * b)
                                           : (like->bytes - 2 * scalar * like->rows) / like->stored;
}

/* A regular matrix of `stored` elements in b x b blocks with `rows` unknowns. */
static tess_model_problem regular(const tess_model_problem *like, double rows, double stored)
{
    tess_model_problem p = *like;
    double scalar = (double)tess_type_size(like->type), b = like->block;
    p.rows = rows;
    p.stored = stored;
    p.blocks = stored / (b * b);
    p.block_rows = rows / b;
    p.far = p.changes = p.longest = p.alone = p.left = p.idle = p.waits = 0;
    p.x_bytes = rows * scalar;
    p.bytes = element_bytes(like) * stored + 2 * scalar * rows;
    return p;
}

tess_status tess_predict_sizes(tess_ctx *ctx, const tess_matrix *A, tess_device *device,
                               const tess_predict_options *given, int64_t count,
                               const double *unknowns, const double *stored,
                               tess_predicted_solve *one, tess_predicted_solve *several)
{
    static const tess_product product = {.kind = TESS_PRODUCT_SPMV, .effort = TESS_EFFORT_ESTIMATE};
    tess_predict_options taken;
    const tess_predict_options *options = &taken;
    tess_candidates list = {0};
    TESS_NEED(ctx, ctx && A && device);
    TESS_NEED(ctx, count <= 0 || (unknowns && stored && one && several));
    if (count < 0)
        return tess_fail(ctx, TESS_ERR_ARGUMENT, "tess_predict_sizes: %lld sizes",
                         (long long)count);
    TESS_TRY(tess_model_take_options(ctx, __func__, given, &taken));
    TESS_TRY(tess_refuse_complex(ctx, __func__, A->type));
    const tess_model *model = tess_device_performance(device);
    if (!model)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED, "there is no model of '%s'", device->model);
    tess_model_problem like = tess_model_problem_of(A);
    const tess_link link = tess_model_link(model, options);
    const int devices = tess_max(options->devices, 1);
    TESS_TRY(tess_candidates_list(device, A, &product, &list));
    tess_status status = TESS_OK;
    if (list.count > 0 && list.items[0].predicted > 0)
        tess_model_problem_take(&like, &list.items[0]);
    else
        status = tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                           "the model of '%s' knows no kernel for this matrix", model->device);
    tess_candidates_free(ctx, &list);
    for (int64_t i = 0; status == TESS_OK && i < count; i++) {
        const tess_model_problem problem = regular(&like, unknowns[i], stored[i]);
        one[i] = several[i] = (tess_predicted_solve){0};
        if (!tess_model_solve(model, &problem, NULL, 1, &one[i]) ||
            !tess_model_solve(model, &problem, &link, devices, &several[i]))
            continue;
        one[i].speedup = 1;
        several[i].speedup = one[i].iteration / several[i].iteration;
    }
    return status;
}

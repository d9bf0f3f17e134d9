/* Predictions: bytes over throughput, summed over the kernels of an iteration. */
#include "plan/model.h"

#include <math.h>
#include <stdlib.h>

const tess_model_curve *tess_model_find(const tess_model *model, int32_t block_height,
                                        int32_t block_width, tess_type type, double bytes)
{
    bool vectors = block_height == 0, cached = bytes <= model->cache_bytes;
    const tess_model_curve *best = NULL;
    double least = INFINITY;
    for (int i = 0; i < model->count; i++) {
        const tess_model_curve *c = &model->curves[i];
        if ((c->block == 0) != vectors)
            continue;
        double wanted = sqrt((double)block_height * block_width);
        double distance = vectors ? 0 : fabs(log2((double)c->block / wanted));
        distance += 10 * (c->type != type) + 100 * (c->cached != cached);
        if (distance < least) {
            least = distance;
            best = c;
        }
    }
    return best;
}

tess_model_problem tess_model_problem_of(const tess_matrix *A)
{
    return (tess_model_problem){.rows = (double)A->rows,
                                .stored = (double)tess_matrix_stored(A),
                                .bytes = tess_matrix_spmv_bytes(A),
                                .block_height = A->block_height,
                                .block_width = A->block_width,
                                .type = A->type};
}

/* Eq. 7 with bytes instead of elements. */
static double seconds(const tess_model_curve *curve, bool best, double bytes)
{
    return bytes / tess_sigmoid_value(best ? &curve->best : &curve->average, bytes);
}

bool tess_model_predict(const tess_model *model, const tess_model_problem *problem, int devices,
                        const tess_link *link, bool best, tess_prediction *out)
{
    double n = devices, scalar = (double)tess_type_size(problem->type);
    double vector = problem->rows / n * scalar, bytes = problem->bytes / n;
    const tess_model_curve *spmv =
        tess_model_find(model, problem->block_height, problem->block_width, problem->type, bytes);
    const tess_model_curve *small = tess_model_find(model, 0, 0, problem->type, vector);
    if (!spmv || !small || bytes <= 0 || vector <= 0 || (devices > 1 && !link))
        return false;
    /* Vectors read and written by each kernel: Table 2. */
    tess_prediction p = {.spmv = seconds(spmv, best, bytes),
                         .cg2 = seconds(small, best, 2 * vector),
                         .cg3 = seconds(small, best, 3 * vector),
                         .cg4 = seconds(small, best, 9 * vector),
                         .cg5 = seconds(small, best, 6 * vector),
                         .reduction = seconds(small, best, vector),
                         .flops = 2 * problem->stored + 15 * problem->rows};
    if (devices > 1) {
        double moved = problem->rows * scalar; /* each sends its x/n elements to the others */
        p.communication =
            moved / tess_sigmoid_value(&link->transfer, moved) + 4 * link->sync_seconds;
    }
    p.iteration = p.spmv + p.cg2 + p.cg3 + p.cg4 + p.cg5 + 3 * p.reduction + p.communication;
    *out = p;
    return true;
}

/* Products: what they read, write and compute; their candidates, and notes of those that failed. */
#include "backend/backend.h"

tess_status tess_candidates_add(tess_ctx *ctx, tess_candidates *list,
                                const tess_candidate *candidate)
{
    TESS_TRY(TESS_GROW(ctx, &list->items, list->count, &list->capacity));
    list->items[list->count++] = *candidate;
    return TESS_OK;
}

void tess_candidates_free(tess_ctx *ctx, tess_candidates *list)
{
    tess_free(ctx, list->items);
    *list = (tess_candidates){0};
}

void tess_candidates_ahead(tess_device *device, const tess_matrix *A, const tess_candidate *items,
                           int64_t count)
{
    if (device->backend->prepare_ahead && count > 1)
        device->backend->prepare_ahead(device, A, items, count);
}

void tess_plan_note(tess_plan *plan, const char *kernel, const char *reason)
{
    snprintf(plan->note, sizeof plan->note, "%s failed (%.180s), and %s took its place", kernel,
             reason, plan->kernel);
    tess_log(plan->ctx, "plan: %s", plan->note);
}

void tess_random_vector(void *x, int64_t count, tess_type type)
{
    const int64_t reals = tess_reals(type, count);
    for (int64_t i = 0; i < reals; i++)
        tess_put(x, tess_real_type(type), i, tess_random_unit(1, (uint64_t)i));
}

int64_t tess_product_x_size(const tess_matrix *A, const tess_product *product)
{
    int64_t length = product->kind == TESS_PRODUCT_SPMV_TRANSPOSE ? A->rows : A->cols;
    return product->kind == TESS_PRODUCT_SPMM ? length * product->k : length;
}

int64_t tess_product_y_size(const tess_matrix *A, const tess_product *product)
{
    int64_t length = product->kind == TESS_PRODUCT_SPMV_TRANSPOSE ? A->cols : A->rows;
    return product->kind == TESS_PRODUCT_SPMM ? length * product->k : length;
}

double tess_product_bytes(const tess_matrix *A, const tess_product *product)
{
    double bytes = tess_matrix_spmv_bytes(A); /* x and y once: the other k-1 pairs are added */
    if (product->kind == TESS_PRODUCT_SPMM)
        bytes += (double)(product->k - 1) * (double)(A->rows + A->cols) *
                 (double)tess_type_size(A->type);
    return bytes;
}

double tess_product_flops(const tess_matrix *A, const tess_product *product)
{
    /* A complex multiplication takes 6 flops, a complex addition 2. */
    double flops = (tess_is_complex(A->type) ? 8.0 : 2.0) * (double)tess_matrix_stored(A);
    return product->kind == TESS_PRODUCT_SPMM ? flops * product->k : flops;
}

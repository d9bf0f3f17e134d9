/* The list of an exhaustive search on a GPU: every set of parameters once. The device is a profile:
 * nothing runs. */
#include <string.h>

#include "cuda/plan/plan.h"
#include "cuda/plan/variants/variant.h"
#include "support/support.h"

typedef struct named {
    char text[256];
    int64_t place; /* in the order of listing */
} named;

typedef struct name_list {
    named *items;
    int64_t count, capacity;
} name_list;

static void append(name_list *list, const char *kernel, const char *params)
{
    if (list->count == list->capacity) {
        list->capacity = 2 * list->capacity + 64;
        list->items = realloc(list->items, (size_t)list->capacity * sizeof *list->items);
        assert_non_null(list->items);
    }
    named *item = &list->items[list->count];
    snprintf(item->text, sizeof item->text, "%s %s", kernel, params);
    item->place = list->count++;
}

static void append_set(name_list *list, const tess_cuda_kernel *kernel,
                       const tess_cuda_problem *problem, const int *params)
{
    char text[160];
    tess_cuda_write_all(kernel, problem, params, text, sizeof text);
    append(list, kernel->name, text);
}

/* The guess, and around it one parameter at a time at its next smaller and larger value, the last
 * parameter first. */
static void append_around(name_list *list, const tess_cuda_kernel *kernel,
                          const tess_cuda_problem *problem)
{
    int params[TESS_CUDA_PARAMS];
    kernel->guess(problem, params);
    append_set(list, kernel, problem, params);
    for (int i = kernel->param_count - 1; i >= 0; i--) {
        const tess_cuda_param *param = &kernel->params[i];
        if (param->worth && !param->worth(problem))
            continue;
        const int kept = params[i];
        int smaller = 0;
        for (int v = 0; v < param->count; v++)
            smaller += param->values[v] < kept;
        for (int v = smaller - (smaller > 0); v < param->count && v < smaller + 2; v++) {
            params[i] = param->values[v];
            if (kernel->fits(problem, params))
                append_set(list, kernel, problem, params);
        }
        params[i] = kept;
    }
}

/* All sets of parameters in the order of the search, before repetitions are dropped. */
static void append_everything(void **state, tess_device *device, const tess_matrix *A,
                              name_list *list)
{
    tess_cuda_problem problem;
    const tess_cuda_kernel *best;
    int params[TESS_CUDA_PARAMS];
    tess_cuda_describe_problem(tess_cuda_of(device), A, &problem);
    assert_int_equal(tess_cuda_choose(test_ctx(state), &problem, TESS_CUDA_SPMV,
                                      &(tess_plan_options){0}, 0, &best, params),
                     TESS_OK);
    append_around(list, best, &problem);
    for (int k = 0; k < tess_cuda_kernel_count; k++) {
        const tess_cuda_kernel *kernel = tess_cuda_kernels[k];
        if (kernel->op != TESS_CUDA_SPMV)
            continue;
        kernel->guess(&problem, params);
        if (kernel->fits(&problem, params))
            append_set(list, kernel, &problem, params);
        for (bool more = tess_cuda_params_next(kernel, &problem, true, params); more;
             more = tess_cuda_params_next(kernel, &problem, false, params))
            append_set(list, kernel, &problem, params);
    }
}

static int by_text(const void *a, const void *b)
{
    const named *x = a, *y = b;
    const int order = strcmp(x->text, y->text);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static int by_place(const void *a, const void *b)
{
    const named *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

/* Keeps the first of equal items, in their order. */
static void drop_repetitions(name_list *list)
{
    int64_t kept = 0;
    qsort(list->items, (size_t)list->count, sizeof *list->items, by_text);
    for (int64_t i = 0; i < list->count; i++)
        if (i == 0 || strcmp(list->items[i].text, list->items[kept - 1].text) != 0)
            list->items[kept++] = list->items[i];
    assert_true(kept < list->count); /* the guess's neighbours were listed twice */
    list->count = kept;
    qsort(list->items, (size_t)kept, sizeof *list->items, by_place);
}

static void everything_is_listed_once_in_its_order(void **state)
{
    static const char *const inputs[] = {"stencil7:n=5,b=1", "stencil27:n=4,b=1,type=f32",
                                         "stencil7:n=4,b=3", "stencil27:n=3,b=20"};
    tess_ctx *ctx = test_ctx(state);
    tess_device *device = test_device(ctx, "profile:h200");
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        const tess_product product = {.kind = TESS_PRODUCT_SPMV, .effort = TESS_EFFORT_EXHAUSTIVE};
        tess_candidates list = {0};
        name_list expected = {0};
        tess_matrix *A;
        assert_int_equal(tess_matrix_generate(ctx, inputs[i], &A, NULL), TESS_OK);
        assert_int_equal(tess_cuda_candidates(device, A, &product, &list), TESS_OK);
        append_everything(state, device, A, &expected);
        drop_repetitions(&expected);
        if (list.count != expected.count)
            fail_msg("%s: %lld candidates, not %lld", inputs[i], (long long)list.count,
                     (long long)expected.count);
        for (int64_t k = 0; k < list.count; k++) {
            char text[256];
            snprintf(text, sizeof text, "%s %s", list.items[k].kernel, list.items[k].params);
            if (strcmp(text, expected.items[k].text) != 0)
                fail_msg("%s, candidate %lld: %s, not %s", inputs[i], (long long)k, text,
                         expected.items[k].text);
        }
        free(expected.items);
        tess_candidates_free(ctx, &list);
        tess_matrix_destroy(A);
    }
    tess_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_listed_once_in_its_order),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}

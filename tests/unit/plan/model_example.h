/* A small model for tests. */
#ifndef TEST_MODEL_EXAMPLE_H
#define TEST_MODEL_EXAMPLE_H

#include "plan/model/model.h"
#include "support/support.h"

static const tess_sigmoid truth = {.mu = 19.2, .sigma = 1.45, .nu = 117e9};

/* A device with one class of 4 x 4 blocks, "k", and vectors. */
static inline tess_model *example(void **state)
{
    tess_model *model;
    tess_model_curve vectors = {.name = TESS_MODEL_VECTORS, .average = truth, .best = truth};
    tess_model_curve four = {.name = "k", .block = 4, .average = truth, .best = truth};
    vectors.average.nu *= 0.8;
    four.average.nu *= 0.7;
    assert_int_equal(tess_model_create(test_ctx(state), "test, 2 threads", &model), TESS_OK);
    assert_int_equal(tess_model_add_curve(model, &vectors), TESS_OK);
    assert_int_equal(tess_model_add_curve(model, &four), TESS_OK);
    return model;
}

static inline tess_model_problem problem_of(double rows)
{
    return (tess_model_problem){.rows = rows,
                                .stored = 28 * rows,
                                .blocks = 1.75 * rows,
                                .block = 4,
                                .x_bytes = 8 * rows,
                                .name = "k",
                                .bytes = 240 * rows};
}

#endif

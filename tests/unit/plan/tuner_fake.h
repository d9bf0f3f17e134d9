/* A fake device whose kernels take given times, for tests of the search. */
#ifndef TEST_TUNER_FAKE_H
#define TEST_TUNER_FAKE_H

#include "plan/tuner.h"
#include "support/support.h"

#include <string.h>

typedef struct fake_kernel {
    const char *name;
    double seconds;
    bool unprepared, unrunnable, fixed;
    const char *format; /* NULL: "fake" */
    double memory;      /* bytes of the kernel's own arrays */
    int cold;           /* products after another kernel's that take longer, each by less */
} fake_kernel;

static inline const char *fake_format(const fake_kernel *kernel)
{
    return kernel->format ? kernel->format : "fake";
}

enum { KERNELS_MAX = 64 };

/* The device's kernels, and counts of what was asked of it. */
typedef struct fake {
    fake_kernel kernels[KERNELS_MAX];
    int count;
    int prepared, alive, most_alive, batches, products;
    double noise, idle; /* relative errors: of every time; of the first batch, which takes longer */
    uint64_t seed;
    tess_effort listed_with;
    int cancel_at; /* the number of the progress call that says stop; 0: none */
    int progress_calls;
    const fake_kernel *last; /* the last kernel that ran, and its products since another one ran */
    int since;
} fake;

static inline fake *fake_of(const tess_plan *plan)
{
    return plan->device->state;
}

static inline tess_status fake_open(tess_device *device, const char *rest)
{
    (void)device;
    (void)rest;
    return TESS_OK;
}

static inline void fake_close(tess_device *device)
{
    (void)device;
}

static inline tess_status fake_prepare(tess_plan *plan, const tess_plan_options *options)
{
    fake *f = fake_of(plan);
    for (int i = 0; i < f->count; i++) {
        fake_kernel *kernel = &f->kernels[i];
        if (options->kernel && strcmp(options->kernel, kernel->name) != 0)
            continue;
        if (kernel->unprepared)
            return tess_fail(plan->ctx, TESS_ERR_DEVICE, "%s cannot be prepared", kernel->name);
        f->prepared++;
        f->alive++;
        f->most_alive = f->alive > f->most_alive ? f->alive : f->most_alive;
        plan->state = kernel;
        snprintf(plan->kernel, sizeof plan->kernel, "%s", kernel->name);
        snprintf(plan->format, sizeof plan->format, "%s", fake_format(kernel));
        return TESS_OK;
    }
    return tess_fail(plan->ctx, TESS_ERR_ARGUMENT, "no kernel '%s'", options->kernel);
}

static inline void fake_release(tess_plan *plan)
{
    fake_of(plan)->alive--;
}

static inline tess_status fake_spmv(tess_plan *plan, double alpha, const void *x, double beta,
                                    void *y)
{
    (void)plan, (void)alpha, (void)x, (void)beta, (void)y;
    return TESS_OK;
}

static inline tess_status fake_update(tess_plan *plan, const void *values)
{
    const fake_kernel *kernel = plan->state;
    (void)values;
    return kernel->fixed ? tess_fail(plan->ctx, TESS_ERR_MATRIX, "not these values") : TESS_OK;
}

static inline tess_status fake_candidates(tess_device *device, const tess_matrix *A,
                                          const tess_product *product, tess_candidates *list)
{
    fake *f = device->state;
    (void)A;
    f->listed_with = product->effort;
    for (int i = 0; i < f->count; i++) {
        tess_candidate candidate = {0};
        snprintf(candidate.format, sizeof candidate.format, "%s", fake_format(&f->kernels[i]));
        snprintf(candidate.kernel, sizeof candidate.kernel, "%s", f->kernels[i].name);
        candidate.memory = f->kernels[i].memory;
        TESS_TRY(tess_candidates_add(device->ctx, list, &candidate));
    }
    return TESS_OK;
}

/* The factor by which the kernel's next product takes longer than one whose arrays are in the
 * cache. */
static inline double fake_cold(fake *f, const fake_kernel *kernel)
{
    f->since = f->last == kernel ? f->since + 1 : 0;
    f->last = kernel;
    return f->since < kernel->cold ? 1 + (double)(kernel->cold - f->since) / kernel->cold : 1;
}

static inline tess_status fake_time(tess_plan *plan, tess_product_fn run,
                                    const tess_product *product, double alpha, const void *x,
                                    double beta, void *y, int reps, double *seconds)
{
    const fake_kernel *kernel = plan->state;
    fake *f = fake_of(plan);
    (void)run, (void)product, (void)alpha, (void)x, (void)beta, (void)y;
    if (kernel->unrunnable)
        return tess_fail(plan->ctx, TESS_ERR_DEVICE, "%s cannot run", kernel->name);
    double slower = f->batches++ == 0 ? 1 + f->idle : 1;
    f->products += reps + 1;         /* one is not timed */
    for (int i = 0; i < reps; i++) { /* one run in three is disturbed */
        double off = f->noise * tess_random_unit(f->seed, (uint64_t)(8 * f->batches + i));
        seconds[i] =
            kernel->seconds * slower * fake_cold(f, kernel) * (1 + off) * (i % 3 == 0 ? 5 : 1);
    }
    return TESS_OK;
}

static const tess_backend fake_backend = {.name = "fake",
                                          .open = fake_open,
                                          .close = fake_close,
                                          .prepare = fake_prepare,
                                          .release = fake_release,
                                          .spmv = fake_spmv,
                                          .update_values = fake_update,
                                          .candidates = fake_candidates,
                                          .asynchronous = true,
                                          .time_product = fake_time};

typedef struct fixture {
    tess_ctx *ctx;
    tess_matrix *A;
    tess_device device;
    fake fake;
} fixture;

static inline void open_fixture(fixture *f, void **state, const char *input)
{
    f->ctx = test_ctx(state);
    assert_int_equal(tess_matrix_generate(f->ctx, input, &f->A, NULL), TESS_OK);
    f->device = (tess_device){.ctx = f->ctx, .backend = &fake_backend, .state = &f->fake};
}

static const char large[] = "random:rows=20000,avg=8,r=2,c=2";

/* The kernel's name of a plan with these options. */
static inline const char *choice(fixture *f, const tess_plan_options *options)
{
    static char name[64];
    tess_plan *plan = NULL;
    tess_status status = tess_plan_create(f->ctx, f->A, &f->device, options, &plan);
    if (status != TESS_OK)
        fail_msg("%s", tess_ctx_error(f->ctx));
    snprintf(name, sizeof name, "%s", plan->kernel);
    tess_plan_destroy(plan);
    assert_int_equal(f->fake.alive, 0);
    return name;
}

/* `count` kernels k0, k1, ... that take `seconds`. */
static inline void add_alike(fake *f, int count, double seconds)
{
    static char names[KERNELS_MAX][8];
    for (int i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "k%d", i);
        f->kernels[i] = (fake_kernel){.name = names[i], .seconds = seconds};
    }
    f->count = count;
}

/* The choice of a search whose products are counted here. */
static inline const char *choice_within_budget(fixture *f)
{
    f->fake.batches = f->fake.products = 0;
    const char *name = choice(f, NULL);
    assert_in_range(f->fake.products, 1, 60);
    return name;
}

#endif

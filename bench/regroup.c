/* Plans that permute inside, on matrices whose natural blocks were hidden: one JSON line an input.
 *
 *     tessera_bench_regroup DEVICE ROUNDS INPUT...
 *
 * An input is expanded to scalars, which are numbered by fields and by chance. Three plans take
 * turns in every round: the natural blocks in the natural order, the scrambled matrix as CSR, and
 * the scrambled matrix regrouped. A time is the least of all rounds: other processes only add. On
 * "cpu:1" it is processor time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "internal.h"

enum { PLANS = 3, NATURAL = 0, PLAIN = 1, REGROUPED = 2, ROUNDS_MAX = 200, REPS = 5 };

static void check(tess_ctx *ctx, tess_status status)
{
    if (status == TESS_OK)
        return;
    fprintf(stderr, "tessera_bench_regroup: %s\n", tess_ctx_error(ctx));
    exit(2);
}

/* All first unknowns of the blocks, then all second ones. */
static void by_fields(int64_t rows, int32_t b, int64_t *perm)
{
    for (int64_t i = 0; i < rows; i++)
        perm[i] = i % (rows / b) * b + i / (rows / b);
}

static void by_chance(int64_t rows, int64_t *perm)
{
    for (int64_t i = 0; i < rows; i++)
        perm[i] = i;
    for (int64_t i = rows - 1; i > 0; i--) {
        const int64_t j = tess_random_below(1, (uint64_t)i, i + 1), kept = perm[i];
        perm[i] = perm[j];
        perm[j] = kept;
    }
}

static int32_t natural_block(tess_ctx *ctx, const tess_matrix *A)
{
    tess_detection *D;
    check(ctx, tess_detect(ctx, A, NULL, &D));
    const int32_t block = D->natural_block;
    tess_detection_destroy(D);
    return block;
}

/* Scalars and the natural block of an input: the blocks it has, or those that are detected, without
 * stored zeros if there are any. */
static tess_matrix *read_scalars(tess_ctx *ctx, const char *input, int32_t *block)
{
    tess_matrix *given, *A, *without;
    check(ctx, tess_matrix_input(ctx, input, &given));
    check(ctx, tess_matrix_to_csr(ctx, given, TESS_ZEROS_KEEP, &A));
    *block = given->block_height == given->block_width ? given->block_height : 1;
    tess_matrix_destroy(given);
    if (*block > 1)
        return A;
    check(ctx, tess_matrix_to_csr(ctx, A, TESS_ZEROS_DROP, &without));
    *block = natural_block(ctx, without);
    if (*block > 1) {
        tess_matrix_destroy(A);
        return without;
    }
    tess_matrix_destroy(without);
    *block = natural_block(ctx, A);
    return A;
}

typedef struct comparison {
    tess_ctx *ctx;
    tess_device *device;
    int rounds;
    tess_plan *plan[PLANS];
    double seconds[PLANS];
} comparison;

/* Processor time of the calling thread, which is all that computes on "cpu:1". */
static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void time_plan(comparison *c, tess_plan *plan, const void *x, void *y, double *seconds)
{
    const tess_product product = {.kind = TESS_PRODUCT_SPMV};
    if (c->device->threads != 1) {
        check(c->ctx, tess_product_time(plan, &product, 1, x, 0, y, REPS, seconds));
        return;
    }
    for (int i = 0; i < REPS; i++) {
        const double start = thread_seconds();
        check(c->ctx, tess_spmv(plan, 1, x, 0, y));
        seconds[i] = thread_seconds() - start;
    }
}

static void take_turns(comparison *c, const tess_matrix *A)
{
    static double times[PLANS][ROUNDS_MAX * REPS];
    void *x = calloc((size_t)A->cols, sizeof(double)), *y = calloc((size_t)A->rows, sizeof(double));
    tess_random_vector(x, A->cols, A->type);
    for (int round = -1; round < c->rounds; round++)
        for (int p = 0; p < PLANS; p++) {
            double *into = times[p] + tess_max(0, round) * REPS;
            check(c->ctx, tess_spmv(c->plan[p], 1, x, 0, y)); /* not timed: warms the caches */
            time_plan(c, c->plan[p], x, y, into);
        }
    for (int p = 0; p < PLANS; p++) {
        c->seconds[p] = times[p][0];
        for (int i = 1; i < c->rounds * REPS; i++)
            c->seconds[p] = tess_min(times[p][i], c->seconds[p]);
    }
    free(x), free(y);
}

static double predicted(tess_ctx *ctx, tess_plan *plan)
{
    tess_plan_info info;
    check(ctx, tess_plan_get_info(plan, sizeof info, &info));
    return info.predicted_seconds;
}

/* Bytes of the passes over x and y; 0: there are none. */
static double permuted(tess_ctx *ctx, tess_plan *plan)
{
    tess_plan_info info;
    check(ctx, tess_plan_get_info(plan, sizeof info, &info));
    return info.permuted_bytes;
}

/* Processor seconds of all threads of this process since `since`: other processes do not count. */
static double cpu_seconds(clock_t since)
{
    return (double)(clock() - since) / CLOCKS_PER_SEC;
}

/* Bytes of f64 blocks and their columns. */
static double block_bytes(int64_t blocks, int32_t b)
{
    return (double)blocks * (8.0 * b * b + 4);
}

/* Compares the plans in one numbering. `natural` has the blocks in their own order. */
static json_t *compare(comparison *c, const tess_matrix *natural, const tess_matrix *A,
                       const int64_t *perm, const char *how)
{
    const tess_plan_options off = {.effort = TESS_EFFORT_ESTIMATE, .regroup = TESS_REGROUP_OFF},
                            on = {.effort = TESS_EFFORT_ESTIMATE, .regroup = TESS_REGROUP_ON};
    tess_matrix *hidden;
    tess_regrouping *R;
    check(c->ctx, tess_matrix_permute(c->ctx, A, perm, &hidden));
    double start = tess_seconds();
    clock_t cpu = clock();
    check(c->ctx, tess_detect_regrouping(c->ctx, hidden, NULL, &R));
    const double detection = tess_seconds() - start;
    json_t *result =
        json_pack("{s:s, s:f, s:f, s:i, s:i, s:f, s:s}", "order", how, "detect_seconds", detection,
                  "detect_cpu_seconds", cpu_seconds(cpu), "block", R->block, "fields", R->fields,
                  "density", R->density, "reason", R->reason);
    if (R->block > 1) {
        check(c->ctx, tess_plan_create(c->ctx, natural, c->device, &off, &c->plan[NATURAL]));
        check(c->ctx, tess_plan_create(c->ctx, hidden, c->device, &off, &c->plan[PLAIN]));
        start = tess_seconds();
        cpu = clock();
        check(c->ctx, tess_plan_create(c->ctx, hidden, c->device, &on, &c->plan[REGROUPED]));
        const double planned = tess_seconds() - start, planned_cpu = cpu_seconds(cpu);
        take_turns(c, hidden);
        json_object_update_new(
            result,
            json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:s}", "plan_seconds",
                      planned, "plan_cpu_seconds", planned_cpu, "found",
                      block_bytes(natural->blocks, natural->block_height) /
                          block_bytes(R->blocks, R->block),
                      "natural", c->seconds[NATURAL], "csr", c->seconds[PLAIN], "regrouped",
                      c->seconds[REGROUPED], "csr_predicted", predicted(c->ctx, c->plan[PLAIN]),
                      "regrouped_predicted", predicted(c->ctx, c->plan[REGROUPED]), "bytes_ratio",
                      R->bytes / tess_matrix_spmv_bytes(hidden), "permuted_bytes",
                      permuted(c->ctx, c->plan[REGROUPED]), "kernel", c->plan[REGROUPED]->kernel));
        for (int p = 0; p < PLANS; p++)
            tess_plan_destroy(c->plan[p]);
    }
    tess_regrouping_destroy(R);
    tess_matrix_destroy(hidden);
    return result;
}

static void measure(comparison *c, const char *input)
{
    int32_t b;
    tess_matrix *A = read_scalars(c->ctx, input, &b), *natural;
    const tess_blocking blocking = {b, b};
    int64_t *perm = malloc((size_t)A->rows * sizeof *perm);
    check(c->ctx, tess_matrix_to_blocks(c->ctx, A, &blocking, &natural));
    json_t *orders = json_array();
    if (b > 1 && A->rows % b == 0) {
        by_fields(A->rows, b, perm);
        json_array_append_new(orders, compare(c, natural, A, perm, "fields"));
    }
    by_chance(A->rows, perm);
    json_array_append_new(orders, compare(c, natural, A, perm, "chance"));
    json_t *line =
        json_pack("{s:s, s:s, s:I, s:I, s:i, s:o}", "input", input, "device",
                  tess_device_description(c->device), "rows", (json_int_t)A->rows, "entries",
                  (json_int_t)A->blocks, "natural_block", b, "orders", orders);
    json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
    printf("\n");
    fflush(stdout);
    json_decref(line);
    free(perm);
    tess_matrix_destroy(natural);
    tess_matrix_destroy(A);
}

int main(int argc, char **argv)
{
    comparison c = {0};
    if (argc < 4) {
        fprintf(stderr, "usage: tessera_bench_regroup DEVICE ROUNDS INPUT...\n");
        return 2;
    }
    c.rounds = atoi(argv[2]);
    if (c.rounds < 1 || c.rounds > ROUNDS_MAX || tess_ctx_create(NULL, &c.ctx) != TESS_OK)
        return 2;
    check(c.ctx, tess_device_open(c.ctx, argv[1], &c.device));
    for (int i = 3; i < argc; i++)
        measure(&c, argv[i]);
    tess_device_close(c.device);
    tess_ctx_destroy(c.ctx);
    return 0;
}

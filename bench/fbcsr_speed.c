/* SpMV with fbcsr beside our CSR, cuSPARSE's CSR (on a GPU) and the best BSR. One line of JSON a
 * matrix. A matrix is tiled along the diagonal until a product with CSR moves MEGABYTES. Every
 * kernel is tried with the parameters that the model puts first, CSR's with two sets. The fastest
 * of each kind are verified against ref and timed in turn, round after round; medians.
 *
 *     tessera_bench_fbcsr_speed [--no-bsr] DEVICE MEGABYTES INPUT...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "../tools/tessera/bench.h"
#include "peers/cusparse.h"

enum { ROUNDS = 5, REPS = 3, KINDS = 4 };
enum { CSR, FBCSR, BSR, CUSPARSE };
static const char *const kinds[KINDS] = {"csr", "fbcsr", "bsr", "cusparse_csr"};

typedef struct entry {
    tess_plan *plan;           /* NULL: none, or cuSPARSE multiplies */
    cusparse_product *product; /* of cuSPARSE; NULL: none */
    double seconds, error;
} entry;

typedef struct trial {
    tess_ctx *ctx;
    tess_device *device;
    tess_matrix *A, *blocked;
    tess_blocking blocks; /* of the best BSR */
    double bsr_bytes;
    void *x, *y;
    bench_truth truth;
    entry entries[KINDS];
} trial;

static const tess_product spmv = {
    .kind = TESS_PRODUCT_SPMV, .k = 1, .effort = TESS_EFFORT_ESTIMATE};

/* The median time of REPS products. */
static tess_status median_time(trial *T, const entry *E, double *seconds)
{
    double times[REPS];
    if (E->product)
        TESS_TRY(cusparse_time(E->product, T->x, T->y, REPS, times));
    else
        TESS_TRY(tess_product_time(E->plan, &spmv, 1, T->x, 0, T->y, REPS, times));
    *seconds = tess_median(times, REPS);
    return TESS_OK;
}

static int kind_of(const tess_candidate *c, bool blocked)
{
    if (strcmp(c->format, "fbcsr") == 0)
        return FBCSR;
    if (strcmp(c->format, "symmetric") == 0)
        return -1; /* half storage is not compared: it has half the bytes with any blocks */
    return blocked ? BSR : CSR;
}

/* Tries one candidate and keeps its plan if it is the fastest of its kind. */
static tess_status try_candidate(trial *T, const tess_matrix *A, const tess_candidate *c)
{
    int kind = kind_of(c, A != T->A);
    tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE,
                                 .format = c->format,
                                 .kernel = c->kernel[0] ? c->kernel : NULL,
                                 .params = c->params[0] ? c->params : NULL};
    tess_plan *plan;
    double seconds;
    if (kind < 0)
        return TESS_OK;
    entry *E = &T->entries[kind];
    tess_status status = A == T->A ? tess_plan_create_shared(T->ctx, A, T->device, &options, &plan)
                                   : tess_plan_create(T->ctx, A, T->device, &options, &plan);
    if (status != TESS_OK)
        return status == TESS_ERR_MEMORY ? status : TESS_OK; /* it does not apply */
    status = median_time(T, &(entry){.plan = plan}, &seconds);
    if (status == TESS_OK && (!E->plan || seconds < E->seconds)) {
        tess_plan *swap = E->plan;
        E->seconds = seconds;
        E->plan = plan;
        plan = swap;
    }
    tess_plan_destroy(plan);
    return status;
}

/* Of cuSPARSE's algorithms for CSR the first: it was the faster one on all 86 matrices that were
 * measured with both. */
#define CUSPARSE_CSR "cusparse_csr_alg1"

static tess_status open_cusparse(trial *T)
{
    tess_cuda *cuda = tess_cuda_of(T->device);
    char version[24];
    if (!cusparse_version(version, sizeof version))
        return TESS_OK;
    TESS_TRY(tess_cuda_enter(cuda));
    const tess_status status =
        cusparse_open(cuda, T->A, CUSPARSE_CSR, NULL, cuda->stream, &T->entries[CUSPARSE].product);
    tess_cuda_leave(cuda);
    return status == TESS_ERR_MEMORY ? status : TESS_OK; /* it does not apply */
}

/* Whether a candidate is tried. On a GPU each needs a conversion, so only kernels are tried that
 * were the fastest on some of the matrices, the last two of them where rows are long. */
static bool worth_trying(const tess_candidates *list, int64_t at, bool gpu, const tess_matrix *A)
{
    static const char *const known[] = {"sliced", "multi_row", "warp_row", "by_block"};
    const char *kernel = list->items[at].kernel;
    int before = 0;
    for (int64_t i = 0; i < at; i++)
        before += strcmp(list->items[i].kernel, kernel) == 0;
    const bool blocked = A->block_height * A->block_width > 1;
    if (!gpu)
        return before < (blocked ? 1 : 2);
    for (size_t i = 0; i < (blocked || A->blocks < 64 * A->rows ? 2 : 4); i++)
        if (strcmp(kernel, known[i]) == 0)
            return before == 0;
    return false;
}

/* Tries all candidates worth it. `chosen` receives the format that ESTIMATE takes. */
static tess_status try_all(trial *T, const tess_matrix *A, tess_fbcsr_options *shapes, char *chosen,
                           size_t size)
{
    tess_product product = spmv;
    tess_candidates list = {0};
    tess_candidate blocks = {.format = "fbcsr"};
    char text[TESS_SHAPES_TEXT];
    tess_status status;
    bool gpu = strcmp(T->device->backend->name, "cuda") == 0;
    product.shapes = A == T->A && tess_search_shapes(TESS_EFFORT_ESTIMATE, A);
    TESS_TRY_CLEAN(tess_candidates_list(T->device, A, &product, &list));
    if (A == T->A)
        snprintf(chosen, size, "%s", list.count > 0 ? list.items[0].format : "");
    for (int64_t i = 0; i < list.count; i++)
        if (strcmp(list.items[i].format, "fbcsr") != 0 && worth_trying(&list, i, gpu, A))
            TESS_TRY_CLEAN(try_candidate(T, A, &list.items[i]));
    if (A == T->A && shapes->count > 0) {
        tess_shapes_write(shapes, text, sizeof text);
        snprintf(blocks.params, sizeof blocks.params, "shapes=%s", text);
        TESS_TRY_CLEAN(try_candidate(T, A, &blocks));
    }
cleanup:
    tess_candidates_free(T->ctx, &list);
    return status;
}

static bool is_open(const entry *E)
{
    return E->plan || E->product;
}

/* Times all kinds in turn, so that a disturbance meets all. */
static tess_status measure(trial *T)
{
    double rounds[KINDS][ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < KINDS; k++) {
            if (!is_open(&T->entries[k]))
                continue;
            TESS_TRY(median_time(T, &T->entries[k], &rounds[k][round]));
            if (round == 0)
                T->entries[k].error = bench_error(&T->truth, T->y);
        }
    }
    for (int k = 0; k < KINDS; k++)
        T->entries[k].seconds = is_open(&T->entries[k]) ? tess_median(rounds[k], ROUNDS) : 0;
    return TESS_OK;
}

/* The aligned blocks larger than 1 x 1 with the fewest bytes, and these bytes without vectors. They
 * are counted in the input before tiling. */
static tess_status best_blocks(tess_ctx *ctx, const tess_matrix *A, tess_blocking *out,
                               double *bytes)
{
    tess_detection *D;
    double least = 0;
    TESS_TRY(tess_detect(ctx, A, NULL, &D));
    *out = (tess_blocking){2, 2};
    for (int64_t i = 0; i < D->count; i++) {
        const tess_block_candidate *c = &D->candidates[i];
        if (c->rows * c->cols == 1 || c->row_offset || c->col_offset ||
            (least > 0 && c->bytes >= least))
            continue;
        least = c->bytes;
        *out = (tess_blocking){c->rows, c->cols};
    }
    tess_detection_destroy(D);
    *bytes = least - (double)((A->rows + A->cols) * (int64_t)tess_type_size(A->type));
    return TESS_OK;
}

/* F NULL: nothing was extracted, and the bytes are those of CSR. */
static json_t *format_json(const tess_fbcsr *F, json_int_t csr)
{
    json_t *splits = json_array();
    double cells = 0, inside = 0;
    if (!F)
        return json_pack("{s:o, s:f, s:f, s:I}", "splits", splits, "share", 0.0, "fill", 0.0,
                         "bytes", csr);
    for (int s = 0; s < F->splits; s++) {
        const tess_fbcsr_split *split = &F->split[s];
        double mine = (double)(split->blocks * tess_shape_cells(&split->shape));
        json_array_append_new(splits, json_pack("{s:s, s:I, s:f, s:f}", "shape", split->shape.name,
                                                "blocks", (json_int_t)split->blocks, "share",
                                                (double)split->nonzeros / (double)F->nonzeros,
                                                "fill", (double)split->nonzeros / mine));
        cells += mine;
        inside += (double)split->nonzeros;
    }
    return json_pack("{s:o, s:f, s:f, s:I}", "splits", splits, "share",
                     inside / (double)F->nonzeros, "fill", cells > 0 ? inside / cells : 0, "bytes",
                     (json_int_t)tess_fbcsr_bytes(F));
}

static json_t *report(const trial *T, const char *input, int64_t copies, const tess_fbcsr *F,
                      double convert, double ceiling, const char *chosen)
{
    const tess_matrix *A = T->A;
    json_t *runs = json_object();
    for (int k = 0; k < KINDS; k++) {
        const entry *E = &T->entries[k];
        const tess_plan *plan = E->plan;
        if (is_open(E))
            json_object_set_new(runs, kinds[k],
                                json_pack("{s:f, s:f, s:b, s:s, s:s, s:s}", "seconds", E->seconds,
                                          "error", E->error, "right", E->error <= BENCH_ERROR_MAX,
                                          "format", plan ? plan->format : "csr", "kernel",
                                          plan ? plan->kernel : CUSPARSE_CSR, "params",
                                          plan ? plan->params : ""));
    }
    int64_t value = (int64_t)tess_type_size(A->type);
    json_int_t csr = (A->rows + 1) * 4 + A->blocks * (4 + value);
    return json_pack("{s:s, s:I, s:I, s:I, s:s, s:o, s:f, s:I, s:I, s:[i, i], s:o, s:s, s:f}",
                     "input", input, "copies", (json_int_t)copies, "rows", (json_int_t)A->rows,
                     "nonzeros", (json_int_t)A->blocks, "precision", tess_type_name(A->type),
                     "fbcsr", format_json(F, csr), "convert_seconds", convert, "csr_bytes", csr,
                     "bsr_bytes", (json_int_t)T->bsr_bytes, "blocks", T->blocks.rows,
                     T->blocks.cols, "runs", runs, "planner", chosen, "read_GBps", 1e-9 * ceiling);
}

static void finish(trial *T)
{
    for (int k = 0; k < KINDS; k++)
        tess_plan_destroy(T->entries[k].plan);
    if (T->entries[CUSPARSE].product && tess_cuda_enter(tess_cuda_of(T->device)) == TESS_OK) {
        cusparse_close(T->entries[CUSPARSE].product);
        tess_cuda_leave(tess_cuda_of(T->device));
    }
    bench_truth_free(T->ctx, &T->truth);
    tess_free(T->ctx, T->x);
    tess_free(T->ctx, T->y);
    tess_matrix_destroy(T->blocked);
    tess_matrix_destroy(T->A);
}

static tess_status run(tess_ctx *ctx, tess_device *device, const char *input, double bytes,
                       bool with_bsr)
{
    trial T = {.ctx = ctx, .device = device};
    tess_matrix *small = NULL;
    tess_fbcsr_options shapes;
    tess_fbcsr *F = NULL;
    char spec[1024], chosen[32] = "";
    double ceiling = 0;
    tess_status status;
    TESS_TRY_CLEAN(tess_matrix_input(ctx, input, &small));
    double one = tess_matrix_spmv_bytes(small);
    int64_t copies = one < bytes ? (int64_t)(bytes / one) + 1 : 1;
    TESS_TRY_CLEAN(best_blocks(ctx, small, &T.blocks, &T.bsr_bytes));
    snprintf(spec, sizeof spec, "tile:copies=%lld:%s", (long long)copies, input);
    TESS_TRY_CLEAN(tess_matrix_input(ctx, spec, &T.A));
    T.bsr_bytes *= (double)copies;
    if (with_bsr)
        TESS_TRY_CLEAN(tess_matrix_to_blocks(ctx, T.A, &T.blocks, &T.blocked));
    double start = tess_seconds();
    TESS_TRY_CLEAN(tess_shapes_choose(ctx, T.A, "auto", device->backend, &shapes));
    if (shapes.count > 0)
        TESS_TRY_CLEAN(tess_fbcsr_create(ctx, T.A, &shapes, &F));
    double convert = tess_seconds() - start;
    TESS_TRY_CLEAN(tess_alloc_bytes(ctx, T.A->cols, 8, &T.x));
    TESS_TRY_CLEAN(tess_alloc_bytes(ctx, T.A->rows, 8, &T.y));
    for (int64_t i = 0; i < T.A->cols; i++) {
        double value = tess_random_unit(3, (uint64_t)i);
        if (T.A->type == TESS_F64)
            ((double *)T.x)[i] = value;
        else
            ((float *)T.x)[i] = (float)value;
    }
    TESS_TRY_CLEAN(bench_truth_create(T.A, &spmv, T.x, &T.truth));
    TESS_TRY_CLEAN(try_all(&T, T.A, &shapes, chosen, sizeof chosen));
    if (device->backend == &tess_cuda_backend)
        TESS_TRY_CLEAN(open_cusparse(&T));
    if (with_bsr)
        TESS_TRY_CLEAN(try_all(&T, T.blocked, &shapes, chosen, sizeof chosen));
    if (device->backend->read_ceiling)
        TESS_TRY_CLEAN(
            device->backend->read_ceiling(device, tess_matrix_spmv_bytes(T.A), &ceiling));
    TESS_TRY_CLEAN(measure(&T));
    json_t *line = report(&T, input, copies, F, convert, ceiling, chosen);
    json_dumpf(line, stdout, JSON_COMPACT);
    printf("\n");
    fflush(stdout);
    json_decref(line);
cleanup:
    tess_fbcsr_destroy(F);
    tess_matrix_destroy(small);
    finish(&T);
    return status;
}

int main(int argc, char **argv)
{
    tess_ctx *ctx;
    tess_device *device;
    const bool with_bsr = argc < 2 || strcmp(argv[1], "--no-bsr") != 0;
    argc -= !with_bsr;
    argv += !with_bsr;
    if (argc < 4) {
        fprintf(stderr, "usage: tessera_bench_fbcsr_speed [--no-bsr] DEVICE MEGABYTES INPUT...\n");
        return 2;
    }
    if (tess_ctx_create(NULL, &ctx) != TESS_OK)
        return 1;
    if (tess_device_open(ctx, argv[1], &device) != TESS_OK) {
        fprintf(stderr, "tessera_bench_fbcsr_speed: %s\n", tess_ctx_error(ctx));
        return 1;
    }
    int failures = 0;
    for (int i = 3; i < argc; i++) {
        if (run(ctx, device, argv[i], 1e6 * atof(argv[2]), with_bsr) == TESS_OK)
            continue;
        fprintf(stderr, "tessera_bench_fbcsr_speed: %s: %s\n", argv[i], tess_ctx_error(ctx));
        failures++;
    }
    tess_device_close(device);
    tess_ctx_destroy(ctx);
    return failures > 0;
}

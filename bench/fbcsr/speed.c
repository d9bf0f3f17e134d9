/* SpMV with fbcsr beside our CSR, cuSPARSE's CSR (on a GPU) and the best BSR. One line of JSON a
 * matrix. A matrix is tiled along the diagonal until a product with CSR moves MEGABYTES. Every
 * kernel is tried with the parameters that the model puts first, CSR's with two sets. The fastest
 * of each kind are verified against ref and timed in turn, round after round; medians. On a GPU
 * fbcsr has two forms, slices and splits (formats.md); what is extracted, fill and bytes are those
 * of the arrays that each form's kernel reads.
 *
 *     tessera_bench_fbcsr_speed [--no-bsr | --describe] DEVICE MEGABYTES INPUT...
 *
 * --describe times nothing and says what is stored; DEVICE may be profile:h200.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "../../tools/tessera/bench/bench.h"
#include "forms.h"
#include "../peers/cusparse.h"
#include "tiled.h"

enum { ROUNDS = 5, REPS = 3, KINDS = 5 };
enum { FORMS = 2 };
enum { CSR, FBCSR, BSR, CUSPARSE, SPLITS };
static const char *const kinds[KINDS] = {"csr", "fbcsr", "bsr", "cusparse_csr", "splits"};

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
    fbcsr_form forms[FORMS];
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
    if (strcmp(c->format, "splits") == 0)
        return SPLITS;
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

/* Returns whether a candidate is tried. On a GPU each needs a conversion, so only kernels are tried
 * that were the fastest on some of the matrices, the last two of them where rows are long. */
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
static tess_status try_all(trial *T, const tess_matrix *A, char *chosen, size_t size)
{
    tess_product product = spmv;
    tess_candidates list = {0};
    tess_status status;
    bool gpu = strcmp(T->device->backend->name, "cuda") == 0;
    product.shapes = A == T->A && tess_search_shapes(TESS_EFFORT_ESTIMATE, A);
    TESS_TRY_CLEAN(tess_candidates_list(T->device, A, &product, &list));
    if (A == T->A)
        snprintf(chosen, size, "%s", list.count > 0 ? list.items[0].format : "");
    for (int64_t i = 0; i < list.count; i++)
        if (strcmp(list.items[i].format, "fbcsr") != 0 && worth_trying(&list, i, gpu, A))
            TESS_TRY_CLEAN(try_candidate(T, A, &list.items[i]));
    for (int f = 0; A == T->A && f < FORMS; f++) {
        tess_candidate shaped = {0};
        char text[TESS_SHAPES_TEXT];
        if (T->forms[f].ways == 0)
            continue;
        tess_shapes_write(&T->forms[f].shapes, text, sizeof text);
        snprintf(shaped.format, sizeof shaped.format, "%s", T->forms[f].format);
        snprintf(shaped.params, sizeof shaped.params, "shapes=%s", text);
        TESS_TRY_CLEAN(try_candidate(T, A, &shaped));
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

static json_t *report(const trial *T, const char *input, int64_t copies, double ceiling,
                      const char *chosen)
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
    json_t *line =
        json_pack("{s:s, s:I, s:I, s:I, s:s, s:I, s:I, s:[i, i], s:o, s:s, s:f}", "input", input,
                  "copies", (json_int_t)copies, "rows", (json_int_t)A->rows, "nonzeros",
                  (json_int_t)A->blocks, "precision", tess_type_name(A->type), "csr_bytes", csr,
                  "bsr_bytes", (json_int_t)T->bsr_bytes, "blocks", T->blocks.rows, T->blocks.cols,
                  "runs", runs, "planner", chosen, "read_GBps", 1e-9 * ceiling);
    for (int f = 0; line && f < FORMS; f++)
        if (T->forms[f].format)
            json_object_set_new(line, T->forms[f].format, fbcsr_form_json(&T->forms[f], A, csr));
    return line;
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

/* Tiles the input until a product with CSR moves `bytes`. */
static tess_status make_matrix(trial *T, const char *input, double bytes, int64_t *copies)
{
    tess_matrix *small = NULL;
    TESS_TRY(tess_matrix_input(T->ctx, input, &small));
    *copies = bench_copies(small, bytes);
    const tess_status status = best_blocks(T->ctx, small, &T->blocks, &T->bsr_bytes);
    tess_matrix_destroy(small);
    TESS_TRY(status);
    T->bsr_bytes *= (double)*copies;
    return bench_tile(T->ctx, input, *copies, &T->A);
}

/* Makes the plans and times them. `chosen` receives the format that ESTIMATE takes. */
static tess_status time_all(trial *T, bool with_bsr, double *ceiling, char *chosen, size_t size)
{
    const tess_backend *backend = T->device->backend;
    if (with_bsr)
        TESS_TRY(tess_matrix_to_blocks(T->ctx, T->A, &T->blocks, &T->blocked));
    TESS_TRY(tess_alloc_bytes(T->ctx, T->A->cols, 8, &T->x));
    TESS_TRY(tess_alloc_bytes(T->ctx, T->A->rows, 8, &T->y));
    for (int64_t i = 0; i < T->A->cols; i++) {
        double value = tess_random_unit(3, (uint64_t)i);
        if (T->A->type == TESS_F64)
            ((double *)T->x)[i] = value;
        else
            ((float *)T->x)[i] = (float)value;
    }
    TESS_TRY(bench_truth_create(T->A, &spmv, T->x, &T->truth));
    TESS_TRY(try_all(T, T->A, chosen, size));
    if (backend == &tess_cuda_backend)
        TESS_TRY(open_cusparse(T));
    if (with_bsr)
        TESS_TRY(try_all(T, T->blocked, chosen, size));
    if (backend->read_ceiling)
        TESS_TRY(backend->read_ceiling(T->device, tess_matrix_spmv_bytes(T->A), ceiling));
    return measure(T);
}

typedef enum mode { WITH_BSR, WITHOUT_BSR, DESCRIBE } mode;

static tess_status run(tess_ctx *ctx, tess_device *device, const char *input, double bytes,
                       mode how)
{
    const bool gpu = device->threads == 0;
    trial T = {.ctx = ctx, .device = device, .forms = {{.format = "fbcsr"}, {.format = NULL}}};
    char chosen[32] = "";
    double ceiling = 0;
    int64_t copies;
    tess_status status;
    T.forms[1].format = gpu ? "splits" : NULL;
    TESS_TRY_CLEAN(make_matrix(&T, input, bytes, &copies));
    for (int f = 0; f < FORMS && T.forms[f].format; f++)
        TESS_TRY_CLEAN(fbcsr_form_describe(T.A, gpu, &T.forms[f]));
    if (how != DESCRIBE)
        TESS_TRY_CLEAN(time_all(&T, how == WITH_BSR, &ceiling, chosen, sizeof chosen));
    json_t *line = report(&T, input, copies, ceiling, chosen);
    json_dumpf(line, stdout, JSON_COMPACT);
    printf("\n");
    fflush(stdout);
    json_decref(line);
cleanup:
    finish(&T);
    return status;
}

int main(int argc, char **argv)
{
    tess_ctx *ctx;
    tess_device *device;
    mode how = WITH_BSR;
    if (argc > 1 && argv[1][0] == '-') {
        how = strcmp(argv[1], "--describe") == 0 ? DESCRIBE : WITHOUT_BSR;
        argc--;
        argv++;
    }
    if (argc < 4) {
        fprintf(stderr, "usage: tessera_bench_fbcsr_speed [--no-bsr | --describe] DEVICE MEGABYTES "
                        "INPUT...\n");
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
        if (run(ctx, device, argv[i], 1e6 * atof(argv[2]), how) == TESS_OK)
            continue;
        fprintf(stderr, "tessera_bench_fbcsr_speed: %s: %s\n", argv[i], tess_ctx_error(ctx));
        failures++;
    }
    tess_device_close(device);
    tess_ctx_destroy(ctx);
    return failures > 0;
}

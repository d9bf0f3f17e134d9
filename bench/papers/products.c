/* Times lists of kernels on matrices, for bench/papers/run.py. A line of the input is a case:
 *
 *     LABEL <tab> TYPE <tab> B <tab> INPUT <tab> KERNEL|KERNEL|...
 *
 * TYPE is f64 or f32. INPUT is what `tessera` takes, or "dense:n=1024,b=8". B > 0 stores it in B x
 * B blocks first; 0 leaves its blocks. KERNEL is "name", "name:params", "plan" (what a plan without
 * measurements takes), "cusparse" (all its ways), "cusparse_bsr" (those whose name begins so) or
 * "cublas" (dense matrices). One line of JSON a
 * case. Everything is compared with ref, and all of a case are timed in turn, round after round;
 * medians.
 *
 *     tessera_bench_papers DEVICE [SECONDS] < CASES       cases after so many seconds are left out
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "../../tools/tessera/bench.h"
#include "../peers/cublas.h"
#include "../peers/cusparse.h"

enum { ROUNDS = 5, REPS = 4, ENTRIES = 48, NAME = 192 };

static const tess_product spmv = {
    .kind = TESS_PRODUCT_SPMV, .k = 1, .effort = TESS_EFFORT_ESTIMATE};

/* One way to multiply: a plan or a peer. */
typedef struct entry {
    char name[NAME], refused[256];
    tess_plan *plan;
    cusparse_product *cusparse;
    cublas_gemv *cublas;
    double error, rounds[ROUNDS];
} entry;

typedef struct trial {
    tess_ctx *ctx;
    tess_device *device;
    tess_cuda *cuda; /* NULL: another device */
    tess_matrix *A;
    int64_t nonzeros; /* of the input */
    void *x, *y;
    bench_truth truth;
    cusparse_matrix *shared;
    int count;
    entry entries[ENTRIES];
} trial;

/* ---- Matrices ---- */

static void fill_dense(void *values, const void *type, int64_t i)
{
    const double value = tess_random_unit(7, (uint64_t)i) - 0.5;
    if (*(const tess_type *)type == TESS_F64)
        ((double *)values)[i] = value;
    else
        ((float *)values)[i] = (float)value;
}

static tess_status make_dense(tess_ctx *ctx, const char *keys, tess_type type, tess_matrix **out)
{
    int64_t n = 1024, b = 8, *offsets = NULL;
    int32_t *columns = NULL;
    void *values = NULL;
    const tess_option table[] = {{"n", TESS_OPTION_INT, &n, 1, 1 << 16, NULL, 0},
                                 {"b", TESS_OPTION_INT, &b, 1, 1024, NULL, 0}};
    tess_status status;
    TESS_TRY(tess_options_parse(ctx, "dense", keys, table, 2));
    if (n % b != 0)
        return tess_fail(ctx, TESS_ERR_OPTION, "dense: %lld is not a multiple of %lld",
                         (long long)n, (long long)b);
    const int64_t rows = n / b;
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, rows + 1, &offsets));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, rows * rows, &columns));
    TESS_TRY_CLEAN(tess_alloc_bytes(ctx, n * n, tess_type_size(type), &values));
    for (int64_t i = 0; i <= rows; i++)
        offsets[i] = i * rows;
    for (int64_t k = 0; k < rows * rows; k++)
        columns[k] = (int32_t)(k % rows);
    tess_for_each(ctx, n * n, 0, fill_dense, values, &type);
    const tess_matrix_view view = {.type = type,
                                   .rows = n,
                                   .cols = n,
                                   .block_height = (int32_t)b,
                                   .block_width = (int32_t)b,
                                   .row_offsets = offsets,
                                   .columns = columns,
                                   .values = values};
    status = tess_matrix_from_bsr(ctx, &view, TESS_ORDER_COLUMN_MAJOR, TESS_OWNERSHIP_COPY, out);
cleanup:
    TESS_FREE(ctx, offsets, columns, values);
    return status;
}

static void replace(tess_matrix **A, tess_matrix *with)
{
    tess_matrix_destroy(*A);
    *A = with;
}

static tess_status make_matrix(trial *T, const char *input, tess_type type, int block)
{
    tess_matrix *next;
    const tess_blocking blocking = {block, block};
    if (strncmp(input, "dense:", 6) == 0)
        TESS_TRY(make_dense(T->ctx, input + 6, type, &T->A));
    else
        TESS_TRY(tess_matrix_input(T->ctx, input, &T->A));
    T->nonzeros = tess_matrix_stored(T->A);
    if (T->A->type != type) {
        TESS_TRY(tess_matrix_to_type(T->ctx, T->A, type, &next));
        replace(&T->A, next);
    }
    if (block > 0) {
        TESS_TRY(tess_matrix_to_blocks(T->ctx, T->A, &blocking, &next));
        replace(&T->A, next);
    }
    return TESS_OK;
}

static tess_status make_vectors(trial *T)
{
    const size_t size = tess_type_size(T->A->type);
    TESS_TRY(tess_alloc_bytes(T->ctx, T->A->cols, size, &T->x));
    TESS_TRY(tess_alloc_bytes(T->ctx, T->A->rows, size, &T->y));
    tess_for_each(T->ctx, T->A->cols, 0, fill_dense, T->x, &T->A->type);
    return bench_truth_create(T->A, &spmv, T->x, &T->truth);
}

/* ---- Entries ---- */

static entry *add(trial *T, const char *name)
{
    if (T->count == ENTRIES)
        return NULL;
    entry *E = &T->entries[T->count++];
    *E = (entry){0};
    snprintf(E->name, sizeof E->name, "%s", name);
    return E;
}

/* A refusal is a result, unless memory ran out. */
static tess_status refused(trial *T, entry *E, tess_status status)
{
    if (status != TESS_OK)
        snprintf(E->refused, sizeof E->refused, "%s", tess_ctx_error(T->ctx));
    return TESS_OK;
}

static tess_status add_cusparse(trial *T, const char *prefix)
{
    const char *name;
    bool takes;
    char version[24];
    if (!T->cuda || !cusparse_version(version, sizeof version))
        return TESS_OK;
    for (int i = 0; (name = cusparse_path(i, T->A, &takes)) != NULL; i++) {
        entry *E = takes && strncmp(name, prefix, strlen(prefix)) == 0 ? add(T, name) : NULL;
        if (!E)
            continue;
        TESS_TRY(tess_cuda_enter(T->cuda));
        tess_status status =
            cusparse_open(T->cuda, T->A, name, &T->shared, T->cuda->stream, &E->cusparse);
        tess_cuda_leave(T->cuda);
        TESS_TRY(refused(T, E, status));
    }
    return TESS_OK;
}

static tess_status add_kernel(trial *T, char *text)
{
    if (strncmp(text, "cusparse", 8) == 0)
        return add_cusparse(T, text);
    entry *E = add(T, text);
    if (!E)
        return TESS_OK;
    if (strcmp(text, "cublas") == 0)
        return refused(T, E,
                       T->cuda ? cublas_open(T->cuda, T->A, &E->cublas)
                               : tess_fail(T->ctx, TESS_ERR_UNSUPPORTED, "not on this device"));
    char *params = strchr(text, ':');
    if (params)
        *params++ = '\0';
    const tess_plan_options options = {.effort = TESS_EFFORT_ESTIMATE,
                                       .kernel = strcmp(text, "plan") == 0 ? NULL : text,
                                       .params = params};
    return refused(T, E, tess_plan_create_shared(T->ctx, T->A, T->device, &options, &E->plan));
}

static tess_status time_entry(trial *T, entry *E, double *seconds)
{
    double times[REPS];
    if (E->cusparse)
        TESS_TRY(cusparse_time(E->cusparse, T->x, T->y, REPS, times));
    else if (E->cublas)
        TESS_TRY(cublas_time(E->cublas, T->x, T->y, REPS, times));
    else
        TESS_TRY(tess_product_time(E->plan, &spmv, 1, T->x, 0, T->y, REPS, times));
    *seconds = tess_median(times, REPS);
    return TESS_OK;
}

/* In turn, so that a disturbance meets all. The round before the first is not counted. */
static tess_status measure(trial *T)
{
    for (int round = -1; round < ROUNDS; round++) {
        for (int i = 0; i < T->count; i++) {
            entry *E = &T->entries[i];
            double seconds = 0;
            if (E->refused[0])
                continue;
            bench_poison(T->ctx, T->y, (size_t)T->A->rows * tess_type_size(T->A->type));
            TESS_TRY(refused(T, E, time_entry(T, E, &seconds)));
            if (round < 0)
                E->error = bench_error(&T->truth, T->y);
            else
                E->rounds[round] = seconds;
        }
    }
    return TESS_OK;
}

static json_t *entry_json(entry *E)
{
    if (E->refused[0])
        return json_pack("{s:s, s:s}", "name", E->name, "refused", E->refused);
    return json_pack("{s:s, s:s, s:s, s:s, s:f, s:b}", "name", E->name, "format",
                     E->plan ? E->plan->format : "", "kernel", E->plan ? E->plan->kernel : "",
                     "params", E->plan ? E->plan->params : "", "seconds",
                     tess_median(E->rounds, ROUNDS), "right", E->error <= BENCH_ERROR_MAX);
}

static void print_case(trial *T, const char *label, const char *input)
{
    json_t *runs = json_array();
    for (int i = 0; i < T->count; i++)
        json_array_append_new(runs, entry_json(&T->entries[i]));
    json_t *line = json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:f, s:o}", "label", label, "device",
        T->device->description, "input", input, "type", tess_type_name(T->A->type), "block",
        (int)T->A->block_height, "rows", (json_int_t)T->A->rows, "blocks", (json_int_t)T->A->blocks,
        "nonzeros", (json_int_t)T->nonzeros, "stored", (json_int_t)tess_matrix_stored(T->A),
        "longest_row", (json_int_t)tess_matrix_longest_row(T->A), "bytes",
        tess_matrix_spmv_bytes(T->A), "runs", runs);
    json_dumpf(line, stdout, JSON_COMPACT);
    printf("\n");
    fflush(stdout);
    json_decref(line);
}

static void close_trial(trial *T)
{
    for (int i = 0; i < T->count; i++) {
        tess_plan_destroy(T->entries[i].plan);
        cublas_close(T->entries[i].cublas);
        if (T->entries[i].cusparse && tess_cuda_enter(T->cuda) == TESS_OK) {
            cusparse_close(T->entries[i].cusparse);
            tess_cuda_leave(T->cuda);
        }
    }
    bench_truth_free(T->ctx, &T->truth);
    tess_free(T->ctx, T->x);
    tess_free(T->ctx, T->y);
    tess_matrix_destroy(T->A);
}

static tess_status run_case(tess_ctx *ctx, tess_device *device, char *line)
{
    char *field[5] = {line};
    for (int i = 1; i < 5; i++) {
        field[i] = strchr(field[i - 1], '\t');
        if (!field[i])
            return tess_fail(ctx, TESS_ERR_ARGUMENT, "a case has five fields: %s", line);
        *field[i]++ = '\0';
    }
    trial *T = calloc(1, sizeof *T);
    if (!T)
        return TESS_ERR_MEMORY;
    T->ctx = ctx;
    T->device = device;
    T->cuda = device->backend == &tess_cuda_backend ? tess_cuda_of(device) : NULL;
    tess_status status;
    TESS_TRY_CLEAN(make_matrix(T, field[3], strcmp(field[1], "f32") == 0 ? TESS_F32 : TESS_F64,
                               atoi(field[2])));
    TESS_TRY_CLEAN(make_vectors(T));
    for (char *kernel = field[4], *rest; kernel; kernel = rest) {
        rest = strchr(kernel, '|');
        if (rest)
            *rest++ = '\0';
        TESS_TRY_CLEAN(add_kernel(T, kernel));
    }
    TESS_TRY_CLEAN(measure(T));
    print_case(T, field[0], field[3]);
cleanup:
    close_trial(T);
    free(T);
    return status;
}

int main(int argc, char **argv)
{
    tess_ctx *ctx;
    tess_device *device;
    char *line = NULL;
    size_t room = 0;
    int failed = 0;
    if (argc < 2 || tess_ctx_create(NULL, &ctx) != TESS_OK) {
        fprintf(stderr, "usage: tessera_bench_papers DEVICE [SECONDS] < CASES\n");
        return 2;
    }
    const double start = tess_seconds(), seconds = argc > 2 ? atof(argv[2]) : 1e9;
    if (tess_device_open(ctx, argv[1], &device) != TESS_OK) {
        fprintf(stderr, "tessera_bench_papers: %s\n", tess_ctx_error(ctx));
        return 1;
    }
    while (getline(&line, &room, stdin) > 0 && tess_seconds() - start < seconds) {
        line[strcspn(line, "\n")] = '\0';
        if (run_case(ctx, device, line) != TESS_OK) {
            fprintf(stderr, "tessera_bench_papers: %s: %s\n", line, tess_ctx_error(ctx));
            failed = 1;
        }
    }
    free(line);
    tess_device_close(device);
    tess_ctx_destroy(ctx);
    return failed;
}

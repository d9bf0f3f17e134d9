/* Times lists of kernels on matrices, for bench/papers/run.py. A line of the input is a case:
 *
 *     LABEL <tab> TYPE <tab> B <tab> INPUT <tab> KERNEL|KERNEL|...
 *
 * TYPE is f64 or f32. INPUT is what `tessera` takes, "dense:n=1024,b=8", or "filled=MB:INPUT",
 * which is repeated along the diagonal until a product moves so much. B > 0 stores it in B x B
 * blocks first; 0 leaves its blocks. What KERNEL may be is in entries.h. One line of JSON a case.
 * Everything is compared with ref, and all of a case are timed in turn, round after round; medians.
 *
 *     tessera_bench_papers DEVICE [SECONDS] < CASES       cases after so many seconds are left out
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fbcsr/tiled.h"
#include "entries.h"

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

/* "400:INPUT" */
static tess_status make_filled(trial *T, const char *text, tess_type type)
{
    char *input;
    const double megabytes = strtod(text, &input);
    tess_matrix *one;
    if (*input++ != ':')
        return tess_fail(T->ctx, TESS_ERR_ARGUMENT, "filled=MEGABYTES:INPUT, not filled=%s", text);
    TESS_TRY(tess_matrix_input(T->ctx, input, &one));
    const int64_t copies = bench_copies(one, 1e6 * megabytes);
    tess_status status = tess_matrix_to_type(T->ctx, one, type, &T->copy);
    tess_matrix_destroy(one);
    TESS_THEN(bench_tile(T->ctx, input, copies, &T->A));
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
    else if (strncmp(input, "filled=", 7) == 0)
        TESS_TRY(make_filled(T, input + 7, type));
    else
        TESS_TRY(tess_matrix_input(T->ctx, input, &T->A));
    T->nonzeros = tess_matrix_stored(T->A);
    if (T->A->type != type) {
        TESS_TRY(tess_matrix_to_type(T->ctx, T->A, type, &next));
        replace(&T->A, next);
    }
    if (block > 0) {
        TESS_TRY(tess_matrix_to_blocks(T->ctx, T->A, &blocking, &next));
        T->input = T->A;
        T->A = next;
    }
    return TESS_OK;
}

static tess_status make_vectors(trial *T)
{
    const size_t size = tess_type_size(T->A->type);
    TESS_TRY(tess_alloc_bytes(T->ctx, T->A->cols, size, &T->x));
    TESS_TRY(tess_alloc_bytes(T->ctx, T->A->rows, size, &T->y));
    tess_for_each(T->ctx, T->A->cols, 0, fill_dense, T->x, &T->A->type);
    return bench_truth_create(T->A, &entries_spmv, T->x, &T->truth);
}

static void print_case(trial *T, const char *label, const char *input)
{
    json_t *line = json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:f, s:o}", "label", label, "device",
        T->device->description, "input", input, "type", tess_type_name(T->A->type), "block",
        (int)T->A->block_height, "rows", (json_int_t)T->A->rows, "blocks", (json_int_t)T->A->blocks,
        "nonzeros", (json_int_t)T->nonzeros, "stored", (json_int_t)tess_matrix_stored(T->A),
        "longest_row", (json_int_t)tess_matrix_longest_row(T->A), "bytes",
        tess_matrix_spmv_bytes(T->A), "runs", entries_json(T));
    json_dumpf(line, stdout, JSON_COMPACT);
    printf("\n");
    fflush(stdout);
    json_decref(line);
}

static void close_trial(trial *T)
{
    entries_close(T);
    bench_truth_free(T->ctx, &T->truth);
    tess_free(T->ctx, T->x);
    tess_free(T->ctx, T->y);
    tess_matrix_destroy(T->A);
    tess_matrix_destroy(T->input);
    tess_matrix_destroy(T->scalar);
    tess_matrix_destroy(T->copy);
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
        TESS_TRY_CLEAN(entries_add(T, kernel));
    }
    TESS_TRY_CLEAN(entries_measure(T));
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

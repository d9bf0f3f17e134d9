/* tessera info: what is in a matrix, how dense its blocks are, which blocking pays and why. */
#include "info/info.h"
#include "info/parts.h"

typedef struct info_args {
    common_args common;
    bool all, ignore_zeros;
    const char *parts;
} info_args;

static json_t *histogram_json(const tess_statistics *rows)
{
    json_t *list = json_array();
    for (int k = 0; k < TESS_ROW_CLASSES; k++) {
        int64_t from = k > 0 ? (int64_t)1 << (k - 1) : 0, to = k > 0 ? 2 * from - 1 : 0;
        if (rows->histogram[k] > 0)
            json_array_append_new(list, json_make("{s:I, s:I, s:I}", "from", (json_int_t)from, "to",
                                                  (json_int_t)to, "rows",
                                                  (json_int_t)rows->histogram[k]));
    }
    return list;
}

/* Squares up to 8 x 8 are always in the list; without entries they have no blocks. */
static json_t *blocking_json(const tess_detection *blocks)
{
    json_t *list = json_array();
    int64_t count = blocks->count > 0 ? blocks->count : 8;
    for (int64_t i = 0; i < count; i++) {
        tess_block_candidate none = {.rows = (int32_t)i + 1, .cols = (int32_t)i + 1};
        const tess_block_candidate *c = blocks->count > 0 ? &blocks->candidates[i] : &none;
        json_array_append_new(list, json_make("{s:i, s:i, s:i, s:i, s:I, s:f, s:f, s:f, s:f}",
                                              "rows", c->rows, "cols", c->cols, "row_offset",
                                              c->row_offset, "col_offset", c->col_offset, "blocks",
                                              (json_int_t)c->blocks, "fill", c->fill, "density",
                                              c->density, "bytes", c->bytes, "index_bytes_saved",
                                              c->index_saved));
    }
    return list;
}

json_t *info_json(const info_facts *facts)
{
    const tess_matrix_view *A = &facts->matrix;
    const tess_statistics *rows = &facts->rows;
    const tess_block_candidate *r = &facts->blocks->recommended;
    const tess_symmetry *symmetry = &facts->symmetry;
    json_t *document = json_make(
        "{s:s, s:s, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:o, s:I, s:I}", "input", facts->input,
        "type", type_name(A->type), "rows", (json_int_t)A->rows, "cols", (json_int_t)A->cols, "nnz",
        (json_int_t)A->blocks, "zeros", (json_int_t)(A->blocks - rows->nonzeros), "symmetric",
        info_symmetric(facts), "skew_symmetric", symmetry->skew, "pattern_symmetric",
        symmetry->pattern, "asymmetry", json_number(symmetry->asymmetry), "missing_diagonal",
        (json_int_t)symmetry->missing_diagonal, "zero_diagonal",
        (json_int_t)symmetry->zero_diagonal);
    if (!document)
        return NULL;
    json_object_update_new(
        document,
        json_make("{s:I, s:I, s:f, s:f, s:I, s:o, s:I, s:I}", "row_min", (json_int_t)rows->row_min,
                  "row_max", (json_int_t)rows->row_max, "row_avg", rows->row_avg, "imbalance",
                  rows->imbalance, "empty_rows", (json_int_t)rows->empty_rows, "row_histogram",
                  histogram_json(rows), "lower_bandwidth", (json_int_t)rows->lower_bandwidth,
                  "upper_bandwidth", (json_int_t)rows->upper_bandwidth));
    json_object_update_new(document,
                           json_make("{s:o, s:i, s:{s:i, s:i, s:f, s:f, s:s}}", "blocking",
                                     blocking_json(facts->blocks), "natural_block",
                                     facts->blocks->natural_block, "recommended", "rows", r->rows,
                                     "cols", r->cols, "density", r->density, "bytes", r->bytes,
                                     "reason", facts->blocks->reason));
    if (is_complex(A->type))
        json_object_set_new(document, "hermitian", json_boolean(facts->hermitian));
    json_object_set_new(document, "fbcsr", info_shapes_json(facts));
    const tess_regrouping *g = facts->regrouping;
    json_object_set_new(document, "regrouping",
                        json_make("{s:i, s:i, s:I, s:f, s:f, s:s}", "block", g->block, "fields",
                                  g->fields, "blocks", (json_int_t)g->blocks, "density", g->density,
                                  "bytes", g->bytes, "reason", g->reason));
    return document;
}

static int gather(cli_app *app, bool ignore_zeros, info_run *r)
{
    tess_detect_options options = {.ignore_zeros = ignore_zeros};
    r->facts.matrix = view_of(r->scalars);
    TRY_CALL(app, tess_matrix_statistics(app->ctx, r->scalars, &r->facts.rows));
    TRY_CALL(app, tess_matrix_symmetry(app->ctx, r->scalars, &r->facts.symmetry));
    if (is_complex(r->facts.matrix.type))
        TRY_CALL(app, tess_matrix_hermitian(app->ctx, r->scalars, &r->facts.hermitian));
    TRY_CALL(app, tess_detect(app->ctx, r->scalars, &options, &r->blocks));
    r->facts.blocks = r->blocks;
    /* Format fbcsr has real values only. */
    static const tess_shape_detection none = {0};
    if (!is_complex(r->facts.matrix.type))
        TRY_CALL(app, tess_detect_shapes(app->ctx, r->scalars, &r->shapes));
    r->facts.shapes = r->shapes ? r->shapes : &none;
    TRY_CALL(app, tess_detect_regrouping(app->ctx, r->scalars, &options, &r->regrouping));
    r->facts.regrouping = r->regrouping;
    return EXIT_DONE;
}

int info_gather(cli_app *app, const char *input, const tess_matrix *A, bool ignore_zeros,
                info_run *r)
{
    r->facts.input = input;
    TRY_CALL(app, tess_matrix_to_csr(app->ctx, A, ignore_zeros ? TESS_ZEROS_DROP : TESS_ZEROS_KEEP,
                                     &r->scalars));
    return gather(app, ignore_zeros, r);
}

void info_release(info_run *r)
{
    tess_regrouping_destroy(r->regrouping);
    tess_shape_detection_destroy(r->shapes);
    tess_detection_destroy(r->blocks);
    tess_matrix_destroy(r->scalars);
}

static int run(cli_app *app, void *arguments)
{
    info_args *args = arguments;
    int exit_status = EXIT_DONE;
    tess_matrix *A = input_matrix(app, &args->common, args->common.operands[0], &exit_status);
    if (!A)
        return exit_status;
    info_run r = {0};
    info_parts *parts = NULL;
    exit_status = info_gather(app, args->common.operands[0], A, args->ignore_zeros, &r);
    if (exit_status == EXIT_DONE && args->parts)
        exit_status = info_parts_gather(app, args->parts, A, &r.blocks->recommended, &parts);
    tess_matrix_destroy(A);
    if (exit_status == EXIT_DONE && args->common.json) {
        json_t *document = info_json(&r.facts);
        if (parts)
            json_object_set_new(document, "parts", info_parts_json(parts));
        exit_status = print_json(app, document);
    } else if (exit_status == EXIT_DONE) {
        terminal_clear_progress(app);
        info_print(app, &r.facts, args->all);
        if (parts)
            info_parts_print(app, parts);
    }
    info_parts_destroy(parts);
    info_release(&r);
    return exit_status;
}

static const cli_option options[] = {
    {"all", OPTION_FLAG, offsetof(info_args, all), NULL,
     "list every block size and shape that was counted", 0, 0},
    {"ignore-zeros", OPTION_FLAG, offsetof(info_args, ignore_zeros), NULL,
     "entries that are stored but 0 do not count", 0, 0},
    {"parts", OPTION_TEXT, offsetof(info_args, parts), "N[,PARTITION]",
     "what N parts would have, by every partition or by this one", 0, 0},
};

const cli_command command_info = {
    .name = "info",
    .operands = "INPUT",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "what is in a matrix, and which block size suits it",
    .description =
        "Describes a matrix: sizes, row lengths, symmetry, and for every block size how many "
        "blocks it takes, how full they are and how many bytes a product then moves; and what "
        "blocks of other shapes, wherever they lie, would take (format fbcsr). Recommends the "
        "cheapest blocking, or none, and says why. Where another order of the unknowns would make "
        "blocks, because fields follow each other or rows with nearly the same columns lie far "
        "apart, it says which order.\n\n"
        "--parts deals the matrix out to N parts, as tessera-mpi does to N ranks. It prints one "
        "line per partition: the most rows, bytes and halo rows (rows of x from other parts) that "
        "a part has, and what travels in a product. PARTITION is contiguous, cyclic, metis or "
        "scotch.",
    .examples = "tessera info A.mtx.gz\n"
                "tessera info gen:elasticity:n=24\n"
                "tessera info A.mtx --parts 8\n"
                "tessera info A.mtx --json | jq .recommended",
    .uses = USES_TYPE,
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .args_size = sizeof(info_args),
    .run = run,
};

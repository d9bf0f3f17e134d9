/* `tessera info --parts N[,PARTITION]`: rows, bytes and halos of each partition into N parts. */
#include <stdlib.h>
#include <string.h>

#include "parts.h"

enum { KINDS_MAX = 8 };

/* One partition, or why there is none. */
typedef struct info_kind {
    tess_partition *partition;
    char reason[256];
} info_kind;

struct info_parts {
    tess_matrix_view matrix; /* in the blocks that are dealt out */
    int parts, count;
    info_kind kinds[KINDS_MAX];
};

/* The largest value over all parts, and the sum. */
typedef struct info_sums {
    tess_partition_part most, all;
    double one_part; /* bytes of a product without parts */
} info_sums;

static double vector_bytes(const info_parts *p)
{
    return (double)type_size(p->matrix.type) * p->matrix.block_height;
}

static info_sums sums_of(const info_parts *p, const tess_partition *partition)
{
    info_sums s = {0};
    for (int r = 0; r < partition->count; r++) {
        const tess_partition_part *part = &partition->parts[r];
        s.most.rows = greater(s.most.rows, part->rows);
        s.most.halo = greater(s.most.halo, part->halo);
        s.most.neighbours = greater(s.most.neighbours, part->neighbours);
        s.most.bytes = greater(part->bytes, s.most.bytes);
        s.all.halo += part->halo;
        s.all.neighbours += part->neighbours;
        s.all.bytes += part->bytes;
    }
    s.one_part = s.all.bytes - (double)s.all.halo * vector_bytes(p);
    return s;
}

/* ---- Making them ---- */

void info_parts_destroy(info_parts *p)
{
    for (int i = 0; p && i < p->count; i++)
        tess_partition_destroy(p->kinds[i].partition);
    free(p);
}

/* "N" or "N,PARTITION". */
static int parse(cli_app *app, const char *text, int *parts, const char **name)
{
    char *end;
    const long count = strtol(text, &end, 10);
    if (end == text || (*end && *end != ',') || count < 1 || count > TESS_PARTS_MAX)
        return fail(app, EXIT_USAGE, "--parts %s: N or N,PARTITION with N in 1..%d", text,
                    TESS_PARTS_MAX);
    *parts = (int)count;
    *name = *end ? end + 1 : NULL;
    return EXIT_DONE;
}

/* The matrix in blocks for solvers: its own, else the recommended ones. 1 x 1 if these are not
 * square. */
static tess_status block(cli_app *app, const tess_matrix *A, const tess_block_candidate *found,
                         tess_matrix **out)
{
    const tess_matrix_view view = view_of(A);
    tess_blocking blocking = {view.block_height, view.block_width};
    if (view.block_height == 1 && view.block_width == 1)
        blocking = (tess_blocking){found->rows, found->cols};
    if (blocking.rows != blocking.cols)
        blocking = (tess_blocking){1, 1};
    return tess_matrix_to_blocks(app->ctx, A, &blocking, out);
}

/* Adds one partition. A missing library is a failure only if this partition was asked for. */
static int add_kind(cli_app *app, const tess_matrix *A, const char *name, bool asked, info_parts *p)
{
    info_kind *kind = &p->kinds[p->count];
    const tess_status status = tess_partition_create(app->ctx, A, p->parts, name, &kind->partition);
    if (status == TESS_OK || (status == TESS_ERR_UNSUPPORTED && !asked)) {
        if (status != TESS_OK)
            snprintf(kind->reason, sizeof kind->reason, "%s", tess_ctx_error(app->ctx));
        p->count++;
        return EXIT_DONE;
    }
    return fail_status(app, status);
}

static int add_kinds(cli_app *app, const tess_matrix *A, const char *name, info_parts *p)
{
    p->matrix = view_of(A);
    if (p->matrix.rows != p->matrix.cols || name)
        return add_kind(app, A, name, true, p);
    for (int i = 0; i < KINDS_MAX && tess_partition_name(i); i++)
        TRY_EXIT(add_kind(app, A, tess_partition_name(i), false, p));
    return EXIT_DONE;
}

int info_parts_gather(cli_app *app, const char *text, const tess_matrix *A,
                      const tess_block_candidate *recommended, info_parts **out)
{
    const char *name = NULL;
    int parts = 0;
    tess_matrix *blocked;
    TRY_EXIT(parse(app, text, &parts, &name));
    TRY_CALL(app, block(app, A, recommended, &blocked));
    info_parts *p = calloc(1, sizeof *p);
    int exit_status = EXIT_DONE;
    if (p) {
        p->parts = parts;
        exit_status = add_kinds(app, blocked, name, p);
    } else {
        exit_status = fail_memory(app);
    }
    tess_matrix_destroy(blocked);
    if (exit_status == EXIT_DONE)
        *out = p;
    else
        info_parts_destroy(p);
    return exit_status;
}

/* ---- Telling ---- */

static void print_kind(const info_parts *p, int i)
{
    const tess_partition *partition = p->kinds[i].partition;
    if (!partition) {
        printf("  %-11s %s\n", tess_partition_name(i), p->kinds[i].reason);
        return;
    }
    char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], d[TEXT_MAX];
    const info_sums s = sums_of(p, partition);
    const double mean = s.all.bytes / partition->count;
    printf("  %-11s %12s %10s %8.3f %12s %10d %10s %8.2f\n", partition->name,
           text_count(s.most.rows, a), text_bytes(s.most.bytes, b),
           mean > 0 ? s.most.bytes / mean : 1, text_count(s.most.halo * p->matrix.block_height, c),
           s.most.neighbours, text_bytes((double)s.all.halo * vector_bytes(p), d),
           s.most.bytes > 0 ? s.one_part / s.most.bytes : 1);
}

void info_parts_print(const cli_app *app, const info_parts *p)
{
    char a[TEXT_MAX];
    printf("\n%s%s parts in blocks of %d x %d%s\n", bold(app), text_count(p->parts, a),
           p->matrix.block_height, p->matrix.block_width, plain(app));
    printf("%s  partition   rows at most      moves  to mean  halo at most neighbours    travels "
           " speed-up%s\n",
           bold(app), plain(app));
    for (int i = 0; i < p->count; i++)
        print_kind(p, i);
    printf("%sof one product. moves: by the part that moves most; to mean: that over the mean; "
           "halo: rows\nof x of other parts, each once, which is the least that any product "
           "needs; travels: all halos;\nspeed-up: one part's bytes over the most, messages not "
           "counted%s\n",
           dim(app), plain(app));
}

static json_t *part_json(const tess_partition_part *part, int32_t block)
{
    return json_make(
        "{s:I, s:I, s:I, s:I, s:I, s:i, s:f}", "rows", (json_int_t)part->rows, "blocks",
        (json_int_t)part->blocks, "outside_blocks", (json_int_t)part->outside_blocks, "halo_rows",
        (json_int_t)(part->halo * block), "sent_rows", (json_int_t)(part->sent * block),
        "neighbours", part->neighbours, "bytes", part->bytes);
}

static json_t *kind_json(const info_parts *p, int i)
{
    const tess_partition *partition = p->kinds[i].partition;
    if (!partition)
        return json_make("{s:s, s:b, s:s}", "partition", tess_partition_name(i), "available", 0,
                         "reason", p->kinds[i].reason);
    const info_sums s = sums_of(p, partition);
    json_t *list = json_array();
    for (int r = 0; r < partition->count; r++)
        json_array_append_new(list, part_json(&partition->parts[r], partition->block));
    return json_make("{s:s, s:b, s:b, s:f, s:f, s:f, s:I, s:o}", "partition", partition->name,
                     "available", 1, "in_order", partition->in_order, "bytes_most", s.most.bytes,
                     "bytes_one_part", s.one_part, "travels_bytes",
                     (double)s.all.halo * vector_bytes(p), "messages", (json_int_t)s.all.neighbours,
                     "list", list);
}

json_t *info_parts_json(const info_parts *p)
{
    json_t *list = json_array();
    for (int i = 0; i < p->count; i++)
        json_array_append_new(list, kind_json(p, i));
    return json_make("{s:i, s:i, s:o}", "count", p->parts, "block", p->matrix.block_height,
                     "partitions", list);
}

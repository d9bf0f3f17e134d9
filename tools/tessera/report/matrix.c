/* The page's sections about the matrix: lengths of rows, block sizes and what they cost. */
#include "page.h"

void report_rows(FILE *out, const report_facts *facts)
{
    const tess_statistics *rows = &facts->info->rows;
    page_bar bars[TESS_ROW_CLASSES];
    int count = 0, first = 0, last = TESS_ROW_CLASSES - 1;
    char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX];
    while (last > 0 && rows->histogram[last] == 0)
        last--;
    while (first < last && rows->histogram[first] == 0)
        first++;
    char empty[TEXT_MAX + 32] = "";
    if (rows->empty_rows > 0)
        snprintf(empty, sizeof empty, "; %s empty", text_count(rows->empty_rows, c));
    const char *balance = rows->imbalance >= 8 ? " Rows must be cut to balance threads." : "";
    char below[TEXT_MAX], above[TEXT_MAX];
    page_section(
        out, "Rows",
        "%s to %s entries in a row, %.1f on average%s. Bandwidth: %s below the diagonal, %s "
        "above.%s",
        text_count(rows->row_min, a), text_count(rows->row_max, b), rows->row_avg, empty,
        text_count(rows->lower_bandwidth, below), text_count(rows->upper_bandwidth, above),
        balance);
    for (int k = first; k <= last; k++) {
        page_bar *bar = &bars[count++];
        *bar = (page_bar){.parts = {(double)rows->histogram[k]}};
        info_row_range(k, bar->label);
        text_count(rows->histogram[k], bar->text);
    }
    page_begin_side(out, "picture");
    page_bars(out, "rows", "Rows by their number of entries", count, bars, NULL);
    page_end_side(out);
    page_begin_side(out, "words");
    static const char *const heads[] = {"entries in a row", "rows"};
    page_table(out, "Rows by length", 2, heads);
    for (int k = first; k <= last; k++) {
        page_row(out, false);
        page_cell(out, "%s", info_row_range(k, a));
        page_number(out, (double)rows->histogram[k], "%s", text_count(rows->histogram[k], b));
        page_end_row(out);
    }
    page_end_table(out);
    page_end_side(out);
    page_end_section(out);
}

/* Writes "3 x 3", and the offset unless it is 0. */
static void write_size(const tess_block_candidate *c, char *text)
{
    if (c->row_offset || c->col_offset)
        snprintf(text, TEXT_MAX, "%d \xc3\x97 %d at %d, %d", c->rows, c->cols, c->row_offset,
                 c->col_offset);
    else
        snprintf(text, TEXT_MAX, "%d \xc3\x97 %d", c->rows, c->cols);
}

/* The bytes of a product: entries, padding, and all else. */
static page_bar priced(const info_facts *info, const tess_block_candidate *c)
{
    const double scalar = (double)type_size(info->matrix.type);
    const double stored = (double)c->blocks * c->rows * c->cols * scalar;
    const double entries = (double)info->blocks->entries * scalar;
    page_bar bar = {.parts = {entries, stored - entries, c->bytes - stored},
                    .marked = info_is_recommended(info->blocks, c)};
    write_size(c, bar.label);
    text_bytes(c->bytes, bar.text);
    return bar;
}

enum { SIZES = 16 }; /* the most that picture and table show */

static void draw_sizes(FILE *out, const info_facts *info)
{
    static const char *const keys[] = {"entries", "padding", "indices, x and y"};
    const tess_detection *d = info->blocks;
    page_bar bars[SIZES];
    int count = 0;
    for (int64_t i = 0; i < d->count && count < SIZES; i++)
        if (info_worth_showing(d, &d->candidates[i]))
            bars[count++] = priced(info, &d->candidates[i]);
    page_bars(out, "blocks", "Bytes that a product moves, by block size", count, bars, keys);
}

static void list_sizes(FILE *out, const tess_detection *d)
{
    static const char *const heads[] = {"block", "blocks", "density", "moves", "to 1 \xc3\x97 1"};
    char a[TEXT_MAX];
    int count = 0;
    page_table(out, "Block sizes", 5, heads);
    for (int64_t i = 0; i < d->count && count < SIZES; i++) {
        const tess_block_candidate *c = &d->candidates[i];
        if (!info_worth_showing(d, c))
            continue;
        page_row(out, info_is_recommended(d, c));
        write_size(c, a);
        page_short(out, "%s", a);
        page_number(out, (double)c->blocks, "%s", text_count(c->blocks, a));
        page_number(out, c->density, "%.3f", c->density);
        page_number(out, c->bytes, "%s", text_bytes(c->bytes, a));
        page_short(out, "%+.0f %%", 100 * (c->bytes / d->candidates[0].bytes - 1));
        page_end_row(out);
        count++;
    }
    page_end_table(out);
}

void report_blocks(FILE *out, const report_facts *facts)
{
    const tess_detection *d = facts->info->blocks;
    const tess_block_candidate *r = &d->recommended;
    const bool blocked = r->rows > 1 || r->cols > 1;
    char advice[64] = "Do not block";
    if (blocked)
        snprintf(advice, sizeof advice, "Store %d \xc3\x97 %d blocks", r->rows, r->cols);
    page_section(out, "Blocks", "%s: %s.", advice, info_reason(d));
    if (d->count > 0) {
        page_begin_side(out, "picture");
        draw_sizes(out, facts->info);
        page_end_side(out);
        page_begin_side(out, "words");
        list_sizes(out, d);
        page_end_side(out);
    }
    page_end_section(out);
}

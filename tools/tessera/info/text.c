/* The report of `tessera info` for people. */
#include <math.h>
#include <string.h>

#include "info.h"

enum { BAR_WIDTH = 40 };

static void print_bar(const cli_app *app, double share)
{
    int cells = (int)ceil(share * BAR_WIDTH);
    for (int i = 0; i < cells; i++)
        fputs(app->unicode ? "\u2588" : "#", stdout);
}

void info_describe_symmetry(const info_facts *facts, char *text, size_t size)
{
    const tess_symmetry *s = &facts->symmetry;
    if (facts->matrix.rows != facts->matrix.cols)
        snprintf(text, size, "rectangular");
    else if (facts->hermitian && is_complex(facts->matrix.type))
        snprintf(text, size, s->symmetric ? "hermitian and symmetric" : "hermitian");
    else if (s->symmetric)
        snprintf(text, size, "symmetric");
    else if (s->skew)
        snprintf(text, size, "skew-symmetric");
    else if (info_symmetric(facts))
        snprintf(text, size, "symmetric but for rounding (%.1e of the largest entry)",
                 s->asymmetry);
    else if (s->pattern)
        snprintf(text, size, "symmetric pattern, different values");
    else
        snprintf(text, size, "not symmetric: %.0f %% of the entries off the diagonal have a mirror",
                 100 * s->mirrored);
}

static void print_symmetry(const info_facts *facts)
{
    const tess_symmetry *s = &facts->symmetry;
    char text[128];
    info_describe_symmetry(facts, text, sizeof text);
    printf("symmetry   %s\n", text);
    char a[TEXT_MAX];
    if (s->missing_diagonal == 0 && s->zero_diagonal == 0)
        printf("diagonal   complete\n");
    if (s->missing_diagonal > 0)
        printf("diagonal   %s missing\n", text_count(s->missing_diagonal, a));
    if (s->zero_diagonal > 0)
        printf("diagonal   %s zero\n", text_count(s->zero_diagonal, a));
}

static void print_head(const cli_app *app, const info_facts *facts)
{
    const tess_matrix_view *A = &facts->matrix;
    const tess_statistics *rows = &facts->rows;
    char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX];
    printf("%s%s%s\n\n", bold(app), facts->input, plain(app));
    printf("size       %s x %s, %s non-zero%s, %s", text_count(A->rows, a), text_count(A->cols, b),
           text_count(A->blocks, c), A->blocks == 1 ? "" : "s", type_name(A->type));
    if (A->blocks > rows->nonzeros)
        printf(" (%s of them stored zeros)", text_count(A->blocks - rows->nonzeros, a));
    printf("\n");
    print_symmetry(facts);
    printf("bandwidth  %s below the diagonal, %s above\n", text_count(rows->lower_bandwidth, a),
           text_count(rows->upper_bandwidth, b));
    printf("rows       %s to %s non-zeros, %.1f on average", text_count(rows->row_min, a),
           text_count(rows->row_max, b), rows->row_avg);
    if (rows->empty_rows > 0)
        printf("; %s empty", text_count(rows->empty_rows, a));
    if (rows->imbalance >= 8)
        printf("\n           the longest is %.0f times the average: rows must be cut to balance "
               "threads",
               rows->imbalance);
    printf("\n");
}

const char *info_row_range(int k, char *buffer)
{
    const int64_t from = k > 0 ? (int64_t)1 << (k - 1) : 0, to = k > 0 ? 2 * from - 1 : 0;
    if (from == to)
        snprintf(buffer, TEXT_MAX, "%lld", (long long)from);
    else
        snprintf(buffer, TEXT_MAX, "%lld..%lld", (long long)from, (long long)to);
    return buffer;
}

/* Prints rows by length, from the shortest class that occurs to the longest. */
static void print_histogram(const cli_app *app, const tess_statistics *rows)
{
    int first = 0, last = TESS_ROW_CLASSES - 1;
    while (last > 0 && rows->histogram[last] == 0)
        last--;
    while (first < last && rows->histogram[first] == 0)
        first++;
    int64_t most = 1;
    for (int k = first; k <= last; k++)
        most = greater(rows->histogram[k], most);
    printf("\n%snon-zeros in a row        rows%s\n", bold(app), plain(app));
    for (int k = first; k <= last; k++) {
        char range[TEXT_MAX], a[TEXT_MAX];
        printf("%14s %14s  %s", info_row_range(k, range), text_count(rows->histogram[k], a),
               dim(app));
        print_bar(app, (double)rows->histogram[k] / (double)most);
        printf("%s\n", plain(app));
    }
}

static bool same_size(const tess_block_candidate *a, const tess_block_candidate *b)
{
    return a->rows == b->rows && a->cols == b->cols && a->row_offset == b->row_offset &&
           a->col_offset == b->col_offset;
}

bool info_is_recommended(const tess_detection *d, const tess_block_candidate *c)
{
    return same_size(c, &d->recommended);
}

bool info_worth_showing(const tess_detection *d, const tess_block_candidate *c)
{
    bool square = c->rows == c->cols;
    bool aligned = c->row_offset == 0 && c->col_offset == 0;
    return (square && aligned && (c->rows <= 8 || c->rows == d->natural_block)) ||
           info_is_recommended(d, c) || c->bytes < d->recommended.bytes;
}

static void print_candidate(const cli_app *app, const tess_detection *d,
                            const tess_block_candidate *c, double csr_bytes)
{
    char size[32], offset[32] = "", a[TEXT_MAX], b[TEXT_MAX];
    bool chosen = info_is_recommended(d, c);
    snprintf(size, sizeof size, "%d x %d", c->rows, c->cols);
    if (c->row_offset || c->col_offset)
        snprintf(offset, sizeof offset, "  from row %d, column %d", c->row_offset, c->col_offset);
    printf("%s%s %7s %14s %8.3f %9.2f %12s %+8.0f %%%s%s\n", chosen ? green(app) : "",
           chosen ? ">" : " ", size, text_count(c->blocks, a), c->density, c->fill,
           text_bytes(c->bytes, b), 100 * (c->bytes / csr_bytes - 1), offset,
           chosen ? plain(app) : "");
}

static void print_blocks(const cli_app *app, const tess_detection *d, bool all)
{
    if (d->count == 0)
        return;
    double csr_bytes = d->candidates[0].bytes; /* the first candidate is 1 x 1 */
    printf("\n%s    block         blocks  density      fill   SpMV moves   to 1 x 1%s\n", bold(app),
           plain(app));
    for (int64_t i = 0; i < d->count; i++)
        if (all || info_worth_showing(d, &d->candidates[i]))
            print_candidate(app, d, &d->candidates[i], csr_bytes);
}

/* Prints the reason, filled to 80 columns beside its label. */
static void print_reason(const char *label, const char *reason)
{
    enum { INDENT = 11, WIDTH = 80 };
    size_t column = INDENT;
    printf("%-*s", INDENT, label);
    for (const char *word = reason; *word;) {
        size_t length = strcspn(word, " ");
        if (column > INDENT && column + 1 + length > WIDTH) {
            printf("\n%*s", INDENT, "");
            column = INDENT;
        } else if (column > INDENT) {
            fputc(' ', stdout);
            column++;
        }
        printf("%.*s", (int)length, word);
        column += length;
        word += length;
        word += strspn(word, " ");
    }
    fputc('\n', stdout);
}

const char *info_reason(const tess_detection *d)
{
    static const char prefix[] = "do not block this: "; /* the advice says so */
    const bool repeats = strncmp(d->reason, prefix, sizeof prefix - 1) == 0;
    return repeats ? d->reason + sizeof prefix - 1 : d->reason;
}

bool info_regrouping_pays(const info_facts *facts)
{
    return facts->regrouping->block > 1 &&
           facts->regrouping->bytes < 0.95 * facts->blocks->recommended.bytes;
}

static void print_verdict(const cli_app *app, const info_facts *facts)
{
    const tess_detection *d = facts->blocks;
    const tess_block_candidate *r = &d->recommended;
    bool blocked = r->rows > 1 || r->cols > 1;
    if (d->natural_block > 1)
        printf("\nnatural    blocks of %d x %d\n", d->natural_block, d->natural_block);
    else
        printf("\nnatural    no block size\n");
    if (blocked)
        printf("advice     %sstore %d x %d blocks%s\n", bold(app), r->rows, r->cols, plain(app));
    else
        printf("advice     %sdo not block%s\n", bold(app), plain(app));
    print_reason("because", info_reason(d));
    if (d->count == 0)
        return;
    char shapes[768];
    info_describe_shapes(facts, shapes, sizeof shapes);
    if (*shapes) /* complex matrices have none */
        print_reason("fbcsr", shapes);
    if (info_regrouping_pays(facts)) {
        print_reason("renumber", facts->regrouping->reason);
        print_reason("", is_complex(facts->matrix.type)
                             ? "plans of complex matrices do not permute inside: renumber it"
                             : "a plan of --block 1 permutes inside, where it pays (--regroup)");
    }
    char a[TEXT_MAX], b[TEXT_MAX];
    double flops = 2.0 * (double)r->blocks * r->rows * r->cols;
    printf("cost       a product moves %s for %s: %.2f flop per byte, so memory\n"
           "           decides its speed\n",
           text_bytes(r->bytes, a), text_flops(flops, b), flops / r->bytes);
}

void info_print(const cli_app *app, const info_facts *facts, bool all_candidates)
{
    const tess_detection *d = facts->blocks;
    print_head(app, facts);
    print_histogram(app, &facts->rows);
    print_blocks(app, d, all_candidates);
    info_print_shapes(app, facts, all_candidates);
    print_verdict(app, facts);
}

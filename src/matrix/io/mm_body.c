/* The data lines of a Matrix Market file, parsed in parallel.
 *
 * The file is read in buffers of whole lines. A buffer is cut at newlines into pieces. The data
 * lines of every piece are counted, so each piece knows where in the arrays its entries begin. Then
 * all pieces are parsed, while one thread fills the next buffer. Entries keep the order of the file
 * for any number of threads. A piece stops at its first bad line. The earliest bad line of the
 * buffer is then examined again, slowly, to word the error.
 */
#include "matrix/io/mm.h"

enum { PIECES_MAX = 256, PIECES_A_THREAD = 4 };

typedef struct text_piece {
    const char *begin, *end;
    int64_t lines;
    int64_t found, first, entries; /* data lines; their place in the arrays, how many are kept */
    const char *bad;               /* the first bad line, or NULL */
} text_piece;

typedef struct body_reader {
    const tess_mm_header *header;
    const tess_decimal *decimal;
    tess_mm_entries *entries;
    text_piece pieces[PIECES_MAX];
    int count;
    int64_t next;
} body_reader;

static bool is_data(const char *line)
{
    return !tess_mm_no_data(*tess_mm_skip(line));
}

static const char *next_line(const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    return newline + 1; /* a piece always ends with a newline */
}

/* Counts the newlines of a piece; *odd: whether some line may have no data. It touches every byte
 * of the file, so it computes with bytes only, which the compiler can vectorise. */
static int64_t count_newlines(const char *p, const char *end, bool *odd)
{
    int64_t count = 0;
    unsigned char strange = 0;
    while (p < end) {
        const char *stop = end - p > 255 ? p + 255 : end;
        unsigned char some = 0;
        for (; p < stop; p++) {
            unsigned char newline = *p == '\n', next = (unsigned char)p[1];
            some = (unsigned char)(some + newline);
            strange |= (unsigned char)(newline & (next <= ' ' || next == '%'));
        }
        count += some;
    }
    *odd = strange;
    return count;
}

static void count_entries(void *pieces, const void *none, int64_t i)
{
    text_piece *piece = (text_piece *)pieces + i;
    bool odd;
    (void)none;
    piece->lines = piece->found = count_newlines(piece->begin, piece->end - 1, &odd) + 1;
    if (!odd && is_data(piece->begin))
        return;
    piece->found = 0;
    for (const char *p = piece->begin; p < piece->end; p = next_line(p, piece->end))
        piece->found += is_data(p);
}

/* Reads a 1-based index at p, which becomes 0-based, and skips the blanks after it. NULL when there
 * is no index or it is outside 1..limit. */
static inline const char *parse_index(const char *p, uint64_t limit, uint64_t *index)
{
    uint64_t value = 0;
    const char *begin = p;
    for (unsigned digit; (digit = (unsigned)*p - '0') <= 9; p++)
        value = value * 10 + digit;
    if (value - 1 >= limit || p - begin > 18)
        return NULL;
    *index = value - 1;
    return p;
}

/* Checks that only blanks follow the last token of a line. Returns the next line, or NULL. */
static inline const char *parse_end(const char *line, const char *p)
{
    p = tess_mm_skip(p);
    p += *p == '\r';
    return *p == '\n' && p - line <= TESS_LINE_MAX ? p + 1 : NULL;
}

static inline const char *parse_value(const body_reader *body, const char *p, double *value)
{
    bool integral;
    p = tess_decimal_parse(body->decimal, p, value, &integral);
    if (!p || __builtin_isinf(*value) || (body->header->field == TESS_MM_INTEGER && !integral))
        return NULL;
    return p;
}

/* Reads the real and the imaginary part of entry k. */
static inline const char *parse_pair(const body_reader *body, const char *p, int64_t k)
{
    double *value = body->entries->values + 2 * k;
    p = parse_value(body, p, &value[0]);
    if (!p || !tess_mm_blank(*p))
        return NULL;
    return parse_value(body, tess_mm_skip(p), &value[1]);
}

/* Whether the complex value of entry k may stand on the diagonal. */
static inline bool pair_on_diagonal(const body_reader *body, int64_t k)
{
    const double *value = body->entries->values + 2 * k;
    const tess_mm_symmetry symmetry = body->header->symmetry;
    return (symmetry != TESS_MM_SKEW || (value[0] == 0 && value[1] == 0)) &&
           (symmetry != TESS_MM_HERMITIAN || value[1] == 0);
}

static inline const char *parse_coordinate(const body_reader *body, const char *line, const char *p,
                                           int64_t k)
{
    const tess_mm_header *header = body->header;
    uint64_t row, col;
    double value = 1;
    p = parse_index(p, (uint64_t)header->rows, &row);
    if (!p || !tess_mm_blank(*p))
        return NULL;
    p = parse_index(tess_mm_skip(p), (uint64_t)header->cols, &col);
    if (!p)
        return NULL;
    if (header->field == TESS_MM_COMPLEX) {
        if (!tess_mm_blank(*p))
            return NULL;
        p = parse_pair(body, tess_mm_skip(p), k);
        if (!p || (row == col && !pair_on_diagonal(body, k)))
            return NULL;
    } else if (header->field != TESS_MM_PATTERN) {
        if (!tess_mm_blank(*p))
            return NULL;
        p = parse_value(body, tess_mm_skip(p), &value);
        if (!p)
            return NULL;
        body->entries->values[k] = value;
    }
    if (row == col && header->symmetry == TESS_MM_SKEW && header->field != TESS_MM_COMPLEX &&
        value != 0)
        return NULL;
    body->entries->rows[k] = (uint32_t)row;
    body->entries->cols[k] = (int32_t)col;
    return parse_end(line, p);
}

static inline const char *parse_number(const body_reader *body, const char *line, const char *p,
                                       int64_t k)
{
    p = body->header->field == TESS_MM_COMPLEX ? parse_pair(body, p, k)
                                               : parse_value(body, p, &body->entries->values[k]);
    return p ? parse_end(line, p) : NULL;
}

static void parse_piece(const body_reader *body, text_piece *piece)
{
    bool coordinate = body->header->layout == TESS_MM_COORDINATE;
    int64_t k = piece->first, end = piece->first + piece->entries;
    for (const char *p = piece->begin; p < piece->end;) {
        const char *line = p;
        p = tess_mm_skip(p);
        if (tess_mm_no_data(*p)) {
            p = *p == '%' ? next_line(p, piece->end) : parse_end(line, p);
        } else {
            if (k == end) /* more data than announced: check_pieces reports it */
                return;
            p = coordinate ? parse_coordinate(body, line, p, k) : parse_number(body, line, p, k);
            k++;
        }
        if (!p || p - line > TESS_LINE_MAX + 1) {
            piece->bad = line;
            return;
        }
    }
}

/* Cuts the current buffer into pieces of whole lines. */
static void cut(body_reader *body, const tess_text *text)
{
    size_t wanted = (size_t)tess_min(text->ctx->threads * PIECES_A_THREAD, PIECES_MAX);
    size_t bytes = text->length / wanted + 1;
    const char *p = text->text, *end = p + text->length;
    for (body->count = 0; p < end; body->count++) {
        const char *stop = (size_t)(end - p) > bytes ? next_line(p + bytes - 1, end) : end;
        body->pieces[body->count] = (text_piece){.begin = p, .end = stop};
        p = stop;
    }
}

/* Makes room for `needed` entries. If the size of the file makes the announced count plausible it
 * is allocated at once. Otherwise (tightly packed gzip, pipes, lists) the arrays double. */
static tess_status reserve(const tess_text *text, const tess_mm_header *header, int64_t needed,
                           tess_mm_entries *e)
{
    if (needed <= e->capacity && e->capacity > 0)
        return TESS_OK;
    int64_t plausible =
        text->file_bytes < 0 ? 1 << 20 : text->file_bytes / 4 * (text->gzip ? 8 : 1);
    int64_t capacity = e->capacity > 0 ? 2 * e->capacity : plausible;
    if (header->entries >= 0 && capacity > header->entries)
        capacity = header->entries;
    capacity = tess_max(capacity, needed);
    const int64_t numbers = header->field == TESS_MM_COMPLEX ? 2 : 1; /* per value */
    if (header->layout == TESS_MM_COORDINATE) {
        TESS_TRY(TESS_RESIZE(text->ctx, &e->rows, e->count, capacity));
        TESS_TRY(TESS_RESIZE(text->ctx, &e->cols, e->count, capacity));
    }
    if (header->field != TESS_MM_PATTERN)
        TESS_TRY(TESS_RESIZE(text->ctx, &e->values, numbers * e->count, numbers * capacity));
    e->capacity = capacity;
    return TESS_OK;
}

static int64_t line_number(const tess_text *text, const char *at)
{
    int64_t line = text->lines_taken + 1;
    for (const char *p = text->text; p < at; p = next_line(p, at))
        line++;
    return line;
}

/* The line of data number `index` of a piece, or NULL. */
static const char *data_line(const text_piece *piece, int64_t index)
{
    for (const char *p = piece->begin; p < piece->end; p = next_line(p, piece->end))
        if (is_data(p) && index-- == 0)
            return p;
    return NULL;
}

/* Reports the first fault of the buffer: a bad line, or a line beyond the announced count. */
static tess_status check_pieces(const body_reader *body, const tess_text *text)
{
    const tess_mm_header *header = body->header;
    for (int i = 0; i < body->count; i++) {
        const text_piece *piece = &body->pieces[i];
        if (piece->bad) {
            char reason[320];
            tess_mm_explain(header, body->decimal, piece->bad, reason, sizeof reason);
            return tess_fail(text->ctx, TESS_ERR_FORMAT, "%s:%lld: %s", text->path,
                             (long long)line_number(text, piece->bad), reason);
        }
        if (piece->found > piece->entries)
            return tess_fail(text->ctx, TESS_ERR_FORMAT,
                             "%s:%lld: more data than the %lld entries that line %lld announces",
                             text->path,
                             (long long)line_number(text, data_line(piece, piece->entries)),
                             (long long)header->entries, (long long)header->size_line);
    }
    return TESS_OK;
}

struct parse_share {
    body_reader *body;
    tess_text *text;
};

/* Share 0 fills the next buffer first. */
static void parse_share(void *arg, int share)
{
    const struct parse_share *job = arg;
    if (share == 0)
        tess_text_fill(job->text);
    for (int64_t i; (i = tess_take(&job->body->next, 1)) < job->body->count;)
        parse_piece(job->body, &job->body->pieces[i]);
}

/* Reads one buffer: counts, reserves, parses while the next buffer is filled, and checks. */
static tess_status read_buffer(body_reader *body, tess_text *text)
{
    tess_mm_entries *e = body->entries;
    int64_t total = e->count, limit = body->header->entries;
    cut(body, text);
    tess_for_each(text->ctx, body->count, 1, count_entries, body->pieces, NULL);
    for (int i = 0; i < body->count; i++) {
        text_piece *piece = &body->pieces[i];
        piece->first = total;
        piece->entries = limit >= 0 ? tess_min(piece->found, limit - total) : piece->found;
        total += piece->entries;
    }
    TESS_TRY(reserve(text, body->header, total, e));
    body->next = 0;
    tess_parallel(text->ctx, text->ctx->threads, parse_share, &(struct parse_share){body, text});
    TESS_TRY(check_pieces(body, text));
    e->count = total;
    for (int i = 0; i < body->count; i++)
        text->lines_taken += body->pieces[i].lines;
    return TESS_OK;
}

tess_status tess_mm_read_body(tess_text *text, const tess_mm_header *header,
                              tess_mm_entries *entries)
{
    tess_ctx *ctx = text->ctx;
    tess_decimal *decimal = NULL;
    body_reader *body = NULL;
    tess_status status = TESS_OK;
    TESS_TRY_CLEAN(tess_decimal_create(ctx, &decimal));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, 1, &body));
    body->header = header;
    body->decimal = decimal;
    body->entries = entries;
    if (text->length == 0) {
        tess_text_fill(text);
        TESS_TRY_CLEAN(tess_text_swap(text));
    }
    while (text->length > 0) {
        TESS_TRY_CLEAN(read_buffer(body, text));
        TESS_TRY_CLEAN(
            tess_progress(ctx, "reading", (double)text->file_done, (double)text->file_bytes));
        TESS_TRY_CLEAN(tess_text_swap(text));
    }
    TESS_TRY_CLEAN(reserve(text, header, 0, entries)); /* also without entries there are arrays */
    if (header->entries >= 0 && entries->count < header->entries)
        status = tess_fail(ctx, TESS_ERR_FORMAT,
                           "%s:%lld: the file ends after %lld of the %lld entries that line %lld "
                           "announces",
                           text->path, (long long)text->lines_taken, (long long)entries->count,
                           (long long)header->entries, (long long)header->size_line);
cleanup:
    tess_free(ctx, body);
    tess_decimal_destroy(ctx, decimal);
    return status;
}

void tess_mm_free(tess_ctx *ctx, tess_mm_entries *e)
{
    TESS_FREE(ctx, e->rows, e->cols, e->values);
    *e = (tess_mm_entries){0};
}

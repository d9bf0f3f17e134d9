/* The first lines of a Matrix Market file:
 *
 *     %%MatrixMarket matrix coordinate real general      (case does not matter)
 *     % comments
 *     rows cols entries                                  (array: rows cols)
 */
#include <strings.h>

#include "matrix/io/mm.h"

/* A small file may announce up to this many rows, each of which takes 8 bytes of offsets. */
#define ROWS_ALWAYS_ALLOWED ((int64_t)1 << 26)

enum { WORDS = 5, WORD_SHOWN = 40 };

static long long number(const tess_text *text)
{
    return (long long)text->lines_taken;
}

/* Splits at blanks in place. Returns the number of words, at most WORDS + 1. */
static int split(char *line, char *word[WORDS + 1])
{
    int count = 0;
    for (char *p = strtok_r(line, " \t\r", &line); p && count <= WORDS;
         p = strtok_r(NULL, " \t\r", &line))
        word[count++] = p;
    return count;
}

static tess_status bad_word(const tess_text *text, const char *what, const char *word,
                            const char *valid)
{
    return tess_fail(text->ctx, TESS_ERR_FORMAT, "%s:%lld: %s '%.*s' is none of %s", text->path,
                     number(text), what, WORD_SHOWN, word, valid);
}

static tess_status read_symmetry(const tess_text *text, const char *word, tess_mm_header *header)
{
    if (strcasecmp(word, "general") == 0)
        header->symmetry = TESS_MM_GENERAL;
    else if (strcasecmp(word, "symmetric") == 0)
        header->symmetry = TESS_MM_SYMMETRIC;
    else if (strcasecmp(word, "skew-symmetric") == 0)
        header->symmetry = TESS_MM_SKEW;
    else if (strcasecmp(word, "hermitian") == 0 && header->field == TESS_MM_COMPLEX)
        header->symmetry = TESS_MM_HERMITIAN;
    else if (header->field == TESS_MM_COMPLEX)
        return bad_word(text, "symmetry", word, "general, symmetric, skew-symmetric, hermitian");
    else
        return bad_word(text, "symmetry", word, "general, symmetric, skew-symmetric");
    return TESS_OK;
}

static tess_status read_banner(const tess_text *text, char *line, tess_mm_header *header)
{
    static const char binary[] = "\x89TESS"; /* as TESS_FILE_MAGIC begins, which ends lines */
    char *word[WORDS + 1];
    if (strncmp(line, binary, strlen(binary)) == 0)
        return tess_fail(text->ctx, TESS_ERR_FORMAT,
                         "%s: .tess cannot be read from a pipe or gzip, nor where its first 8 "
                         "bytes are damaged: write it to a file, or convert it to .mtx",
                         text->path);
    int count = split(line, word);
    if (count == 0 || strcasecmp(word[0], "%%MatrixMarket") != 0)
        return tess_fail(text->ctx, TESS_ERR_FORMAT,
                         "%s:%lld: not a Matrix Market file: it must start with %%%%MatrixMarket",
                         text->path, number(text));
    if (count != WORDS)
        return tess_fail(text->ctx, TESS_ERR_FORMAT,
                         "%s:%lld: the banner has %s words than the 5 of '%%%%MatrixMarket matrix "
                         "FORMAT FIELD SYMMETRY'",
                         text->path, number(text), count < WORDS ? "fewer" : "more");
    if (strcasecmp(word[1], "matrix") != 0)
        return bad_word(text, "object", word[1], "matrix");
    if (strcasecmp(word[2], "coordinate") == 0)
        header->layout = TESS_MM_COORDINATE;
    else if (strcasecmp(word[2], "array") == 0)
        header->layout = TESS_MM_ARRAY;
    else
        return bad_word(text, "format", word[2], "coordinate, array");
    if (strcasecmp(word[3], "real") == 0 || strcasecmp(word[3], "double") == 0)
        header->field = TESS_MM_REAL;
    else if (strcasecmp(word[3], "integer") == 0)
        header->field = TESS_MM_INTEGER;
    else if (strcasecmp(word[3], "pattern") == 0 && header->layout == TESS_MM_COORDINATE)
        header->field = TESS_MM_PATTERN;
    else if (strcasecmp(word[3], "complex") == 0)
        header->field = TESS_MM_COMPLEX;
    else
        return bad_word(text, "field", word[3],
                        header->layout == TESS_MM_ARRAY ? "real, integer, complex"
                                                        : "real, integer, pattern, complex");
    return read_symmetry(text, word[4], header);
}

/* Sets the number of data lines of an array file: all entries, or the lower triangle with or
 * without the diagonal. */
static bool array_entries(tess_mm_header *header)
{
    int64_t n = header->rows, product;
    if (header->symmetry == TESS_MM_GENERAL)
        return tess_mul(n, header->cols, &header->entries);
    int64_t other = header->symmetry == TESS_MM_SKEW ? n - 1 : n + 1;
    if (!tess_mul(n, other, &product))
        return false;
    header->entries = product / 2;
    return true;
}

static tess_status check_sizes(const tess_text *text, tess_mm_header *header)
{
    tess_ctx *ctx = text->ctx;
    long long rows = header->rows, cols = header->cols;
    if (header->symmetry != TESS_MM_GENERAL && rows != cols)
        return tess_fail(ctx, TESS_ERR_FORMAT,
                         "%s:%lld: a symmetric matrix must be square, not %lld x %lld", text->path,
                         number(text), rows, cols);
    if (rows > UINT32_MAX || cols > INT32_MAX)
        return tess_fail(ctx, TESS_ERR_OVERFLOW,
                         "%s:%lld: %lld x %lld is larger than 4294967295 x 2147483647", text->path,
                         number(text), rows, cols);
    if (header->layout == TESS_MM_ARRAY && !array_entries(header))
        return tess_fail(ctx, TESS_ERR_OVERFLOW, "%s:%lld: an array of %lld x %lld overflows",
                         text->path, number(text), rows, cols);
    if (header->layout == TESS_MM_COORDINATE && header->entries > 0 && (rows == 0 || cols == 0))
        return tess_fail(ctx, TESS_ERR_FORMAT, "%s:%lld: a %lld x %lld matrix cannot have entries",
                         text->path, number(text), rows, cols);
    /* A line of data takes at least 2 bytes ("1\n"), 4 ("1 1\n") or 6 ("1 1 1\n"). The last line
     * may lack its newline. */
    int64_t bound = tess_text_bound(text);
    int64_t least = header->layout == TESS_MM_ARRAY ? 2 : header->field == TESS_MM_PATTERN ? 4 : 6;
    if (bound < INT64_MAX && header->entries > bound / least + 1)
        return tess_fail(ctx, TESS_ERR_FORMAT,
                         "%s:%lld: %lld entries are announced, but a file of %lld bytes cannot "
                         "hold them",
                         text->path, number(text), (long long)header->entries,
                         (long long)text->file_bytes);
    if (rows > ROWS_ALWAYS_ALLOWED && bound < INT64_MAX && rows / 16 > bound)
        return tess_fail(ctx, TESS_ERR_FORMAT,
                         "%s:%lld: %lld rows are not credible in a file of %lld bytes", text->path,
                         number(text), rows, (long long)text->file_bytes);
    return TESS_OK;
}

static tess_status read_sizes(const tess_text *text, char *line, tess_mm_header *header)
{
    char *word[WORDS + 1];
    int count = split(line, word), wanted = header->layout == TESS_MM_ARRAY ? 2 : 3;
    const char *names = wanted == 2 ? "'rows cols'" : "'rows cols entries'";
    if (count != wanted)
        return tess_fail(text->ctx, TESS_ERR_FORMAT,
                         "%s:%lld: the size line must be %s, but has %s numbers", text->path,
                         number(text), names, count < wanted ? "fewer" : "more");
    int64_t size[3] = {0};
    for (int i = 0; i < wanted; i++)
        if (!tess_parse_int64(word[i], &size[i]) || size[i] < 0)
            return tess_fail(text->ctx, TESS_ERR_FORMAT,
                             "%s:%lld: '%.*s' in the size line %s is not a whole number from 0 to "
                             "9223372036854775807",
                             text->path, number(text), WORD_SHOWN, word[i], names);
    header->rows = size[0];
    header->cols = size[1];
    header->entries = size[2];
    header->size_line = text->lines_taken;
    return check_sizes(text, header);
}

tess_status tess_mm_read_header(tess_text *text, tess_mm_header *header)
{
    char *line;
    TESS_TRY(tess_text_line(text, &line));
    if (!line)
        return tess_fail(text->ctx, TESS_ERR_FORMAT, "%s:1: the file is empty", text->path);
    TESS_TRY(read_banner(text, line, header));
    do {
        TESS_TRY(tess_text_line(text, &line));
        if (!line)
            return tess_fail(text->ctx, TESS_ERR_FORMAT,
                             "%s:%lld: the file ends before its size line", text->path,
                             number(text) + 1);
        line += strspn(line, " \t\r");
    } while (*line == '\0' || *line == '%');
    return read_sizes(text, line, header);
}

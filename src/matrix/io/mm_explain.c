/* Words the fault of a bad line of data: the fast parser only detects that there is one. */
#include "matrix/io/mm.h"

enum { TOKEN_SHOWN = 40 };

/* Formats a token for the message: long tokens are cut, and bytes that are not printable ASCII are
 * shown as \xNN. */
static void show(const char *token, size_t length, char *shown, size_t size)
{
    shown[0] = '\0';
    for (size_t i = 0; i < length && i < TOKEN_SHOWN; i++) {
        unsigned char c = (unsigned char)token[i];
        tess_append(shown, size, c >= ' ' && c < 0x7f ? "%c" : "\\x%02x", c);
    }
    if (length > TOKEN_SHOWN)
        tess_append(shown, size, "...");
}

static size_t token_length(const char *p)
{
    size_t length = 0;
    while (!tess_mm_blank(p[length]) && p[length] != '\n' &&
           !(p[length] == '\r' && p[length + 1] == '\n'))
        length++;
    return length;
}

/* Checks an index: every character is a digit, and the value is in 1..limit. Returns true when it
 * is bad and the message was written. */
static bool bad_index(const char *p, size_t length, const char *what, int64_t limit, char *reason,
                      size_t size)
{
    char shown[4 * TOKEN_SHOWN + 8];
    show(p, length, shown, sizeof shown);
    uint64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        if ((unsigned)p[i] - '0' > 9) {
            if (!(p[0] == '-' && length > 1 && strspn(p + 1, "0123456789") == length - 1)) {
                snprintf(reason, size, "%s '%s' is not a whole number", what, shown);
                return true;
            }
        } else if (value < (uint64_t)1 << 60) {
            value = value * 10 + ((unsigned)p[i] - '0');
        }
    }
    if (p[0] != '-' && value >= 1 && value <= (uint64_t)limit && length <= 18)
        return false;
    snprintf(reason, size, "%s %s is outside 1..%lld", what, shown, (long long)limit);
    return true;
}

static bool bad_value(const tess_mm_header *header, const tess_decimal *decimal, const char *p,
                      size_t length, double *value, char *reason, size_t size)
{
    char shown[4 * TOKEN_SHOWN + 8];
    show(p, length, shown, sizeof shown);
    bool integral;
    const char *end = tess_decimal_parse(decimal, p, value, &integral);
    if (end != p + length) {
        const char *rest = p + (*p == '-' || *p == '+');
        bool special = (*rest | 0x20) == 'n' || (*rest | 0x20) == 'i';
        snprintf(reason, size,
                 special ? "value '%s' is not a finite number" : "value '%s' is not a number",
                 shown);
        return true;
    }
    if (__builtin_isinf(*value)) {
        snprintf(reason, size, "value %s is beyond the range of a double (1.8e308)", shown);
        return true;
    }
    if (header->field == TESS_MM_INTEGER && !integral) {
        snprintf(reason, size, "value %s is not an integer, but the banner says so", shown);
        return true;
    }
    return false;
}

/* `value` is the value of the entry; of a complex entry it is the imaginary part. */
static void bad_diagonal(const tess_mm_header *header, const char *const tokens[],
                         const size_t lengths[], double real, double value, char *reason,
                         size_t size)
{
    const bool hermitian = header->symmetry == TESS_MM_HERMITIAN;
    snprintf(reason, size, "a %s matrix has a %s diagonal, but row %.*s, column %.*s is ",
             hermitian ? "hermitian" : "skew-symmetric", hermitian ? "real" : "zero",
             (int)lengths[0], tokens[0], (int)lengths[1], tokens[1]);
    if (header->field == TESS_MM_COMPLEX)
        tess_append(reason, size, "%g%+gi", real, value);
    else
        tess_append(reason, size, "%g", value);
}

void tess_mm_explain(const tess_mm_header *header, const tess_decimal *decimal, const char *line,
                     char *reason, size_t size)
{
    static const char *const names[] = {"row", "column", "value"};
    bool coordinate = header->layout == TESS_MM_COORDINATE;
    const bool complex = header->field == TESS_MM_COMPLEX;
    int wanted = coordinate ? (header->field == TESS_MM_PATTERN ? 2 : 3) + complex : 1 + complex;
    int64_t limits[] = {header->rows, header->cols};
    const char *p = line, *tokens[4] = {line, line, line, line};
    size_t lengths[4] = {0};
    double value = 1, first = 0;
    if ((const char *)rawmemchr(line, '\n') - line > TESS_LINE_MAX) {
        snprintf(reason, size, "a line of more than %d bytes", TESS_LINE_MAX);
        return;
    }
    for (int i = 0; i < wanted; i++) {
        p = tess_mm_skip(p);
        size_t length = token_length(p);
        bool is_value = i >= 2 || !coordinate;
        if (length == 0) {
            snprintf(reason, size, "the line ends before its %s",
                     complex && i == wanted - 1 ? "imaginary part" : names[is_value ? 2 : i]);
            return;
        }
        if (is_value ? bad_value(header, decimal, p, length, &value, reason, size)
                     : bad_index(p, length, names[i], limits[i], reason, size))
            return;
        if (is_value && i < wanted - 1)
            first = value;
        tokens[i] = p;
        lengths[i] = length;
        p += length;
    }
    p = tess_mm_skip(p);
    char shown[4 * TOKEN_SHOWN + 8];
    show(p, token_length(p), shown, sizeof shown);
    if (token_length(p) > 0)
        snprintf(reason, size, "'%s' follows the last of the %d number%s of a line", shown, wanted,
                 tess_plural(wanted));
    else if (coordinate && header->symmetry >= TESS_MM_SKEW)
        bad_diagonal(header, tokens, lengths, first, value, reason, size);
    else
        snprintf(reason, size, "the line is malformed");
}

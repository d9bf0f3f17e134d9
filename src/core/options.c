/* Options strings: "key=value,key=value", checked against a table of keys. */
#include <ctype.h>
#include <errno.h>
#include <locale.h>

#include "core/core.h"

enum { WORD_MAX = 256 };

void tess_append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

void tess_replace(char *text, size_t size, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    char before[128];
    if (!at)
        return;
    snprintf(before, sizeof before, "%s", text);
    snprintf(text, size, "%.*s%s%s", (int)(at - text), before, new,
             before + (at - text) + strlen(old));
}

bool tess_parse_int64(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    if (!isdigit((unsigned char)text[0]) && text[0] != '-' && text[0] != '+')
        return false;
    long long parsed = strtoll(text, &end, 10);
    if (errno || end == text || *end)
        return false;
    *value = parsed;
    return true;
}

bool tess_parse_double(const char *text, double *value)
{
    char *end;
    if (!*text || isspace((unsigned char)text[0]))
        return false;
    /* The decimal separator is a point, whatever locale the program has set. */
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        return false;
    double parsed = strtod_l(text, &end, c_locale);
    freelocale(c_locale);
    if (end == text || *end || !isfinite(parsed))
        return false;
    *value = parsed;
    return true;
}

/* The edit distance from a to b: the fewest letters to replace, leave out, insert, or swap with the
 * next one. The last three rows of the table are kept. For words longer than WORD_MAX it is
 * WORD_MAX. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b), rows[3][WORD_MAX + 1];
    if (na > WORD_MAX || nb > WORD_MAX)
        return WORD_MAX;
    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i - 1) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = tess_min(row[j], tess_min(row[j - 1], above[j]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                second[j - 2] + 1 < row[j])
                row[j] = second[j - 2] + 1;
        }
    }
    return rows[na % 3][nb];
}

const char *tess_nearest(const char *word, const char *const *candidates, size_t count)
{
    const char *best = NULL;
    if (!word || !candidates)
        return NULL;
    size_t best_distance = strlen(word) / 2 + 1; /* further is another word, not a slip */
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(word, candidates[i]);
        if (distance < best_distance) {
            best = candidates[i];
            best_distance = distance;
        }
    }
    return best;
}

static bool listed_before(const char *const *candidates, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(candidates[k], candidates[i]) == 0)
            return true;
    return false;
}

const char *tess_suggest(tess_suggestion *into, const char *word, const char *const *candidates,
                         size_t count)
{
    static const char more[] = ", ...";
    const size_t room = sizeof into->text - sizeof more;
    const char *nearest = tess_nearest(word, candidates, count);
    if (nearest) {
        snprintf(into->text, sizeof into->text, "nearest: '%s'", nearest);
        return into->text;
    }
    size_t length = (size_t)snprintf(into->text, sizeof into->text, "one of: ");
    for (size_t i = 0; i < count; i++) {
        if (listed_before(candidates, i))
            continue;
        if (length + strlen(candidates[i]) + 2 > room) {
            strcpy(into->text + length, more);
            break;
        }
        length += (size_t)snprintf(into->text + length, sizeof into->text - length, "%s%s",
                                   i ? ", " : "", candidates[i]);
    }
    return into->text;
}

static tess_status unknown_key(tess_ctx *ctx, const char *what, const char *key,
                               const tess_option *table, size_t count)
{
    const char *keys[64];
    size_t n = tess_min(count, 64);
    for (size_t i = 0; i < n; i++)
        keys[i] = table[i].key;
    if (n == 0)
        return tess_fail(ctx, TESS_ERR_OPTION, "%s: unknown key '%s' (it takes no keys)", what,
                         key);
    return tess_fail(ctx, TESS_ERR_OPTION, "%s: unknown key '%s' (%s)", what, key,
                     tess_suggest(&(tess_suggestion){""}, key, keys, n));
}

static tess_status set_bool(tess_ctx *ctx, const char *what, const tess_option *option,
                            const char *value)
{
    static const char *const no[] = {"0", "no", "off", "false"};
    static const char *const yes[] = {"1", "yes", "on", "true"};
    for (size_t i = 0; i < 4; i++) {
        if (strcmp(value, no[i]) == 0 || strcmp(value, yes[i]) == 0) {
            *(int *)option->target = strcmp(value, yes[i]) == 0;
            return TESS_OK;
        }
    }
    return tess_fail(ctx, TESS_ERR_OPTION, "%s: %s=%s is neither yes nor no", what, option->key,
                     value);
}

/* Returns whether value is the choice; "colours" may also be spelled "colors". */
static bool is_choice(const char *value, const char *choice)
{
    for (const char *c = choice; *c; c++) {
        const bool silent = c > choice && strncmp(c - 1, "our", 3) == 0;
        if (*value == *c)
            value++;
        else if (!silent)
            return false;
    }
    return !*value;
}

static tess_status set_choice(tess_ctx *ctx, const char *what, const tess_option *option,
                              const char *value)
{
    size_t count = 0;
    for (; option->choices[count]; count++) {
        if (is_choice(value, option->choices[count])) {
            *(int *)option->target = (int)count;
            return TESS_OK;
        }
    }
    return tess_fail(ctx, TESS_ERR_OPTION, "%s: %s=%s is not a choice (%s)", what, option->key,
                     value, tess_suggest(&(tess_suggestion){""}, value, option->choices, count));
}

static tess_status set_number(tess_ctx *ctx, const char *what, const tess_option *option,
                              const char *value)
{
    const bool integral = option->kind == TESS_OPTION_INT;
    int64_t integer = 0;
    double real = 0;
    if (integral ? !tess_parse_int64(value, &integer) : !tess_parse_double(value, &real))
        return tess_fail(ctx, TESS_ERR_OPTION, "%s: %s=%s is not %s", what, option->key, value,
                         integral ? "an integer" : "a number");
    if (integral)
        real = (double)integer;
    if (real < option->min || real > option->max)
        return tess_fail(ctx, TESS_ERR_OPTION,
                         integral ? "%s: %s=%s is outside %.0f..%.0f"
                                  : "%s: %s=%s is outside %g..%g",
                         what, option->key, value, option->min, option->max);
    if (integral)
        *(int64_t *)option->target = integer;
    else
        *(double *)option->target = real;
    return TESS_OK;
}

static tess_status set_value(tess_ctx *ctx, const char *what, const tess_option *option,
                             const char *value)
{
    switch (option->kind) {
    case TESS_OPTION_INT:
    case TESS_OPTION_DOUBLE:
        return set_number(ctx, what, option, value);
    case TESS_OPTION_BOOL:
        return set_bool(ctx, what, option, value);
    case TESS_OPTION_CHOICE:
        return set_choice(ctx, what, option, value);
    case TESS_OPTION_TEXT:
        if (strlen(value) >= option->size)
            return tess_fail(ctx, TESS_ERR_OPTION, "%s: the value of %s is longer than %zu bytes",
                             what, option->key, option->size - 1);
        strcpy(option->target, value);
        return TESS_OK;
    }
    return tess_fail(ctx, TESS_ERR_INTERNAL, "%s: option '%s' has no kind", what, option->key);
}

tess_status tess_options_parse(tess_ctx *ctx, const char *what, const char *text,
                               const tess_option *table, size_t count)
{
    uint64_t seen = 0; /* bit i: key i of the first 64 */
    if (!text || !*text)
        return TESS_OK;
    for (bool more = true; more;) {
        char word[WORD_MAX];
        size_t length = strcspn(text, ",");
        if (length >= sizeof word)
            return tess_fail(ctx, TESS_ERR_OPTION, "%s: an option of %zu bytes is too long", what,
                             length);
        memcpy(word, text, length);
        word[length] = '\0';
        more = text[length] == ',';
        text += length + more;

        char *value = strchr(word, '=');
        if (value)
            *value++ = '\0';
        if (!*word)
            return tess_fail(ctx, TESS_ERR_OPTION, "%s: an option without a key", what);
        const tess_option *option = NULL;
        for (size_t i = 0; i < count && !option; i++)
            if (strcmp(table[i].key, word) == 0)
                option = &table[i];
        if (!option)
            return unknown_key(ctx, what, word, table, count);
        if (!value && option->kind != TESS_OPTION_BOOL)
            return tess_fail(ctx, TESS_ERR_OPTION, "%s: key '%s' needs a value: %s=...", what, word,
                             word);
        const ptrdiff_t at = option - table;
        if (at < 64 && seen >> at & 1)
            return tess_fail(ctx, TESS_ERR_OPTION, "%s: key '%s' is given twice: leave one out",
                             what, word);
        seen |= at < 64 ? (uint64_t)1 << at : 0;
        TESS_TRY(set_value(ctx, what, option, value ? value : "1"));
    }
    return TESS_OK;
}

tess_status tess_take_options_bytes(tess_ctx *ctx, const char *name, const void *given,
                                    size_t first, size_t size, void *out)
{
    size_t theirs = 0;
    memset(out, 0, size);
    if (!given)
        return TESS_OK;
    memcpy(&theirs, given, sizeof theirs);
    if (theirs == 0)
        theirs = first;
    if (theirs < first)
        return tess_fail(
            ctx, TESS_ERR_ARGUMENT,
            "%s.size = %zu, but such a struct has at least %zu bytes: pass its sizeof, "
            "or 0",
            name, theirs, first);
    for (size_t i = size; i < theirs; i++)
        if (((const char *)given)[i] != 0)
            return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                             "%s: byte %zu is set, which this library, %s, does not know", name, i,
                             tess_version());
    memcpy(out, given, tess_min(theirs, size));
    return TESS_OK;
}

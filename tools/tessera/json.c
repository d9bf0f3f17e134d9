/* JSON documents for --json. Jansson refuses NaN, infinities and text that is not UTF-8; the
 * numbers of a matrix and the names of files may be all of these. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* The bytes of the UTF-8 character at `text`; 0: it does not begin with one. */
static size_t character_bytes(const char *text)
{
    enum { LONGEST = 4 };
    for (size_t bytes = 1; bytes <= LONGEST && text[bytes - 1]; bytes++) {
        json_t *character = json_stringn(text, bytes);
        json_decref(character);
        if (character)
            return bytes;
    }
    return 0;
}

json_t *json_text(const char *text)
{
    enum { ESCAPED = 4 }; /* \xff */
    json_t *made = json_string(text);
    char *escaped = made ? NULL : malloc(ESCAPED * strlen(text) + 1);
    if (!escaped)
        return made;
    char *to = escaped;
    while (*text) {
        const size_t bytes = character_bytes(text);
        if (bytes > 0)
            memcpy(to, text, bytes);
        else
            snprintf(to, ESCAPED + 1, "\\x%02x", (unsigned)(unsigned char)*text);
        to += bytes > 0 ? bytes : ESCAPED;
        text += bytes > 0 ? bytes : 1;
    }
    *to = '\0';
    made = json_string(escaped);
    free(escaped);
    return made;
}

json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *pack_object(const char **format, va_list *arguments);

/* The next value, of the kind that *format is at. */
static json_t *pack_value(const char **format, va_list *arguments)
{
    switch (*(*format)++) {
    case 's':
        return json_text(va_arg(*arguments, const char *));
    case 'i':
        return json_integer(va_arg(*arguments, int));
    case 'I':
        return json_integer(va_arg(*arguments, json_int_t));
    case 'f':
        return json_number(va_arg(*arguments, double));
    case 'b':
        return json_boolean(va_arg(*arguments, int));
    case 'o':
        return va_arg(*arguments, json_t *);
    case '{':
        (*format)--;
        return pack_object(format, arguments);
    default:
        abort(); /* a format of this program's own */
    }
}

/* The object "{s:i, s:f}" that *format is at, and steps over it. */
static json_t *pack_object(const char **format, va_list *arguments)
{
    json_t *object = json_object();
    bool whole = object;
    for ((*format)++; **format != '}'; *format += strspn(*format, ", ")) {
        const char *key = va_arg(*arguments, const char *);
        *format += strlen("s:");
        json_t *value = pack_value(format, arguments);
        whole = json_object_set_new(object, key, value) == 0 && whole;
    }
    (*format)++;
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

json_t *json_make(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *object = pack_object(&format, &arguments);
    va_end(arguments);
    return object;
}

int print_json(cli_app *app, json_t *document)
{
    if (!document)
        return fail(app, EXIT_FAILED, "no memory for the JSON output");
    /* 12 digits: enough for every measurement, without the noise of 0.30000000000000004. */
    json_dumpf(document, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    fputc('\n', stdout);
    json_decref(document);
    return EXIT_DONE;
}

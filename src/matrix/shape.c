/* Block shapes by name; shape.h has the grammar. */
#include "matrix/shape.h"

/* The families of shapes. The height is the shape's length if `tall`, else 1; the width is the
 * length if `wide`, else 1. A new family is a new row of the table. */
typedef struct shape_family {
    const char *name;
    bool tall, wide;
    int32_t shift;
} shape_family;

static const shape_family families[] = {
    {"row", false, true, 0},           {"column", true, false, 0}, {"diagonal", true, false, 1},
    {"antidiagonal", true, false, -1}, {"square", true, true, 0},  {"parallelogram", true, true, 1},
};
enum { FAMILIES = sizeof families / sizeof *families, LENGTH_DEFAULT = 32 };

static tess_status unknown_shape(tess_ctx *ctx, const char *name)
{
    const char *names[FAMILIES];
    for (size_t i = 0; i < FAMILIES; i++)
        names[i] = families[i].name;
    return tess_fail(ctx, TESS_ERR_OPTION, "fbcsr: unknown shape '%s' (%s; or HxW, as 4x4)", name,
                     tess_suggest(&(tess_suggestion){""}, name, names, FAMILIES));
}

static tess_status check_shape(tess_ctx *ctx, const char *text, const tess_shape *shape)
{
    if (shape->height < 1 || shape->height > TESS_SHAPE_SIDE || shape->width < 1 ||
        shape->width > TESS_SHAPE_SIDE)
        return tess_fail(ctx, TESS_ERR_OPTION, "fbcsr: '%s': %d x %d is outside 1..%d", text,
                         (int)shape->height, (int)shape->width, TESS_SHAPE_SIDE);
    if (shape->height == 1 && shape->width == 1)
        return tess_fail(ctx, TESS_ERR_OPTION, "fbcsr: '%s': blocks of one scalar are CSR", text);
    if (shape->shift < -TESS_SHAPE_SHIFT || shape->shift > TESS_SHAPE_SHIFT)
        return tess_fail(ctx, TESS_ERR_OPTION, "fbcsr: '%s': a shift of %d is outside %d..%d", text,
                         (int)shape->shift, -TESS_SHAPE_SHIFT, TESS_SHAPE_SHIFT);
    return TESS_OK;
}

/* Sets the name: "row:32" for shapes of one row or column, "4x4" or "8x4+1" for others. */
static void set_name(tess_shape *shape)
{
    char name[48] = "";
    int height = (int)shape->height, width = (int)shape->width;
    snprintf(name, sizeof name, shape->shift ? "%dx%d%+d" : "%dx%d", height, width,
             (int)shape->shift);
    for (size_t i = 0; i < FAMILIES; i++) {
        const shape_family *F = &families[i];
        if (F->tall == (height > 1) && F->wide == (width > 1) && F->shift == shape->shift &&
            F->tall != F->wide)
            snprintf(name, sizeof name, "%s:%d", F->name, F->tall ? height : width);
    }
    memcpy(shape->name, name, sizeof shape->name);
    shape->name[sizeof shape->name - 1] = '\0';
}

/* Reads one to five digits; a longer number is out of range. */
static bool parse_size(const char **text, int32_t *value)
{
    int digits = 0;
    for (*value = 0; **text >= '0' && **text <= '9' && digits < 6; digits++)
        *value = *value * 10 + (*(*text)++ - '0');
    return digits > 0 && digits < 6;
}

/* "4x4", "8x4+1", "8x4-1" */
static bool parse_rectangle(const char *text, tess_shape *shape)
{
    if (!parse_size(&text, &shape->height) || *text++ != 'x' || !parse_size(&text, &shape->width))
        return false;
    shape->shift = 0;
    if (*text == '+' || *text == '-') {
        int32_t sign = *text++ == '+' ? 1 : -1;
        if (!parse_size(&text, &shape->shift))
            return false;
        shape->shift *= sign;
    }
    return *text == '\0';
}

static tess_status parse_shape(tess_ctx *ctx, const char *text, tess_shape *shape)
{
    *shape = (tess_shape){.name = ""};
    if (text[0] >= '0' && text[0] <= '9') {
        if (!parse_rectangle(text, shape))
            return tess_fail(ctx, TESS_ERR_OPTION, "fbcsr: '%s' is not a shape HxW, HxW+S or HxW-S",
                             text);
    } else {
        char name[24] = "";
        int32_t length = LENGTH_DEFAULT;
        size_t word = strcspn(text, ":");
        if (word < sizeof name)
            memcpy(name, text, word);
        const char *digits = text[word] ? text + word + 1 : "";
        if (text[word] && (!parse_size(&digits, &length) || *digits))
            return tess_fail(ctx, TESS_ERR_OPTION, "fbcsr: '%s': the length is not a number", text);
        const shape_family *family = NULL;
        for (size_t i = 0; i < FAMILIES && !family; i++)
            if (strcmp(families[i].name, name) == 0)
                family = &families[i];
        if (!family)
            return unknown_shape(ctx, word < sizeof name ? name : text);
        shape->height = family->tall ? length : 1;
        shape->width = family->wide ? length : 1;
        shape->shift = family->shift;
    }
    TESS_TRY(check_shape(ctx, text, shape));
    set_name(shape);
    return TESS_OK;
}

/* "4x4@0.8": a shape, and its threshold where it has one. */
static tess_status parse_item(tess_ctx *ctx, char *word, tess_shape *shape, double *threshold)
{
    char *fill = strchr(word, '@');
    *threshold = TESS_SHAPE_NO_THRESHOLD;
    if (fill) {
        *fill++ = '\0';
        if (!tess_parse_double(fill, threshold) || *threshold < 0 || *threshold > 1)
            return tess_fail(ctx, TESS_ERR_OPTION,
                             "fbcsr: '%s': a threshold of '%s' is not a number in 0..1", word,
                             fill);
    }
    return parse_shape(ctx, word, shape);
}

tess_status tess_shape_list_parse(tess_ctx *ctx, const char *text, tess_shape_list *out)
{
    tess_shape_list L = {.count = 0};
    for (bool more = text && *text && strcmp(text, "auto") != 0; more; L.count++) {
        char word[64];
        size_t length = strcspn(text, ",");
        if (length >= sizeof word)
            return tess_fail(ctx, TESS_ERR_OPTION, "fbcsr: a shape of %zu bytes is too long",
                             length);
        memcpy(word, text, length);
        word[length] = '\0';
        more = text[length] == ',';
        text += length + more;
        if (L.count == TESS_SHAPE_LIST)
            return tess_fail(ctx, TESS_ERR_OPTION, "fbcsr: more than %d shapes", TESS_SHAPE_LIST);
        TESS_TRY(parse_item(ctx, word, &L.shape[L.count], &L.threshold[L.count]));
    }
    *out = L;
    return TESS_OK;
}

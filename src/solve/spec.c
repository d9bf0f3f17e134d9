/* "METHOD:key=value,..." read into options. */
#include "solve/solve.h"

static int count_names(const char *const *names)
{
    int count = 0;
    while (names[count])
        count++;
    return count;
}

static bool is_method(int i)
{
    return i >= 0 && i < count_names(tess_method_names);
}

static bool is_pc(int i)
{
    return i >= 0 && i < count_names(tess_pc_names);
}

const char *tess_solve_method_name(int i)
{
    return is_method(i) ? tess_methods[i]->name : NULL;
}

const char *tess_solve_method_summary(int i)
{
    return is_method(i) ? tess_methods[i]->summary : NULL;
}

const char *tess_solve_pc_name(int i)
{
    return is_pc(i) ? tess_pcs[i]->name : NULL;
}

const char *tess_solve_pc_summary(int i)
{
    return is_pc(i) ? tess_pcs[i]->summary : NULL;
}

int tess_solve_method_traits(int i)
{
    const tess_method *method = is_method(i) ? tess_methods[i] : NULL;
    if (!method)
        return 0;
    return (method->complex ? TESS_SOLVE_COMPLEX : 0) |
           (method->pc && method->pc->complete ? TESS_SOLVE_COMPLETE : 0) |
           (method->symmetric ? TESS_SOLVE_SYMMETRIC : 0) | (method->pc ? TESS_SOLVE_OWN_PC : 0);
}

int tess_solve_pc_traits(int i)
{
    const tess_pc_ops *pc = is_pc(i) ? tess_pcs[i] : NULL;
    if (!pc)
        return 0;
    return (pc->complex ? TESS_SOLVE_COMPLEX : 0) | (pc->complete ? TESS_SOLVE_COMPLETE : 0) |
           (pc->unsymmetric ? TESS_SOLVE_UNSYMMETRIC : 0);
}

static tess_status find_method(tess_ctx *ctx, const char *spec, size_t length,
                               const tess_method **out)
{
    char word[64];
    for (size_t i = 0; tess_methods[i]; i++) {
        if (strlen(tess_method_names[i]) == length &&
            strncmp(spec, tess_method_names[i], length) == 0) {
            *out = tess_methods[i];
            return TESS_OK;
        }
    }
    if (length >= sizeof word)
        length = sizeof word - 1;
    memcpy(word, spec, length);
    word[length] = '\0';
    return tess_fail(ctx, TESS_ERR_OPTION, "unknown method '%s' (%s)", word,
                     tess_suggest(&(tess_suggestion){""}, word, tess_method_names,
                                  (size_t)count_names(tess_method_names)));
}

void tess_name_those(char *text, size_t size, const char *(*name)(int i), bool (*has)(int i))
{
    int left = 0;
    for (int i = 0; name(i); i++)
        left += has(i);
    text[0] = '\0';
    for (int i = 0; name(i); i++) {
        if (!has(i))
            continue;
        left--;
        tess_append(text, size, "%s%s", name(i), left > 1 ? ", " : left == 1 ? " and " : "");
    }
}

static bool is_sided(int i)
{
    return tess_methods[i]->sides == TESS_SIDES_BOTH;
}

static bool is_flexible(int i)
{
    return tess_methods[i]->flexible;
}

static const char *const side_names[] = {"default", "right", "left", NULL};
enum { SIDE_DEFAULT, SIDE_RIGHT, SIDE_LEFT };

static tess_status check_side(tess_ctx *ctx, const tess_method *method, int side)
{
    char sided[TESS_NAMES_MAX];
    if (side == SIDE_DEFAULT || method->sides == TESS_SIDES_BOTH ||
        (side == SIDE_RIGHT && method->sides == TESS_SIDES_RIGHT))
        return TESS_OK;
    tess_name_those(sided, sizeof sided, tess_solve_method_name, is_sided);
    return tess_fail(ctx, TESS_ERR_OPTION, "%s: side=%s: %s; leave side out, or choose one of %s",
                     method->name, side_names[side],
                     method->sides == TESS_SIDES_RIGHT
                         ? "a preconditioner that changes is applied from the right"
                         : "its preconditioner has no side",
                     sided);
}

static tess_status refuse_change(tess_ctx *ctx, const tess_solve_options *options)
{
    char names[TESS_NAMES_MAX];
    tess_name_those(names, sizeof names, tess_solve_method_name, is_flexible);
    return tess_fail(ctx, TESS_ERR_OPTION,
                     "cycle=k differs from one application to the next, which %s%s does not allow: "
                     "try cycle=w, or one of %s",
                     options->method->name, options->left ? " with side=left" : "", names);
}

/* Whether "key,key" has this key. */
static bool has_key(const char *keys, const char *key, size_t length)
{
    while (keys && *keys) {
        const size_t here = strcspn(keys, ",");
        if (here == length && strncmp(keys, key, length) == 0)
            return true;
        keys += here + (keys[here] == ',');
    }
    return false;
}

/* Names the methods and preconditioners that take a key which not all take; "": all take it. */
static void name_takers(const char *key, size_t length, char *text, size_t size)
{
    text[0] = '\0';
    for (int i = 0; is_method(i); i++)
        if (has_key(tess_methods[i]->keys, key, length))
            tess_append(text, size, "%s%s", *text ? ", " : "", tess_methods[i]->name);
    for (int i = 0; is_pc(i); i++)
        if (has_key(tess_pcs[i]->keys, key, length))
            tess_append(text, size, "%spc=%s", *text ? ", " : "", tess_pcs[i]->name);
}

/* Checks that every key is for the method or for the preconditioner. */
static tess_status check_keys(tess_ctx *ctx, const char *keys, const tess_solve_options *options)
{
    const tess_method *method = options->method;
    const tess_pc_ops *pc = options->pc.ops;
    char takers[TESS_NAMES_MAX];
    while (keys && *keys) {
        const size_t word = strcspn(keys, ","), length = strcspn(keys, "=,");
        name_takers(keys, length, takers, sizeof takers);
        if (*takers && !has_key(method->keys, keys, length) && !has_key(pc->keys, keys, length))
            return tess_fail(ctx, TESS_ERR_OPTION,
                             "%s with pc=%s does not take '%.*s', which is for %s: leave it out",
                             method->name, pc->name, (int)length, keys, takers);
        keys += word + (keys[word] == ',');
    }
    return TESS_OK;
}

/* Checks that method, preconditioner and arrangement go together. */
static tess_status check_pc(tess_ctx *ctx, const tess_solve_options *options)
{
    const tess_method *method = options->method;
    const tess_pc_ops *pc = options->pc.ops;
    if (method->pc && method->pc != pc)
        return tess_fail(ctx, TESS_ERR_OPTION, "%s takes pc=%s alone, not pc=%s", method->name,
                         method->pc->name, pc->name);
    if (method->symmetric && pc->unsymmetric)
        return tess_fail(
            ctx, TESS_ERR_OPTION,
            "%s needs a symmetric preconditioner, which pc=%s is not: try pc=ick, or gmres",
            method->name, pc->name);
    if (options->pc.amg.cycle == TESS_CYCLE_K && !options->pc.flexible)
        return refuse_change(ctx, options);
    if (options->scale == TESS_SCALE_MATCH && (method->symmetric || pc->symmetric))
        return tess_fail(ctx, TESS_ERR_OPTION,
                         "scale=match reorders rows alone, and %s%s needs %s: try "
                         "scale=equilibrate",
                         pc->symmetric ? "pc=" : "", pc->symmetric ? pc->name : method->name,
                         pc->takes_modes ? "the diagonal and the modes of A"
                                         : "a symmetric matrix");
    return TESS_OK;
}

/* Parses "auto:key=value,...": the few options that auto does not find by trying. */
static tess_status parse_auto(tess_ctx *ctx, const char *text, tess_solve_options *options)
{
    tess_solve_options read = {.method = &tess_method_gmres,
                               .pc = {.ops = &tess_pc_none},
                               .tol = 1e-8,
                               .max = 100000,
                               .automatic = true,
                               .budget = 60,
                               .memory = 4};
    const tess_option table[] = {
        {"tol", TESS_OPTION_DOUBLE, &read.tol, 0, 1, NULL, 0},
        {"atol", TESS_OPTION_DOUBLE, &read.atol, 0, HUGE_VAL, NULL, 0},
        {"max", TESS_OPTION_INT, &read.max, 0, 1e12, NULL, 0},
        {"budget", TESS_OPTION_DOUBLE, &read.budget, 0, 1e9, NULL, 0},
        {"memory", TESS_OPTION_DOUBLE, &read.memory, 1e-6, 1e6, NULL, 0},
    };
    TESS_TRY(tess_options_parse(ctx, "auto", text, table, sizeof table / sizeof table[0]));
    *options = read;
    return TESS_OK;
}

/* Keys whose values are words. Each is stored as its position in the list of words. */
typedef struct solve_words {
    int pc, pc_type, inner, side;
} solve_words;

static tess_status parse_keys(tess_ctx *ctx, const char *keys, tess_solve_options *read,
                              solve_words *words)
{
    static const char *const precisions[] = {"same", "f32", NULL};
    static const char *const scales[] = {"none", "equilibrate", "match", NULL};
    static const char *const orders[] = {"none", "rcm", "nd", "amd", NULL};
    const tess_option table[] = {
        {"pc", TESS_OPTION_CHOICE, &words->pc, 0, 0, tess_pc_names, 0},
        {"pc_type", TESS_OPTION_CHOICE, &words->pc_type, 0, 0, precisions, 0},
        {"schedule", TESS_OPTION_CHOICE, &read->pc.schedule, 0, 0, tess_pc_schedule_names, 0},
        {"side", TESS_OPTION_CHOICE, &words->side, 0, 0, side_names, 0},
        {"domains", TESS_OPTION_INT, &read->pc.domains, 0, 65536, NULL, 0},
        {"omega", TESS_OPTION_DOUBLE, &read->pc.omega, 0.01, 1.99, NULL, 0},
        {"levels", TESS_OPTION_INT, &read->pc.levels, 0, 1000, NULL, 0},
        {"drop", TESS_OPTION_DOUBLE, &read->pc.drop, 0, 1, NULL, 0},
        {"fill", TESS_OPTION_DOUBLE, &read->pc.fill, 0, 1e9, NULL, 0},
        {"strength", TESS_OPTION_DOUBLE, &read->pc.amg.strength, 0, 1, NULL, 0},
        {"degree", TESS_OPTION_INT, &read->pc.amg.degree, 1, 10, NULL, 0},
        {"cycle", TESS_OPTION_CHOICE, &read->pc.amg.cycle, 0, 0, tess_amg_cycle_names, 0},
        {"smoother", TESS_OPTION_CHOICE, &read->pc.amg.smoother, 0, 0, tess_amg_smoother_names, 0},
        {"prolongator", TESS_OPTION_CHOICE, &read->pc.amg.prolongator, 0, 0,
         tess_amg_prolongator_names, 0},
        {"bottom", TESS_OPTION_INT, &read->pc.amg.bottom, 1, 10000, NULL, 0},
        {"pivot", TESS_OPTION_DOUBLE, &read->pc.pivot, 0, 1, NULL, 0},
        {"scale", TESS_OPTION_CHOICE, &read->scale, 0, 0, scales, 0},
        {"order", TESS_OPTION_CHOICE, &read->order, 0, 0, orders, 0},
        {"tol", TESS_OPTION_DOUBLE, &read->tol, 0, 1, NULL, 0},
        {"atol", TESS_OPTION_DOUBLE, &read->atol, 0, HUGE_VAL, NULL, 0},
        {"max", TESS_OPTION_INT, &read->max, 0, 1e12, NULL, 0},
        {"restart", TESS_OPTION_INT, &read->restart, 2, 500, NULL, 0},
        {"deflate", TESS_OPTION_INT, &read->deflate, 1, 100, NULL, 0},
        {"stagnation", TESS_OPTION_INT, &read->stagnation, 0, 1e12, NULL, 0},
        {"inner", TESS_OPTION_CHOICE, &words->inner, 0, 0, precisions, 0},
    };
    return tess_options_parse(ctx, read->method->name, keys, table, sizeof table / sizeof *table);
}

tess_status tess_solve_options_parse(tess_ctx *ctx, const char *spec, tess_solve_options *options)
{
    size_t length = strcspn(spec, ":");
    tess_solve_options read = {
        .pc = {.omega = 1, .levels = 1, .drop = 1e-4, .fill = 10, .amg = {.strength = 0.2}},
        .tol = 1e-8,
        .max = 10000,
        .restart = 30,
        .deflate = 4};
    const char *keys = spec[length] ? spec + length + 1 : NULL;
    solve_words words = {.pc = -1, .side = SIDE_DEFAULT};
    if (length == 4 && strncmp(spec, "auto", length) == 0)
        return parse_auto(ctx, keys, options);
    TESS_TRY(find_method(ctx, spec, length, &read.method));
    TESS_TRY(parse_keys(ctx, keys, &read, &words));
    if (read.method->deflates && 2 * read.deflate > read.restart)
        return tess_fail(ctx, TESS_ERR_OPTION,
                         "deflate=%lld is more than half of restart=%lld: make one smaller, or the "
                         "other larger",
                         (long long)read.deflate, (long long)read.restart);
    TESS_TRY(check_side(ctx, read.method, words.side));
    read.left = words.side == SIDE_LEFT;
    read.pc.ops = words.pc >= 0     ? tess_pcs[words.pc]
                  : read.method->pc ? read.method->pc
                                    : &tess_pc_none;
    read.pc.flexible = read.method->flexible && !read.left;
    TESS_TRY(check_pc(ctx, &read));
    TESS_TRY(check_keys(ctx, keys, &read));
    read.pc.transpose = read.method->transpose;
    read.pc.positive = read.method->symmetric;
    read.pc.magnitude = read.method->symmetric && !read.method->positive_definite;
    read.pc.single = words.pc_type == 1;
    read.inner_single = words.inner == 1;
    *options = read;
    return TESS_OK;
}

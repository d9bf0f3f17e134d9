/* "METHOD:key=value,..." read into options. */
#include <math.h>
#include <string.h>

#include "solve/solve.h"

static const tess_method *const methods[] = {
    &tess_method_cg,       &tess_method_cg_single, &tess_method_bicg,
    &tess_method_bicgstab, &tess_method_gmres,     &tess_method_fgmres,
};
enum { METHODS = sizeof methods / sizeof methods[0] };

static tess_status find_method(tess_ctx *ctx, const char *spec, size_t length,
                               const tess_method **out)
{
    const char *names[METHODS];
    char word[64];
    for (size_t i = 0; i < METHODS; i++) {
        names[i] = methods[i]->name;
        if (strlen(names[i]) == length && strncmp(spec, names[i], length) == 0) {
            *out = methods[i];
            return TESS_OK;
        }
    }
    if (length >= sizeof word)
        length = sizeof word - 1;
    memcpy(word, spec, length);
    word[length] = '\0';
    return tess_fail(ctx, TESS_ERR_OPTION, "unknown method '%s' (%s)", word,
                     tess_suggest(&(tess_suggestion){""}, word, names, METHODS));
}

tess_status tess_solve_options_parse(tess_ctx *ctx, const char *spec, tess_solve_options *options)
{
    static const char *const precisions[] = {"same", "f32", NULL};
    static const char *const sides[] = {"default", "right", "left", NULL};
    enum { SIDE_DEFAULT, SIDE_RIGHT, SIDE_LEFT };
    size_t length = strcspn(spec, ":");
    tess_solve_options read = {.pc = {.omega = 1}, .tol = 1e-8, .max = 10000, .restart = 30};
    int pc_type = 0, inner = 0, side = SIDE_DEFAULT;
    const tess_option table[] = {
        {"pc", TESS_OPTION_CHOICE, &read.pc.kind, 0, 0, tess_pc_names, 0},
        {"pc_type", TESS_OPTION_CHOICE, &pc_type, 0, 0, precisions, 0},
        {"schedule", TESS_OPTION_CHOICE, &read.pc.schedule, 0, 0, tess_pc_schedule_names, 0},
        {"side", TESS_OPTION_CHOICE, &side, 0, 0, sides, 0},
        {"domains", TESS_OPTION_INT, &read.pc.domains, 0, 65536, NULL, 0},
        {"omega", TESS_OPTION_DOUBLE, &read.pc.omega, 0.01, 1.99, NULL, 0},
        {"tol", TESS_OPTION_DOUBLE, &read.tol, 0, 1, NULL, 0},
        {"atol", TESS_OPTION_DOUBLE, &read.atol, 0, HUGE_VAL, NULL, 0},
        {"max", TESS_OPTION_INT, &read.max, 0, 1e12, NULL, 0},
        {"restart", TESS_OPTION_INT, &read.restart, 2, 500, NULL, 0},
        {"stagnation", TESS_OPTION_INT, &read.stagnation, 0, 1e12, NULL, 0},
        {"inner", TESS_OPTION_CHOICE, &inner, 0, 0, precisions, 0},
    };
    TESS_TRY(find_method(ctx, spec, length, &read.method));
    TESS_TRY(tess_options_parse(ctx, read.method->name, spec[length] ? spec + length + 1 : NULL,
                                table, sizeof table / sizeof table[0]));
    read.pc.transpose = read.method == &tess_method_bicg;
    read.pc.positive = read.method == &tess_method_cg || read.method == &tess_method_cg_single;
    if (side != SIDE_DEFAULT && !read.method->sides &&
        (side == SIDE_LEFT || read.method != &tess_method_fgmres))
        return tess_fail(ctx, TESS_ERR_OPTION, "%s: side=%s: %s; bicgstab and gmres have sides",
                         read.method->name, sides[side],
                         read.method == &tess_method_fgmres
                             ? "a preconditioner that changes is applied from the right"
                             : "its preconditioner has no side");
    read.left = side == SIDE_LEFT;
    read.pc.single = pc_type == 1;
    read.inner_single = inner == 1;
    *options = read;
    return TESS_OK;
}

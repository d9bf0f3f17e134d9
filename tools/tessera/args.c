/* Command lines: "--name value", "--name=value", "-v", "-o FILE", operands in any order, "--" ends
 * options. */
#include <string.h>
#include <sys/stat.h>

#include "command.h"

enum { OPTIONS_MAX = 64 };

static const cli_option help_option = {
    "help", OPTION_FLAG, offsetof(common_args, help), NULL, "say what this command does", 0, 0};
static const cli_option always[] = {
    {"json", OPTION_FLAG, offsetof(common_args, json), NULL, "print JSON for programs", 0, 0},
    {"threads", OPTION_INT, offsetof(common_args, threads), "N",
     "use N threads (default: all cores)", 1, TESS_THREADS_MAX},
    {"verbose", OPTION_FLAG, offsetof(common_args, verbose), NULL,
     "say on stderr what the library decides (also -v)", 0, 0},
};
static const cli_option device_option = {
    "device",
    OPTION_TEXT,
    offsetof(common_args, device),
    "D",
    "run on D: cpu, cpu:4, cuda:1, auto, ref; parts: cpu:4,4 (default: cpu)",
    0,
    0};
static const cli_option type_option = {
    "type",
    OPTION_TYPE,
    offsetof(common_args, type),
    "f64|f32|c64|c32",
    "store values in this type; c64, c32: complex, pairs of f64 or f32",
    0,
    0};
static const cli_option block_option = {
    "block",
    OPTION_BLOCK,
    offsetof(common_args, block),
    "B|RxC|auto",
    "store blocks of this size; auto (a file's default): as `info` recommends",
    0,
    0};

static const cli_option kernel_options[] = {
    {"format", OPTION_TEXT, offsetof(common_args, format), "NAME",
     "run on this storage format (default: the fastest)", 0, 0},
    {"kernel", OPTION_TEXT, offsetof(common_args, kernel), "NAME",
     "run this kernel, as `bench` names it", 0, 0},
    {"params", OPTION_TEXT, offsetof(common_args, params), "LIST",
     "the kernel's parameters, as `bench` prints them", 0, 0},
    {"form", OPTION_TEXT, offsetof(common_args, form), "NAME",
     "how several parts multiply: halo (default), whole, shuffle[:lambda=N]", 0, 0},
    {"regroup", OPTION_TEXT, offsetof(common_args, regroup), "auto|on|off",
     "permute inside, so that hidden blocks appear (default: where it pays)", 0, 0},
};

const cli_option *args_common_option(const cli_command *command, size_t index)
{
    const cli_option *list[OPTIONS_MAX];
    size_t count = 0;
    if (command->uses & USES_SOLVER)
        for (size_t i = 0; i < solver_option_count; i++)
            list[count++] = &solver_options[i];
    if (command->uses & USES_DEVICE)
        list[count++] = &device_option;
    if (command->uses & USES_TYPE)
        list[count++] = &type_option;
    if (command->uses & USES_BLOCK)
        list[count++] = &block_option;
    const size_t kernel_count = sizeof kernel_options / sizeof kernel_options[0];
    for (size_t i = 0; i < kernel_count && (command->uses & USES_KERNEL); i++)
        list[count++] = &kernel_options[i];
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        list[count++] = &always[i];
    list[count++] = &help_option;
    return index < count ? list[index] : NULL;
}

/* All options of a command, its own first; returns their number. */
static size_t all_options(const cli_command *command, const cli_option **list)
{
    size_t count = 0;
    for (size_t i = 0; i < command->option_count && count < OPTIONS_MAX; i++)
        list[count++] = &command->options[i];
    const cli_option *shared;
    for (size_t i = 0; (shared = args_common_option(command, i)) && count < OPTIONS_MAX; i++)
        list[count++] = shared;
    return count;
}

static bool bad(cli_app *app, const char *name, const char *value, const char *expected)
{
    fail(app, EXIT_USAGE, "--%s: '%s' is not %s", name, value, expected);
    return false;
}

static bool parse_block(cli_app *app, const char *name, const char *value, block_choice *block)
{
    static const char *const expected = "a block size such as 3, 2x4 or auto";
    block->given = true;
    block->rows = block->cols = 0;
    if (strcmp(value, "auto") == 0)
        return true;
    char text[32];
    int64_t rows, cols;
    if (strlen(value) >= sizeof text)
        return bad(app, name, value, expected);
    strcpy(text, value);
    char *x = strchr(text, 'x');
    if (x)
        *x = '\0';
    if (!parse_int(text, &rows) || !parse_int(x ? x + 1 : text, &cols) || rows < 1 || cols < 1 ||
        rows > 32768 || cols > 32768)
        return bad(app, name, value, expected);
    block->rows = (int32_t)rows;
    block->cols = (int32_t)cols;
    return true;
}

static bool needs_value(cli_app *app, const cli_option *option)
{
    fail(app, EXIT_USAGE, "--%s needs a value: --%s %s", option->name, option->name,
         option->argument);
    return false;
}

/* An integer or a real number between the option's limits. */
static bool parse_number(cli_app *app, const cli_option *option, const char *value, void *target)
{
    const bool integral = option->kind == OPTION_INT;
    const long long min = option->min, max = option->max;
    if (integral ? !parse_int(value, target) : !parse_real(value, target)) {
        fail(app, EXIT_USAGE, "--%s: '%s' is not %s in %lld..%lld", option->name, value,
             integral ? "an integer" : "a number", min, max);
        return false;
    }
    const double number = integral ? (double)*(int64_t *)target : *(double *)target;
    if (!integral && number == 0 && min == 0) { /* it stands for a number that was not given */
        fail(app, EXIT_USAGE, "--%s: 0 is not more than 0: leave it out for the default",
             option->name);
        return false;
    }
    if (number >= (double)min && number <= (double)max)
        return true;
    fail(app, EXIT_USAGE, "--%s: %s is outside %lld..%lld", option->name, value, min, max);
    return false;
}

static bool parse_value(cli_app *app, const cli_option *option, const char *value, char *args)
{
    void *target = args + option->offset;
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)target = true;
        return true;
    case OPTION_TEXT:
    case OPTION_OUTPUT:
        *(const char **)target = value;
        return *value || needs_value(app, option); /* "": an unset variable of a script */
    case OPTION_INT:
    case OPTION_REAL:
        return parse_number(app, option, value, target);
    case OPTION_TYPE:
        ((type_choice *)target)->given = true;
        return parse_type(value, &((type_choice *)target)->type) ||
               bad(app, option->name, value, "f64, f32, c64 or c32");
    case OPTION_BLOCK:
        return parse_block(app, option->name, value, target);
    }
    return false;
}

static bool unknown_option(cli_app *app, const char *word, const cli_option **list, size_t count)
{
    const char *names[OPTIONS_MAX];
    for (size_t i = 0; i < count; i++)
        names[i] = list[i]->name;
    size_t dashes = strspn(word, "-");
    const char *nearest = tess_nearest(word + dashes, names, count);
    if (nearest)
        fail(app, EXIT_USAGE, "%s: unknown option '%s' (nearest: '--%s')", app->command->name, word,
             nearest);
    else
        fail(app, EXIT_USAGE, "%s: unknown option '%s'; 'tessera help %s' lists them",
             app->command->name, word, app->command->name);
    return false;
}

/* Parses the option at argv[*at] and steps over its value. given[i]: option i was there. */
static bool parse_option(cli_app *app, const cli_option **list, size_t count, int argc, char **argv,
                         int *at, char *args, bool *given)
{
    const char *word = argv[*at];
    if (strcmp(word, "-v") == 0)
        word = "--verbose";
    if (strcmp(word, "-h") == 0)
        word = "--help";
    if (strcmp(word, "-o") == 0)
        word = "--out";
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    for (size_t i = 0; i < count; i++) {
        const cli_option *option = list[i];
        if (strlen(option->name) + 2 != length || strncmp(word, "--", 2) != 0 ||
            strncmp(word + 2, option->name, length - 2) != 0)
            continue;
        if (option->kind == OPTION_FLAG && equals) {
            fail(app, EXIT_USAGE, "--%s takes no value: leave out '%s'", option->name, equals);
            return false;
        }
        const char *value = equals ? equals + 1 : NULL;
        if (option->kind != OPTION_FLAG && !value) {
            if (*at + 1 >= argc)
                return needs_value(app, option);
            value = argv[++*at];
        }
        given[i] = true;
        return parse_value(app, option, value, args);
    }
    return unknown_option(app, word, list, count);
}

/* The first option of "NAME,NAME" that was given; NULL: none was. */
static const char *first_given(const char *names, const cli_option **list, size_t count,
                               const bool *given)
{
    for (size_t length; (length = strcspn(names, ",")) > 0;
         names += length + (names[length] == ',')) {
        for (size_t i = 0; i < count; i++)
            if (given[i] && strlen(list[i]->name) == length &&
                strncmp(names, list[i]->name, length) == 0)
                return list[i]->name;
    }
    return NULL;
}

/* "--devices or --map" of "devices,map" */
static const char *with_dashes(const char *names, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "--");
    for (; *names && used < size; names++)
        used += (size_t)snprintf(text + used, size - used, *names == ',' ? " or --" : "%c", *names);
    return text;
}

/* Whether every option that was given does something beside the others. */
static bool check_rules(cli_app *app, const cli_option **list, size_t count, const bool *given)
{
    char names[128];
    for (const cli_rule *rule = app->command->rules; rule && rule->options; rule++) {
        const char *idle = first_given(rule->options, list, count, given);
        const char *other = first_given(rule->others, list, count, given);
        if (!idle || !other != (rule->when == WITHOUT))
            continue;
        if (other)
            fail(app, EXIT_USAGE, "%s: --%s does nothing with --%s: leave one out",
                 app->command->name, idle, other);
        else
            fail(app, EXIT_USAGE, "%s: --%s does nothing without %s", app->command->name, idle,
                 with_dashes(rule->others, names, sizeof names));
        return false;
    }
    return true;
}

bool args_parse(cli_app *app, const cli_command *command, int argc, char **argv, void *args)
{
    const cli_option *list[OPTIONS_MAX];
    size_t count = all_options(command, list);
    common_args *common = args;
    bool options = true, given[OPTIONS_MAX] = {false};
    for (int i = 0; i < argc; i++) {
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && argv[i][0] == '-' && argv[i][1]) {
            if (!parse_option(app, list, count, argc, argv, &i, args, given))
                return false;
        } else if (common->operand_count >= command->max_operands) {
            fail(app, EXIT_USAGE, "%s: '%s' is one operand too many; usage: tessera %s%s%s",
                 command->name, argv[i], command->name, *command->operands ? " " : "",
                 command->operands);
            return false;
        } else if (!argv[i][0]) {
            fail(app, EXIT_USAGE, "%s: an operand is empty; usage: tessera %s %s", command->name,
                 command->name, command->operands);
            return false;
        } else {
            common->operands[common->operand_count++] = argv[i];
        }
    }
    if (!common->help && common->operand_count < command->min_operands) {
        fail(app, EXIT_USAGE, "%s: an operand is missing; usage: tessera %s %s", command->name,
             command->name, command->operands);
        return false;
    }
    return common->help || check_rules(app, list, count, given);
}

/* A file that is written twice would have the second output alone, and standard output both in one.
 * A device, such as /dev/null, may have the same name twice. */
static int check_apart(cli_app *app, const char *const *paths, size_t count)
{
    struct stat file;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i && paths[i]; k++)
            if (paths[k] && strcmp(paths[i], paths[k]) == 0 &&
                (stat(paths[i], &file) != 0 || S_ISREG(file.st_mode)))
                return fail(app, EXIT_USAGE,
                            "%s: two outputs cannot both be '%s': name another file",
                            app->command->name, paths[i]);
    return EXIT_DONE;
}

int args_check_outputs(cli_app *app, const cli_command *command, const void *args)
{
    const common_args *common = args;
    const cli_option *list[OPTIONS_MAX];
    const size_t count = all_options(command, list);
    const char *paths[OPTIONS_MAX + 1] = {NULL};
    for (size_t i = 0; i < count; i++)
        if (list[i]->kind == OPTION_OUTPUT)
            paths[i] = *(const char *const *)((const char *)args + list[i]->offset);
    if (command->output_operand > 0)
        paths[count] = common->operands[command->output_operand - 1];
    TRY_EXIT(check_apart(app, paths, count + 1));
    for (size_t i = 0; i <= count; i++) {
        output_divert(app, paths[i]);
        TRY_EXIT(output_check(app, paths[i]));
    }
    return EXIT_DONE;
}

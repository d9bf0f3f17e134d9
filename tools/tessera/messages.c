/* Failures in one sentence, and numbers as people read them. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

int fail(cli_app *app, int exit_status, const char *format, ...)
{
    terminal_clear_progress(app);
    va_list arguments;
    va_start(arguments, format);
    fputs("tessera: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return exit_status;
}

/* The library's sentences speak to programs. Here they name what a user of the command can do. */
static const struct {
    const char *library, *command;
} words[] = {
    {"TESS_REGROUP_OFF", "--regroup off"},
    {"TESS_REGROUP_ON", "--regroup on"},
    {"tess_solver_set_coordinates", "--coordinates"},
    {"tess_solver_set_modes", "--modes"},
    {"tess_predict: ", ""},
    {"tess_predict takes", "predict takes"},
    {"tess_calibrate takes", "calibrate takes"},
    {"make it so by tess_matrix_real_part, which drops imaginary parts",
     "a matrix can be made real only where all imaginary parts are 0"},
    {"tess_ctx_set_wisdom(ctx, TESS_WISDOM_MEMORY, NULL) keeps it in the context",
     "TESSERA_WISDOM names its file"},
};

static void put_sentence(const char *sentence)
{
    while (*sentence) {
        size_t i = 0, length = 1;
        while (i < sizeof words / sizeof *words &&
               strncmp(sentence, words[i].library, strlen(words[i].library)) != 0)
            i++;
        if (i < sizeof words / sizeof *words) {
            fputs(words[i].command, stderr);
            length = strlen(words[i].library);
        } else {
            fputc(*sentence, stderr);
        }
        sentence += length;
    }
}

int fail_status(cli_app *app, tess_status status)
{
    const char *sentence = tess_ctx_error(app->ctx);
    bool ours =
        status == TESS_ERR_MEMORY || status == TESS_ERR_CANCELLED || status == TESS_ERR_INTERNAL;
    terminal_clear_progress(app);
    fputs("tessera: ", stderr);
    put_sentence(*sentence ? sentence : tess_status_text(status));
    fputc('\n', stderr);
    return ours ? EXIT_FAILED : EXIT_USAGE;
}

int fail_memory(cli_app *app)
{
    return fail(app, EXIT_FAILED, "out of memory: take a smaller problem, or --type f32");
}

int finish_output(cli_app *app, int exit_status)
{
    errno = 0;
    bool failed = fflush(stdout) != 0 || ferror(stdout);
    app->reader_gone = app->reader_gone || (failed && terminal_pipe_closed());
    if (failed && exit_status == EXIT_DONE)
        return app->reader_gone ? EXIT_FAILED
                                : fail(app, EXIT_FAILED, "cannot write standard output: %s",
                                       errno ? strerror(errno) : "an earlier write failed");
    return exit_status;
}

const char *text_count(int64_t value, char *buffer)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)value);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && digits[i - 1] != '-' && (length - i) % 3 == 0)
            buffer[at++] = ' ';
        buffer[at++] = digits[i];
    }
    buffer[at] = '\0';
    return buffer;
}

/* Three significant digits with a unit from `units`, 1000 apart, starting at `value`'s own unit. */
static const char *with_unit(double value, const char *const *units, size_t count, char *buffer)
{
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < count) {
        value /= 1000;
        unit++;
    }
    int decimals = value >= 99.95 || (unit == 0 && value == floor(value)) ? 0
                   : value >= 9.995                                       ? 1
                                                                          : 2;
    snprintf(buffer, TEXT_MAX, "%.*f %s", decimals, value, units[unit]);
    return buffer;
}

const char *text_bytes(double bytes, char *buffer)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    return with_unit(bytes, units, sizeof units / sizeof units[0], buffer);
}

const char *text_flops(double flops, char *buffer)
{
    static const char *const units[] = {"flop", "kflop", "Mflop", "Gflop", "Tflop"};
    return with_unit(flops, units, sizeof units / sizeof units[0], buffer);
}

const char *text_seconds(double seconds, char *buffer)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    return with_unit(seconds * 1e9, units, sizeof units / sizeof units[0], buffer);
}

const char *text_kernel(const char *format, const char *kernel, const char *params, char *buffer)
{
    snprintf(buffer, NAME_MAX_LENGTH, "%s%s%s%s%s", format, *format && *kernel ? " " : "", kernel,
             *params && (*format || *kernel) ? " " : "", params);
    return buffer;
}

int name_column(int width, const char *name)
{
    enum { NARROW = 40, WIDE = 56 };
    int length = (int)strlen(name);
    width = greater(width, NARROW);
    return length > width && length <= WIDE ? length : width;
}

void print_name(char mark, int width, const char *name)
{
    if ((int)strlen(name) > width)
        printf("%c %s\n  %*s ", mark, name, width, "");
    else
        printf("%c %-*s ", mark, width, name);
}

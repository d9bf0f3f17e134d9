/* What depends on a terminal: colours on stdout, the progress line on stderr.
 *
 * Colours: stdout is a terminal, NO_COLOR is unset or empty (no-color.org), TERM is not "dumb".
 * Progress: stderr is a terminal, and the run has lasted for a second. */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command.h"

/* Whether the locale's character set is UTF-8, by the order of precedence of POSIX. */
static bool utf8_locale(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

void terminal_open(cli_app *app)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool smart = term && strcmp(term, "dumb") != 0;
    app->colour = isatty(STDOUT_FILENO) && smart && !(no_color && *no_color);
    app->unicode = utf8_locale();
    app->live = isatty(STDERR_FILENO) && smart;
}

/* The columns of the terminal on stderr. */
static int columns(void)
{
    enum { USUAL = 80 };
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : USUAL;
}

void terminal_show_progress(cli_app *app, const char *format, ...)
{
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\r\033[K%.*s", columns() - 1, line);
    fflush(stderr);
    app->progress_shown = true;
}

int terminal_progress(void *user, const char *what, double fraction)
{
    cli_app *app = user;
    if (seconds_now() - app->started < 1.0)
        return 0;
    if (fraction >= 0)
        terminal_show_progress(app, "%s %3.0f %%", what, 100 * lesser(fraction, 1.0));
    else
        terminal_show_progress(app, "%s ...", what);
    return 0;
}

void terminal_clear_progress(cli_app *app)
{
    if (app->progress_shown)
        fputs("\r\033[K", stderr);
    app->progress_shown = false;
}

void terminal_log(void *user, const char *line)
{
    terminal_clear_progress(user);
    fprintf(stderr, "%s\n", line);
}

void terminal_hear(void *user, const char *line)
{
    cli_app *app = user;
    const bool about = strncmp(line, "wisdom: ", 8) == 0 || strncmp(line, "model: ", 7) == 0;
    if (app->verbose)
        terminal_log(user, line);
    if (app->verbose || !app->notes || !about ||
        strncmp(line, app->noted, sizeof app->noted - 1) == 0)
        return;
    snprintf(app->noted, sizeof app->noted, "%s", line);
    terminal_log(user, line);
}

void terminal_show_notes(cli_app *app)
{
    app->notes = true;
}

const char *bold(const cli_app *app)
{
    return app->colour ? "\033[1m" : "";
}

const char *dim(const cli_app *app)
{
    return app->colour ? "\033[2m" : "";
}

const char *green(const cli_app *app)
{
    return app->colour ? "\033[32m" : "";
}

const char *red(const cli_app *app)
{
    return app->colour ? "\033[31m" : "";
}

const char *plain(const cli_app *app)
{
    return app->colour ? "\033[0m" : "";
}

/* ---- Ctrl-C: work stops at the next progress call and keeps its best ---- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

bool terminal_interrupted(void)
{
    return interrupted != 0;
}

static int progress(void *user, const char *what, double fraction)
{
    const cli_app *app = user;
    if (app->live)
        (void)terminal_progress(user, what, fraction);
    return interrupted;
}

void terminal_catch_interrupts(cli_app *app)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    tess_ctx_set_progress(app->ctx, progress, app);
}

void terminal_end_interrupts(cli_app *app)
{
    tess_ctx_set_progress(app->ctx, app->live ? terminal_progress : NULL, app);
}

/* ---- Pipes ---- */

static volatile sig_atomic_t pipe_closed;

static void on_pipe(int number)
{
    (void)number;
    pipe_closed = 1;
}

void terminal_catch_pipe(void)
{
    struct sigaction action = {.sa_handler = on_pipe, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGPIPE, &action, NULL);
}

bool terminal_pipe_closed(void)
{
    return pipe_closed != 0;
}

void terminal_end_by_pipe(void)
{
    (void)signal(SIGPIPE, SIG_DFL);
    (void)raise(SIGPIPE);
}

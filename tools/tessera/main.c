/* The command: finds the subcommand, reads its options, runs it. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

/* One line per command, here and in the table below, whose order is that of `tessera help`. */
extern const cli_command command_info;
extern const cli_command command_spmv;
extern const cli_command command_solve;
extern const cli_command command_report;
extern const cli_command command_bench;
extern const cli_command command_tune;
extern const cli_command command_calibrate;
extern const cli_command command_predict;
extern const cli_command command_convert;
extern const cli_command command_generate;
extern const cli_command command_devices;
extern const cli_command command_cache;

const cli_command *const commands[] = {
    &command_info,    &command_spmv,     &command_solve,     &command_report,
    &command_bench,   &command_tune,     &command_calibrate, &command_predict,
    &command_convert, &command_generate, &command_devices,   &command_cache,
};
const size_t command_count = sizeof commands / sizeof commands[0];

/* Whether the user named a wisdom file, whose faults are then shown. */
static bool wisdom_named(void)
{
    const char *named = getenv("TESSERA_WISDOM");
    return named && *named && strcmp(named, "off") != 0;
}

static int run_command(cli_app *app, const cli_command *command, int argc, char **argv)
{
    common_args *args = calloc(1, command->args_size);
    if (!args)
        return fail(app, EXIT_FAILED, "no memory for the arguments");
    int exit_status = EXIT_USAGE;
    app->command = command;
    if (args_parse(app, command, argc, argv, args)) {
        if (args->help) {
            help_command(app, command);
            exit_status = EXIT_DONE;
        } else {
            tess_ctx_options options = {.threads = (int)args->threads,
                                        .progress = app->live ? terminal_progress : NULL,
                                        .progress_user = app,
                                        .log = terminal_hear,
                                        .log_user = app};
            app->started = seconds_now();
            app->verbose = args->verbose;
            app->notes = wisdom_named();
            tess_status status = tess_ctx_create(&options, &app->ctx);
            exit_status = status == TESS_OK ? args_check_outputs(app, command, args)
                                            : fail_status(app, status);
            if (exit_status == EXIT_DONE)
                exit_status = command->run(app, args);
            terminal_clear_progress(app);
            tess_ctx_destroy(app->ctx);
            app->ctx = NULL;
        }
    }
    free(args);
    return exit_status;
}

static int dispatch(cli_app *app, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "help";
    if (argc <= 1) {
        help_overview();
        return EXIT_USAGE;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
        if (argc > 2)
            return fail(app, EXIT_USAGE, "%s takes nothing more: leave out '%s'", name, argv[2]);
        printf("tessera %s\n", tess_version());
        return EXIT_DONE;
    }
    if (is_help(name))
        return help_run(app, argc - 2, argv + 2);
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(name, commands[i]->name) == 0)
            return run_command(app, commands[i], argc - 2, argv + 2);
    return unknown_command(app, name);
}

/* Opens /dev/null for standard streams that the caller closed, so that no file opened later takes
 * their numbers. stdout is opened read-only, so that writing to it still fails. */
static void fill_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY) < 0)
            _exit(EXIT_FAILED);
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    cli_app app = {0};
    terminal_open(&app);
    terminal_catch_pipe();
    int exit_status = dispatch(&app, argc, argv);
    exit_status = finish_output(&app, exit_status);
    if (app.reader_gone)
        terminal_end_by_pipe();
    return exit_status;
}

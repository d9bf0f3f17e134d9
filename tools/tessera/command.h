/* The command's framework: what a subcommand is, and what main, help and subcommands share.
 *
 * A subcommand is one file cmd_NAME.c with one constant `cli_command`, named in the table in
 * main.c. Its option table is the only source of its parser, its --help, its part of the man page
 * and its shell completion:
 *
 *     typedef struct spmv_args { common_args common; const char *x; int64_t repeat; } spmv_args;
 *     static const cli_option options[] = {
 *         {"x", OPTION_TEXT, offsetof(spmv_args, x), "FILE", "take x from FILE", 0, 0},
 *     };
 *
 * Results go to stdout, everything else to stderr. The exit status is 0 done, 1 the work failed,
 * 2 bad usage or input; a failure is one sentence on stderr.
 */
#ifndef TESSERA_COMMAND_H
#define TESSERA_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "util.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* ---- Options ---- */

typedef enum option_kind {
    OPTION_FLAG,   /* bool: --json */
    OPTION_TEXT,   /* const char *: --rhs FILE */
    OPTION_OUTPUT, /* const char *: --out FILE, checked before the command runs; "-": stdout */
    OPTION_INT,    /* int64_t in min..max: --threads 4 */
    OPTION_REAL,   /* double in min..max, but not 0: --seconds 0.5 */
    OPTION_TYPE,   /* type_choice: --type f32 */
    OPTION_BLOCK   /* block_choice: --block 3, 2x4, auto */
} option_kind;

typedef struct cli_option {
    const char *name; /* long name without dashes */
    option_kind kind;
    size_t offset;        /* of the target in the command's argument struct */
    const char *argument; /* "FILE" in help; NULL for flags */
    const char *help;     /* one line, no full stop */
    int64_t min, max;     /* OPTION_INT, OPTION_REAL */
} cli_option;

/* Which options do nothing without others, or with others: "reps,seconds" are names of options. */
typedef struct cli_rule {
    const char *options;
    enum { WITHOUT, WITH } when; /* without any of the others; with one of them */
    const char *others;
} cli_rule;

typedef struct type_choice {
    tess_type type;
    bool given;
} type_choice;

typedef struct block_choice {
    int32_t rows, cols; /* 0 x 0: auto */
    bool given;
} block_choice;

enum { OPERANDS_MAX = 8 };

/* First member of every command's argument struct. */
typedef struct common_args {
    bool help, json, verbose;
    int64_t threads;    /* 0: all */
    const char *device; /* NULL: the best there is; only with USES_DEVICE */
    type_choice type;   /* only with USES_TYPE */
    block_choice block; /* only with USES_BLOCK */
    bool as_it_is;      /* without --block a file keeps the blocks it has */
    const char *format, *kernel, *params, *form; /* of the plan; NULL: the library chooses; only
                                                    with USES_KERNEL */
    const char *regroup; /* "auto", "on" or "off"; NULL: auto; only with USES_KERNEL */
    const char *operands[OPERANDS_MAX];
    int operand_count;
} common_args;

/* Which of the shared options a command takes beside --help, --json, --threads and --verbose. */
enum {
    USES_DEVICE = 1,
    USES_TYPE = 2,
    USES_BLOCK = 4,
    USES_SQUARE_BLOCKS = 8,
    USES_SOLVER = 16,
    USES_KERNEL = 32
};

/* ---- Commands ---- */

typedef struct cli_app cli_app;

typedef struct cli_command {
    const char *name;
    const char *operands; /* "INPUT [OUTPUT]" */
    int min_operands, max_operands;
    int output_operand;      /* the number of the operand that is a file to write; 0: none */
    const char *summary;     /* one line, no full stop */
    const char *description; /* sentences; a blank line separates paragraphs */
    const char *examples;    /* command lines, each on a line of its own */
    unsigned uses;
    const cli_option *options;
    size_t option_count;
    const cli_rule *rules; /* the last has no options; NULL: none */
    /* Name number i that an option takes, and a line about it; NULL past the last. For help, man
     * page and completions. */
    const char *(*choices)(const char *option, int i, const char **summary);
    size_t args_size;
    int (*run)(cli_app *app, void *args); /* returns the exit status */
} cli_command;

extern const cli_command *const commands[]; /* in the order of `tessera help` */
extern const size_t command_count;

/* ---- One run of the command ---- */

struct cli_app {
    tess_ctx *ctx;
    const cli_command *command;
    bool colour;         /* stdout is a terminal that may be coloured */
    bool unicode;        /* the locale is UTF-8 */
    bool live;           /* stderr is a terminal: progress may be shown */
    bool progress_shown; /* a progress line is on the screen */
    bool verbose;        /* every line of the library's log is shown */
    bool notes;          /* lines of the log about wisdom and model are shown */
    char noted[256];     /* the last of these that was shown */
    double started;      /* seconds, monotonic: progress waits for one second */
    bool diverted;       /* reports go to stderr, since standard output is for data */
    int data;            /* standard output while it is diverted */
    bool reader_gone;    /* standard output is a pipe that nobody reads any more */
};

/* args.c: parses argv[0..argc-1], the words after the subcommand's name, into args (cleared first).
 * Prints one sentence and returns false on bad usage. */
bool args_parse(cli_app *app, const cli_command *command, int argc, char **argv, void *args);
/* Tries whether all files that the command is to write can be written. If one is standard output,
 * reports go to stderr from here on. Returns the exit status. */
int args_check_outputs(cli_app *app, const cli_command *command, const void *args);
/* The options of USES_SOLVER. Their targets are in solve/run.h. */
extern const cli_option solver_options[];
extern const size_t solver_option_count;
/* The shared options that `command` takes, by index; NULL past the last. */
const cli_option *args_common_option(const cli_command *command, size_t index);

/* help.c */
void help_overview(void);
void help_command(const cli_app *app, const cli_command *command);
int help_run(cli_app *app, int argc, char **argv); /* `tessera help ...` */
bool is_help(const char *word);                    /* help, --help or -h */
/* Says that there is no such command, and which name is the nearest. Returns the exit status. */
int unknown_command(cli_app *app, const char *name);

/* terminal.c */
void terminal_open(cli_app *app);
int terminal_progress(void *user, const char *what, double fraction); /* a tess_progress_fn */
/* Puts the line in the place of the last one on stderr, cut to the width of the terminal: what goes
 * on to another line would stay. */
void terminal_show_progress(cli_app *app, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void terminal_log(void *user, const char *line);
/* A tess_log_fn. Shows the line with --verbose, or if it is a note and notes are shown. */
void terminal_hear(void *user, const char *line);
/* From here on, faults of wisdom and model are shown even without --verbose, each once. For
 * commands that are about wisdom and model. */
void terminal_show_notes(cli_app *app);
void terminal_clear_progress(cli_app *app);
/* From here on Ctrl-C makes progress calls say stop. A second one ends the program as usual. */
void terminal_catch_interrupts(cli_app *app);
bool terminal_interrupted(void);
/* From here on Ctrl-C no longer makes progress calls say stop: results must still be written. */
void terminal_end_interrupts(cli_app *app);
/* From here on a write to a pipe without a reader fails, and does not end the program: results
 * still go to their files. */
void terminal_catch_pipe(void);
/* Whether there was such a write. */
bool terminal_pipe_closed(void);
/* Ends the program as such a write usually does, without a word. */
void terminal_end_by_pipe(void);
/* Escape sequences for stdout, "" when it is not to be coloured. */
const char *bold(const cli_app *app);
const char *dim(const cli_app *app);
const char *green(const cli_app *app);
const char *red(const cli_app *app);
const char *plain(const cli_app *app);

/* messages.c: one sentence on stderr, "tessera: ...", and the exit status to return. */
int fail(cli_app *app, int exit_status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The context's sentence for a failed library call. */
int fail_status(cli_app *app, tess_status status);
int fail_memory(cli_app *app);
/* In a function that returns an exit status: TRY_CALL for a library call, TRY_EXIT for another
 * function that returns an exit status. */
#define TRY_CALL(app, call)                      \
    do {                                         \
        tess_status try_status = (call);         \
        if (try_status != TESS_OK)               \
            return fail_status(app, try_status); \
    } while (0)
#define TRY_EXIT(call)             \
    do {                           \
        int try_exit = (call);     \
        if (try_exit != EXIT_DONE) \
            return try_exit;       \
    } while (0)
/* Flushes stdout. If any write to it has failed (disk full, closed pipe), a good run fails. */
int finish_output(cli_app *app, int exit_status);

/* json.c: an object from "{s:s, s:f, s:{s:i}}" and pairs of a key and a value, as json_pack makes
 * it: s text, i int, I json_int_t, f number, b boolean, o a value that is taken over. A number that
 * is NaN or infinite becomes null. A byte of a text that is not UTF-8 becomes \xNN. NULL: no
 * memory. */
json_t *json_make(const char *format, ...);
json_t *json_text(const char *text);
json_t *json_number(double value);
/* Prints a JSON document and drops the reference. NULL reports that there was no memory. */
int print_json(cli_app *app, json_t *document);

/* Numbers for people. Each writes into the caller's buffer and returns it. */
enum { TEXT_MAX = 40 };
const char *text_count(int64_t value, char *buffer);    /* 1 234 567 */
const char *text_bytes(double bytes, char *buffer);     /* 12.3 MB */
const char *text_flops(double flops, char *buffer);     /* 12.3 Mflop */
const char *text_seconds(double seconds, char *buffer); /* 3.21 ms */

/* "sliced sliced C=32,depth=4": a kernel as tables name it, in the caller's buffer. */
enum { NAME_MAX_LENGTH = 320 };
const char *text_kernel(const char *format, const char *kernel, const char *params, char *buffer);
/* The width of a column that also holds this name, unless the name is too long for any column. */
int name_column(int width, const char *name);
/* A row's mark and name; a name too long for the column has a line of its own. */
void print_name(char mark, int width, const char *name);

/* input.c: the matrix INPUT names, a file or "gen:...", in the type and blocking that were asked
 * for. Without --block a Matrix Market file gets the blocks that `info` recommends (with
 * USES_SQUARE_BLOCKS 1 x 1 where these are not square); .tess files and generated problems keep
 * theirs. On failure prints a message, returns NULL and sets *exit_status. */
tess_matrix *input_matrix(cli_app *app, const common_args *common, const char *input,
                          int *exit_status);
/* The same, with the right-hand side of a generated problem in *rhs (free). For other inputs *rhs
 * is left untouched. */
tess_matrix *input_system(cli_app *app, const common_args *common, const char *input, void **rhs,
                          int *exit_status);
/* Reads the numbers of a file (free), whatever their count. */
int input_numbers(cli_app *app, const char *path, tess_type type, int64_t *count, void **out);
/* Reads a vector of `expected` scalars from a file (free). The matrix has as many `what`, such as
 * "rows", which the message of a failure names. */
int input_vector(cli_app *app, const char *path, tess_type type, int64_t expected, const char *what,
                 void **out);
/* The device of --device, else "cpu"; "auto" is chosen for A. NULL and *exit_status as
 * above. */
tess_device *open_device_for(cli_app *app, const common_args *common, const tess_matrix *A,
                             int *exit_status);
tess_device *open_device(cli_app *app, const common_args *common, int *exit_status);

/* A plan of A with what --format, --kernel, --params, --form and --regroup say. */
int create_plan(cli_app *app, const common_args *common, const tess_matrix *A, tess_device *device,
                tess_plan **out);

/* What the library tells about a device, and about a plan. */
tess_device_info device_info(const tess_device *device);
tess_plan_info plan_info(const tess_plan *plan);
/* Adds the plan's regrouping to a JSON object, if the plan has one. */
json_t *with_regrouping(const tess_plan_info *plan, json_t *object);

/* output.c: returns EXIT_DONE when a file of this name can be written, or path is NULL. Otherwise
 * prints a message and returns the exit status. */
int output_check(cli_app *app, const char *path);
/* The same of a vector of this type, which not every kind of file holds. */
int output_check_vector(cli_app *app, tess_type type, const char *path);
/* If the data go to standard output (path "-"), reports go to stderr from here on. */
void output_divert(cli_app *app, const char *path);

/* output.c: writes a matrix, and prints a line or JSON about the file; or writes a vector. Returns
 * the exit status. */
int output_matrix(cli_app *app, const tess_matrix *A, const char *path, bool symmetric, bool json);
int output_vector(cli_app *app, tess_type type, int64_t count, const void *values,
                  const char *path);
/* "45 000 x 45 000, 372 100 blocks of 3 x 3, f64", no newline. */
void print_matrix_line(const tess_matrix *A);

/* A text that is made in memory and then written; "-" is stdout. */
typedef struct text_output {
    FILE *file; /* where to write; NULL: no memory */
    char *text;
    size_t size;
} text_output;
void output_begin(text_output *output);
/* Ends the text and writes it to `path`. Returns the exit status. */
int output_end(cli_app *app, text_output *output, const char *path);

/* verify.c: how far y is from A x, by the reference backend. */
typedef struct verdict {
    double relative;    /* the largest |y - ref| / (|A||x|) of a row */
    double bound;       /* allowed by rounding: 2 (n + 2) eps, n the longest row in scalars */
    int64_t row;        /* the row of the largest error; -1: all rows agree exactly */
    int64_t not_finite; /* rows of y that are NaN or infinite */
    int64_t by_zeros;   /* of these, by zeros that the format stores: the reference's are finite */
    bool good;
} verdict;
int verify_spmv(cli_app *app, const tess_matrix *A, const void *x, const void *y, verdict *out);

#endif

/* Help, man page and shell completions: four renderings of the command tables. */
#include <string.h>

#include "command.h"

void help_overview(void)
{
    printf("usage: tessera COMMAND [OPTION...] [OPERAND...]\n\n"
           "Block-sparse matrices: what is in them, and products with them at the speed of "
           "memory.\n\n");
    for (size_t i = 0; i < command_count; i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    printf("  %-10s %s\n\n", "help", "say more about a command");
    printf("INPUT is a file (.mtx, .mtx.gz, .tess), - for standard input, or a generated\n"
           "matrix such as gen:stencil27:n=48,b=3 or gen:elasticity:n=32.\n\n"
           "'tessera help COMMAND' or 'tessera COMMAND --help' says more.\n");
}

/* "--threads N" */
static const char *usage_of(const cli_option *option, char *buffer, size_t size)
{
    snprintf(buffer, size, "--%s%s%s", option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
    return buffer;
}

/* Option `index` of a command, its own first; NULL past the last. */
static const cli_option *option_at(const cli_command *command, size_t index)
{
    return index < command->option_count
               ? &command->options[index]
               : args_common_option(command, index - command->option_count);
}

/* Name number k that an option takes; NULL past the last. */
static const char *choice_of(const cli_command *command, const cli_option *option, int k,
                             const char **summary)
{
    return command->choices ? command->choices(option->name, k, summary) : NULL;
}

/* Prints the description, filled to 80 columns. Blank lines stay. */
static void print_filled(const char *text)
{
    size_t column = 0;
    for (const char *word = text; *word;) {
        if (word[0] == '\n' && word[1] == '\n') {
            fputs("\n\n", stdout);
            column = 0;
        }
        word += strspn(word, " \n");
        size_t length = strcspn(word, " \n");
        if (column > 0 && column + 1 + length > 80) {
            fputc('\n', stdout);
            column = 0;
        }
        printf("%s%.*s", column > 0 ? " " : "", (int)length, word);
        column += length + (column > 0);
        word += length;
    }
    fputc('\n', stdout);
}

void help_command(const cli_app *app, const cli_command *command)
{
    char text[80];
    printf("%susage:%s tessera %s [OPTION...]%s%s\n\n", bold(app), plain(app), command->name,
           *command->operands ? " " : "", command->operands);
    print_filled(command->description);
    printf("\n%soptions:%s\n", bold(app), plain(app));
    const cli_option *option;
    for (size_t i = 0; (option = option_at(command, i)); i++) {
        const char *name, *summary;
        printf("  %-22s %s\n", usage_of(option, text, sizeof text), option->help);
        for (int k = 0; (name = choice_of(command, option, k, &summary)); k++)
            printf("      %-18s %s\n", name, summary);
    }
    printf("\n%sexamples:%s\n", bold(app), plain(app));
    for (const char *line = command->examples; *line;) {
        size_t length = strcspn(line, "\n");
        printf("  %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

/* ---- Man page ---- */

/* Prints text for roff, with backslashes and minus signs escaped. */
static void roff(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\')
            fputs("\\e", stdout);
        else if (text[i] == '-')
            fputs("\\-", stdout);
        else if (text[i] == '\n' && i + 1 < length && text[i + 1] == '\n')
            fputs("\n.PP", stdout);
        else if (text[i] == '\n' && i > 0 && text[i - 1] == '\n')
            fputc('\n', stdout);
        else
            fputc(text[i], stdout);
    }
}

/* Prints the names that an option takes, one per paragraph. */
static void man_choices(const cli_command *command, const cli_option *option)
{
    const char *name, *summary;
    for (int k = 0; (name = choice_of(command, option, k, &summary)); k++) {
        printf("%s.TP\n.B %s\n", k == 0 ? ".RS\n" : "", name);
        roff(summary, strlen(summary));
        fputs(".\n", stdout);
    }
    if (choice_of(command, option, 0, &summary))
        fputs(".RE\n", stdout);
}

static void man_command(const cli_command *command)
{
    printf(".SS tessera %s [OPTION...] %s\n", command->name, command->operands);
    roff(command->description, strlen(command->description));
    fputc('\n', stdout);
    const cli_option *option;
    for (size_t i = 0; (option = option_at(command, i)); i++) {
        fputs(".TP\n\\fB", stdout);
        roff("--", 2);
        roff(option->name, strlen(option->name));
        printf("\\fR%s%s\n", option->argument ? " " : "", option->argument ? option->argument : "");
        roff(option->help, strlen(option->help));
        fputs(".\n", stdout);
        man_choices(command, option);
    }
    fputs(".PP\n.EX\n", stdout);
    roff(command->examples, strlen(command->examples));
    fputs("\n.EE\n", stdout);
}

/* Environment variables of the command and of the library. Programs that link the library obey the
 * library's as well. */
static const struct {
    const char *name, *meaning;
} variables[] = {
    {"NO_COLOR", "when set and not empty, no colours"},
    {"OMP_NUM_THREADS", "the number of threads when --threads is not given"},
    {"TESSERA_CACHE", "the directory of compiled CUDA kernels"},
    {"TESSERA_CUSPARSE", "the cuSPARSE library that bench --peers loads, or its directory"},
    {"TESSERA_ISA", "the largest instruction set for CPU kernels: scalar, neon, sve, avx2 or "
                    "avx512"},
    {"TESSERA_JIT", "on (default), load: compile no CUDA kernel, take what the cache has, or off"},
    {"TESSERA_LIBCUDA", "the driver's library, instead of libcuda.so.1"},
    {"TESSERA_SUITESPARSE", "where KLU and CHOLMOD are looked for first, or off"},
    {"TESSERA_PARTITIONERS", "where METIS and SCOTCH are looked for first, or off"},
    {"TESSERA_NVRTC", "the library that compiles CUDA kernels, or its directory"},
    {"TESSERA_PEERS", "the directory of the adapters that bench --peers runs"},
    {"TESSERA_PROFILES", "files of wisdom to be read before the user's own, separated by colons"},
    {"TESSERA_WISDOM", "the file of wisdom, beside which model.json is kept; off: neither is kept "
                       "or used"},
};

static void print_man(void)
{
    printf(".TH TESSERA 1 \"\" \"tessera %s\" \"User Commands\"\n"
           ".SH NAME\ntessera \\- block\\-sparse matrices at the speed of memory\n"
           ".SH SYNOPSIS\n.B tessera\n.I COMMAND\n[OPTION...] [OPERAND...]\n"
           ".SH DESCRIPTION\n"
           "INPUT is a Matrix Market file (.mtx, .mtx.gz), a native container (.tess), \\-\n"
           "for standard input, or a generated matrix such as gen:stencil27:n=48,b=3 or\n"
           "gen:elasticity:n=32.\n"
           "Results go to standard output, progress and messages to standard error.\n"
           "With \\-\\-json a number that is NaN or infinite is null, and a byte of a name that\n"
           "is not UTF\\-8 is \\exNN.\n"
           "Messages about files count rows, columns and lines from 1, others rows from 0.\n"
           "An output FILE is replaced when the new one is complete. A symbolic link stays;\n"
           "devices and FIFOs are written in place.\n"
           ".SH COMMANDS\n",
           tess_version());
    for (size_t i = 0; i < command_count; i++)
        man_command(commands[i]);
    printf(".SH EXIT STATUS\n"
           "0 done; 1 the work failed (a wrong result, no convergence, a full disk); 2 bad usage "
           "or bad input.\n"
           ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        printf(".TP\n.B %s\n", variables[i].name);
        roff(variables[i].meaning, strlen(variables[i].meaning));
        fputs(".\n", stdout);
    }
}

/* ---- Shell completions ---- */

static void print_options(const cli_command *command)
{
    const cli_option *option;
    for (size_t i = 0; (option = option_at(command, i)); i++)
        printf("%s--%s", i ? " " : "", option->name);
}

/* Prints `before COMMAND --OPTION middle NAMES after` for every option that takes names. */
static void print_choices(const char *before, const char *middle, const char *after)
{
    const cli_option *option;
    const char *name, *summary;
    for (size_t c = 0; c < command_count; c++)
        for (size_t i = 0; (option = option_at(commands[c], i)); i++) {
            if (!choice_of(commands[c], option, 0, &summary))
                continue;
            printf("%s%s --%s%s", before, commands[c]->name, option->name, middle);
            for (int k = 0; (name = choice_of(commands[c], option, k, &summary)); k++)
                printf("%s%s", k ? " " : "", name);
            fputs(after, stdout);
        }
}

static void print_bash(void)
{
    printf("# bash completion for tessera\n"
           "_tessera() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
           "        words=\"help");
    for (size_t i = 0; i < command_count; i++)
        printf(" %s", commands[i]->name);
    printf("\"\n    elif [[ $word == -* ]]; then\n        case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < command_count; i++) {
        printf("        %s) words=\"", commands[i]->name);
        print_options(commands[i]);
        printf("\" ;;\n");
    }
    printf("        esac\n    else\n"
           "        case \"${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}\" in\n");
    print_choices("        \"", "\") words=\"", "\" ;;\n");
    printf("        esac\n    fi\n"
           "    [ -z \"$words\" ] || mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
           "}\n"
           "complete -o default -F _tessera tessera\n");
}

static void print_zsh(void)
{
    printf("#compdef tessera\n"
           "if (( CURRENT == 2 )); then\n    local -a names=(\n"
           "        'help:say more about a command'\n");
    for (size_t i = 0; i < command_count; i++)
        printf("        '%s:%s'\n", commands[i]->name, commands[i]->summary);
    printf("    )\n    _describe command names\n"
           "elif [[ ${words[CURRENT]} == -* ]]; then\n    case ${words[2]} in\n");
    for (size_t i = 0; i < command_count; i++) {
        printf("    %s) compadd -- ", commands[i]->name);
        print_options(commands[i]);
        printf(" ;;\n");
    }
    printf("    esac\nelse\n    case \"${words[2]} ${words[CURRENT-1]}\" in\n");
    print_choices("    \"", "\") compadd -- ", " ;;\n");
    printf("    *) _files ;;\n    esac\nfi\n");
}

/* ---- tessera help [COMMAND | --man | --bash | --zsh] ---- */

bool is_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

int unknown_command(cli_app *app, const char *name)
{
    const char *names[64] = {"help"};
    size_t count = 1;
    for (size_t i = 0; i < command_count && count < 64; i++)
        names[count++] = commands[i]->name;
    const char *nearest = tess_nearest(name, names, count);
    return fail(app, EXIT_USAGE, "unknown command '%s'%s%s%s; 'tessera help' lists them", name,
                nearest ? " (nearest: '" : "", nearest ? nearest : "", nearest ? "')" : "");
}

int help_run(cli_app *app, int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } renderings[] = {{"--man", print_man}, {"--bash", print_bash}, {"--zsh", print_zsh}};
    if (argc > 1)
        return fail(app, EXIT_USAGE,
                    "help: '%s' is one operand too many; usage: tessera help [COMMAND]", argv[1]);
    if (argc == 0 || is_help(argv[0])) {
        help_overview();
        return EXIT_DONE;
    }
    for (size_t i = 0; i < sizeof renderings / sizeof renderings[0]; i++) {
        if (strcmp(argv[0], renderings[i].name) == 0) {
            renderings[i].print();
            return EXIT_DONE;
        }
    }
    for (size_t i = 0; i < command_count; i++) {
        if (strcmp(argv[0], commands[i]->name) == 0) {
            help_command(app, commands[i]);
            return EXIT_DONE;
        }
    }
    return unknown_command(app, argv[0]);
}

/* A device program on the CPU: the text that NVRTC would get, compiled by the host's C compiler
 * with the emulator's header into a shared object.
 *
 * Shared objects are kept in FAKE_KERNELS, a directory of the build tree, for all tests and later
 * runs. The name is a hash of all that the result depends on, and a file is put there complete, by
 * a rename, so that tests may run at the same time.
 *
 *     FAKE_KERNELS/include-<hash>/common.cuh ...   headers as they came with the program
 *     FAKE_KERNELS/k<hash>.so                      EMU_VARIANT is "k<hash>"
 *     FAKE_KERNELS/new-XXXXXX/                     under way
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal.h"

extern char **environ;

enum { ARGUMENTS = 96, DIRECTORY = sizeof FAKE_KERNELS + 40, PATH = DIRECTORY + 128, LOG = 4000 };

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return (hash ^ 0xff) * 0x100000001b3; /* and its end */
}

/* A small file as text (malloc), at most `most` bytes; "" when it cannot be read. */
static char *read_text(const char *path, size_t most)
{
    char *text = calloc(1, most + 1);
    FILE *file = fopen(path, "r");
    if (file) {
        (void)!fread(text, 1, most, file);
        fclose(file);
    }
    return text;
}

static bool write_text(const char *directory, const char *name, const char *text)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    bool good = fputs(text, file) >= 0;
    return fclose(file) == 0 && good;
}

static uint64_t hash_headers(const fake_source *source)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (int i = 0; i < source->headers; i++)
        hash = hash_text(hash_text(hash, source->header_name[i]), source->header_text[i]);
    return hash;
}

uint64_t fake_tools(void)
{
    static const char *const own[] = {FAKE_EMULATOR "/emulate.h", FAKE_EMULATOR "/run.h"};
    uint64_t hash = hash_text(hash_text(0xcbf29ce484222325, FAKE_COMPILER), FAKE_FLAGS);
    for (int i = 0; i < 2; i++) {
        char *text = read_text(own[i], 1 << 16);
        hash = hash_text(hash, text);
        free(text);
    }
    return hash;
}

static uint64_t hash_program(const fake_source *source, int options, const char *const *option)
{
    uint64_t hash = hash_headers(source) ^ fake_tools();
    hash = hash_text(hash_text(hash, source->name), source->text);
    for (int i = 0; i < options; i++)
        if (strncmp(option[i], "-D", 2) == 0)
            hash = hash_text(hash, option[i]);
    return hash;
}

static void remove_directory(const char *directory, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        char path[PATH];
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        unlink(path);
    }
    rmdir(directory);
}

/* A directory of its own in FAKE_KERNELS. */
static bool make_directory(char *path, size_t size)
{
    mkdir(FAKE_KERNELS, 0777);
    snprintf(path, size, "%s/new-XX%s", FAKE_KERNELS, "XXXX");
    return mkdtemp(path) != NULL;
}

static bool need_headers(const fake_source *source, char *directory, size_t size)
{
    char made[DIRECTORY];
    snprintf(directory, size, "%s/include-%016llx", FAKE_KERNELS,
             (unsigned long long)hash_headers(source));
    if (access(directory, R_OK) == 0)
        return true;
    if (!make_directory(made, sizeof made))
        return false;
    bool good = true;
    for (int i = 0; i < source->headers; i++)
        good = good && write_text(made, source->header_name[i], source->header_text[i]);
    if (!good || rename(made, directory) != 0) /* somebody else may have been first */
        remove_directory(made, (const char *const *)source->header_name, source->headers);
    return access(directory, R_OK) == 0;
}

/* Runs the command in `directory`, what it prints in the file "log". Whether it ended well. */
static bool run_in(const char *directory, char **command)
{
    char log[PATH];
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_t actions;
    snprintf(log, sizeof log, "%s/log", directory);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    bool good = posix_spawnp(&child, command[0], &actions, NULL, command, environ) == 0 &&
                waitpid(child, &status, 0) == child && status == 0;
    posix_spawn_file_actions_destroy(&actions);
    return good;
}

/* FAKE_FLAGS, cut at '|' in place. */
static int split_flags(char *flags, char **command, int count)
{
    for (char *save, *word = strtok_r(flags, "|", &save); word && count < ARGUMENTS / 2;
         word = strtok_r(NULL, "|", &save))
        command[count++] = word;
    return count;
}

static bool compile_in(const char *directory, const char *include, const char *variant,
                       const fake_source *source, int options, const char *const *option)
{
    char flags[] = FAKE_FLAGS, headers[PATH], define[64], from[PATH], to[PATH];
    char *command[ARGUMENTS] = {(char[]){FAKE_COMPILER}};
    if (!write_text(directory, source->name, source->text))
        return false;
    snprintf(headers, sizeof headers, "-I%s", include);
    snprintf(define, sizeof define, "-DEMU_VARIANT=\"%s\"", variant);
    snprintf(from, sizeof from, "%s/%s", directory, source->name);
    snprintf(to, sizeof to, "%s/kernel.so", directory);
    int count = split_flags(flags, command, 1);
    for (int i = 0; i < options && count < ARGUMENTS - 16; i++)
        if (strncmp(option[i], "-D", 2) == 0)
            command[count++] = (char *)(uintptr_t)option[i];
    char *const rest[] = {(char[]){"-DTESS_EMULATE"},
                          define,
                          (char[]){"-I" FAKE_EMULATOR},
                          headers,
                          (char[]){"-x"},
                          (char[]){"c"},
                          from,
                          (char[]){"-o"},
                          to};
    memcpy(command + count, rest, sizeof rest);
    return run_in(directory, command);
}

bool fake_compile(const fake_source *source, int options, const char *const *option, char *path,
                  size_t size, char **log)
{
    char include[DIRECTORY], directory[DIRECTORY], made[PATH], variant[32];
    snprintf(variant, sizeof variant, "k%016llx",
             (unsigned long long)hash_program(source, options, option));
    snprintf(path, size, "%s/%s.so", FAKE_KERNELS, variant);
    if (access(path, R_OK) == 0)
        return true;
    if (!make_directory(directory, sizeof directory))
        return false;
    snprintf(made, sizeof made, "%s/kernel.so", directory);
    bool good = need_headers(source, include, sizeof include) &&
                compile_in(directory, include, variant, source, options, option) &&
                rename(made, path) == 0;
    if (!good) {
        char name[PATH];
        snprintf(name, sizeof name, "%s/log", directory);
        *log = read_text(name, LOG);
    }
    const char *const names[] = {source->name, "log", "kernel.so"};
    remove_directory(directory, names, 3);
    return good;
}

/* Texts into files: pictures and pages, whole or not at all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

void output_begin(text_output *output)
{
    *output = (text_output){0};
    output->file = open_memstream(&output->text, &output->size);
}

static bool write_to(int fd, const char *text, size_t size)
{
    while (size > 0) {
        const ssize_t done = write(fd, text, size);
        if (done < 0 && errno != EINTR)
            return false;
        text += greater(done, 0);
        size -= (size_t)greater(done, 0);
    }
    return true;
}

/* Writes into a file beside `path`, gives it the permissions `mode`, and renames it to `path`. */
static bool replace_file(const char *path, mode_t mode, const char *text, size_t size)
{
    char beside[4096];
    if ((size_t)snprintf(beside, sizeof beside, "%s.XXXXXX", path) >= sizeof beside) {
        errno = ENAMETOOLONG;
        return false;
    }
    const int fd = mkstemp(beside);
    if (fd < 0)
        return false;
    bool good = write_to(fd, text, size) && fchmod(fd, mode) == 0;
    good = close(fd) == 0 && good;
    if (good && rename(beside, path) == 0)
        return true;
    const int reason = errno;
    unlink(beside);
    errno = reason;
    return false;
}

static bool write_in_place(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return false;
    const bool good = fwrite(text, 1, size, file) == size;
    return fclose(file) == 0 && good;
}

static bool write_file(const char *path, const char *text, size_t size)
{
    struct stat old;
    if (stat(path, &old) == 0 && !S_ISREG(old.st_mode))
        return write_in_place(path, text, size);
    /* A symbolic link stays; its target is replaced. */
    char *target = realpath(path, NULL);
    const mode_t mask = umask(0);
    umask(mask);
    const bool good = replace_file(target ? target : path,
                                   target ? old.st_mode & 07777 : 0666 & ~mask, text, size);
    const int reason = errno;
    free(target);
    errno = reason;
    return good;
}

int output_end(cli_app *app, text_output *output, const char *path, int exit_status)
{
    const bool whole = output->file && !ferror(output->file);
    if ((output->file && fclose(output->file) != 0) || !whole)
        exit_status = exit_status == EXIT_DONE ? fail_memory(app) : exit_status;
    if (exit_status == EXIT_DONE && strcmp(path, "-") == 0)
        fwrite(output->text, 1, output->size, stdout); /* main checks for errors */
    else if (exit_status == EXIT_DONE && !write_file(path, output->text, output->size))
        exit_status = fail(app, EXIT_FAILED, "%s: cannot be written: %s; name another file", path,
                           strerror(errno));
    free(output->text);
    *output = (text_output){0};
    return exit_status;
}

/* Matrices and vectors into files, and the line that says so. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

static const char another_file[] = "make its directory, or name another file";

void print_matrix_line(const tess_matrix *matrix)
{
    const tess_matrix_view view = view_of(matrix), *A = &view;
    char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX];
    const char *plural = A->blocks == 1 ? "" : "s";
    printf("%s x %s, %s ", text_count(A->rows, a), text_count(A->cols, b),
           text_count(A->blocks, c));
    if (A->block_height == 1 && A->block_width == 1)
        printf("non-zero%s, %s", plural, type_name(A->type));
    else
        printf("block%s of %d x %d, %s", plural, A->block_height, A->block_width,
               type_name(A->type));
}

static bool is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* A file that cannot be written is a failure of the work. A name of no known kind is bad usage. */
static int write_failed(cli_app *app, tess_status status, const char *path)
{
    if (status != TESS_ERR_IO)
        return fail_status(app, status);
    return fail(app, EXIT_FAILED, "%s; %s", tess_ctx_error(app->ctx),
                is_standard(path) ? "name a file in the place of -" : another_file);
}

void output_divert(cli_app *app, const char *path)
{
    if (app->diverted || !is_standard(path))
        return;
    fflush(stdout);
    app->data = dup(STDOUT_FILENO);
    app->diverted = app->data >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
    app->colour = false;
}

/* Gives standard output back to the data. */
static void end_diversion(cli_app *app)
{
    fflush(stdout);
    if (app->diverted) {
        (void)dup2(app->data, STDOUT_FILENO);
        close(app->data);
    }
    app->diverted = false;
}

int output_check(cli_app *app, const char *path)
{
    struct stat file;
    char folder[4096] = ".";
    if (!path || is_standard(path))
        return EXIT_DONE;
    if (stat(path, &file) == 0) {
        errno = S_ISDIR(file.st_mode) ? EISDIR : 0;
        return errno == 0 && access(path, W_OK) == 0
                   ? EXIT_DONE
                   : fail(app, EXIT_FAILED, "%s: cannot be written: %s; name another file", path,
                          strerror(errno));
    }
    const char *slash = strrchr(path, '/');
    if (slash && slash - path < (ptrdiff_t)sizeof folder - 1)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path + 1), path);
    return access(folder, W_OK | X_OK) == 0
               ? EXIT_DONE
               : fail(app, EXIT_FAILED, "%s: cannot be created: %s; %s", path, strerror(errno),
                      another_file);
}

int output_matrix(cli_app *app, const tess_matrix *matrix, const char *path, bool symmetric,
                  bool json)
{
    const tess_matrix_view view = view_of(matrix), *A = &view;
    if (is_standard(path))
        end_diversion(app);
    int hermitian = 0;
    tess_status status = TESS_OK;
    if (symmetric && is_complex(A->type))
        status = tess_matrix_hermitian(app->ctx, matrix, &hermitian);
    if (status == TESS_OK)
        status = hermitian   ? tess_matrix_write_hermitian(app->ctx, matrix, path)
                 : symmetric ? tess_matrix_write_symmetric(app->ctx, matrix, path)
                             : tess_matrix_write(app->ctx, matrix, path);
    if (status != TESS_OK)
        return write_failed(app, status, path);
    output_divert(app, path);
    struct stat file = {0};
    stat(path, &file); /* only a file has a size */
    if (json)
        return print_json(app,
                          json_make("{s:s, s:s, s:I, s:I, s:i, s:i, s:I, s:I}", "output", path,
                                    "type", type_name(A->type), "rows", (json_int_t)A->rows, "cols",
                                    (json_int_t)A->cols, "block_rows", A->block_height,
                                    "block_cols", A->block_width, "blocks", (json_int_t)A->blocks,
                                    "file_bytes", (json_int_t)file.st_size));
    char size[TEXT_MAX];
    printf("%s: ", path);
    print_matrix_line(matrix);
    if (is_standard(path))
        printf("\n");
    else
        printf(", %s on disk\n", text_bytes((double)file.st_size, size));
    return EXIT_DONE;
}

int output_vector(cli_app *app, tess_type type, int64_t count, const void *values, const char *path)
{
    if (is_standard(path))
        end_diversion(app);
    tess_status status = tess_vector_write(app->ctx, path, type, count, values);
    return status == TESS_OK ? EXIT_DONE : write_failed(app, status, path);
}

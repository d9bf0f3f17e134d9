/* Matrices, vectors and texts into files, and the line that says so. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

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
    struct stat file;
    app->reader_gone = is_standard(path) && terminal_pipe_closed();
    if (app->reader_gone)
        return EXIT_FAILED;
    return fail(app, EXIT_FAILED, "%s; %s", tess_ctx_error(app->ctx),
                is_standard(path)        ? "name a file in the place of -"
                : stat(path, &file) == 0 ? "name another file"
                                         : "make its directory, or name another file");
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

/* Before data are written: gives standard output back to them, if that is where they go. What was
 * printed comes first, also where `path` leads to standard output by another name. */
static void begin_data(cli_app *app, const char *path)
{
    fflush(stdout);
    if (!is_standard(path) || !app->diverted)
        return;
    (void)dup2(app->data, STDOUT_FILENO);
    close(app->data);
    app->diverted = false;
}

int output_check(cli_app *app, const char *path)
{
    const tess_status status = path ? tess_output_check(app->ctx, path) : TESS_OK;
    return status == TESS_OK ? EXIT_DONE : write_failed(app, status, path);
}

int output_check_vector(cli_app *app, tess_type type, const char *path)
{
    static const char *const kinds[] = {".mtx", ".mtx.gz", ".npy"};
    bool holds = !path || !is_complex(type);
    for (size_t i = 0; !holds && i < sizeof kinds / sizeof *kinds; i++)
        holds = ends_with(path, kinds[i]);
    return holds ? EXIT_DONE
                 : fail(app, EXIT_USAGE,
                        "%s: text of one number per line cannot hold %s: name a file with .mtx, "
                        ".mtx.gz or .npy",
                        path, type_name(type));
}

int output_matrix(cli_app *app, const tess_matrix *matrix, const char *path, bool symmetric,
                  bool json)
{
    const tess_matrix_view view = view_of(matrix), *A = &view;
    begin_data(app, path);
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
    if (!is_standard(path))
        stat(path, &file);
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
    if (!S_ISREG(file.st_mode))
        printf("\n");
    else
        printf(", %s on disk\n", text_bytes((double)file.st_size, size));
    return EXIT_DONE;
}

int output_vector(cli_app *app, tess_type type, int64_t count, const void *values, const char *path)
{
    begin_data(app, path);
    const tess_status status = tess_vector_write(app->ctx, path, type, count, values);
    output_divert(app, path);
    return status == TESS_OK ? EXIT_DONE : write_failed(app, status, path);
}

/* ---- Texts ---- */

void output_begin(text_output *output)
{
    *output = (text_output){0};
    output->file = open_memstream(&output->text, &output->size);
}

int output_end(cli_app *app, text_output *output, const char *path)
{
    int exit_status;
    const bool whole = output->file && !ferror(output->file);
    if ((output->file && fclose(output->file) != 0) || !whole) {
        exit_status = fail_memory(app);
    } else {
        begin_data(app, path);
        const tess_status status = tess_output_text(app->ctx, path, output->size, output->text);
        exit_status = status == TESS_OK ? EXIT_DONE : write_failed(app, status, path);
        output_divert(app, path);
    }
    free(output->text);
    *output = (text_output){0};
    return exit_status;
}

/* Matrix Market text, plain. The same bytes in tiny and in large buffers, with one thread and with
 * three, give the same answer. */
#include <string.h>

#include "fuzz.h"
#include "matrix/io/mm.h"

static void same(const tess_matrix *A, const tess_matrix *B)
{
    if (A->rows != B->rows || A->cols != B->cols || A->blocks != B->blocks ||
        memcmp(A->columns, B->columns, (size_t)A->blocks * sizeof *A->columns) != 0 ||
        memcmp(A->values, B->values, (size_t)A->blocks * sizeof(double)) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tess_ctx *ctx = fuzz_begin();
    char path[64], error[1024];
    int fd = fuzz_file(data, size, path);
    tess_matrix *A = NULL, *B = NULL;
    tess_status status = tess_mm_read(ctx, path, TESS_TEXT_CHUNK, &A);
    fuzz_check(ctx, status);
    snprintf(error, sizeof error, "%s", tess_ctx_error(ctx));
    tess_ctx_set_threads(ctx, 3);
    if (tess_mm_read(ctx, path, 1 + size % 37, &B) != status)
        abort();
    if (status == TESS_OK) {
        tess_matrix_view view;
        tess_matrix_get_view(A, &view);
        if (tess_matrix_validate(ctx, &view, true) != TESS_OK)
            abort();
        same(A, B);
    } else if (strcmp(error, tess_ctx_error(ctx)) != 0) {
        abort();
    }
    tess_matrix_destroy(A);
    tess_matrix_destroy(B);
    close(fd);
    fuzz_end(ctx);
    return 0;
}

/* Reads a matrix from a file: Matrix Market (plain or gzip) or .tess, recognised by its content. */
#include "matrix/io/mm.h"
#include "matrix/io/tess_file.h"

tess_status tess_mm_read(tess_ctx *ctx, const char *path, size_t chunk, tess_matrix **out)
{
    tess_text text;
    tess_mm_header header = {0};
    tess_mm_entries entries = {0};
    TESS_TRY(tess_text_open(ctx, path, chunk, &text));
    tess_status status = tess_mm_read_header(&text, &header);
    TESS_THEN(tess_mm_read_body(&text, &header, &entries));
    tess_text_close(&text); /* its buffers are not needed beside the matrix */
    TESS_THEN(tess_mm_to_csr(ctx, &header, &entries, out));
    tess_mm_free(ctx, &entries);
    return status;
}

tess_status tess_matrix_read(tess_ctx *ctx, const char *path, tess_matrix **out)
{
    TESS_NEED(ctx, ctx && path && out);
    if (tess_file_recognise(path))
        return tess_file_read(ctx, path, out);
    return tess_mm_read(ctx, path, TESS_TEXT_CHUNK, out);
}

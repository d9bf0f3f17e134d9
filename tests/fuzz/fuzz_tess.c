/* .tess files. Wrong checksums would stop nearly every input at once. They are corrected first, so
 * that the code behind them is tested. */
#include <string.h>

#include "fuzz.h"
#include "matrix/io/tess_file.h"

static void mend(uint8_t *bytes, size_t size)
{
    tess_file_header header;
    if (size < sizeof header)
        return;
    memcpy(&header, bytes, sizeof header);
    memcpy(header.magic, TESS_FILE_MAGIC, sizeof header.magic);
    for (int i = 0; i < 3; i++) {
        tess_file_section *s = &header.section[i];
        if (s->offset < 0 || s->bytes <= 0 || s->offset > (int64_t)size ||
            s->bytes > (int64_t)size - s->offset || s->bytes > TESS_FILE_PIECE)
            continue;
        uint64_t piece = tess_hash_bytes(bytes + s->offset, (size_t)s->bytes, 0);
        s->checksum = tess_file_section_checksum(&piece, 1);
    }
    header.checksum = tess_file_header_checksum(&header);
    memcpy(bytes, &header, sizeof header);
}

static void read_bytes(const uint8_t *data, size_t size)
{
    tess_ctx *ctx = fuzz_begin();
    char path[64];
    int fd = fuzz_file(data, size, path);
    tess_matrix *A = NULL;
    fuzz_check(ctx, tess_file_read(ctx, path, &A));
    tess_matrix_destroy(A);
    close(fd);
    fuzz_end(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_bytes(data, size);
    uint8_t *bytes = malloc(size + 1);
    if (size > 0)
        memcpy(bytes, data, size);
    mend(bytes, size);
    read_bytes(bytes, size);
    free(bytes);
    return 0;
}

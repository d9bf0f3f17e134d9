/* Damaged gzip: the input as it is, and the input compressed and then damaged at the place that its
 * first bytes give. */
#include <string.h>
#include <zlib.h>

#include "fuzz.h"
#include "matrix/io/mm.h"

static void read_bytes(const uint8_t *data, size_t size, size_t chunk)
{
    tess_ctx *ctx = fuzz_begin();
    char path[64];
    int fd = fuzz_file(data, size, path);
    tess_matrix *A = NULL;
    fuzz_check(ctx, tess_mm_read(ctx, path, chunk, &A));
    tess_matrix_destroy(A);
    close(fd);
    fuzz_end(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_bytes(data, size, 1 + size % 61);
    if (size < 4 || size > 4096)
        return 0;
    uint8_t packed[8192];
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)(data + 4),
                  .avail_in = (unsigned)(size - 4),
                  .next_out = packed,
                  .avail_out = sizeof packed};
    if (deflateInit2(&z, 1 + data[3] % 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    (void)deflate(&z, Z_FINISH);
    size_t length = sizeof packed - z.avail_out;
    deflateEnd(&z);
    packed[(data[0] + 256u * data[1]) % length] ^= data[2];
    read_bytes(packed, length - (data[3] & 1 ? data[1] % length : 0), 1 + size % 61);
    return 0;
}

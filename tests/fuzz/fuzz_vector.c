/* Dense vectors, in both types and with tiny buffers, and NumPy's files as they are. */
#include "fuzz.h"
#include "matrix/io/mm.h"
#include "matrix/io/output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int type = TESS_F64; type <= TESS_F32; type++) {
        tess_ctx *ctx = fuzz_begin();
        char path[64];
        int fd = fuzz_file(data, size, path);
        int64_t count = 0;
        void *values = NULL;
        fuzz_check(ctx, tess_npy_recognise(path)
                            ? tess_npy_read(ctx, path, (tess_type)type, &count, &values)
                            : tess_vector_read_chunked(ctx, path, 1 + size % 53, (tess_type)type,
                                                       &count, &values));
        tess_release(ctx, values);
        close(fd);
        fuzz_end(ctx);
    }
    return 0;
}

/* NumPy's .npy files that hold one vector, little-endian f8, f4, c16 or c8:
 *
 *     byte 0   8   93 'N' 'U' 'M' 'P' 'Y', version: 1 0, 2 0 or 3 0
 *          8   2   length of the text that follows, u16; from version 2 on 4 bytes, u32
 *              ... "{'descr': '<f8', 'fortran_order': False, 'shape': (5,), }", blanks, '\n'
 *              ... the values; files written here have them at a multiple of 64 bytes
 */
#include <errno.h>
#include <sys/stat.h>

#include "matrix/io/output.h"
#include "matrix/io/tess_file.h"
#include "matrix/matrix.h"

enum { MAGIC = 6, TEXT_MOST = 4096, ALIGN = 64 };
static const char magic[MAGIC + 1] = "\x93NUMPY";
static const char *const names[] = {
    [TESS_F64] = "'<f8'", [TESS_F32] = "'<f4'", [TESS_C64] = "'<c16'", [TESS_C32] = "'<c8'"};

bool tess_npy_recognise(const char *path)
{
    return tess_file_begins(path, magic, MAGIC);
}

/* ---- Reading ---- */

static tess_status malformed(tess_ctx *ctx, const char *path, const char *what)
{
    return tess_fail(ctx, TESS_ERR_FORMAT,
                     "%s: %s; a vector of NumPy's is written by numpy.save(file, x.astype('<f8'))",
                     path, what);
}

/* The text after a key of the header; NULL: the key is not there. */
static const char *after(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    if (!at)
        return NULL;
    at += strlen(key);
    return at + strspn(at, " :");
}

/* The number of elements of a shape of one dimension, or of two of which one is 1. Returns -1 for
 * any other shape. */
static int64_t elements_of(const char *shape)
{
    long long size[2] = {1, 1};
    int dimensions = 0;
    if (!shape || *shape++ != '(')
        return -1;
    while (*(shape += strspn(shape, " ,")) != ')') {
        char *end;
        errno = 0;
        if (dimensions == 2)
            return -1;
        size[dimensions] = strtoll(shape, &end, 10);
        if (end == shape || errno || size[dimensions++] < 0)
            return -1;
        shape = end;
    }
    if (dimensions == 0 || (dimensions == 2 && size[0] != 1 && size[1] != 1))
        return -1;
    return size[0] == 1 ? size[1] : size[0];
}

/* Reads the header, whose text has at most TEXT_MOST bytes. */
static tess_status read_header(tess_ctx *ctx, const char *path, FILE *file, tess_type *stored,
                               int64_t *count)
{
    unsigned char start[12] = {0};
    char text[TEXT_MOST + 1] = "";
    const bool begun = fread(start, 1, 10, file) == 10;
    const bool wide = begun && start[MAGIC] > 1;
    if (!begun || (wide && fread(start + 10, 1, 2, file) != 2))
        return malformed(ctx, path, "the header is cut off");
    size_t length = start[8] + 256u * start[9];
    if (wide)
        length += 65536u * start[10] + 16777216u * (size_t)start[11];
    if (length > TEXT_MOST || fread(text, 1, length, file) != length)
        return malformed(ctx, path, "the header is cut off, or too long");
    const char *type = after(text, "'descr'");
    int found = TESS_F64;
    while (found <= TESS_C32 && !(type && strncmp(type, names[found], strlen(names[found])) == 0))
        found++;
    if (found > TESS_C32)
        return malformed(ctx, path, "the values are none of '<f8', '<f4', '<c16' and '<c8'");
    *stored = (tess_type)found;
    *count = elements_of(after(text, "'shape'"));
    return *count < 0 ? malformed(ctx, path, "the shape is none of (n,), (n, 1) and (1, n)")
                      : TESS_OK;
}

/* Converts in place. To narrower numbers it goes from the front, to wider ones from the back, so
 * that no number is overwritten before it is read. */
static tess_status convert(tess_ctx *ctx, const char *path, tess_type from, tess_type to,
                           int64_t count, void *values)
{
    TESS_TRY(tess_vector_check_type(ctx, path, from, to));
    const bool narrower = tess_type_size(to) < tess_type_size(from);
    for (int64_t k = 0; from != to && k < count; k++) {
        const int64_t i = narrower ? k : count - 1 - k;
        TESS_TRY(tess_vector_put(ctx, path, tess_get_complex(values, from, i), to, i, values));
    }
    return TESS_OK;
}

static tess_status read_values(tess_ctx *ctx, const char *path, FILE *file, tess_type type,
                               int64_t *count, void **values)
{
    tess_type stored;
    int64_t elements;
    struct stat info;
    void *x;
    TESS_TRY(read_header(ctx, path, file, &stored, &elements));
    const int64_t size = (int64_t)tess_type_size(stored), at = ftell(file);
    if (fstat(fileno(file), &info) != 0 || at < 0 || (info.st_size - at) % size != 0 ||
        (info.st_size - at) / size != elements)
        return malformed(ctx, path, "the values are not as many as the shape says");
    TESS_TRY(tess_alloc_bytes(ctx, elements, sizeof(tess_complex), &x)); /* fits any type */
    tess_status status = TESS_OK;
    if (fread(x, (size_t)size, (size_t)elements, file) != (size_t)elements)
        status = tess_fail(ctx, TESS_ERR_IO, "%s: cannot be read", path);
    TESS_THEN(convert(ctx, path, stored, type, elements, x));
    if (status != TESS_OK) {
        tess_free(ctx, x);
        return status;
    }
    *count = elements;
    *values = x;
    return TESS_OK;
}

tess_status tess_npy_read(tess_ctx *ctx, const char *path, tess_type type, int64_t *count,
                          void **values)
{
    FILE *file = fopen(path, "rbe");
    if (!file)
        return tess_fail(ctx, TESS_ERR_IO, "%s: cannot be read", path);
    const tess_status status = read_values(ctx, path, file, type, count, values);
    fclose(file);
    return status;
}

/* ---- Writing ---- */

tess_status tess_npy_write(tess_ctx *ctx, const char *path, tess_type type, int64_t count,
                           const void *values)
{
    char head[2 * ALIGN];
    tess_output out;
    memcpy(head, magic, MAGIC);
    memcpy(head + MAGIC, "\x01\x00", 2);
    const int used = snprintf(head + 10, sizeof head - 10,
                              "{'descr': %s, 'fortran_order': False, 'shape': (%lld,), }",
                              names[type], (long long)count);
    memset(head + 10 + used, ' ', sizeof head - 10 - (size_t)used);
    head[sizeof head - 1] = '\n';
    head[8] = (char)(sizeof head - 10);
    head[9] = 0;
    TESS_TRY(tess_output_open(ctx, path, &out));
    tess_status status = tess_output_write(&out, head, sizeof head);
    TESS_THEN(tess_output_write(&out, values, (size_t)count * tess_type_size(type)));
    return tess_output_close(&out, status);
}

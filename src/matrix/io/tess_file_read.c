/* Reads .tess files; the layout is described in tess_file.h. Nothing is allocated before all sizes
 * are known to agree with each other and with the file's. */
#include "matrix/io/tess_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int64_t tess_file_read_at(int fd, void *to, int64_t bytes, int64_t offset)
{
    int64_t done = 0;
    while (done < bytes) {
        ptrdiff_t got = pread(fd, (char *)to + done, (size_t)(bytes - done), offset + done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += got;
    }
    return done;
}

bool tess_file_begins(const char *path, const char *magic, size_t bytes)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false; /* opening a pipe would take its reader's place */
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    char head[8];
    bool found = tess_file_read_at(fd, head, (int64_t)bytes, 0) == (int64_t)bytes &&
                 memcmp(head, magic, bytes) == 0;
    close(fd);
    return found;
}

bool tess_file_recognise(const char *path)
{
    return tess_file_begins(path, TESS_FILE_MAGIC, 8);
}

const char *const tess_file_section_names[] = {"row offsets", "columns", "values"};

/* Whether the header is the one that would be written for A, apart from the checksums. */
static bool sizes_agree(const tess_file_header *header, const tess_matrix *A)
{
    int64_t most = header->file_bytes / 4; /* elements; keeps sums from overflowing */
    if (A->block_rows > most || A->blocks > most || tess_matrix_stored(A) > most)
        return false;
    tess_file_header expected;
    tess_file_layout(A, &expected);
    for (int i = 0; i < 3; i++)
        expected.section[i].checksum = header->section[i].checksum;
    expected.checksum = header->checksum;
    return memcmp(&expected, header, sizeof expected) == 0;
}

tess_status tess_file_read_head(tess_ctx *ctx, const char *path, int fd, tess_file_header *header,
                                tess_matrix **out)
{
    struct stat info;
    if (tess_file_read_at(fd, header, sizeof *header, 0) != sizeof *header || fstat(fd, &info) != 0)
        return tess_fail(ctx, TESS_ERR_FORMAT, "%s: shorter than a .tess header (256 bytes)", path);
    if (header->checksum != tess_file_header_checksum(header))
        return tess_fail(ctx, TESS_ERR_FORMAT, "%s: the checksum of the header is wrong", path);
    if (header->version != TESS_FILE_VERSION)
        return tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                         "%s: version %u of the format, this library reads version %d", path,
                         header->version, TESS_FILE_VERSION);
    if (header->file_bytes != (int64_t)info.st_size)
        return tess_fail(ctx, TESS_ERR_FORMAT, "%s: has %lld bytes, but should have %lld", path,
                         (long long)info.st_size, (long long)header->file_bytes);
    if (header->type > TESS_C32 || header->block_height > TESS_BLOCK_MAX ||
        header->block_width > TESS_BLOCK_MAX)
        return tess_fail(ctx, TESS_ERR_FORMAT, "%s: type %u and blocks of %u x %u are not valid",
                         path, header->type, header->block_height, header->block_width);
    tess_matrix *A;
    tess_status status = tess_matrix_head(ctx, (tess_type)header->type, header->rows, header->cols,
                                          (int32_t)header->block_height,
                                          (int32_t)header->block_width, header->blocks, &A);
    if (status == TESS_ERR_MEMORY)
        return status;
    if (status != TESS_OK)
        return tess_fail(ctx, TESS_ERR_FORMAT, "%s: %s", path, tess_ctx_error(ctx));
    if (!sizes_agree(header, A)) {
        tess_matrix_destroy(A);
        return tess_fail(ctx, TESS_ERR_FORMAT, "%s: the sizes in the header contradict each other",
                         path);
    }
    *out = A;
    return TESS_OK;
}

struct read_pieces {
    const tess_file_section *section;
    void *to;
    int fd;
    uint64_t *pieces;
    int64_t done;
    bool *failed;
};

static void read_pieces(void *arg, tess_range range)
{
    const struct read_pieces *job = arg;
    bool failed = false;
    for (int64_t i = job->done + range.first; i < job->done + range.last; i++) {
        int64_t begin = i * TESS_FILE_PIECE, left = job->section->bytes - begin;
        int64_t bytes = tess_min(left, TESS_FILE_PIECE);
        char *piece = (char *)job->to + begin;
        failed |= tess_file_read_at(job->fd, piece, bytes, job->section->offset + begin) != bytes;
        job->pieces[i] = failed ? 0 : tess_hash_bytes(piece, (size_t)bytes, 0);
    }
    if (failed)
        tess_set_flag(job->failed, true);
}

/* Reads and checks a section in pieces, in rounds of several pieces per thread with progress
 * between rounds. */
static tess_status read_section(tess_ctx *ctx, const char *path, int fd,
                                const tess_file_header *header, int index, void *to)
{
    const tess_file_section *section = &header->section[index];
    int64_t count = tess_ceil_div(section->bytes, TESS_FILE_PIECE);
    int64_t round = (int64_t)ctx->threads * 16;
    uint64_t *pieces;
    TESS_TRY(TESS_ALLOC(ctx, count, &pieces));
    tess_status status = TESS_OK;
    for (int64_t done = 0; done < count && status == TESS_OK; done += round) {
        int64_t last = count - done < round ? count : done + round;
        bool failed = false;
        tess_for_dynamic(ctx, ctx->threads, last - done, 1, read_pieces,
                         &(struct read_pieces){section, to, fd, pieces, done, &failed});
        if (failed)
            status = tess_fail(ctx, TESS_ERR_IO, "%s: its %s cannot be read", path,
                               tess_file_section_names[index]);
        else
            status = tess_progress(
                ctx, "reading",
                (double)(section->offset + tess_min(last * TESS_FILE_PIECE, section->bytes)),
                (double)header->file_bytes);
    }
    if (status == TESS_OK && section->checksum != tess_file_section_checksum(pieces, count))
        status = tess_fail(ctx, TESS_ERR_FORMAT, "%s: the checksum of its %s is wrong", path,
                           tess_file_section_names[index]);
    tess_free(ctx, pieces);
    return status;
}

/* Checks the arrays by the rules of matrix.h; the error begins with the file's name. */
static tess_status check_arrays(tess_ctx *ctx, const char *path, const tess_matrix *A)
{
    tess_matrix_view view;
    tess_matrix_get_view(A, &view);
    tess_status status = tess_matrix_validate(ctx, &view, true);
    TESS_THEN(tess_matrix_check_padding(A));
    if (status != TESS_OK)
        return tess_fail(ctx, TESS_ERR_FORMAT, "%s: %s", path, tess_ctx_error(ctx));
    return TESS_OK;
}

tess_status tess_file_open(tess_ctx *ctx, const char *path, int *fd)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd >= 0)
        return TESS_OK;
    char reason[96] = "";
    return tess_fail(ctx, TESS_ERR_IO, "%s: %s", path, strerror_r(errno, reason, sizeof reason));
}

tess_status tess_file_read(tess_ctx *ctx, const char *path, tess_matrix **out)
{
    int fd;
    TESS_TRY(tess_file_open(ctx, path, &fd));
    tess_matrix *A = NULL;
    tess_file_header header;
    tess_status status;
    TESS_TRY_CLEAN(tess_file_read_head(ctx, path, fd, &header, &A));
    TESS_TRY_CLEAN(TESS_ALLOC(ctx, A->block_rows + 1, &A->row_offsets));
    TESS_TRY_CLEAN(tess_matrix_allocate_blocks(A, header.blocks));
    TESS_TRY_CLEAN(read_section(ctx, path, fd, &header, 0, A->row_offsets));
    TESS_TRY_CLEAN(read_section(ctx, path, fd, &header, 1, A->columns));
    TESS_TRY_CLEAN(read_section(ctx, path, fd, &header, 2, A->values));
    TESS_TRY_CLEAN(check_arrays(ctx, path, A));
cleanup:
    close(fd);
    return TESS_DELIVER(status, A, tess_matrix_destroy, out);
}

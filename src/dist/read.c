/* Parts read a .tess file: each reads its own rows, and together they verify the checksums.
 *
 * A part finds its range of rows by bisection in the row offsets of the file, of which it reads
 * some dozens. It then reads its rows' bytes of each section. The checksum of a section is computed
 * from the checksums of its pieces of 1 MiB. A part hashes the pieces that begin in its own bytes:
 *
 *     section   |....|....|....|....|....|        pieces
 *     part 0     -----------                      its bytes; hashes pieces 0, 1, 2
 *     part 1                ----------            hashes pieces 3, 4
 */
#include "dist/part.h"
#include "matrix/io/tess_file.h"
#include "matrix/partition/partition.h"

#include <unistd.h>

enum { SECTIONS = 3 };

/* The pieces of each section that a part hashes: first .. end-1. */
typedef struct piece_ranges {
    int64_t first[SECTIONS], end[SECTIONS];
} piece_ranges;

typedef struct part_file {
    tess_ctx *ctx;
    const tess_comm *comm;
    const char *path;
    int fd; /* -1: not open */
    tess_file_header header;
    tess_matrix *head;              /* sizes alone */
    bool unreadable;                /* an offset could not be read */
    int64_t first, end, at, blocks; /* block rows first .. end-1; their first block, and how many */
    int64_t *row_offsets, *columns;
    int32_t *stored; /* columns as the file has them */
    void *values;
    piece_ranges pieces, *everybody;
    uint64_t *mine, *all;   /* checksums of pieces: this part's; on part 0 those of all parts */
    tess_message *messages; /* one per part */
} part_file;

static tess_status unreadable(const part_file *f, int section)
{
    return tess_fail(f->ctx, TESS_ERR_IO, "%s: its %s cannot be read", f->path,
                     tess_file_section_names[section]);
}

static int64_t offset_of(void *user, int64_t row)
{
    part_file *f = user;
    int64_t offset = 0;
    const int64_t from = f->header.section[0].offset + row * (int64_t)sizeof offset;
    if (tess_file_read_at(f->fd, &offset, sizeof offset, from) != sizeof offset)
        f->unreadable = true;
    return offset;
}

/* Reads the header and finds the part's range of rows. */
static tess_status open_file(part_file *f)
{
    TESS_TRY(tess_file_open(f->ctx, f->path, &f->fd));
    TESS_TRY(tess_file_read_head(f->ctx, f->path, f->fd, &f->header, &f->head));
    TESS_TRY(tess_partition_check(f->ctx, f->head));
    const tess_matrix *A = f->head;
    f->first = tess_partition_first(offset_of, f, A, f->comm->rank, f->comm->size);
    f->end = tess_partition_first(offset_of, f, A, f->comm->rank + 1, f->comm->size);
    f->at = offset_of(f, f->first);
    f->blocks = offset_of(f, f->end) - f->at;
    if (f->unreadable)
        return unreadable(f, 0);
    if (f->first > f->end || f->at < 0 || f->blocks < 0 || f->at > f->header.blocks - f->blocks)
        return tess_fail(f->ctx, TESS_ERR_FORMAT, "%s: its row offsets decrease", f->path);
    return TESS_OK;
}

/* Reads elements first .. first+count-1 of a section. */
static tess_status read_elements(const part_file *f, int section, int64_t first, int64_t count,
                                 int64_t size, void *to)
{
    const int64_t from = f->header.section[section].offset + first * size;
    return tess_file_read_at(f->fd, to, count * size, from) == count * size
               ? TESS_OK
               : unreadable(f, section);
}

static int64_t block_bytes(const part_file *f)
{
    return (int64_t)tess_block_bytes(f->head->block_height, f->head->block_width, f->head->type);
}

static tess_status read_rows(part_file *f)
{
    const int64_t rows = f->end - f->first;
    TESS_TRY(TESS_ALLOC(f->ctx, rows + 1, &f->row_offsets));
    TESS_TRY(TESS_ALLOC(f->ctx, f->blocks, &f->columns));
    TESS_TRY(TESS_ALLOC(f->ctx, f->blocks, &f->stored));
    TESS_TRY(tess_alloc_bytes(f->ctx, f->blocks, (size_t)block_bytes(f), &f->values));
    TESS_TRY(read_elements(f, 0, f->first, rows + 1, sizeof *f->row_offsets, f->row_offsets));
    TESS_TRY(read_elements(f, 1, f->at, f->blocks, sizeof *f->stored, f->stored));
    TESS_TRY(read_elements(f, 2, f->at, f->blocks, block_bytes(f), f->values));
    for (int64_t i = 0; i <= rows; i++)
        f->row_offsets[i] -= f->at;
    for (int64_t k = 0; k < f->blocks; k++)
        f->columns[k] = f->stored[k];
    return TESS_OK;
}

/* ---- Checksums ---- */

static int64_t pieces_of(const part_file *f, int section)
{
    return tess_ceil_div(f->header.section[section].bytes, TESS_FILE_PIECE);
}

/* The first piece that begins in the bytes of block row `row`, whose first block is `block`, or of
 * a later row. Behind the last row it is the number of pieces. */
static int64_t piece_at(const part_file *f, int section, int64_t row, int64_t block)
{
    if (row == f->head->block_rows)
        return pieces_of(f, section);
    const int64_t byte = section == 0   ? row * (int64_t)sizeof *f->row_offsets
                         : section == 1 ? block * (int64_t)sizeof *f->stored
                                        : block * block_bytes(f);
    return tess_ceil_div(byte, TESS_FILE_PIECE);
}

/* Hashes this part's pieces, section after section, into `mine`. */
static tess_status hash_pieces(part_file *f, char *piece)
{
    uint64_t *sums = f->mine;
    for (int section = 0; section < SECTIONS; section++) {
        const tess_file_section *s = &f->header.section[section];
        for (int64_t i = f->pieces.first[section]; i < f->pieces.end[section]; i++) {
            const int64_t begin = i * TESS_FILE_PIECE;
            const int64_t bytes = tess_min(TESS_FILE_PIECE, s->bytes - begin);
            if (tess_file_read_at(f->fd, piece, bytes, s->offset + begin) != bytes)
                return unreadable(f, section);
            *sums++ = tess_hash_bytes(piece, (size_t)bytes, 0);
        }
    }
    return TESS_OK;
}

static int64_t count_pieces(const piece_ranges *p)
{
    int64_t count = 0;
    for (int section = 0; section < SECTIONS; section++)
        count += p->end[section] - p->first[section];
    return count;
}

static tess_status hash_sections(part_file *f)
{
    char *piece;
    for (int section = 0; section < SECTIONS; section++) {
        f->pieces.first[section] = piece_at(f, section, f->first, f->at);
        f->pieces.end[section] = piece_at(f, section, f->end, f->at + f->blocks);
    }
    TESS_TRY(TESS_ALLOC(f->ctx, count_pieces(&f->pieces), &f->mine));
    TESS_TRY(TESS_ALLOC(f->ctx, f->comm->size, &f->everybody));
    TESS_TRY(TESS_ALLOC(f->ctx, f->comm->size, &f->messages));
    TESS_TRY(TESS_ALLOC(f->ctx, TESS_FILE_PIECE, &piece));
    const tess_status status = hash_pieces(f, piece);
    tess_free(f->ctx, piece);
    return status;
}

/* Part 0 receives the checksums of all parts, in the order of the parts. */
static tess_status receive_checksums(part_file *f)
{
    const int size = f->comm->size;
    int64_t at = count_pieces(&f->everybody[0]);
    int count = 0;
    for (int r = 1; r < size; r++) {
        const int64_t pieces = count_pieces(&f->everybody[r]);
        if (pieces > 0)
            f->messages[count++] = (tess_message){r, (size_t)pieces * sizeof *f->all, f->all + at};
        at += pieces;
    }
    memcpy(f->all, f->mine, (size_t)count_pieces(&f->pieces) * sizeof *f->all);
    return tess_comm_exchange(f->ctx, f->comm, 0, NULL, count, f->messages);
}

/* Part 0 compares the checksum of a section with that of its pieces, which lie in the order of the
 * parts. */
static tess_status compare_section(const part_file *f, int section, uint64_t *sums)
{
    const uint64_t *from = f->all;
    int64_t count = 0;
    for (int r = 0; r < f->comm->size; r++) {
        const piece_ranges *p = &f->everybody[r];
        for (int s = 0; s < SECTIONS; s++)
            for (int64_t i = p->first[s]; i < p->end[s]; i++, from++)
                if (s == section)
                    sums[count++] = *from;
    }
    if (count != pieces_of(f, section) ||
        tess_file_section_checksum(sums, count) != f->header.section[section].checksum)
        return tess_fail(f->ctx, TESS_ERR_FORMAT, "%s: the checksum of its %s is wrong", f->path,
                         tess_file_section_names[section]);
    return TESS_OK;
}

static tess_status compare_checksums(part_file *f)
{
    uint64_t *sums = NULL;
    int64_t all = 0;
    tess_status status = tess_comm_check(
        f->ctx, f->comm, f->comm->gather(f->comm->user, &f->pieces, sizeof f->pieces, f->everybody),
        "gathering who reads what");
    for (int r = 0; status == TESS_OK && r < f->comm->size; r++)
        all += count_pieces(&f->everybody[r]);
    const bool first = f->comm->rank == 0;
    if (status == TESS_OK && first)
        status = TESS_ALLOC(f->ctx, all, &f->all);
    if (status == TESS_OK && first)
        status = TESS_ALLOC(f->ctx, all, &sums);
    TESS_TRY_CLEAN(tess_comm_agree(f->ctx, f->comm, status));
    const int64_t mine = count_pieces(&f->pieces);
    const tess_message one = {0, (size_t)mine * sizeof *f->mine, f->mine};
    status =
        first ? receive_checksums(f) : tess_comm_exchange(f->ctx, f->comm, mine > 0, &one, 0, NULL);
    for (int section = 0; status == TESS_OK && first && section < SECTIONS; section++)
        status = compare_section(f, section, sums);
    TESS_TRY_CLEAN(tess_comm_agree(f->ctx, f->comm, status));
cleanup:
    tess_free(f->ctx, sums);
    return status;
}

/* ---- The part ---- */

static tess_status make_part(part_file *f, tess_part **out)
{
    const tess_matrix *A = f->head;
    const int64_t last = tess_min(f->end * A->block_height, A->rows);
    const tess_part_view view = {.type = A->type,
                                 .rows = last - tess_min(f->first * A->block_height, last),
                                 .block = A->block_height,
                                 .order = TESS_ORDER_COLUMN_MAJOR,
                                 .row_offsets = f->row_offsets,
                                 .columns = f->columns,
                                 .values = f->values};
    return tess_part_create(f->ctx, f->comm, &view, out);
}

tess_status tess_part_read(tess_ctx *ctx, const tess_comm *comm, const char *path, tess_part **out)
{
    TESS_NEED(ctx, ctx && comm && out);
    TESS_TRY(tess_comm_whole(ctx, comm));
    part_file f = {.ctx = ctx, .comm = comm, .path = path, .fd = -1};
    tess_status status = path ? open_file(&f) : tess_null_argument(ctx, __func__);
    TESS_THEN(read_rows(&f));
    TESS_THEN(hash_sections(&f));
    TESS_TRY_CLEAN(tess_comm_agree(ctx, comm, status));
    TESS_TRY_CLEAN(compare_checksums(&f));
    TESS_TRY_CLEAN(make_part(&f, out));
cleanup:
    tess_matrix_destroy(f.head);
    TESS_FREE(ctx, f.row_offsets, f.columns, f.stored, f.values, f.everybody, f.mine, f.all,
              f.messages);
    if (f.fd >= 0)
        close(f.fd);
    return status;
}

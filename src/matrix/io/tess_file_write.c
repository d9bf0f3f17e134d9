/* Writes .tess files; the layout is described in tess_file.h. */
#include "matrix/io/tess_file.h"

#include "matrix/io/output.h"

static int64_t aligned(int64_t bytes)
{
    return tess_ceil_div(bytes, TESS_FILE_ALIGN) * TESS_FILE_ALIGN;
}

void tess_file_layout(const tess_matrix *A, tess_file_header *header)
{
    *header = (tess_file_header){
        .version = TESS_FILE_VERSION,
        .header_bytes = TESS_FILE_HEADER,
        .type = (uint32_t)A->type,
        .block_height = (uint32_t)A->block_height,
        .block_width = (uint32_t)A->block_width,
        .rows = A->rows,
        .cols = A->cols,
        .blocks = A->blocks,
    };
    memcpy(header->magic, TESS_FILE_MAGIC, sizeof header->magic);
    header->section[0].bytes = (A->block_rows + 1) * (int64_t)sizeof *A->row_offsets;
    header->section[1].bytes = A->blocks * (int64_t)sizeof *A->columns;
    header->section[2].bytes = tess_matrix_stored(A) * (int64_t)tess_type_size(A->type);
    int64_t at = TESS_FILE_HEADER;
    for (int i = 0; i < 3; i++) {
        header->section[i].offset = aligned(at);
        at = header->section[i].offset + header->section[i].bytes;
    }
    header->file_bytes = at;
}

uint64_t tess_file_header_checksum(const tess_file_header *header)
{
    return tess_hash_bytes(header, offsetof(tess_file_header, checksum), 0);
}

uint64_t tess_file_section_checksum(const uint64_t *pieces, int64_t count)
{
    return tess_hash_bytes(pieces, (size_t)count * sizeof *pieces, 0);
}

struct hash_pieces {
    tess_file_section *section;
    uint64_t *pieces;
    const void *bytes;
};

static void hash_pieces(void *arg, tess_range range)
{
    const struct hash_pieces *job = arg;
    for (int64_t i = range.first; i < range.last; i++) {
        int64_t begin = i * TESS_FILE_PIECE, left = job->section->bytes - begin;
        job->pieces[i] = tess_hash_bytes((const char *)job->bytes + begin,
                                         (size_t)tess_min(left, TESS_FILE_PIECE), 0);
    }
}

static tess_status hash_section(tess_ctx *ctx, const void *bytes, tess_file_section *section)
{
    int64_t count = tess_ceil_div(section->bytes, TESS_FILE_PIECE);
    uint64_t *pieces;
    TESS_TRY(TESS_ALLOC(ctx, count, &pieces));
    tess_for(ctx, count, hash_pieces, &(struct hash_pieces){section, pieces, bytes});
    section->checksum = tess_file_section_checksum(pieces, count);
    tess_free(ctx, pieces);
    return TESS_OK;
}

/* Writes a section in portions, so that progress can be reported and the work be cancelled. */
static tess_status write_section(tess_output *out, const void *bytes, const tess_file_section *s,
                                 int64_t file_bytes)
{
    const int64_t portion = 16 * TESS_FILE_PIECE;
    for (int64_t done = 0; done < s->bytes; done += portion) {
        int64_t left = s->bytes - done;
        TESS_TRY(
            tess_output_write(out, (const char *)bytes + done, (size_t)tess_min(left, portion)));
        TESS_TRY(
            tess_progress(out->ctx, "writing", (double)(s->offset + done), (double)file_bytes));
    }
    return TESS_OK;
}

static tess_status write_all(tess_output *out, const tess_file_header *header,
                             const void *const arrays[3])
{
    static const char zeros[TESS_FILE_ALIGN] = {0};
    TESS_TRY(tess_output_write(out, header, sizeof *header));
    int64_t at = TESS_FILE_HEADER;
    for (int i = 0; i < 3; i++) {
        const tess_file_section *section = &header->section[i];
        TESS_TRY(tess_output_write(out, zeros, (size_t)(section->offset - at)));
        TESS_TRY(write_section(out, arrays[i], section, header->file_bytes));
        at = section->offset + section->bytes;
    }
    return TESS_OK;
}

tess_status tess_file_write(tess_ctx *ctx, const tess_matrix *A, const char *path)
{
    tess_file_header header;
    const void *const arrays[3] = {A->row_offsets, A->columns, A->values};
    tess_file_layout(A, &header);
    for (int i = 0; i < 3; i++)
        TESS_TRY(hash_section(ctx, arrays[i], &header.section[i]));
    header.checksum = tess_file_header_checksum(&header);
    tess_output out;
    TESS_TRY(tess_output_open(ctx, path, &out));
    return tess_output_close(&out, write_all(&out, &header, arrays));
}

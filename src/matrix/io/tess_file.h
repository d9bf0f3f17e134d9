/* .tess: a matrix as its arrays, ready to be used.
 *
 * All numbers are little-endian. A header of 256 bytes, then row offsets, columns and values, each
 * at the next multiple of 64 bytes with zeros between:
 *
 *     byte 0    8    magic 89 'T' 'E' 'S' 'S' 0d 0a 1a (damaged by any text-mode transfer)
 *          8    u32  version of the format, 1
 *          12   u32  bytes of the header, 256
 *          16   u32  type: 0 f64, 1 f32, 2 c64, 3 c32
 *          20   u32  block height r
 *          24   u32  block width c
 *          28   u32  0
 *          32   i64  rows, 40 cols (scalars), 48 blocks
 *          56   i64  bytes of the file
 *          64   3 x  {i64 offset, i64 bytes, u64 checksum} of row offsets (i64), columns (i32)
 *                    and values
 *          136       zeros
 *          248  u64  XXH64 of bytes 0..247
 *
 * The checksum of a section is the XXH64 of the XXH64s of its pieces of 1 MiB, all with seed 0, so
 * that pieces can be read and checked in parallel.
 */
#pragma once

#include "matrix/matrix.h"

enum { TESS_FILE_VERSION = 1, TESS_FILE_HEADER = 256, TESS_FILE_ALIGN = 64 };

#define TESS_FILE_MAGIC "\x89TESS\r\n\x1a"
#define TESS_FILE_PIECE ((int64_t)1 << 20)

typedef struct tess_file_section {
    int64_t offset, bytes;
    uint64_t checksum;
} tess_file_section;

typedef struct tess_file_header {
    char magic[8];
    uint32_t version, header_bytes, type, block_height, block_width, zero;
    int64_t rows, cols, blocks, file_bytes;
    tess_file_section section[3];
    char zeros[112];
    uint64_t checksum;
} tess_file_header;

_Static_assert(sizeof(tess_file_header) == TESS_FILE_HEADER, "the header's layout is fixed");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, ".tess is written as memory has it");

/* Sets the offsets and bytes of A's sections, and the bytes of the file, in a header that has all
 * other sizes. */
void tess_file_layout(const tess_matrix *A, tess_file_header *header);
uint64_t tess_file_header_checksum(const tess_file_header *header);
/* The checksum of a section, from those of its pieces. */
uint64_t tess_file_section_checksum(const uint64_t *pieces, int64_t count);

/* Whether the file begins with `magic`, of at most 8 bytes; false also when it cannot be read. */
bool tess_file_begins(const char *path, const char *magic, size_t bytes);
/* Whether it begins as a .tess file. */
bool tess_file_recognise(const char *path);
tess_status tess_file_read(tess_ctx *ctx, const char *path, tess_matrix **out);
tess_status tess_file_write(tess_ctx *ctx, const tess_matrix *A, const char *path);

/* ---- An open file, read in pieces ---- */

extern const char *const tess_file_section_names[]; /* "row offsets" .. */

tess_status tess_file_open(tess_ctx *ctx, const char *path, int *fd);
/* Returns the number of bytes read, or -1. It is less than `bytes` only at the end of the file. */
int64_t tess_file_read_at(int fd, void *to, int64_t bytes, int64_t offset);
/* Reads and checks the header, and makes a matrix without arrays from it. */
tess_status tess_file_read_head(tess_ctx *ctx, const char *path, int fd, tess_file_header *header,
                                tess_matrix **out);

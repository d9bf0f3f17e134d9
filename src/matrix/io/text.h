/* A text file, plain or gzip, as a sequence of buffers that each hold whole lines.
 *
 *     buffer[0]  |carry| ... chunk ... \n|rest     current: `text`, `length` bytes, parsed now
 *     buffer[1]  |rest | ... chunk ... \n|rest     filled meanwhile by one other thread
 *
 * A buffer ends with a newline (one is added to a last line without), followed by TESS_TEXT_PAD
 * readable bytes. A failure while filling is kept, and reported only after all whole lines before
 * it were handed out. So the first fault of a file is the one reported.
 */
#pragma once

#include <zlib.h>

#include "core/core.h"

enum {
    TESS_LINE_MAX = 65536, /* bytes in a line */
    TESS_TEXT_PAD = 64,
    TESS_TEXT_CHUNK = 8 << 20
};

typedef struct tess_text {
    tess_ctx *ctx;
    const char *path;
    int fd;
    int64_t file_bytes;  /* on disk; -1 when it is not a regular file */
    int64_t file_done;   /* of file_bytes, read so far */
    int64_t lines_taken; /* lines before `text` */
    char *text;          /* current whole lines */
    size_t length;
    size_t chunk;
    char *buffer[2];
    int filling; /* index of the buffer that the next fill writes */
    size_t filled, whole;
    bool ended, gzip, stream_ended;
    z_stream inflater;
    unsigned char *packed; /* compressed bytes, or the first bytes of a plain file */
    size_t packed_begin, packed_end;
    tess_status fault; /* of the filling, not yet reported */
    char fault_text[160];
} tess_text;

/* A zlib stream whose memory comes from the context. */
z_stream tess_zlib_stream(tess_ctx *ctx);

/* `chunk`: the bytes that one fill reads (TESS_TEXT_CHUNK; tests use a few). */
tess_status tess_text_open(tess_ctx *ctx, const char *path, size_t chunk, tess_text *text);
void tess_text_close(tess_text *text);

/* Fills the spare buffer. It does not call tess_fail, so it may run inside a parallel call. */
void tess_text_fill(tess_text *text);

/* Makes the filled buffer current. length = 0 means the end, where a kept fault is reported. */
tess_status tess_text_swap(tess_text *text);

/* The next line, for headers, without its newline and trailing blanks; refills the buffer when
 * needed. *line = NULL at the end of the file. */
tess_status tess_text_line(tess_text *text, char **line);

/* An upper bound of the file's size as plain text in bytes; INT64_MAX when unknown. */
int64_t tess_text_bound(const tess_text *text);

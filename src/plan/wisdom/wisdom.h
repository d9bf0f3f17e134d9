/* Wisdom: which candidate won for matrices like this one, kept from run to run.
 *
 * A file is JSON, {"tessera_wisdom": 1, "entries": {KEY: ENTRY, ...}}. A key is
 * "device model|spmv|RxC|type|rows|spread|place", with "|half" where the device can store half of
 * the matrix, e.g.
 *
 *     "cpu, 2 threads, neon, Neoverse-V1|spmv|3x3|f64|medium|regular|memory"
 *
 * and an entry {"format", "kernel", "params", "seconds", "bytes", "effort", "kernels", "shaped"}:
 * what won, what one product took and moved, how thoroughly it was searched, a hash of the sources
 * of the kernels that it won against, and whether its parameters are to be found in each matrix.
 * Wisdom is a hint: what does not parse is skipped with a line in the log; what does not apply any
 * more, or was found among other kernels, is searched again. It decides which kernel runs, never
 * what a kernel computes.
 *
 * Files, later ones winning: those named in TESSERA_PROFILES (':' between them, shipped ones are in
 * profiles/), then the user's own, TESSERA_WISDOM or tessera/wisdom.json in the cache directory.
 * TESSERA_WISDOM=off: none at all. A context reads them once, at its first search. The caller may
 * decide otherwise: tess_ctx_set_wisdom.
 */
#pragma once

#include "backend/backend.h"

enum { TESS_WISDOM_KEY = 256, TESS_WISDOM_KERNELS = 24 };

typedef struct tess_wisdom_entry {
    char key[TESS_WISDOM_KEY];
    tess_candidate candidate;
    double seconds, bytes;             /* of one product */
    tess_effort effort;                /* MEASURE or EXHAUSTIVE */
    char kernels[TESS_WISDOM_KERNELS]; /* tess_backend.kernels; "": nobody knows */
    bool unsaved;                      /* the file lacks it */
} tess_wisdom_entry;

struct tess_wisdom {
    tess_ctx *ctx;
    tess_wisdom_entry *entries;
    int64_t count, capacity;
};

const char *tess_effort_name(tess_effort effort); /* "measure" */

/* Whether an entry was found among the kernels that its device has now. */
bool tess_wisdom_is_current(const tess_wisdom_entry *entry, const tess_backend *backend);
/* The backend of an entry's device; NULL: this library has no such backend. */
const tess_backend *tess_wisdom_backend(const tess_wisdom_entry *entry);

/* The key of a plan of A on a device. */
void tess_wisdom_key(const tess_device *device, const tess_matrix *A, char *key);

/* Whether wisdom is switched on; otherwise nothing below does anything. */
bool tess_wisdom_enabled(const tess_ctx *ctx);
/* The file that keeps it; false when there is none. */
bool tess_wisdom_path(const tess_ctx *ctx, char *path, size_t size);

/* The context's wisdom, read at the first call. NULL: off, or no memory. */
struct tess_wisdom *tess_wisdom_of(tess_ctx *ctx);
/* NULL: nothing known. Valid until the next change. */
const tess_wisdom_entry *tess_wisdom_find(tess_ctx *ctx, const char *key);
/* Remembers in the context and in its file. A file that cannot be written is a line in the log. */
void tess_wisdom_remember(tess_ctx *ctx, const tess_wisdom_entry *entry);

tess_status tess_wisdom_put(struct tess_wisdom *wisdom, const tess_wisdom_entry *entry);
/* Frees the entries. The struct is the caller's. */
void tess_wisdom_free(struct tess_wisdom *wisdom);

/* file.c. Entries that make no sense are skipped with a log line. A file that is not there is no
 * wisdom; one that holds something else is an error, and is never written to. */
tess_status tess_wisdom_merge_file(struct tess_wisdom *wisdom, const char *path);
tess_status tess_wisdom_merge_text(struct tess_wisdom *wisdom, const char *text, int64_t *merged);
/* Puts the unsaved entries into the file, in the place of equal keys. What others have written
 * meanwhile stays. With none it only finds out whether the file could be written. */
tess_status tess_wisdom_save_file(struct tess_wisdom *wisdom, const char *path);
/* Takes the classes whose name contains `part` out of the file. *forgotten: those that the context
 * does not know as well. */
tess_status tess_wisdom_forget_file(tess_ctx *ctx, const char *path, const char *part,
                                    int64_t *forgotten);
tess_status tess_wisdom_to_text(const struct tess_wisdom *wisdom, char **text);

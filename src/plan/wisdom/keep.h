/* JSON files that several processes change: wisdom and models.
 *
 * A change is read, edit, write under a lock on the file's directory. The new text is written to
 * another file, which is then renamed. A reader never sees half of it, so only writers need the
 * lock. A file that holds something else is never replaced.
 */
#pragma once

#include <jansson.h>

#include "core/core.h"

/* One kind of file. */
typedef struct tess_kept_kind {
    const char *name; /* "wisdom" */
    const char *key;  /* of the version in the document: "tessera_wisdom" */
    int version;
    const char *object; /* the member that holds all: "entries" */
    const char *advice; /* what to do about a file of another kind */
} tess_kept_kind;

/* Whether a document is of this kind and version. */
bool tess_kept_is(const tess_kept_kind *kind, const json_t *document);

/* The document of a file, to be released with json_decref; NULL where there is no file or an empty
 * one. TESS_ERR_FORMAT where it holds something else. */
tess_status tess_kept_read(tess_ctx *ctx, const tess_kept_kind *kind, const char *path,
                           json_t **out);

/* Changes a document in place and says whether it is to be written. */
typedef tess_status (*tess_kept_edit)(void *user, json_t *document, bool *changed);

/* Reads the file (an empty document where there is none), edits and writes it. A NULL edit only
 * finds out whether that is possible. Directories are made. */
tess_status tess_kept_change(tess_ctx *ctx, const tess_kept_kind *kind, const char *path,
                             tess_kept_edit edit, void *user);

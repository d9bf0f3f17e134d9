/* The disk cache of compiled kernels.
 *
 * One file per entry, <hash>-<major>.<minor>.cubin, in $TESSERA_CACHE, $XDG_CACHE_HOME/tessera or
 * ~/.cache/tessera. `hash` covers the bytes of the source and of what it includes, the defines and
 * the architecture. The numbers are NVRTC's version. A file is
 *
 *     header | label (what was compiled, for people and against collisions) | code (cubin or PTX)
 *
 * with a checksum over all of it. It is written under another name and renamed into place. Any
 * fault of a file or a directory, or the lack of a home directory, makes a miss, never an error.
 */
#pragma once

#include "core/core.h"

enum { TESS_CACHE_LABEL = 1024 };

typedef struct tess_cache_key {
    uint64_t hash;
    int nvrtc_major, nvrtc_minor; /* 0.0: any version will do (loading only) */
    char label[TESS_CACHE_LABEL]; /* "sliced.cu sm_90 -DB=3 ...": compared in full */
} tess_cache_key;

typedef struct tess_cache_entry {
    void *code; /* tess_free */
    size_t bytes;
    bool verified; /* its results were compared with ref's on a device */
} tess_cache_entry;

/* The directory in force; false when none can be named. */
bool tess_cache_directory(char *path, size_t size);

/* True and *out filled when a sound entry for `key` exists. */
bool tess_cache_load(tess_ctx *ctx, const tess_cache_key *key, tess_cache_entry *out);

/* Whether there is a file for `key`, sound or not. True as well where no directory can be named:
 * nothing could be stored. */
bool tess_cache_has(const tess_cache_key *key);

/* Best effort; false when nothing was stored. */
bool tess_cache_store(tess_ctx *ctx, const tess_cache_key *key, const tess_cache_entry *entry);

/* One file of the cache, as `tessera cache list` shows it. */
typedef struct tess_cache_item {
    char file[64];
    char label[TESS_CACHE_LABEL]; /* "" when the file is damaged or from another version */
    size_t bytes;
    bool sound, verified;
} tess_cache_item;

/* Calls `visit` for every file of the cache, in alphabetical order. */
void tess_cache_list(tess_ctx *ctx, void (*visit)(void *user, const tess_cache_item *item),
                     void *user);

/* Removes the cache's files (and nothing else in the directory); the number removed. */
int64_t tess_cache_clear(void);

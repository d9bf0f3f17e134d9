/* Shared libraries that are looked for when they are first used, so the build needs none of
 * them. */
#pragma once

#include "core/core.h"

typedef struct tess_library_function {
    const char *symbol;
    size_t at; /* of the pointer in a struct of them */
} tess_library_function;

/* A shared library: the files it may be in, and where its functions go. */
typedef struct tess_library {
    const char *title;        /* "KLU" */
    const char *origin;       /* "SuiteSparse", for the sentence; NULL: the title says it */
    const char *packages;     /* Debian's, where it is found */
    const char *instead;      /* what else can be done: "choose another method" */
    const char *variable;     /* of the environment: a directory to look in first, or "off" */
    const char *const *names; /* NULL after the last */
    const tess_library_function *functions; /* {NULL, 0} after the last */
} tess_library;

/* Loads the library and fills the function pointers of *api; with api = NULL only checks that the
 * functions exist. On failure the error's sentence says what to install. The library stays
 * loaded. */
tess_status tess_library_find(tess_ctx *ctx, const tess_library *library, void *api);

/* What is asked of the operating system: shared libraries, and the user's cache directory. */
#pragma once

#include "core/core.h"

/* Loads a shared library, which stays mapped until the process ends: drivers and BLAS keep threads
 * and exit handlers of their own. NULL: it cannot be loaded. */
void *tess_library_open(const char *path);
/* Writes the address of a function of the library to *target; false: there is none. */
bool tess_library_symbol(void *library, const char *name, void *target);

/* The path that the environment's `variable` names; else `file` (with its '/', or "") in tessera/
 * in the user's cache directory. False: there is no such directory, or the path is too long. */
bool tess_user_path(const char *variable, const char *file, char *path, size_t size);
/* mkdir -p of the directory that a file is in. A failure shows when the file is made. */
void tess_make_directories(const char *path);

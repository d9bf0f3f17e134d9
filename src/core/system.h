/* What is asked of the operating system: shared libraries, and the user's cache directory. */
#pragma once

#include "core/core.h"

/* Loads a shared library, which stays mapped until the process ends: drivers and BLAS keep threads
 * and exit handlers of their own. NULL: it cannot be loaded. */
void *tess_library_open(const char *path);
/* Writes the address of a function of the library to *target; false: there is none. */
bool tess_library_symbol(void *library, const char *name, void *target);

/* Writes the path that the environment's `variable` names. Without the variable it is that of
 * `file` (with its '/', or "") in tessera/ in the user's cache directory. False: there is no cache
 * directory, or the path is too long. */
bool tess_user_path(const char *variable, const char *file, char *path, size_t size);
/* mkdir -p of the directory of the file at `path`. A failure is noticed when the file is
 * created. */
void tess_make_directories(const char *path);

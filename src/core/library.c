/* Finds shared libraries by name. */
#include "core/library.h"

#include <dlfcn.h>

static void *load(const tess_library *library)
{
    const char *directory = getenv(library->variable);
    if (directory && strcmp(directory, "off") == 0)
        return NULL;
    void *loaded = NULL;
    for (int i = 0; library->names[i] && !loaded; i++) {
        char path[4096];
        if (directory && *directory) {
            const int length = snprintf(path, sizeof path, "%s/%s", directory, library->names[i]);
            if (length > 0 && (size_t)length < sizeof path)
                loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        }
        if (!loaded)
            loaded = dlopen(library->names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    }
    return loaded;
}

tess_status tess_library_find(tess_ctx *ctx, const tess_library *library, void *api)
{
    void *loaded = load(library);
    bool found = loaded != NULL;
    for (int i = 0; found && library->functions[i].symbol; i++) {
        /* ISO C has no conversion from an object pointer to a function pointer; POSIX promises that
         * this copy works. */
        void *symbol = dlsym(loaded, library->functions[i].symbol);
        if (api)
            memcpy((char *)api + library->functions[i].at, &symbol, sizeof symbol);
        found = symbol != NULL;
    }
    return found ? TESS_OK
                 : tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                             "%s%s%s%s is not here: install it (Debian: %s), or %s", library->title,
                             library->origin ? " (" : "", library->origin ? library->origin : "",
                             library->origin ? ")" : "", library->packages, library->instead);
}

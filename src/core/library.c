/* Finds shared libraries by name, and functions in them. */
#include "core/library.h"

#include "core/system.h"

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
                loaded = tess_library_open(path);
        }
        if (!loaded)
            loaded = tess_library_open(library->names[i]);
    }
    return loaded;
}

tess_status tess_library_find(tess_ctx *ctx, const tess_library *library, void *api)
{
    void *loaded = load(library);
    bool found = loaded != NULL;
    for (int i = 0; found && library->functions[i].symbol; i++) {
        void *unused;
        found = tess_library_symbol(loaded, library->functions[i].symbol,
                                    api ? (char *)api + library->functions[i].at : (void *)&unused);
    }
    return found ? TESS_OK
                 : tess_fail(ctx, TESS_ERR_UNSUPPORTED,
                             "%s%s%s%s is not here: install it (Debian: %s), or %s", library->title,
                             library->origin ? " (" : "", library->origin ? library->origin : "",
                             library->origin ? ")" : "", library->packages, library->instead);
}

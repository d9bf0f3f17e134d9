/* Shared libraries and the user's directories. */
#include "core/system.h"

#include <dlfcn.h>
#include <sys/stat.h>

void *tess_library_open(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

/* ISO C has no conversion from an object pointer to a function pointer; POSIX promises that this
 * copy works. */
bool tess_library_symbol(void *library, const char *name, void *target)
{
    void *symbol = dlsym(library, name);
    memcpy(target, &symbol, sizeof symbol);
    return symbol != NULL;
}

bool tess_user_path(const char *variable, const char *file, char *path, size_t size)
{
    const char *named = getenv(variable), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (named && *named)
        length = snprintf(path, size, "%s", named);
    else if (xdg && *xdg == '/')
        length = snprintf(path, size, "%s/tessera%s", xdg, file);
    else if (home && *home == '/')
        length = snprintf(path, size, "%s/.cache/tessera%s", home, file);
    return length > 0 && (size_t)length < size;
}

void tess_make_directories(const char *path)
{
    char part[4096];
    snprintf(part, sizeof part, "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(part, 0777);
        *slash = '/';
    }
}

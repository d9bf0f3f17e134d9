/* dlopen of libcuda and NVRTC: where to look, and what to say when nothing is found. */
#include "cuda/driver/loader.h"

#include <glob.h>
#include <sys/stat.h>

#include "core/system.h"

tess_status tess_driver_load(tess_ctx *ctx, tess_driver *out)
{
    static const char *const places[] = {
        "libcuda.so.1",
        "/usr/lib/wsl/lib/libcuda.so.1",
        "/usr/local/nvidia/lib64/libcuda.so.1",
    };
    const char *named = getenv("TESSERA_LIBCUDA");
    void *library = NULL;
    if (named && *named) {
        library = tess_library_open(named);
        if (!library)
            return tess_fail(ctx, TESS_ERR_DEVICE,
                             "device 'cuda': TESSERA_LIBCUDA names '%s', which cannot be loaded",
                             named);
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !library; i++)
        library = tess_library_open(places[i]);
    if (!library)
        return tess_fail(ctx, TESS_ERR_DEVICE,
                         "device 'cuda': the NVIDIA driver (libcuda.so.1) is not installed");

    tess_driver driver;
    const char *missing = NULL;
#define X(field, symbol, arguments)                           \
    if (!tess_library_symbol(library, symbol, &driver.field)) \
        missing = symbol;
    TESS_DRIVER_FUNCTIONS(X)
#undef X
#define X(field, symbol, arguments) (void)tess_library_symbol(library, symbol, &driver.field);
    TESS_DRIVER_NEWER_FUNCTIONS(X)
#undef X
    if (missing)
        return tess_fail(ctx, TESS_ERR_DEVICE,
                         "device 'cuda': the NVIDIA driver is too old: it has no %s (CUDA 11.8 or "
                         "newer is needed)",
                         missing);
    *out = driver;
    return TESS_OK;
}

/* What a search has looked at so far. */
typedef struct search {
    const char *const *names; /* file names, best first, NULL at the end */
    void *library;
    char *tried;
    size_t size;
} search;

static void try_directory(search *s, const char *directory)
{
    if (s->library)
        return;
    tess_append(s->tried, s->size, "%s%s", *s->tried ? ", " : "",
                *directory ? directory : "the loader's path");
    for (int i = 0; s->names[i] && !s->library; i++) {
        char path[4096];
        int length =
            snprintf(path, sizeof path, "%s%s%s", directory, *directory ? "/" : "", s->names[i]);
        if (length > 0 && (size_t)length < sizeof path)
            s->library = tess_library_open(path);
    }
}

/* A directory, or a pattern of directories, below a prefix that may be unset. */
static void try_below(search *s, const char *prefix, const char *below)
{
    char pattern[4096];
    if (s->library || !prefix || !*prefix)
        return;
    int length = snprintf(pattern, sizeof pattern, "%s/%s", prefix, below);
    if (length < 0 || (size_t)length >= sizeof pattern)
        return;
    if (!strchr(below, '*')) {
        try_directory(s, pattern);
        return;
    }
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && !s->library; i++)
            try_directory(s, found.gl_pathv[i]);
    globfree(&found);
}

/* PyPI's wheels unpack below site-packages/nvidia/<package>/lib (CUDA 12) or nvidia/cu13/lib. */
static void try_python(search *s, const char *prefix, const char *package)
{
    static const char *const sites[] = {
        "lib/python3*/site-packages",
        "lib/python3*/dist-packages",
        "local/lib/python3*/dist-packages",
    };
    for (size_t i = 0; i < sizeof sites / sizeof sites[0]; i++) {
        char below[256];
        snprintf(below, sizeof below, "%s/nvidia/cu1*/lib", sites[i]);
        try_below(s, prefix, below);
        snprintf(below, sizeof below, "%s/nvidia/%s/lib", sites[i], package);
        try_below(s, prefix, below);
    }
}

/* The prefix of the python3 first on the PATH: a virtual environment that is in use without having
 * been activated by name. */
static void try_python_on_path(search *s, const char *package)
{
    const char *path = getenv("PATH");
    while (path && *path && !s->library) {
        size_t length = strcspn(path, ":");
        char prefix[4096];
        int wrote = snprintf(prefix, sizeof prefix, "%.*s/python3", (int)length, path);
        struct stat entry;
        if (wrote > 0 && (size_t)wrote < sizeof prefix && stat(prefix, &entry) == 0) {
            snprintf(prefix, sizeof prefix, "%.*s/..", (int)length, path);
            try_python(s, prefix, package);
            return;
        }
        path += length + (path[length] == ':');
    }
}

void *tess_cuda_open_library(const char *variable, const char *const *names, const char *package,
                             char *tried, size_t size)
{
    search s = {.names = names, .tried = tried, .size = size};
    *tried = '\0';
    const char *named = variable ? getenv(variable) : NULL;
    if (named && *named) {
        struct stat entry;
        if (stat(named, &entry) == 0 && S_ISDIR(entry.st_mode))
            try_directory(&s, named);
        else
            s.library = tess_library_open(named);
        if (!s.library)
            snprintf(tried, size, "%s=%s only", variable, named);
        return s.library;
    }
    static const char *const cuda_roots[] = {"lib64", "lib", "targets/x86_64-linux/lib",
                                             "targets/sbsa-linux/lib"};
    const char *const prefixes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++)
        for (size_t i = 0; i < sizeof cuda_roots / sizeof cuda_roots[0]; i++)
            try_below(&s, prefixes[p], cuda_roots[i]);
    try_directory(&s, "");
    try_python(&s, getenv("VIRTUAL_ENV"), package);
    try_python(&s, getenv("CONDA_PREFIX"), package);
    try_python_on_path(&s, package);
    const char *home = getenv("HOME");
    try_below(&s, home, ".local/lib/python3*/site-packages/nvidia/cu1*/lib");
    try_python(&s, "/usr/local", package);
    try_python(&s, "/usr", package);
    return s.library;
}

/* Asks NVRTC for its version and the architectures that it compiles for. */
static tess_status ask_what_it_compiles(tess_ctx *ctx, tess_nvrtc *nvrtc)
{
    enum { MOST = sizeof nvrtc->archs / sizeof *nvrtc->archs };
    int count = 0, result = nvrtc->nvrtcVersion(&nvrtc->major, &nvrtc->minor);
    if (result == 0)
        result = nvrtc->nvrtcGetNumSupportedArchs(&count);
    if (result == 0 && count > 0 && count <= MOST)
        result = nvrtc->nvrtcGetSupportedArchs(nvrtc->archs);
    if (result != 0 || count < 1 || count > MOST)
        return tess_fail(ctx, TESS_ERR_DEVICE, "device 'cuda': NVRTC does not answer: %s",
                         nvrtc->nvrtcGetErrorString(result));
    nvrtc->arch_count = count;
    nvrtc->newest = 0;
    for (int i = 0; i < count; i++)
        nvrtc->newest = tess_max(nvrtc->archs[i], nvrtc->newest);
    return TESS_OK;
}

tess_status tess_nvrtc_load(tess_ctx *ctx, tess_nvrtc *out)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                        "libnvrtc.so", NULL};
    char tried[700];
    void *library =
        tess_cuda_open_library("TESSERA_NVRTC", names, "cuda_nvrtc", tried, sizeof tried);
    if (!library)
        return tess_fail(ctx, TESS_ERR_DEVICE,
                         "device 'cuda': no NVRTC found (looked in: %s); set CUDA_HOME or "
                         "TESSERA_NVRTC, or install the CUDA toolkit or PyPI's nvidia-cuda-nvrtc",
                         tried);
    tess_nvrtc nvrtc;
    const char *missing = NULL;
#define X(field, arguments)                                  \
    if (!tess_library_symbol(library, #field, &nvrtc.field)) \
        missing = #field;
    TESS_NVRTC_FUNCTIONS(X)
#undef X
    if (!tess_library_symbol(library, "nvrtcGetErrorString", &nvrtc.nvrtcGetErrorString))
        missing = "nvrtcGetErrorString";
    if (missing)
        return tess_fail(ctx, TESS_ERR_DEVICE, "device 'cuda': this NVRTC has no %s: too old",
                         missing);
    TESS_TRY(ask_what_it_compiles(ctx, &nvrtc));
    *out = nvrtc;
    return TESS_OK;
}

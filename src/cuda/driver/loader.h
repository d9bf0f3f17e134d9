/* Finds the NVIDIA driver and the run-time compiler on the machine, at run time.
 *
 * Both are ordinary shared libraries that may be absent: then the functions fail with a sentence
 * that says which one is missing and where it was looked for. A loaded library stays mapped until
 * the process ends (the driver does not survive being unloaded); the tables belong to the caller,
 * so two contexts share nothing but the code.
 */
#pragma once

#include "core/core.h"
#include "cuda/driver/driver_api.h"

typedef struct tess_driver {
#define X(field, symbol, arguments) cu_result(*field) arguments;
    TESS_DRIVER_FUNCTIONS(X)
    TESS_DRIVER_NEWER_FUNCTIONS(X)
#undef X
} tess_driver;

typedef struct tess_nvrtc {
#define X(field, arguments) int(*field) arguments;
    TESS_NVRTC_FUNCTIONS(X)
#undef X
    const char *(*nvrtcGetErrorString)(int result);
    int major, minor; /* its version */
    int archs[64];    /* that it compiles for: 90 for sm_90 */
    int arch_count;
    int newest; /* of these */
} tess_nvrtc;

/* libcuda.so.1, or the file named by TESSERA_LIBCUDA. */
tess_status tess_driver_load(tess_ctx *ctx, tess_driver *out);

/* The file or directory named by TESSERA_NVRTC; else $CUDA_HOME, $CUDA_PATH, /usr/local/cuda, the
 * loader's own path, and PyPI's packages below the Python prefixes in use. */
tess_status tess_nvrtc_load(tess_ctx *ctx, tess_nvrtc *out);

/* Opens the first of `names` found in the places above; "" or a list of the places tried goes to
 * `tried`. For the libraries CUDA ships beside NVRTC. NULL when there is none. */
void *tess_cuda_open_library(const char *variable, const char *const *names, const char *package,
                             char *tried, size_t size);

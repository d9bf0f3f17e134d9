/* Device sources to machine code: NVRTC, with the disk cache in front of it.
 *
 * TESSERA_JIT: "on" (default) compiles what the cache does not have, "load" takes only what the
 * cache has, "off" refuses all kernels.
 */
#pragma once

#include "cuda/driver/cache.h"
#include "cuda/driver/loader.h"

/* Loaded at the first compilation: a warm cache needs no NVRTC. */
typedef struct tess_jit {
    tess_nvrtc nvrtc;
    bool loaded;
} tess_jit;

typedef struct tess_jit_request {
    const char *source;  /* an embedded file: "sliced.cu" */
    const char *defines; /* "-DB=3 -DREAL=double", separated by single spaces */
    int sm;              /* 90 */
} tess_jit_request;

typedef struct tess_jit_cubin {
    tess_cache_key key;
    tess_cache_entry entry; /* tess_free(ctx, entry.code) */
    bool fresh;             /* compiled now rather than loaded */
    double seconds;         /* spent compiling or loading */
} tess_jit_cubin;

/* From the cache or compiled; a fresh cubin is not yet stored (the backend verifies it first and
 * then calls tess_cache_store). */
tess_status tess_jit_get(tess_ctx *ctx, tess_jit *jit, const tess_jit_request *request,
                         tess_jit_cubin *out);

/* Compiles on several threads what the cache does not have, and stores it there unverified, so that
 * tess_jit_get only loads it. Does nothing without a cache directory or with one thread. A source
 * that does not compile is left to tess_jit_get, which says why. */
void tess_jit_ahead(tess_ctx *ctx, tess_jit *jit, const tess_jit_request *requests, int64_t count);

/* NVRTC itself, without the cache. The compiler's report (with "--ptxas-options=-v": registers and
 * spills) is copied to `log` when it is not NULL. */
tess_status tess_jit_compile(tess_ctx *ctx, tess_jit *jit, const tess_jit_request *request,
                             const char *extra_option, void **code, size_t *bytes, char *log,
                             size_t log_size);

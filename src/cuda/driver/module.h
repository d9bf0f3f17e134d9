/* Code on a device: modules loaded from embedded sources, and the functions in them.
 *
 * All calls are made between tess_cuda_enter and tess_cuda_leave.
 */
#pragma once

#include "cuda/driver/device.h"

/* A module from an embedded source, from the cache where possible. The caller frees the cubin
 * (cubin->entry.code) and, where it is fresh, stores it in the cache once it trusts it. */
tess_status tess_cuda_load_module(tess_cuda *cuda, const tess_jit_request *request,
                                  tess_jit_cubin *cubin, cu_module *out);

/* The same for code that needs no verification: a fresh cubin is stored at once. */
tess_status tess_cuda_load_code(tess_cuda *cuda, const char *source, const char *defines,
                                cu_module *out);

/* One entry of an embedded source; the module is the caller's. */
tess_status tess_cuda_load_function(tess_cuda *cuda, const char *source, const char *defines,
                                    const char *entry, cu_module *module, cu_function *function);

/* One entry of an embedded source whose module stays loaded until the device closes, shared by all
 * that ask for the same source and defines. */
tess_status tess_cuda_helper(tess_cuda *cuda, const char *source, const char *defines,
                             const char *entry, cu_function *function);
void tess_cuda_unload(const tess_cuda *cuda, cu_module module); /* NULL is fine */
/* Loads a function's code now, where the driver can. Otherwise its first launch does, which may
 * wait until the device has nothing to do. */
void tess_cuda_load_now(const tess_cuda *cuda, cu_function function);
/* When the device closes. */
void tess_cuda_helpers_free(tess_cuda *cuda);

/* Lets launches of `function` ask for that many bytes of dynamic shared memory. A function's limit
 * is only ever raised: one function serves launches of several sizes, as those of a probe and those
 * of the plan's own matrix. */
tess_status tess_cuda_allow_shared(const tess_cuda *cuda, cu_function function, size_t bytes);

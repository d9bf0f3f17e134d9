/* Modules from embedded sources, and the helper functions that a device keeps. */
#include "cuda/driver/module.h"

/* Calls of this file that have the device's turn to load code. */
static tess_status load_module(tess_cuda *cuda, const tess_jit_request *request,
                               tess_jit_cubin *cubin, cu_module *out)
{
    cu_module module = NULL;
    TESS_TRY(tess_jit_get(cuda->ctx, &cuda->jit, request, cubin));
    cu_result result = cuda->driver.cuModuleLoadData(&module, cubin->entry.code);
    if (result != CU_SUCCESS && !cubin->fresh) {
        /* The cache held something this driver does not take: as good as a miss. */
        tess_free(cuda->ctx, cubin->entry.code);
        cubin->entry = (tess_cache_entry){0};
        cubin->fresh = true;
        TESS_TRY(tess_jit_compile(cuda->ctx, &cuda->jit, request, NULL, &cubin->entry.code,
                                  &cubin->entry.bytes, NULL, 0));
        result = cuda->driver.cuModuleLoadData(&module, cubin->entry.code);
    }
    tess_status status = tess_cuda_check(cuda, result, "cuModuleLoadData");
    if (status != TESS_OK) {
        tess_free(cuda->ctx, cubin->entry.code);
        return status;
    }
    *out = module;
    return TESS_OK;
}

static tess_status load_code(tess_cuda *cuda, const char *source, const char *defines,
                             cu_module *out)
{
    tess_jit_cubin cubin;
    TESS_TRY(load_module(cuda, &(tess_jit_request){source, defines, cuda->sm}, &cubin, out));
    if (cubin.fresh)
        (void)tess_cache_store(cuda->ctx, &cubin.key, &cubin.entry);
    tess_free(cuda->ctx, cubin.entry.code);
    return TESS_OK;
}

tess_status tess_cuda_load_module(tess_cuda *cuda, const tess_jit_request *request,
                                  tess_jit_cubin *cubin, cu_module *out)
{
    tess_lock(&cuda->loading);
    const tess_status status = load_module(cuda, request, cubin, out);
    tess_unlock(&cuda->loading);
    return status;
}

tess_status tess_cuda_load_code(tess_cuda *cuda, const char *source, const char *defines,
                                cu_module *out)
{
    tess_lock(&cuda->loading);
    const tess_status status = load_code(cuda, source, defines, out);
    tess_unlock(&cuda->loading);
    return status;
}

tess_status tess_cuda_load_function(tess_cuda *cuda, const char *source, const char *defines,
                                    const char *entry, cu_module *module, cu_function *function)
{
    TESS_TRY(tess_cuda_load_code(cuda, source, defines, module));
    tess_status status = TESS_CU(cuda, cuModuleGetFunction(function, *module, entry));
    if (status != TESS_OK) {
        tess_cuda_unload(cuda, *module);
        *module = NULL;
    }
    return status;
}

void tess_cuda_unload(const tess_cuda *cuda, cu_module module)
{
    if (module)
        (void)cuda->driver.cuModuleUnload(module);
}

void tess_cuda_load_now(const tess_cuda *cuda, cu_function function)
{
    if (cuda->driver.cuFuncLoad)
        (void)cuda->driver.cuFuncLoad(function);
}

/* ---- Helpers ---- */

/* `entry` NULL: any entry. */
static const tess_cuda_helper_code *find_helper(const tess_cuda *cuda, const char *source,
                                                const char *defines, const char *entry)
{
    const tess_cuda_helper_code *h = cuda->helpers;
    while (h && (strcmp(h->source, source) != 0 || strcmp(h->defines, defines) != 0 ||
                 (entry && strcmp(h->entry, entry) != 0)))
        h = h->next;
    return h;
}

static tess_status add_helper(tess_cuda *cuda, const char *source, const char *defines,
                              const char *entry)
{
    const tess_cuda_helper_code *sibling = find_helper(cuda, source, defines, NULL);
    tess_cuda_helper_code *h;
    TESS_TRY(TESS_ALLOC(cuda->ctx, 1, &h));
    *h = (tess_cuda_helper_code){
        .next = cuda->helpers, .source = source, .entry = entry, .owns_module = !sibling};
    snprintf(h->defines, sizeof h->defines, "%s", defines);
    if (sibling)
        h->module = sibling->module;
    tess_status status = sibling ? TESS_OK : load_code(cuda, source, defines, &h->module);
    TESS_THEN(TESS_CU(cuda, cuModuleGetFunction(&h->function, h->module, entry)));
    if (status != TESS_OK) {
        tess_cuda_unload(cuda, h->owns_module ? h->module : NULL);
        tess_free(cuda->ctx, h);
        return status;
    }
    cuda->helpers = h;
    return TESS_OK;
}

tess_status tess_cuda_helper(tess_cuda *cuda, const char *source, const char *defines,
                             const char *entry, cu_function *function)
{
    tess_status status = TESS_OK;
    tess_lock(&cuda->loading);
    const tess_cuda_helper_code *found = find_helper(cuda, source, defines, entry);
    if (!found) {
        status = add_helper(cuda, source, defines, entry);
        found = cuda->helpers; /* the new one comes first */
    }
    if (status == TESS_OK)
        *function = found->function;
    tess_unlock(&cuda->loading);
    return status;
}

void tess_cuda_helpers_free(tess_cuda *cuda)
{
    while (cuda->helpers) {
        tess_cuda_helper_code *h = cuda->helpers;
        cuda->helpers = h->next;
        tess_cuda_unload(cuda, h->owns_module ? h->module : NULL);
        tess_free(cuda->ctx, h);
    }
}

/* ---- Shared memory ---- */

tess_status tess_cuda_allow_shared(const tess_cuda *cuda, cu_function function, size_t bytes)
{
    int allowed = 0;
    if (bytes == 0)
        return TESS_OK;
    TESS_TRY(TESS_CU(cuda, cuFuncGetAttribute(&allowed, CU_FUNCTION_MAX_DYNAMIC_SHARED, function)));
    if (bytes <= (size_t)allowed)
        return TESS_OK;
    return TESS_CU(cuda, cuFuncSetAttribute(function, CU_FUNCTION_MAX_DYNAMIC_SHARED, (int)bytes));
}

/* The compiled CUDA kernels on disk, and compiling the usual ones in advance. */
#include <sys/stat.h>

#include "cuda/driver/cache.h"
#include "cuda/driver/jit.h"
#include "cuda/kernels/table.h"
#include "inspect/inspect.h"

enum { PATH_SIZE = 4096 };

/* The directory that TESSERA_CACHE names, or "". If it does not exist yet it is made when it is
 * needed. */
static tess_status directory_of(tess_ctx *ctx, char *path, size_t size)
{
    struct stat status;
    if (!tess_cache_directory(path, size))
        path[0] = '\0';
    else if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode))
        return tess_fail(ctx, TESS_ERR_IO,
                         "%s is no directory, so compiled kernels cannot be kept in it: set "
                         "TESSERA_CACHE to one",
                         path);
    return TESS_OK;
}

typedef struct visitor {
    void (*visit)(void *user, const tess_cached_kernel *kernel);
    void *user;
} visitor;

static void visit_item(void *user, const tess_cache_item *item)
{
    const visitor *v = user;
    v->visit(v->user, &(tess_cached_kernel){.file = item->file,
                                            .label = item->label,
                                            .bytes = item->bytes,
                                            .sound = item->sound,
                                            .verified = item->verified});
}

tess_status tess_kernel_cache_list(tess_ctx *ctx,
                                   void (*visit)(void *user, const tess_cached_kernel *kernel),
                                   void *user)
{
    TESS_NEED(ctx, ctx && visit);
    char directory[PATH_SIZE];
    TESS_TRY(directory_of(ctx, directory, sizeof directory));
    visitor v = {visit, user};
    tess_cache_list(ctx, visit_item, &v);
    return TESS_OK;
}

tess_status tess_kernel_cache_directory(tess_ctx *ctx, size_t size, char *path)
{
    char text[PATH_SIZE];
    TESS_NEED(ctx, ctx && path);
    TESS_TRY(directory_of(ctx, text, sizeof text));
    return tess_fill_text(ctx, "tess_kernel_cache_directory", size, path, text);
}

tess_status tess_kernel_cache_clear(tess_ctx *ctx, int64_t *removed)
{
    TESS_NEED(ctx, ctx && removed);
    char directory[PATH_SIZE];
    TESS_TRY(directory_of(ctx, directory, sizeof directory));
    *removed = tess_cache_clear();
    return TESS_OK;
}

/* Compiles one kernel's guess for one block size into the cache. It is not verified, which would
 * need a device. */
static tess_status warm_one(tess_ctx *ctx, tess_jit *jit, const tess_cuda_kernel *kernel,
                            const tess_cuda_problem *problem, int *compiled)
{
    int params[TESS_CUDA_PARAMS];
    char defines[TESS_CUDA_DEFINES];
    kernel->guess(problem, params);
    if (!kernel->fits(problem, params))
        return TESS_OK;
    kernel->defines(problem, params, defines, sizeof defines);
    tess_jit_cubin cubin;
    TESS_TRY(tess_jit_get(ctx, jit, &(tess_jit_request){kernel->source, defines, problem->arch},
                          &cubin));
    if (cubin.fresh && tess_cache_store(ctx, &cubin.key, &cubin.entry))
        ++*compiled;
    tess_free(ctx, cubin.entry.code);
    return TESS_OK;
}

/* A large regular matrix on a GPU with the proportions of the H100 and H200. A plan's guess depends
 * on these only for few threads or long rows. */
static tess_cuda_problem large_problem(int arch, tess_type type, int32_t b)
{
    return (tess_cuda_problem){.type = type,
                               .block_height = b,
                               .block_width = b,
                               .rows = 1000000 * (int64_t)b,
                               .cols = 1000000 * (int64_t)b,
                               .block_rows = 1000000,
                               .blocks = 27000000,
                               .longest_row = 27,
                               .arch = arch,
                               .multiprocessors = 132,
                               .shared_limit = 232448,
                               .vectors = 1};
}

static tess_status warm_kernel(tess_ctx *ctx, tess_jit *jit, const tess_cuda_kernel *kernel,
                               int arch, int *compiled)
{
    for (int32_t b = 1; b <= 8; b++) {
        for (int type = TESS_F64; type <= TESS_F32; type++) {
            const tess_cuda_problem problem = large_problem(arch, (tess_type)type, b);
            TESS_TRY(warm_one(ctx, jit, kernel, &problem, compiled));
        }
    }
    return TESS_OK;
}

tess_status tess_kernel_cache_warm(tess_ctx *ctx, int arch, int *compiled)
{
    TESS_NEED(ctx, ctx && compiled);
    if (arch < 1)
        return tess_fail(ctx, TESS_ERR_ARGUMENT,
                         "tess_kernel_cache_warm: arch = %d is no compute capability: pass 90 for "
                         "9.0",
                         arch);
    char directory[PATH_SIZE];
    TESS_TRY(directory_of(ctx, directory, sizeof directory));
    tess_jit jit = {0};
    int fresh = 0;
    for (int i = 0; i < tess_cuda_kernel_count; i++)
        if (tess_cuda_kernels[i]->op == TESS_CUDA_SPMV && tess_cuda_kernels[i]->preferred)
            TESS_TRY(warm_kernel(ctx, &jit, tess_cuda_kernels[i], arch, &fresh));
    *compiled = fresh;
    return TESS_OK;
}

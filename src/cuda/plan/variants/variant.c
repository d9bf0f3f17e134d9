/* A kernel specialised for one matrix: defines, machine code, entry points. */
#include "cuda/plan/variants/launch.h"

/* Whether matrix and vectors together exceed L2, so that the matrix should be evicted first. H200
 * (62.9 MB of L2; cubes of 7 and 27 points, b = 1, 2, 3, 4, 8, 16): evicting it first makes an
 * iteration of cg up to a fifth faster from 57 MB on, and up to two fifths slower below 50 MB. */
static bool exceeds_cache(const tess_cuda_problem *p)
{
    enum { VECTORS = 6 };
    double real = (double)tess_type_size(p->type);
    double block = real * p->block_height * p->block_width + sizeof(int32_t);
    double bytes = (double)p->blocks * block + VECTORS * (double)p->rows * real;
    return bytes > 0.9 * (double)p->l2_bytes;
}

void tess_cuda_describe_problem(const tess_cuda *cuda, const tess_matrix *A,
                                tess_cuda_problem *problem)
{
    *problem = (tess_cuda_problem){0};
    tess_cuda_problem_of(A, problem);
    problem->arch = cuda->sm;
    problem->multiprocessors = cuda->multiprocessors;
    problem->shared_limit = (int64_t)cuda->shared_bytes;
    problem->l2_bytes = (int64_t)cuda->l2_bytes;
    problem->evict_first = exceeds_cache(problem);
}

tess_status tess_cuda_variant_functions(tess_cuda *cuda, tess_cuda_variant *variant)
{
    tess_cuda_call call = {.alpha = 1};
    tess_cuda_launch launches[TESS_CUDA_LAUNCHES];
    int count = variant->kernel->launches(&variant->problem, variant->params,
                                          variant->resident->layout, &call, launches);
    variant->functions = 0;
    for (int i = 0; i < count; i++) {
        cu_function function;
        TESS_TRY(tess_cuda_launch_check(cuda, &launches[i]));
        TESS_TRY(TESS_CU(cuda, cuModuleGetFunction(&function, variant->module, launches[i].entry)));
        TESS_TRY(tess_cuda_allow_shared(cuda, function, launches[i].shared));
        variant->entries[variant->functions] = launches[i].entry;
        variant->function[variant->functions++] = function;
    }
    return TESS_OK;
}

tess_status tess_cuda_variant_load(tess_cuda *cuda, tess_cuda_variant *variant,
                                   tess_jit_cubin *code)
{
    char defines[TESS_CUDA_DEFINES];
    variant->kernel->defines(&variant->problem, variant->params, defines, sizeof defines);
    tess_jit_request request = {variant->kernel->source, defines, cuda->sm};
    return tess_cuda_load_module(cuda, &request, code, &variant->module);
}

tess_status tess_cuda_variant_finish(tess_cuda *cuda, tess_cuda_variant *variant,
                                     tess_jit_cubin *code)
{
    tess_status status;
    TESS_TRY_CLEAN(tess_cuda_variant_functions(cuda, variant));
    if (!code->entry.verified) {
        TESS_TRY_CLEAN(tess_cuda_verify(cuda, variant));
        code->entry.verified = true;
        (void)tess_cache_store(cuda->ctx, &code->key, &code->entry);
    }

cleanup:
    tess_free(cuda->ctx, code->entry.code);
    if (status != TESS_OK)
        tess_cuda_variant_unload(cuda, variant);
    return status;
}

void tess_cuda_variant_unload(tess_cuda *cuda, tess_cuda_variant *variant)
{
    tess_cuda_unload(cuda, variant->module);
    variant->module = NULL;
    variant->functions = 0;
}

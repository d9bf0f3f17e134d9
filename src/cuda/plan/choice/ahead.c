/* The code of several candidates, compiled at once. */
#include "cuda/plan/choice/choose.h"
#include "cuda/plan/variants/variant.h"

/* The code that tess_cuda_prepare compiles for the candidate. False: it compiles none, and its
 * error says why. */
static bool request_for(tess_cuda *cuda, const tess_matrix *A, const tess_cuda_problem *plain,
                        const tess_candidate *c, char defines[TESS_CUDA_DEFINES],
                        tess_jit_request *out)
{
    tess_plan_options options = {.format = c->format, .kernel = c->kernel, .params = c->params};
    tess_plan_options without_shapes;
    char text[TESS_CUDA_PARAMS_TEXT];
    int params[TESS_CUDA_PARAMS] = {0};
    const tess_cuda_kernel *kernel;
    tess_cuda_problem problem = *plain;
    if (!*c->kernel ||
        tess_cuda_take_shapes(cuda->ctx, A, &options, &problem, text, &without_shapes) != TESS_OK ||
        tess_cuda_choose(cuda->ctx, &problem, TESS_CUDA_SPMV, &without_shapes, 0, &kernel,
                         params) != TESS_OK ||
        kernel->op != TESS_CUDA_SPMV)
        return false;
    kernel->defines(&problem, params, defines, TESS_CUDA_DEFINES);
    *out = (tess_jit_request){kernel->source, defines, cuda->sm};
    return true;
}

static bool is_listed(const tess_jit_request *list, int64_t count, const tess_jit_request *request)
{
    for (int64_t i = 0; i < count; i++)
        if (strcmp(list[i].source, request->source) == 0 &&
            strcmp(list[i].defines, request->defines) == 0)
            return true;
    return false;
}

void tess_cuda_prepare_ahead(tess_device *device, const tess_matrix *A, const tess_candidate *items,
                             int64_t count)
{
    tess_cuda *cuda = tess_cuda_of(device);
    tess_cuda_problem problem;
    tess_jit_request *requests = NULL;
    char(*defines)[TESS_CUDA_DEFINES] = NULL;
    const tess_kept_error error = tess_error_keep(cuda->ctx);
    tess_cuda_describe_problem(cuda, A, &problem);
    if (TESS_ALLOC(cuda->ctx, count, &requests) == TESS_OK &&
        TESS_ALLOC(cuda->ctx, count, &defines) == TESS_OK) {
        int64_t wanted = 0; /* candidates that differ only in their launches share their code */
        for (int64_t i = 0; i < count; i++)
            if (request_for(cuda, A, &problem, &items[i], defines[wanted], &requests[wanted]) &&
                !is_listed(requests, wanted, &requests[wanted]))
                wanted++;
        tess_jit_ahead(cuda->ctx, &cuda->jit, requests, wanted);
    }
    TESS_FREE(cuda->ctx, requests, defines);
    tess_error_restore(cuda->ctx, &error);
}

/* The lines of an explanation about device memory and about the registers of each entry point. */
#include "cuda/plan/plan.h"

void tess_cuda_explain(tess_plan *plan)
{
    const tess_cuda_plan *p = tess_cuda_plan_of(plan);
    const tess_cuda *cuda = p->cuda;
    size_t bytes = 0;
    for (const tess_cuda_resident *r = p->shares ? cuda->shared : p->residents; r; r = r->next)
        bytes += r->bytes;
    double least = tess_matrix_spmv_bytes(&p->matrix);
    tess_append(plan->explain, sizeof plan->explain,
                "memory  %.4g MB on the device (%.2fx the matrix)\n", 1e-6 * (double)bytes,
                least > 0 ? (double)bytes / least : 0.0);
    if (tess_cuda_enter(cuda) != TESS_OK)
        return;
    for (const tess_cuda_variant *v = p->variants; v; v = v->next) {
        for (int i = 0; i < v->functions; i++) {
            int registers = 0, local = 0;
            (void)cuda->driver.cuFuncGetAttribute(&registers, CU_FUNCTION_REGISTERS,
                                                  v->function[i]);
            (void)cuda->driver.cuFuncGetAttribute(&local, CU_FUNCTION_LOCAL_BYTES, v->function[i]);
            tess_append(plan->explain, sizeof plan->explain,
                        "code    %s: %d registers a thread%s\n", v->entries[i], registers,
                        local > 0 ? ", some spilled to local memory" : "");
        }
    }
    tess_cuda_leave(cuda);
}

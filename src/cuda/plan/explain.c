/* The lines of an explanation about what is stored, about device memory and about the registers of
 * each entry point. */
#include "cuda/plan/plan.h"
#include "format/fbcsr/fbcsr.h"

/* Of a layout with shapes: which entries are stored how. */
static void explain_stored(tess_plan *plan, const tess_cuda_resident *resident)
{
    tess_fbcsr_stored stored[TESS_FBCSR_STORED];
    const tess_cuda_layout *layout = resident->layout;
    if (!layout->kind->stored)
        return;
    const int count = layout->kind->stored(layout, stored);
    const double all = resident->matrix->blocks > 0 ? (double)resident->matrix->blocks : 1;
    tess_append(plan->explain, sizeof plan->explain, "stores  %.3g MB, layout %s\n",
                1e-6 * (double)tess_cuda_layout_array_bytes(layout), layout->name);
    for (int i = 0; i < count; i++)
        if (stored[i].pieces > 0)
            tess_append(plan->explain, sizeof plan->explain,
                        "        %-16s %10lld, %5.1f %% of the non-zeros, fill %.2f\n",
                        stored[i].name, (long long)stored[i].pieces,
                        100 * (double)stored[i].entries / all,
                        (double)stored[i].entries / (double)stored[i].cells);
}

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
    for (const tess_cuda_variant *v = p->variants; v; v = v->next)
        if (v->kernel == p->kernel && v->operation == TESS_OPERATION_NONE)
            explain_stored(plan, v->resident);
    if (tess_cuda_enter(cuda) != TESS_OK)
        return;
    for (const tess_cuda_variant *v = p->variants; v; v = v->next) {
        for (int i = 0; i < v->functions; i++) {
            int registers = 0, local = 0;
            (void)cuda->driver.cuFuncGetAttribute(&registers, CU_FUNCTION_REGISTERS,
                                                  v->function[i]);
            (void)cuda->driver.cuFuncGetAttribute(&local, CU_FUNCTION_LOCAL_BYTES, v->function[i]);
            tess_append(plan->explain, sizeof plan->explain,
                        "code    %s: %d registers per thread%s\n", v->entries[i], registers,
                        local > 0 ? ", some spilled to local memory" : "");
        }
    }
    tess_cuda_leave(cuda);
}

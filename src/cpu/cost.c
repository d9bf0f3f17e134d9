/* What a kernel moves and keeps, for the performance model. */
#include <stdio.h>
#include <string.h>

#include "cpu/cpu.h"

/* Blocks on and above the diagonal of a symmetric pattern. */
static int64_t upper_blocks(const tess_matrix *A)
{
    int64_t diagonal = 0;
    for (int64_t i = 0; i < A->block_rows; i++)
        diagonal += tess_matrix_find(A, i, i) >= 0;
    return (A->blocks + diagonal) / 2;
}

tess_status tess_cpu_costs(tess_device *device, const tess_matrix *A, tess_candidates *list)
{
    double whole = tess_matrix_spmv_bytes(A),
           block = 4 + (double)tess_type_size(A->type) * A->block_height * A->block_width;
    double half = 0; /* bytes of the blocks that symmetric storage leaves out */
    for (int64_t i = 0; i < list->count; i++) {
        tess_candidate *c = &list->items[i];
        const tess_cpu_kernel *kernel;
        TESS_TRY(tess_cpu_named(device, c->format, A, c->kernel, &kernel));
        bool symmetric = kernel->family == TESS_CPU_SYMMETRIC_SPMV;
        if (symmetric && half == 0)
            half = block * (double)(A->blocks - upper_blocks(A));
        if (kernel->block_height == 0)
            snprintf(c->class_name, sizeof c->class_name, "%.20s any", c->format);
        else
            snprintf(c->class_name, sizeof c->class_name, "%.16s*%d", c->format, kernel->streams);
        c->naive = !symmetric && kernel->block_height > 0 && kernel->streams == 1;
        c->bytes = symmetric ? whole - half : whole;
        c->memory = symmetric ? block * (double)A->blocks - half : 0; /* else A's own arrays */
    }
    return TESS_OK;
}

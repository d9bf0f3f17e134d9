/* A variant: a kernel specialised and compiled for one resident and one product. */
#pragma once

#include "cuda/driver/module.h"
#include "cuda/kernels/table.h"
#include "cuda/plan/variants/resident.h"

typedef struct tess_cuda_variant {
    struct tess_cuda_variant *next;
    const tess_cuda_kernel *kernel;
    tess_cuda_problem problem;
    int params[TESS_CUDA_PARAMS];
    tess_operation operation; /* on the plan's matrix */
    tess_cuda_resident *resident;
    cu_module module;
    int functions;
    const char *entries[TESS_CUDA_LAUNCHES];
    cu_function function[TESS_CUDA_LAUNCHES];
} tess_cuda_variant;

/* Fills in what the predicates may depend on, for A on this device. */
void tess_cuda_describe_problem(const tess_cuda *cuda, const tess_matrix *A,
                                tess_cuda_problem *problem);

/* Compiles the kernel for variant->problem and params, or loads it from the cache. It is called
 * before the resident is made, so that a kernel that does not compile costs no layout. */
tess_status tess_cuda_variant_load(tess_cuda *cuda, tess_cuda_variant *variant,
                                   tess_jit_cubin *code);
/* Finds the entry points that a product with the variant's resident launches, and checks these
 * launches against the device's limits. */
tess_status tess_cuda_variant_functions(tess_cuda *cuda, tess_cuda_variant *variant);
/* Finds the entry points, once variant->resident is set, and frees `code`. A kernel that was never
 * verified is compared with ref first; a wrong one fails with TESS_ERR_DEVICE. */
tess_status tess_cuda_variant_finish(tess_cuda *cuda, tess_cuda_variant *variant,
                                     tess_jit_cubin *code);
void tess_cuda_variant_unload(tess_cuda *cuda, tess_cuda_variant *variant);

/* verify.c: runs the variant's module on a small matrix of the same block size and precision, or on
 * the plan's own matrix where the code is specialised for sizes that no small matrix has. A wrong
 * result is TESS_ERR_DEVICE. */
tess_status tess_cuda_verify(tess_cuda *cuda, const tess_cuda_variant *variant);

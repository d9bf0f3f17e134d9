/* A stand-in for libcuda and NVRTC: one shared library, loaded through TESSERA_LIBCUDA and
 * TESSERA_NVRTC, so that the host code runs to the end on a machine without a GPU.
 *
 * Device memory is the heap. "Compiling" keeps the source's name and the defines as text; launching
 * runs plain C with the same meaning for the kernels the tests use (fake_kernels.c). Every call is
 * counted and any of them can be made to fail; what is alive is counted too.
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdint.h>

#include "cuda/driver/driver_api.h"

typedef struct fake_cuda {
    int devices;
    int64_t alive;   /* allocations, streams, events, modules, retained contexts, programs */
    int64_t calls;   /* that may fail */
    int64_t fail_at; /* the call that fails, counted from now; -1: none */
    cu_result fail_with;
    int64_t memory_limit; /* bytes; allocations beyond it fail with out of memory */
    int64_t memory_used;
    int64_t allocations, launches, graphs, waits, copies; /* so far */
    int64_t compiled;                                     /* programs */
    double clock, loading; /* seconds: what events read; the first launch of a function longer */
    int current;           /* depth of the context stack */
    int capturing;
    int wrong_results; /* kernels write numbers that are off */
    int compile_fails;
} fake_cuda;

fake_cuda *fake_cuda_state(void);

/* A define of a module, 0 if it is not there. */
struct fake_module;
int fake_define(const struct fake_module *module, const char *name);

/* fake_fbcsr.c: the entry point of fbcsr.cu; 0 when this is another. */
int fake_run_fbcsr(const struct fake_module *module, const char *entry, void **arguments);

/* fake_triangular.c: the entry points of triangular.cu; 0 when this is none. */
int fake_run_triangular(const struct fake_module *module, const char *entry, unsigned grid,
                        void **arguments);

/* Its text, up to a space or the end; "" if it is not there. */
const char *fake_define_text(const struct fake_module *module, const char *name);

/* Element i of an array of scalars of `real` bytes. */
double fake_get(const void *array, int real, int64_t i);
void fake_put(void *array, int real, int64_t i, double value);

/* fake_solve.c: a solver's entry points; 0 when this is none. */
int fake_run_solve(const struct fake_module *module, const char *entry, void **arguments);

/* Runs one entry point; 0 when it is not known. `arguments` as cuLaunchKernel's. */
int fake_run(const struct fake_module *module, const char *entry, unsigned grid, void **arguments,
             int wrong_results);

#endif

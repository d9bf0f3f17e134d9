/* Launches on the CPU by the launch descriptions that the driver gets. */
#ifndef EMU_EMULATOR_H
#define EMU_EMULATOR_H

#include "cuda/kernels/table.h"

/* Runs a launch with the entry of that variant, as emu_run (run.h) does. */
const char *emu_launch(const char *variant, const tess_cuda_launch *launch, uint64_t seed);

/* A pointer as an argument of a launch. */
static inline uint64_t emu_address(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* Whether such a variant was compiled in. */
bool emu_has(const char *variant);

#endif

/* Launches on the CPU: the same launch descriptions the driver gets. */
#ifndef EMU_EMULATOR_H
#define EMU_EMULATOR_H

#include "cuda/kernels/table.h"

/* Runs a launch with the entry of that variant, thread order drawn from `seed`. Returns NULL, or
 * what went wrong: a barrier not all threads reach, a write outside shared memory, an unaligned
 * vector load, ... The text is valid until the next launch. */
const char *emu_launch(const char *variant, const tess_cuda_launch *launch, uint64_t seed);

/* Whether such a variant was compiled in. */
bool emu_has(const char *variant);

#endif

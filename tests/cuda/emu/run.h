/* The emulator without the library: an entry point of a variant, run on a grid. The fake driver
 * launches through it; emulator.h does so for the launch descriptions of the kernel table. */
#ifndef EMU_RUN_H
#define EMU_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void emu_body(const void *args);

typedef struct emu_entry {
    const char *variant, *name;
    emu_body *run;
    size_t args_bytes;
    unsigned threads;     /* a block, as compiled for */
    size_t static_shared; /* bytes of shared memory a block declares, as seen in runs so far */
} emu_entry;

typedef struct emu_grid {
    unsigned grid[3], block[3];
    unsigned shared;  /* bytes of dynamic shared memory */
    bool cooperative; /* all blocks are alive at once */
    bool cluster;     /* the whole grid is one cluster */
} emu_grid;

/* Called by the constructors of a compiled variant, whose strings it keeps. */
void emu_register(const char *variant, const char *name, emu_body *run, size_t args_bytes,
                  unsigned threads);

/* NULL when there is none; name NULL: any entry of the variant. */
emu_entry *emu_find(const char *variant, const char *name);

/* A seed that stands for a fixed order of threads, the lanes of a warp one after the other. It is
 * much faster with thousands of threads, as their stacks stay in the caches. */
#define EMU_IN_ORDER UINT64_MAX

/* Runs the grid, thread order drawn from `seed`. Returns NULL, or what went wrong: a barrier not
 * all threads reach, a write outside shared memory, an unaligned vector load, ... The text is valid
 * until the next run. */
const char *emu_run(emu_entry *entry, const emu_grid *grid, const void *args, uint64_t seed);

#endif

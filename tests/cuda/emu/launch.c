/* Launch descriptions of the kernel table on the emulator. */
#include <stdio.h>

#include "emulator.h"
#include "run.h"

bool emu_has(const char *variant)
{
    return emu_find(variant, NULL) != NULL;
}

const char *emu_launch(const char *variant, const tess_cuda_launch *launch, uint64_t seed)
{
    static char message[160];
    emu_entry *entry = emu_find(variant, launch->entry);
    const char *wrong = NULL;
    if (!entry)
        wrong = "no such entry point";
    else if (entry->args_bytes != (size_t)launch->slots * sizeof *launch->args)
        wrong = "the launch's arguments do not have the size of the entry's struct";
    if (wrong) {
        snprintf(message, sizeof message, "%s: %s", launch->entry, wrong);
        return message;
    }
    const emu_grid grid = {
        .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
        .block = {launch->block[0], launch->block[1], launch->block[2]},
        .shared = launch->shared,
        .cooperative = launch->cooperative,
        .cluster = launch->cluster,
    };
    return emu_run(entry, &grid, launch->args, seed);
}

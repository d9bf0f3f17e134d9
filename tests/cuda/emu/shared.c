/* Shared memory of a block: one heap array a declaration, found by the line of the declaration,
 * between two canaries. The dynamic array has the line -1.
 *
 *     | EMU_CANARY bytes 0xa5 | the array, first all NaN | EMU_CANARY bytes 0xa5 |
 */
#include <stdio.h>
#include <stdlib.h>

#include "asan.h"
#include "machine.h"

static void *shared_array(emu_block *block, int site, size_t bytes)
{
    for (int i = 0; i < block->arrays; i++)
        if (block->array[i].site == site)
            return block->array[i].memory + EMU_CANARY;
    if (block->arrays == EMU_SITES)
        emu_fault("more than %d shared arrays", EMU_SITES);
    emu_array *array = &block->array[block->arrays++];
    *array = (emu_array){.site = site, .bytes = bytes};
    block->static_shared += site < 0 ? 0 : bytes;
    if (block->static_shared > emu.entry->static_shared)
        emu.entry->static_shared = block->static_shared;
    if (posix_memalign((void **)&array->memory, 128, bytes + 2 * EMU_CANARY) != 0)
        emu_fault("no memory for a shared array of %zu bytes", bytes);
    memset(array->memory, 0xa5, bytes + 2 * EMU_CANARY);
    memset(array->memory + EMU_CANARY, 0xff, bytes);
    ASAN_POISON_MEMORY_REGION(array->memory, EMU_CANARY);
    ASAN_POISON_MEMORY_REGION(array->memory + EMU_CANARY + bytes, EMU_CANARY);
    return array->memory + EMU_CANARY;
}

void *emu_shared(int site, size_t bytes)
{
    return shared_array(emu.now->block, site, bytes);
}

void *emu_dynamic_shared(void)
{
    return shared_array(emu.now->block, -1, emu.grid->shared);
}

void *emu_remote(const void *pointer, unsigned rank, int line)
{
    const unsigned char *at = pointer;
    const emu_block *mine = emu.now->block;
    const emu_array *found = NULL;
    for (int i = 0; i < mine->arrays && !found; i++)
        if (at >= mine->array[i].memory + EMU_CANARY &&
            at < mine->array[i].memory + EMU_CANARY + mine->array[i].bytes)
            found = &mine->array[i];
    for (unsigned b = 0; b < emu.live && found; b++) {
        const emu_block *other = &emu.block[b];
        for (int i = 0; other->thread->place.block.x == rank && i < other->arrays; i++)
            if (other->array[i].site == found->site)
                return other->array[i].memory + (at - found->memory);
    }
    emu_fault("line %d: no such shared memory in thread block %u", line, rank);
}

/* Frees the block's arrays; a changed canary is a write outside. */
void emu_drop_shared(emu_block *block)
{
    for (size_t i = 0; i < emu.copies && !emu.failed; i++)
        if (emu.copy[i].owner->block == block) {
            emu.failed = true;
            snprintf(emu.message, sizeof emu.message,
                     "a block ended while a copy into its shared memory was under way");
        }
    for (int i = 0; i < block->arrays; i++) {
        emu_array *array = &block->array[i];
        ASAN_UNPOISON_MEMORY_REGION(array->memory, array->bytes + 2 * EMU_CANARY);
        for (size_t at = 0; at < EMU_CANARY; at++)
            if ((array->memory[at] != 0xa5 ||
                 array->memory[EMU_CANARY + array->bytes + at] != 0xa5) &&
                !emu.failed) {
                emu.failed = true;
                snprintf(emu.message, sizeof emu.message,
                         "a write outside the shared array of line %d", array->site);
            }
        free(array->memory);
    }
    block->arrays = 0;
    block->static_shared = 0;
}

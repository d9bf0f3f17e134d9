/* The entry points compiled in or loaded so far. */
#include <stdlib.h>
#include <string.h>

#include "run.h"

static emu_entry **entries;
static size_t count, capacity;

void emu_register(const char *variant, const char *name, emu_body *run, size_t args_bytes,
                  unsigned threads)
{
    if (count == capacity) {
        capacity = capacity ? 2 * capacity : 256;
        entries = realloc(entries, capacity * sizeof *entries);
    }
    entries[count] = malloc(sizeof **entries);
    *entries[count++] = (emu_entry){variant, name, run, args_bytes, threads, 0};
}

emu_entry *emu_find(const char *variant, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(entries[i]->variant, variant) == 0 &&
            (!name || strcmp(entries[i]->name, name) == 0))
            return entries[i];
    return NULL;
}

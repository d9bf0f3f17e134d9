/* The few blockings that are worth pricing. */
#pragma once

#include "core/core.h"

enum { TESS_BLOCKINGS = 4 };

/* Picks the blockings at offset 0 that move the fewest bytes, and 1 x 1. `picked` has room for
 * TESS_BLOCKINGS; returns how many were picked. */
int tess_pick_blockings(const tess_detection *detection, tess_block_candidate *picked);

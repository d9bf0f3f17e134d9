/* Rows of a triangular solve in stages: rows of one stage do not depend on each other.
 *
 *     order    0 3 | 1 4 6 | 2 5          rows[place]; stages are ranges of places
 *     stage      0       1     2
 *
 * A solve goes through the stages upwards (L) or downwards (U); within a stage all rows may be
 * computed at once. Stages are found in one of two ways:
 *
 *   - Levels: the stage of a row is the longest chain of rows that it waits for in the natural
 *     order. No factor changes: levels only say what may be computed at once.
 *   - Colours: neighbours get different colours, row by row the smallest that is free. There are
 *     few stages, but rows are eliminated in another order: the factors differ and are usually
 *     weaker.
 *
 * Both look at the pattern of A + A^T, so that one order serves L and U and their transposes.
 */
#pragma once

#include "matrix/matrix.h"

typedef struct tess_stages {
    tess_ctx *ctx;
    int64_t count;    /* of stages */
    int64_t *offsets; /* places of stage s: offsets[s] .. offsets[s + 1] - 1 */
    int32_t *rows;    /* place to block row; increasing within a stage */
    int32_t *places;  /* block row to place */
} tess_stages;

typedef struct tess_stage_statistics {
    int64_t count, widest, narrowest; /* stages; block rows of a stage */
    double mean;
} tess_stage_statistics;

/* Finds the stages of a matrix with as many block rows as block columns. Blocks that couple two of
 * the `domains` contiguous ranges domain_rows[d] .. domain_rows[d + 1] - 1 are ignored. */
tess_status tess_stages_by_levels(tess_ctx *ctx, const tess_matrix *A, int domains,
                                  const int64_t *domain_rows, tess_stages *out);
tess_status tess_stages_by_colours(tess_ctx *ctx, const tess_matrix *A, int domains,
                                   const int64_t *domain_rows, tess_stages *out);
void tess_stages_free(tess_stages *stages);

tess_stage_statistics tess_stages_describe(const tess_stages *stages);

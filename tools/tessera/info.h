/* What `tessera info` found, between its gathering (cmd_info.c) and its telling (info_text.c). */
#ifndef TESSERA_INFO_H
#define TESSERA_INFO_H

#include "command.h"
#include "matrix/matrix.h"

typedef struct info_facts {
    const char *input;
    const tess_matrix *matrix; /* in scalars: 1 x 1 blocks */
    tess_statistics rows;
    tess_symmetry symmetry;
    const tess_detection *blocks;
} info_facts;

/* a_ij = a_ji but for rounding, which an assembly in floating point leaves behind. */
static inline bool info_symmetric(const info_facts *facts)
{
    return facts->matrix->rows == facts->matrix->cols && facts->symmetry.asymmetry <= 1e-12;
}

void info_print(const cli_app *app, const info_facts *facts, bool all_candidates);

#endif

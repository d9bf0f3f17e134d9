/* What `tessera info` found, between its gathering (cmd_info.c) and its telling (info_text.c). */
#ifndef TESSERA_INFO_H
#define TESSERA_INFO_H

#include "command.h"

typedef struct info_facts {
    const char *input;
    tess_matrix_view matrix; /* in scalars: 1 x 1 blocks */
    tess_statistics rows;
    tess_symmetry symmetry;
    const tess_detection *blocks;
    const tess_shape_detection *shapes;
} info_facts;

/* a_ij = a_ji but for rounding, which an assembly in floating point leaves behind. */
static inline bool info_symmetric(const info_facts *facts)
{
    return facts->matrix.rows == facts->matrix.cols && facts->symmetry.asymmetry <= 1e-12;
}

/* info_shapes.c */
void info_print_shapes(const cli_app *app, const info_facts *facts, bool all);
void info_describe_shapes(const info_facts *facts, char *text, size_t size);
json_t *info_shapes_json(const info_facts *facts);

void info_print(const cli_app *app, const info_facts *facts, bool all_candidates);

#endif

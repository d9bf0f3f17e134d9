/* What `tessera info` found, between its gathering (cmd_info.c) and its telling (info_text.c). */
#ifndef TESSERA_INFO_H
#define TESSERA_INFO_H

#include "command.h"
#include "matrix/matrix.h"

typedef struct info_facts {
    const char *input;
    const tess_matrix *matrix;                    /* in scalars: 1 x 1 blocks */
    int32_t stored_block_rows, stored_block_cols; /* as the input came */
    tess_statistics rows;
    int64_t diagonal;       /* rows with a stored diagonal entry */
    bool pattern_symmetric; /* A_ij is stored where A_ji is */
    bool value_symmetric;   /* and equal */
    const tess_detection *blocks;
} info_facts;

void info_print(const cli_app *app, const info_facts *facts, bool all_candidates);

#endif

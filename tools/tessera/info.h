/* What `tessera info` found, between its gathering (cmd_info.c) and its telling (info_text.c). */
#ifndef TESSERA_INFO_H
#define TESSERA_INFO_H

#include "command.h"
#include "matrix/matrix.h"

enum { INFO_SHAPES = 9 };

/* What blocks of a shape, or of several, would take out of the matrix. */
typedef struct info_shape {
    char name[24];
    int64_t blocks, nonzeros;
    double fill, bytes; /* of a product, vectors included */
} info_shape;

typedef struct info_shapes {
    int count; /* 0: the matrix has no entries */
    info_shape shape[INFO_SHAPES];
    info_shape chosen; /* by "auto" */
    char list[448];    /* its shapes, in order; "": none pays */
} info_shapes;

typedef struct info_facts {
    const char *input;
    const tess_matrix *matrix; /* in scalars: 1 x 1 blocks */
    tess_statistics rows;
    tess_symmetry symmetry;
    const tess_detection *blocks;
    info_shapes shapes;
} info_facts;

/* a_ij = a_ji but for rounding, which an assembly in floating point leaves behind. */
static inline bool info_symmetric(const info_facts *facts)
{
    return facts->matrix->rows == facts->matrix->cols && facts->symmetry.asymmetry <= 1e-12;
}

/* info_shapes.c */
tess_status info_gather_shapes(tess_ctx *ctx, const tess_matrix *csr, info_shapes *out);
void info_print_shapes(const cli_app *app, const info_facts *facts, bool all);
void info_describe_shapes(const info_facts *facts, char *text, size_t size);
json_t *info_shapes_json(const info_facts *facts);

void info_print(const cli_app *app, const info_facts *facts, bool all_candidates);

#endif

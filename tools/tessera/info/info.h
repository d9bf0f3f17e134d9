/* What `tessera info` finds (cmd_info.c), for its text (text.c) and for the page of `tessera
 * report`. */
#ifndef TESSERA_INFO_H
#define TESSERA_INFO_H

#include "../command.h"

typedef struct info_facts {
    const char *input;
    tess_matrix_view matrix; /* in scalars: 1 x 1 blocks */
    tess_statistics rows;
    tess_symmetry symmetry;
    int hermitian; /* 1: a_ij is the conjugate of a_ji */
    const tess_detection *blocks;
    const tess_shape_detection *shapes;
    const tess_regrouping *regrouping;
} info_facts;

/* The facts and the objects that they point into. All of it is released in one place. */
typedef struct info_run {
    info_facts facts;
    tess_matrix *scalars;
    tess_detection *blocks;
    tess_shape_detection *shapes;
    tess_regrouping *regrouping;
} info_run;

/* `input` names A. r is cleared, and released after a failure too. */
int info_gather(cli_app *app, const char *input, const tess_matrix *A, bool ignore_zeros,
                info_run *r);
void info_release(info_run *r);
json_t *info_json(const info_facts *facts);

/* Whether a_ij = a_ji up to the rounding errors of an assembly. */
static inline bool info_symmetric(const info_facts *facts)
{
    return facts->matrix.rows == facts->matrix.cols && facts->symmetry.asymmetry <= 1e-12;
}

/* shapes.c */
void info_print_shapes(const cli_app *app, const info_facts *facts, bool all);
void info_describe_shapes(const info_facts *facts, char *text, size_t size);
json_t *info_shapes_json(const info_facts *facts);

/* text.c: "symmetric", "rectangular" and so on. */
void info_describe_symmetry(const info_facts *facts, char *text, size_t size);
/* Class k of row lengths as text: "32..63". */
const char *info_row_range(int k, char *buffer);
/* Whether a size is listed without --all: squares up to 8, the natural size, the recommendation,
 * and every size that moves fewer bytes, such as blocks at another offset. */
bool info_worth_showing(const tess_detection *d, const tess_block_candidate *c);
bool info_is_recommended(const tess_detection *d, const tess_block_candidate *c);
/* Whether another order of the unknowns makes blocks that move over 5 % fewer bytes than the
 * recommended ones. */
bool info_regrouping_pays(const info_facts *facts);
/* Why that size is recommended, without the advice itself. */
const char *info_reason(const tess_detection *d);
void info_print(const cli_app *app, const info_facts *facts, bool all_candidates);

#endif

/* Triangular factors solved stage by stage (levels.h), by threads or by a GPU.
 *
 * The matrix is reordered by stages, so that a row's number is its place, and factored in that
 * order. The factors are kept as M = L D U, L and U with unit diagonal blocks. Nothing but a sum
 * then stands between a row and the rows that wait for it:
 *
 *     y_p = r_p - sum over c < p of L_pc y_c            places upwards
 *     z_p = D_p^-1 y_p - sum over c > p of U_pc z_c     places downwards
 *
 * M^T = U^T D^T L^T has the same form, with storage of its own. Its rows are gathered too, never
 * scattered, so that a row's sum has one order whoever computes it.
 *
 *     lower    by place; a row's columns increase: the row last computed comes last
 *     upper    by last place first, q = rows - 1 - place; a row's columns decrease, likewise
 *     inverse  D^-1 by place
 */
#pragma once

#include "solve/pc/triangles/domains.h"
#include "solve/pc/triangles/levels.h"

/* One triangle's blocks, column-major, row after row. source[k]: where the numbers of block k come
 * from, an index that its owner understands. */
typedef struct tess_triangle {
    int64_t *offsets; /* rows + 1 */
    int32_t *columns; /* places */
    int64_t *source;
    void *values; /* of the pc's type */
} tess_triangle;

typedef struct tess_split {
    tess_triangle lower, upper;
    void *inverse;
} tess_split;

/* What threads do at the same time: share t is rows bounds[t] .. bounds[t + 1] - 1. */
typedef struct tess_phases {
    int64_t count;
    int64_t *bounds; /* threads + 1 per phase */
} tess_phases;

typedef struct tess_staged {
    tess_ctx *ctx;
    tess_stages stages;
    int32_t block;
    int64_t block_rows;
    tess_type vector_type, type; /* of the vectors; of what is stored: domains.h where complex */
    bool symmetric;              /* M^T = M */
    tess_matrix reordered;       /* pattern; it has values only while factors are computed */
    int64_t *source;             /* block numbers in A; -1: a diagonal block not stored in A */
    int32_t padding;             /* rows of the last block that are not the matrix's */
    tess_split plain;
    tess_split transposed; /* where M^-T is applied */
    void *work;            /* a vector by places */
    int threads;
    tess_phases down[2], up[2]; /* of plain and transposed; host only */
} tess_staged;

/* ---- staged.c ---- */

/* Finds the order and the patterns of A for pc. Factors are then made for staged->reordered. */
tess_status tess_staged_create(tess_ctx *ctx, const tess_matrix *A, const tess_pc *pc, int domains,
                               tess_staged **out);
void tess_staged_destroy(tess_staged *staged);
/* Makes the patterns of L, D, U, once that of the factors is known. */
tess_status tess_staged_split(tess_staged *staged, const tess_factors *f, bool transpose);

/* ---- staged_values.c ---- */

/* Gives staged->reordered values, which tess_staged_drop_values frees. */
tess_status tess_staged_take_values(tess_staged *staged, const tess_matrix *A);
void tess_staged_drop_values(tess_staged *staged);
/* Turns the numbers of the factors of staged->reordered into those of L, D and U. May take some of
 * their arrays over. */
tess_status tess_staged_fill(tess_staged *staged, const tess_factors *f, tess_factor_values *v);
/* Bytes read by one application, vectors not counted. */
double tess_staged_bytes(const tess_staged *staged);

/* ---- staged_apply.c ---- */

/* Divides the rows among the threads, once the patterns are known. */
tess_status tess_staged_deal(tess_staged *staged, int threads);
void tess_staged_apply(const tess_staged *staged, bool transpose, const void *r, void *z);

/* staged_solve_*.c: solves for places first .. last-1 of L, or for first <= q < last of U. */
typedef struct tess_sweep {
    const tess_staged *staged;
    const tess_split *split;
    const void *r;
    void *z;
} tess_sweep;

typedef void (*tess_sweep_fn)(const tess_sweep *sweep, bool up, int64_t first, int64_t last);
void tess_staged_sweep_f64_f64(const tess_sweep *sweep, bool up, int64_t first, int64_t last);
void tess_staged_sweep_f64_f32(const tess_sweep *sweep, bool up, int64_t first, int64_t last);
void tess_staged_sweep_f32_f32(const tess_sweep *sweep, bool up, int64_t first, int64_t last);
void tess_staged_sweep_c64_c64(const tess_sweep *sweep, bool up, int64_t first, int64_t last);
void tess_staged_sweep_c64_c32(const tess_sweep *sweep, bool up, int64_t first, int64_t last);
void tess_staged_sweep_c32_c32(const tess_sweep *sweep, bool up, int64_t first, int64_t last);

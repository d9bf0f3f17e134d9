/* Products with x and y by fields: scalar f of block row i is element f n + i of n block rows.
 *
 * Kernels take the scalars of a block together. Two passes over the vectors, one before and one
 * after the product, would write both to memory and read them again. Instead a thread brings
 * together what a piece of its rows needs of x, multiplies, and brings y back to its fields, while
 * all of that is in its cache.
 */
#pragma once

#include "cpu/plan.h"

/* Bytes of the matrix in a piece, about. The vectors of larger ones leave the second-level cache
 * before they are used. Shorter runs of a field are read too slowly: a processor fetches ahead only
 * after some lines. Pieces of 64, 256 and 512 KB took 1.20, 1.10 and 1.04 times as long as blocks
 * (nos3, 2 x 2, AVX-512 Xeon with 1 MB). */
enum { TESS_CPU_PIECE = 512 * 1024 };

/* Brings block columns first .. last-1 of x together, in a vector that begins with block column
 * `begins`. */
void tess_cpu_take(const tess_matrix *A, const void *x, int64_t first, int64_t last, void *to,
                   int64_t begins);
/* Brings block rows first .. last-1 back to their fields: y = them + beta y. Their vector begins
 * with block row `begins`. */
void tess_cpu_give(const tess_matrix *A, const void *from, int64_t begins, int64_t first,
                   int64_t last, double beta, void *y);

/* The backend's functions. */
tess_status tess_cpu_fields_open(tess_plan *plan, bool *has);
tess_status tess_cpu_fields_multiply(tess_plan *plan, const tess_fields_product *product,
                                     bool *done);
/* Whether the vectors of products with A can be by fields, as far as sizes say. */
bool tess_cpu_fields_fit(const tess_matrix *A);
void tess_cpu_fields_destroy(tess_ctx *ctx, struct tess_cpu_fields *fields);

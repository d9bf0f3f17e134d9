/* Devices of several parts against the whole: checks that hold for any kind of part. */
#ifndef TEST_IN_PROCESS_H
#define TEST_IN_PROCESS_H

#include "matrices.h"

/* "cpu:1,1,1" for kind "cpu:" and number "1". */
const char *parts_name(const char *kind, const char *const *numbers, int count, char name[128]);

/* All products and an update of the values of a random matrix, against `ref`, twice the same bits.
 * The product forms follow from the seed. */
void check_products(tess_ctx *ctx, const char *device, uint64_t seed);
/* The same checks with a matrix that is not square, or whose blocks are not, in the device's form.
 */
void check_any_shape(tess_ctx *ctx, const char *device, uint64_t seed);
/* The products of a square matrix with one pointer per part, in memory of the parts' devices. */
void check_by_part(tess_ctx *ctx, const char *device, uint64_t seed);
/* Both checks of products, in the given form. */
void check_form(tess_ctx *ctx, const char *device, const char *form, uint64_t seed);
/* Checks methods with preconditioners on 2, 3 and 4 parts, named by the first of four numbers,
 * against the whole matrix's residual. Combinations that one part does not take are left out.
 * `every`: all the others, or a sixth of them that has each method and each preconditioner. Each
 * combination runs on 2, 3 or 4 parts in turn, with TEST_ALL on all three. */
void check_all_solves(tess_ctx *ctx, const char *kind, const char *const *numbers, bool every);
/* One solve: converged, small true residual, the same bits again with vectors by part. */
void check_solve_on(tess_ctx *ctx, const tess_matrix *A, const char *device, const char *spec);
/* The same check in the given product form. */
void check_solve_in(tess_ctx *ctx, const tess_matrix *A, const char *device, const char *form,
                    const char *spec);

#endif

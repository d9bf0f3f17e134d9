/* What a device may do of a set-up: the numbers of a level's P, R and coarse matrix.
 *
 *     host      groups, tentative prolongator Q, patterns of P, AP, R and the coarse matrix
 *     device    P = (I - omega D^-1 A) Q,  AP = A P,  R = P',  coarse = R AP
 *
 * New values in the same pattern need the second line only. All numbers are f64. Each sum has one
 * order, so results are the same in every run.
 */
#pragma once

#include "solve/pc/amg/amg.h"

typedef struct tess_amg_device_ops {
    /* Patterns and Q go to the device. `above` is what the level before has there, whose coarse
     * matrix is this level's A; NULL: A's values come from the host. TESS_ERR_UNSUPPORTED: the
     * device has no room for them, or rows are too long for its kernels. */
    tess_status (*create)(tess_plan *plan, const tess_amg_level *level, const tess_matrix *coarse,
                          void *above, void **out);
    void (*destroy)(void *state); /* NULL is fine */
    /* The numbers, from A's and those of level->inverse and level->filtered. The coarse matrix's
     * are copied to the host too. */
    tess_status (*compute)(void *state, const tess_amg_level *level, tess_matrix *coarse);
    /* Device addresses of f64 values: of P, R, and as A of the coarse matrix. */
    const void *(*values)(void *state, tess_amg_matrix which);
} tess_amg_device_ops;

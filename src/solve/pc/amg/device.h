/* The part of a set-up that a device may do: the values of a level's P, R and coarse matrix.
 *
 *     host      groups, tentative prolongator Q, patterns of P, AP, R and the coarse matrix
 *     device    P = (I - omega D^-1 A) Q,  AP = A P,  R = P',  coarse = R AP
 *
 * New values of A in the same pattern need only the second line. All values are f64. Each sum has
 * one order, so results are the same in every run.
 */
#pragma once

#include "solve/pc/amg/amg.h"

typedef struct tess_amg_device_ops {
    /* Copies patterns and Q to the device. `above` is the state of the finer level, whose coarse
     * matrix is this level's A; NULL: this is the finest level. TESS_ERR_UNSUPPORTED: the device
     * has no room, or rows are too long for its kernels. */
    tess_status (*create)(tess_plan *plan, const tess_amg_level *level, const tess_matrix *coarse,
                          void *above, void **out);
    void (*destroy)(void *state); /* NULL is fine */
    /* Computes the values from those of A, level->inverse and level->filtered. Those of the coarse
     * matrix are copied to the host too. */
    tess_status (*compute)(void *state, const tess_amg_level *level, tess_matrix *coarse);
    /* Device addresses of f64 values: those of P, of R and, as A, of the coarse matrix. */
    const void *(*values)(void *state, tess_amg_matrix which);
} tess_amg_device_ops;

/* What a device may do of a set-up: the numbers of a level's P, R and coarse matrix, and the
 * largest eigenvalue.
 *
 *     device    inverse diagonal D^-1, largest eigenvalue, strength of A's blocks
 *     host      groups, tentative prolongator Q
 *     device    patterns of P, AP, R and the coarse matrix
 *               P = (I - omega D^-1 A) Q,  AP = A P,  R = P',  coarse = R AP
 *
 * New values in the same pattern need the last line only. All numbers are f64. Each sum has one
 * order, so results are the same in every run.
 */
#pragma once

#include "solve/pc/amg/amg.h"

/* Steps of Lanczos' method on vectors r, z, p, q (lanczos.c). */
typedef struct tess_lanczos_ops {
    tess_status (*begin)(void *vectors, double *rz);                 /* r, z and r.z; p = 0 */
    tess_status (*multiply)(void *vectors, double *pq);              /* q = A p and p.q */
    tess_status (*advance)(void *vectors, double alpha, double *rz); /* r, z and r.z */
    tess_status (*follow)(void *vectors, double beta);               /* p = z + beta p */
} tess_lanczos_ops;

enum { TESS_LANCZOS_SEED = 7 };

typedef struct tess_amg_device_ops {
    /* A level with its A. `above` is what the level before has on the device, whose coarse matrix
     * this A is; NULL: A's pattern comes from the host. TESS_ERR_UNSUPPORTED, here and of
     * `patterns`: the device has no room, or rows are too long for its kernels. */
    tess_status (*create)(tess_plan *plan, const tess_amg_level *level, void *above, void **out);
    /* level->inverse, as tess_amg_invert_diagonal; the device keeps it too. Where a block is
     * singular A's values come to the host. */
    tess_status (*inverse)(void *state, tess_amg_level *level);
    /* level->strength and level->all_strong, as tess_amg_strength. */
    tess_status (*strength)(void *state, double threshold, tess_amg_level *level);
    /* Patterns of P, R and the coarse matrix, which the host gets without values, from A,
     * level->filtered and level->tentative. */
    tess_status (*patterns)(void *state, tess_amg_level *level, tess_matrix **coarse);
    void (*destroy)(void *state); /* NULL is fine */
    /* The numbers, from A's and those of level->inverse and level->filtered. */
    tess_status (*compute)(void *state, const tess_amg_level *level);
    /* Device addresses of f64 values: of P, R, and as A of the coarse matrix. */
    const void *(*values)(void *state, tess_amg_matrix which);
    /* Vectors for Lanczos' method with an f64 plan of the level's A. TESS_ERR_MEMORY: no room. */
    tess_status (*open_vectors)(tess_plan *plan, const tess_amg_level *level, void **out);
    void (*close_vectors)(void *vectors);
    const tess_lanczos_ops *lanczos;
} tess_amg_device_ops;

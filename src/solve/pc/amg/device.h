/* What a device may do of a set-up.
 *
 *     inverse diagonal D^-1, largest eigenvalue
 *     strength of A's blocks, groups
 *     tentative prolongator Q, modes of the next level
 *     patterns of P, AP, R and the coarse matrix
 *     P = (I - omega D^-1 A) Q,  AP = A P,  R = P',  coarse = R AP
 *     the bottom's inverse, where that is definite
 *
 * New values in the same pattern need the first and the last two lines only. All numbers are f64.
 * Each sum has one order, so results are the same in every run.
 */
#pragma once

#include "solve/pc/amg/amg.h"

/* tess_spmv, for devices: they do not know plans' calls. */
typedef tess_status (*tess_spmv_fn)(tess_plan *plan, double alpha, const void *x, double beta,
                                    void *y);

/* Steps of Lanczos' method on vectors r, z, p, q (lanczos.c). */
typedef struct tess_lanczos_ops {
    tess_status (*begin)(void *vectors, double *rz);                 /* r, z and r.z; p = 0 */
    tess_status (*multiply)(void *vectors, double *pq);              /* q = A p and p.q */
    tess_status (*advance)(void *vectors, double alpha, double *rz); /* r, z and r.z */
    tess_status (*follow)(void *vectors, double beta);               /* p = z + beta p */
} tess_lanczos_ops;

enum { TESS_LANCZOS_SEED = 7 };

/* Rows of a block of a dense inverse that a device makes, whatever the blocks of the matrix. */
enum { TESS_AMG_BOTTOM_BLOCK = 8 };

typedef struct tess_amg_device_ops {
    /* Takes a level with its A. `above` is the device's state of the level before, whose coarse
     * matrix this A is; NULL: A's pattern comes from the host. TESS_ERR_UNSUPPORTED, here and from
     * `patterns`: the device has no room, or rows are too long for its kernels. */
    tess_status (*create)(tess_plan *plan, const tess_amg_level *level, void *above, void **out);
    /* Computes the inverse diagonal as tess_amg_invert_diagonal does. It stays on the device.
     * *singular: a block has no inverse, or there is no room to find out. The host then makes all
     * inverses, and `put_inverse` copies level->inverse to the device. */
    tess_status (*inverse)(void *state, const tess_amg_level *level, bool *singular);
    tess_status (*put_inverse)(void *state, const tess_amg_level *level);
    /* Computes strengths as tess_amg_strength does, which stay on the device, and
     * level->all_strong. */
    tess_status (*strength)(void *state, double threshold, tess_amg_level *level);
    /* Makes level->aggregates as tess_amg_aggregate does. *made is false where the host has to make
     * them. The strengths come to the host then, and where blocks are weak. */
    tess_status (*groups)(void *state, tess_amg_level *level, bool *made);
    /* Computes the values of level->tentative, whose pattern is given, and the next level's modes,
     * as tess_amg_tentative does. They stay on the device. `source`: the finest level's modes. On
     * other levels it is not read, because the level before has made their modes. */
    tess_status (*tentative)(void *state, const tess_mode_source *source,
                             const tess_amg_level *level);
    /* Makes the patterns of P, R and the coarse matrix from A, level->filtered and
     * level->tentative. The host gets them without values. */
    tess_status (*patterns)(void *state, tess_amg_level *level, tess_matrix **coarse);
    /* Returns whether `start` makes the values of level->filtered, as tess_amg_filter_values does.
     * Else the host has made them. */
    bool (*filters)(void *state);
    void (*destroy)(void *state); /* NULL is fine */
    /* Starts to compute the numbers, from A's, the inverse diagonal's and those of level->filtered.
     * The host may do other work before it waits for them. */
    tess_status (*start)(void *state, const tess_amg_level *level);
    tess_status (*wait)(void *state);
    /* Device addresses of f64 values: of P, of R, and of the coarse matrix (AMG_MATRIX_A). */
    const void *(*values)(void *state, tess_amg_matrix which);
    /* The same for the inverse diagonal, and for the next level's modes. */
    const void *(*inverse_values)(void *state);
    const void *(*modes)(void *state);
    /* The same for the level's own A. Its values are brought to this state now, where they lie
     * elsewhere. */
    tess_status (*own_values)(void *state, const tess_amg_level *level, const void **out);
    /* Returns the most rows of a bottom whose dense inverse pays. */
    int64_t (*bottom_most)(const tess_device *device);
    /* Computes the inverse of the coarse matrix, dense, in blocks of TESS_AMG_BOTTOM_BLOCK rows.
     * *made is false where there is no room, or where a pivot of the matrix, scaled to a diagonal
     * of ones, is not larger than `least`. */
    tess_status (*bottom)(void *state, double least, bool *made);
    /* Returns the device address of the inverse's f64 values, once it was made. Others may be put
     * there. */
    void *(*bottom_values)(void *state);
    /* Allocates vectors for Lanczos' method with a plan of the level's A. Where the plan is f32,
     * the products are those of the device's own A; else `spmv` is called, which is tess_spmv.
     * TESS_ERR_MEMORY: no room. */
    tess_status (*open_vectors)(tess_plan *plan, const tess_amg_level *level, tess_spmv_fn spmv,
                                void **out);
    void (*close_vectors)(void *vectors);
    const tess_lanczos_ops *lanczos;
} tess_amg_device_ops;

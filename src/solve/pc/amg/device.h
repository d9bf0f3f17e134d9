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
    /* A level with its A. `above` is what the level before has on the device, whose coarse matrix
     * this A is; NULL: A's pattern comes from the host. TESS_ERR_UNSUPPORTED, here and of
     * `patterns`: the device has no room, or rows are too long for its kernels. */
    tess_status (*create)(tess_plan *plan, const tess_amg_level *level, void *above, void **out);
    /* The inverse diagonal, as tess_amg_invert_diagonal, which stays on the device. *singular: a
     * block has no inverse, or there is no room to find out. The host then makes them all, and
     * `put_inverse` copies level->inverse to the device. */
    tess_status (*inverse)(void *state, const tess_amg_level *level, bool *singular);
    tess_status (*put_inverse)(void *state, const tess_amg_level *level);
    /* Strengths as those of tess_amg_strength, which stay on the device, and level->all_strong. */
    tess_status (*strength)(void *state, double threshold, tess_amg_level *level);
    /* level->aggregates, as tess_amg_aggregate. *made is false where the host has to make them. The
     * strengths come to the host then, and where blocks are weak. */
    tess_status (*groups)(void *state, tess_amg_level *level, bool *made);
    /* The values of level->tentative, whose pattern is given, and the next level's modes, as
     * tess_amg_tentative. They stay on the device. `source`: the finest level's modes; on others it
     * is not read, because the level before has made theirs. */
    tess_status (*tentative)(void *state, const tess_mode_source *source,
                             const tess_amg_level *level);
    /* Patterns of P, R and the coarse matrix, which the host gets without values, from A,
     * level->filtered and level->tentative. */
    tess_status (*patterns)(void *state, tess_amg_level *level, tess_matrix **coarse);
    /* Whether `start` makes the values of level->filtered, as tess_amg_filter_values. Else the host
     * has made them. */
    bool (*filters)(void *state);
    void (*destroy)(void *state); /* NULL is fine */
    /* Starts to compute the numbers, from A's, the inverse diagonal's and those of level->filtered.
     * The host may do other work before it waits for them. */
    tess_status (*start)(void *state, const tess_amg_level *level);
    tess_status (*wait)(void *state);
    /* Device addresses of f64 values: of P, R, and as A of the coarse matrix. */
    const void *(*values)(void *state, tess_amg_matrix which);
    /* The same of the inverse diagonal, and of the next level's modes. */
    const void *(*inverse_values)(void *state);
    const void *(*modes)(void *state);
    /* The same of the level's own A, which come there now where they are another's. */
    tess_status (*own_values)(void *state, const tess_amg_level *level, const void **out);
    /* The most rows of a bottom that pays. */
    int64_t (*bottom_most)(const tess_device *device);
    /* The inverse of the coarse matrix, dense, in blocks of TESS_AMG_BOTTOM_BLOCK rows. *made is
     * false where there is no room, or a pivot of the matrix, scaled to a diagonal of ones, is not
     * larger than `least`. */
    tess_status (*bottom)(void *state, double least, bool *made);
    /* The device address of its f64 values, once it was made: others may be put there. */
    void *(*bottom_values)(void *state);
    /* Vectors for Lanczos' method with a plan of the level's A. Where that is f32 the products are
     * those of the device's own A. TESS_ERR_MEMORY: no room. */
    tess_status (*open_vectors)(tess_plan *plan, const tess_amg_level *level, void **out);
    void (*close_vectors)(void *vectors);
    const tess_lanczos_ops *lanczos;
} tess_amg_device_ops;

/* What a multigrid level has on the device. */
#pragma once

#include "cuda/plan/plan.h"
#include "cuda/solve/amg/coarsen.h"
#include "solve/pc/amg/device.h"

/* Matrices of a level. F: A without weak blocks, which is A where all are strong. */
enum {
    COARSEN_A,
    COARSEN_F,
    COARSEN_Q,
    COARSEN_P,
    COARSEN_AP,
    COARSEN_R,
    COARSEN_COARSE,
    COARSEN_MATRICES
};
/* Modules: b x b times b x k, and k x b times b x k. */
enum { FINE, CROSS, MODULES };
enum { MULTIPLY, SMOOTH, TURN, REVIVE, FILTER, ENTRIES };

typedef struct tess_coarsen_level {
    tess_cuda *cuda;
    tess_plan *plan; /* the finest level's plan, if f64: it has A's values; else NULL */
    tess_coarsen_matrix matrix[COARSEN_MATRICES];
    cu_pointer owned[3 * COARSEN_MATRICES]; /* arrays of `matrix`; 0: another level's */
    cu_pointer inverse, from, dead;
    cu_pointer strength_memory, strength; /* made by `strength`, freed by `groups` */
    cu_pointer groups[2]; /* offsets and members of the groups; 0 where the host made them */
    cu_pointer modes;     /* of the next level */
    cu_pointer bottom;    /* the coarse matrix's inverse; 0: there is none */
    const struct tess_coarsen_level *above; /* the level before; NULL: this is the finest */
    bool filtered;
    bool has_values;           /* A's present values; the next `start` uses them up */
    cu_module module[MODULES]; /* NULL where the functions are another level's */
    cu_function function[MODULES][ENTRIES];
    int32_t shape[MODULES][3];
} tess_coarsen_level;

/* ---- coarsen.c ---- */

extern const tess_amg_device_ops tess_cuda_amg_ops;

/* Loads the functions of a shape, or takes them from this level or the level before, where these
 * have the shape already. */
tess_status tess_coarsen_load(tess_coarsen_level *s, int module, int32_t height, int32_t inner,
                              int32_t width);

/* Brings A's values to the device, unless they are another level's. */
tess_status tess_coarsen_bring_values(tess_coarsen_level *s, const tess_amg_level *level);

/* Launches an entry of `source` in the device's stream, unless the grid is empty. Without `defines`
 * the source is compiled for THREADS as the launch has them. */
tess_status tess_coarsen_run(tess_cuda *cuda, const char *source, const char *defines,
                             tess_cuda_launch *launch);

/* ---- inverse.c ---- */

/* The operations `inverse` and `put_inverse` of a device (solve/pc/amg/device.h). */
tess_status tess_coarsen_inverse(void *state, const tess_amg_level *level, bool *singular);
tess_status tess_coarsen_put_inverse(void *state, const tess_amg_level *level);

/* ---- tentative.c ---- */

/* The operation `tentative` of a device. */
tess_status tess_coarsen_tentative(void *state, const tess_mode_source *source,
                                   const tess_amg_level *level);

/* ---- coarsen_patterns.c ---- */

/* Allocates an array, and copies it from `host` unless that is NULL. Without room, here and below:
 * TESS_ERR_UNSUPPORTED. */
tess_status tess_coarsen_put_array(tess_cuda *cuda, const void *host, int64_t count, size_t size,
                                   cu_pointer *to);
/* put_pattern copies the pattern of M. Its columns come from `plan` on the device, or from the host
 * where `plan` is NULL. put_values allocates room for the values. */
tess_status tess_coarsen_put_pattern(tess_coarsen_level *s, int which, const tess_matrix *M,
                                     const tess_plan *plan);
tess_status tess_coarsen_put_values(tess_coarsen_level *s, int which);
/* The operation `patterns` of a device (solve/pc/amg/device.h). */
tess_status tess_coarsen_patterns(void *state, tess_amg_level *level, tess_matrix **coarse);

/* Between calibrate.c and calibrate_vectors.c, which measure, and calibrate_fit.c, which fits. */
#ifndef TESS_CALIBRATE_H
#define TESS_CALIBRATE_H

#include "plan/model.h"

/* One measurement: a class at a size. */
typedef struct tess_sample {
    char name[TESS_MODEL_CLASS];
    double bytes, lines, seconds;
    double length;  /* blocks a row, in the mean */
    double changes; /* rows of another length than the row before */
} tess_sample;

typedef struct tess_calibration {
    tess_ctx *ctx;
    tess_device *device;
    tess_type type;
    double most;         /* bytes of the largest product */
    const char *classes; /* that are measured, as "sliced,stream"; NULL: all */
    int32_t block;       /* being measured */
    tess_model *model;
    tess_sample *samples;
    int64_t count, capacity;
    int64_t regular; /* of them, the first: those that curves are made of */
} tess_calibration;

tess_status tess_calibration_keep(tess_calibration *c, const tess_sample *sample);

/* calibrate_vectors.c: the part of no block size. */
tess_status tess_calibration_vectors(tess_calibration *c);

/* A curve of every class among the regular samples, of those in cache and of those that are not,
 * into the model; less what it says that rows of changing lengths cost. working_share: bytes
 * touched between two uses of the same data, a byte moved. */
tess_status tess_calibration_fit(tess_calibration *c, double working_share);

/* Blocks of at most length/2 block columns from the diagonal; of those beside it a share, at
 * random: rows of as many lengths as finite elements have. `crossed`: the first row and column are
 * full, and the matrix positive definite. */
typedef struct tess_calibration_shape {
    int64_t length;
    double share;
    bool crossed;
} tess_calibration_shape;
tess_status tess_calibration_band(tess_ctx *ctx, tess_type type, int32_t block, int64_t rows,
                                  const tess_calibration_shape *shape, tess_matrix **out);

#endif

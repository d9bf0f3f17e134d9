/* Between calibrate.c, which measures, and calibrate_fit.c, which fits. */
#ifndef TESS_CALIBRATE_H
#define TESS_CALIBRATE_H

#include "plan/model.h"

/* One measurement: a class at a size. */
typedef struct tess_sample {
    char name[TESS_MODEL_CLASS];
    double bytes, lines, seconds;
    double length; /* blocks a row, in the mean */
} tess_sample;

typedef struct tess_calibration {
    tess_ctx *ctx;
    tess_device *device;
    tess_type type;
    double most;   /* bytes of the largest product */
    int32_t block; /* being measured */
    tess_model *model;
    tess_sample *samples;
    int64_t count, capacity;
} tess_calibration;

/* A curve of every class among the samples, of those in cache and of those that are not, into the
 * model. working_share: bytes touched between two uses of the same data, a byte moved. */
tess_status tess_calibration_fit(tess_calibration *c, double working_share);

/* Blocks of at most length/2 block columns from the diagonal. */
tess_status tess_calibration_band(tess_ctx *ctx, tess_type type, int32_t block, int64_t rows,
                                  int64_t length, tess_matrix **out);

#endif

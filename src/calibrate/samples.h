/* Internals of calibration: the samples, and the fits to them. */
#pragma once

#include "calibrate/calibrate.h"

/* One measurement: the product of a class at a size. */
typedef struct tess_sample {
    char name[TESS_MODEL_CLASS], irregular_as[TESS_MODEL_CLASS]; /* as in tess_candidate */
    double bytes, block_rows, seconds;
    double length;  /* mean blocks per row */
    double changes; /* rows whose length differs from that of the row before */
    double alone;   /* blocks that one of several streams does by itself */
} tess_sample;

typedef struct tess_calibration {
    tess_ctx *ctx;
    tess_device *device;
    tess_type type;
    double most;         /* bytes of the largest product */
    const char *classes; /* to be measured, as "sliced,stream"; NULL: all */
    int32_t block;       /* that is being measured */
    tess_model *model;
    tess_sample *samples;
    int64_t count, capacity;
    int64_t regular; /* the first samples, from which the curves are made */
} tess_calibration;

tess_status tess_calibration_keep(tess_calibration *c, const tess_sample *sample);
/* Fails if one of the classes that are to be measured is none of the device's (classes.c). */
tess_status tess_calibration_check_classes(tess_calibration *c);
/* Generates a cube with n points along an edge, a stencil of 7 or 27 points and b x b blocks. */
tess_status tess_calibration_cube(tess_calibration *c, int points, int b, int n, tess_matrix **out);

/* The blocks of a band's row: as many as long rows of real matrices have. Bands are measured only
 * where there is room for enough rows. */
enum { TESS_CALIBRATION_BAND = (int)TESS_LENGTH_MOST };

/* Whether no earlier candidate is of the same class. */
bool tess_first_of_class(const tess_candidates *list, int64_t at);
/* Measures every class on one matrix; with `shapes` also those of fbcsr. */
tess_status tess_calibration_classes(tess_calibration *c, const tess_matrix *A, bool shapes);
/* extras.c: measures the times that the curves of block size b do not explain. */
tess_status tess_calibration_measure_extras(tess_calibration *c, int b);

/* vectors.c: measures the part of the model that belongs to no block size. */
tess_status tess_calibration_vectors(tess_calibration *c);

/* Fits the curves of every class to the regular samples, one in the cache and one from memory, and
 * adds them to the model. The model's extras for rows of changing lengths and blocks done alone are
 * subtracted from the samples. working_share: bytes touched between two uses of the same data, per
 * byte moved. */
tess_status tess_calibration_fit(tess_calibration *c, double working_share);

/* An irregular matrix, and the range of the samples measured on it. */
typedef struct tess_irregular {
    tess_model_problem problem;
    int64_t first, last;
} tess_irregular;

/* Computes two extras:
 *   CHANGE  per row whose length differs from that of the row before, from `random` columns and
 *           lengths
 *   ALONE   per block that one of several streams does by itself: the time that a class takes more
 *           for `uneven` rows than for `even` rows, beyond the extra CHANGE
 * The times of the curves' matrices include both at the faces of the cubes, so the curves are
 * fitted again without them. */
tess_status tess_calibration_irregular(tess_calibration *c, const tess_irregular *random,
                                       const tess_irregular *even, const tess_irregular *uneven);
/* Adds the time that samples of an irregular matrix took beyond their prediction, divided by
 * `units`. A time up to `least` times the prediction gives an extra of 0; for a long row on a GPU,
 * where it is the cost of cutting the row, it gives the extra CUT. */
tess_status tess_calibration_extras(tess_calibration *c, const tess_irregular *irregular,
                                    tess_extra_kind kind, double units, double least);

/* A band: blocks at most length/2 block columns from the diagonal, of which a random share beside
 * the diagonal is stored. Its rows then have as many different lengths as those of finite elements.
 *   crossed  the first row and column are full, and the matrix is positive definite
 *   ragged   above the diagonal each row ends anywhere in the band */
typedef struct tess_calibration_shape {
    int64_t length;
    double share;
    bool crossed, ragged;
} tess_calibration_shape;
tess_status tess_calibration_band(tess_ctx *ctx, tess_type type, int32_t block, int64_t rows,
                                  const tess_calibration_shape *shape, tess_matrix **out);

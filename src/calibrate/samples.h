/* Inside calibration: what was measured, and what is fitted to it. */
#pragma once

#include "calibrate/calibrate.h"

/* One measurement: a class at a size. */
typedef struct tess_sample {
    char name[TESS_MODEL_CLASS], irregular_as[TESS_MODEL_CLASS]; /* as in tess_candidate */
    double bytes, block_rows, seconds;
    double length;  /* blocks a row, in the mean */
    double changes; /* rows of another length than the row before */
    double alone;   /* blocks that one of several streams does alone */
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
    int64_t regular; /* the first so many samples, of which the curves are made */
} tess_calibration;

tess_status tess_calibration_keep(tess_calibration *c, const tess_sample *sample);
/* A cube of n points along an edge, with a stencil of 7 or 27 points and blocks of b. */
tess_status tess_calibration_cube(tess_calibration *c, int points, int b, int n, tess_matrix **out);

/* Rows of bands: as long as those of real matrices, where there is room for enough of them. */
enum { TESS_CALIBRATION_BAND = 81 };

/* Whether no candidate before this one is of its class. */
bool tess_first_of_class(const tess_candidates *list, int64_t at);
/* Measures every class on one matrix; `shapes`: those of fbcsr too. */
tess_status tess_calibration_classes(tess_calibration *c, const tess_matrix *A, bool shapes);
/* extras.c: what the curves of block size b do not explain. */
tess_status tess_calibration_measure_extras(tess_calibration *c, int b);

/* vectors.c: the part of the model that belongs to no block size. */
tess_status tess_calibration_vectors(tess_calibration *c);

/* A curve of every class among the regular samples, of those in cache and of those that are not,
 * into the model; less what it says that rows of changing lengths and streams out of step cost.
 * working_share: bytes touched between two uses of the same data, a byte moved. */
tess_status tess_calibration_fit(tess_calibration *c, double working_share);

/* An irregular matrix, and where among the samples those are that were taken with it. */
typedef struct tess_irregular {
    tess_model_problem problem;
    int64_t first, last;
} tess_irregular;

/* What a row costs that has another length than the one before, from random columns and lengths,
 * and what a block costs that one of several streams does alone: what a class takes more for
 * `uneven` rows than for `even` ones, beyond what rows that change explain. The curves' matrices
 * paid for both at their faces: the curves are made again without. */
tess_status tess_calibration_irregular(tess_calibration *c, const tess_irregular *random,
                                       const tess_irregular *even, const tess_irregular *uneven);
/* What such samples took beyond their prediction: so much for each of `units`. Less than `least`
 * times the prediction is none, or of a long row on a GPU that of cutting it. */
tess_status tess_calibration_extras(tess_calibration *c, const tess_irregular *irregular,
                                    tess_extra_kind kind, double units, double least);

/* Blocks of at most length/2 block columns from the diagonal; of those beside it a share, at
 * random: rows of as many lengths as finite elements have. `crossed`: the first row and column are
 * full, and the matrix positive definite. `ragged`: each row ends, above the diagonal, anywhere in
 * the band. */
typedef struct tess_calibration_shape {
    int64_t length;
    double share;
    bool crossed, ragged;
} tess_calibration_shape;
tess_status tess_calibration_band(tess_ctx *ctx, tess_type type, int32_t block, int64_t rows,
                                  const tess_calibration_shape *shape, tess_matrix **out);

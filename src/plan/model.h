/* The performance model of paper 004, section 5: every operation is limited by memory, so its time
 * is the bytes it moves over the throughput that its kernel class has at that size.
 *
 * A model belongs to one device model and holds a sigmoid a class: SpMV by block size and by
 * whether the matrix stays in cache, and the vector operations. `tessera calibrate` fits it; it is
 * kept as JSON beside the wisdom, model.json.
 */
#ifndef TESS_MODEL_H
#define TESS_MODEL_H

#include "plan/fit.h"
#include "plan/plan.h"

enum { TESS_MODEL_CURVES = 64 };

typedef struct tess_model_curve {
    int32_t block; /* b of b x b blocks; 0: vector operations */
    tess_type type;
    bool cached;
    tess_sigmoid average, best;
    int points;
    double error; /* mean relative error of the fit on its own points */
} tess_model_curve;

typedef struct tess_model {
    char device[160]; /* tess_device.model */
    double cache_bytes;
    tess_model_curve curves[TESS_MODEL_CURVES];
    int count;
} tess_model;

/* The curve for blocks like A's: the same size, or the nearest by its number of scalars; of the
 * same precision and place if there is one. NULL: the model has none at all. */
const tess_model_curve *tess_model_find(const tess_model *model, int32_t block_height,
                                        int32_t block_width, tess_type type, double bytes);

/* How devices talk: for eq. 11. */
typedef struct tess_link {
    tess_sigmoid transfer; /* between two devices */
    double sync_seconds;
} tess_link;

typedef struct tess_prediction {
    double spmv;               /* seconds of one SpMV */
    double cg2, cg3, cg4, cg5; /* the fused vector kernels of a CG iteration (Table 2) */
    double reduction;          /* one of three */
    double communication;      /* between devices, with synchronisation; 0 on one */
    double iteration;          /* eq. 6, or eq. 11 on several devices */
    double flops;              /* eq. 8 */
} tess_prediction;

/* A matrix as far as the model needs it. */
typedef struct tess_model_problem {
    double rows;   /* scalars in a vector */
    double stored; /* scalars in the matrix */
    double bytes;  /* one SpMV moves */
    int32_t block_height, block_width;
    tess_type type;
} tess_model_problem;

tess_model_problem tess_model_problem_of(const tess_matrix *A);

/* `best`: with the envelope instead of the average. link may be NULL for one device. False: the
 * model lacks a curve. */
bool tess_model_predict(const tess_model *model, const tess_model_problem *problem, int devices,
                        const tess_link *link, bool best, tess_prediction *out);

/* model_file.c */
bool tess_model_path(char *path, size_t size);
/* The model of this device. TESS_ERR_UNSUPPORTED with what to do when it was never calibrated. */
tess_status tess_model_read(tess_ctx *ctx, const char *path, const char *device, tess_model *out);
/* Puts the model into the file, beside those of other devices; whole or not at all. */
tess_status tess_model_write(tess_ctx *ctx, const char *path, const tess_model *model);

#endif

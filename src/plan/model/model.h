/* The performance model of paper 004, section 5: every operation is limited by memory, so its time
 * is the bytes it moves over the throughput that its kernel class has at that size.
 *
 * A model belongs to one device model and holds
 *   curves   throughput as a sigmoid in log2 of the bytes moved, one a kernel class, block size,
 *            precision and place (in cache, from memory). Classes are what a backend calls them
 *            ("bsr*2", "symmetric*1", "sliced", "stream" ...) and "vectors", the passes of a CG
 *            iteration beside the product, of a GPU also "vectors streamed", where the matrix goes
 *            through its cache; "at once", whole iterations of systems for which a
 *            device needs one launch, and "copies", a host vector to the device and back;
 *   extras   what a sigmoid cannot say, in seconds: a row whose length is another than that of the
 *            row before (branches go wrong, lanes wait); a block that one of several streams does
 *            alone, its row being longer than those it is in step with; a block out of reach of
 *            the rows before, by the size of x; a block of the longest row, where a class does not
 *            divide rows, or the second launch of one that does; and, as a share, what stays in the
 *            cache of data that are about as large as it is.
 *
 * `tessera calibrate` measures and fits them (calibrate.c); they are kept as JSON beside the
 * wisdom, model.json. Those of a few machines are built in (profiles/), and the most similar one
 * stands in for a device that was never calibrated.
 */
#ifndef TESS_MODEL_H
#define TESS_MODEL_H

#include "plan/model/fit.h"
#include "backend/backend.h"

enum { TESS_MODEL_CLASS = 32 };
#define TESS_MODEL_VECTORS "vectors"
#define TESS_MODEL_STREAMED "vectors streamed"
#define TESS_MODEL_AT_ONCE "at once"
#define TESS_MODEL_COPIES "copies"

/* A factor as a function of something: between two points linear in its logarithm, beyond them
 * constant; 1 where there are none. */
enum { TESS_MODEL_FACTORS = 8 };
typedef struct tess_model_factors {
    struct {
        double at, factor;
    } point[TESS_MODEL_FACTORS]; /* growing */
    int count;
} tess_model_factors;

typedef struct tess_model_curve {
    char name[TESS_MODEL_CLASS];
    int32_t block; /* b of b x b blocks; 0: of vectors */
    tess_type type;
    bool cached;
    double row_bytes;    /* what a block row costs beside the bytes it moves, in bytes */
    double step_seconds; /* what a block more in every row costs beside its bytes: where rows are
                            done side by side, each waits for its own loads one after the other */
    tess_sigmoid average, best;
    /* What all that leaves, by the blocks of a row: streams and prefetchers like some lengths
     * better than shorter and longer ones; and in the cache by the bytes: a GPU's smallest
     * launches. */
    tess_model_factors lengths, sizes;
    int points;
    double error; /* mean relative error of the fit on its own points */
} tess_model_curve;

typedef enum tess_extra_kind {
    TESS_EXTRA_CHANGE,
    TESS_EXTRA_FAR,
    TESS_EXTRA_LONGEST,
    TESS_EXTRA_RESIDENT, /* no seconds: the share of the data that stays in the cache */
    TESS_EXTRA_CUT, /* once, where long rows are cut: the launch that adds their parts; of vectors:
                       launches that cannot overlap then */
    TESS_EXTRA_UNEVEN, /* once, where many rows change and the data come from a GPU's cache */
    TESS_EXTRA_ALONE
} tess_extra_kind;

typedef struct tess_model_extra {
    char name[TESS_MODEL_CLASS];
    int32_t block;
    tess_type type;
    tess_extra_kind kind;
    double x_bytes; /* FAR: that the blocks are scattered over; RESIDENT: touched between two uses
                       of the same data; else 0 */
    double seconds; /* a row, or a block; CUT and UNEVEN: a product; RESIDENT: 0..1 */
} tess_model_extra;

typedef struct tess_model {
    tess_ctx *ctx;
    char device[160]; /* tess_device.model of the device that was measured */
    double cache_bytes;
    double speed;  /* factor on every throughput: 1, or for a stand-in the ratio of threads */
    bool stand_in; /* the device itself was never calibrated */
    bool foreign;  /* a processor with other instructions: it cannot say which of a CPU's kernels
                    * is the faster */
    bool partial;  /* has some classes only: a file keeps what it knows of the others */
    tess_model_curve *curves;
    int64_t curve_count, curve_capacity;
    tess_model_extra *extras;
    int64_t extra_count, extra_capacity;
} tess_model;

tess_status tess_model_create(tess_ctx *ctx, const char *device, tess_model **out);
void tess_model_destroy(tess_model *model); /* NULL is fine */
tess_status tess_model_add_curve(tess_model *model, const tess_model_curve *curve);
tess_status tess_model_add_extra(tess_model *model, const tess_model_extra *extra);

/* Data of up to `kept` times the cache stay in it; from `gone` times on nothing does. Between the
 * two the share that does is measured. */
#define TESS_CACHE_KEPT 0.45
#define TESS_CACHE_GONE 3.4
/* Of data that are read over and over a GPU's L2, of which cache_bytes are three fifths, keeps as
 * measured up to `kept` times them and nothing from `gone` times on. */
#define TESS_L2_KEPT (1.4 / 1.1)
#define TESS_L2_GONE 1.4

/* The matrix as far as the model needs it, and the candidate that multiplies with it. */
typedef struct tess_model_problem {
    double rows;    /* scalars in a vector */
    double stored;  /* scalars in the matrix */
    double blocks;  /* of it; of these: */
    double far;     /* blocks out of reach of the rows before (tess_matrix_scattered) */
    double lines;   /* block rows; of these: */
    double changes; /* rows of another length than the row before */
    double longest; /* blocks in the longest row */
    double alone;   /* blocks that one of the candidate's streams does alone in its row, and */
    double left;    /* the share that one does when another has ended: as a class of one stream */
    double x_bytes;
    int32_t block; /* b, or the square root of r c */
    tess_type type;
    bool at_once;                /* the device solves with it in one launch */
    char name[TESS_MODEL_CLASS]; /* the candidate's class */
    double bytes;                /* it moves for one product */
} tess_model_problem;

/* Without a candidate, nor what only the device knows. */
tess_model_problem tess_model_problem_of(const tess_matrix *A);
/* With this one. */
void tess_model_problem_take(tess_model_problem *problem, const tess_candidate *candidate);

/* Whether a solver's vectors stay in the cache beside a matrix that does not: a GPU's lets the
 * matrix leave first. */
bool tess_model_vectors_stay(const tess_model *model);

double tess_model_factor(const tess_model_factors *factors, double x);

/* What one run of a kernel class moves. */
typedef struct tess_model_load {
    const char *name;
    int32_t block;
    tess_type type;
    double bytes, lines; /* lines: block rows; 0 for vectors */
    double length;       /* blocks a row, in the mean */
    double scalars;      /* in a block, which need not be square; 0: as many as in the class's */
    double working; /* bytes touched between two uses of the same data: whether they come from a
                       cache */
} tess_model_load;

/* Its seconds when the data come from a cache, or from memory; 0: there is no curve. */
double tess_model_seconds_from(const tess_model *model, const tess_model_load *load, bool cached,
                               bool best);
/* Its seconds, 0 when there is no curve of the class at any block size. `best`: by the envelope
 * instead of the average. */
double tess_model_seconds(const tess_model *model, const tess_model_load *load, bool best);
/* Seconds of one SpMV on one of `devices` equal devices, which each has its share of the rows. */
double tess_model_spmv(const tess_model *model, const tess_model_problem *problem, int devices,
                       bool best);

/* What the class of the problem pays for one row or block of this kind; 0: nothing. */
double tess_model_extra_seconds(const tess_model *model, const tess_model_problem *problem,
                                tess_extra_kind kind);
/* Forgets all extras of this kind. */
void tess_model_drop_extras(tess_model *model, tess_extra_kind kind);

/* How devices talk: for eq. 11. */
typedef struct tess_link {
    tess_sigmoid transfer; /* between two devices */
    double sync_seconds;
} tess_link;

/* As given; 0: copies by way of the host as they were measured, or 50 GB/s, and 10 us. predict.c */
tess_link tess_model_link(const tess_model *model, double bandwidth, double sync_seconds);

/* A CG iteration with a diagonal preconditioner, kernel by kernel. Each pass ends with its
 * reductions; together they move 12 vectors. */
typedef struct tess_iteration {
    double spmv;
    double dot;           /* p.q: 2 vectors (Table 2: CG3 and a reduction) */
    double residual;      /* r, z, r.z and r.r: 5 vectors (CG4, CG2 and two reductions) */
    double direction;     /* x and p: 5 vectors (the rest of CG4, CG5) */
    double communication; /* between devices, with synchronisation; 0 on one */
    double seconds;       /* eq. 6, or eq. 11 on several devices */
    double flops;         /* eq. 8, with the 13 that these passes do an unknown */
} tess_iteration;

/* False: the model lacks a curve. link may be NULL for one device. */
bool tess_model_iteration(const tess_model *model, const tess_model_problem *problem, int devices,
                          const tess_link *link, bool best, tess_iteration *out);
/* predict.c: the same in the mean and at best, but for the speed-up. */
bool tess_model_solve(const tess_model *model, const tess_model_problem *problem,
                      const tess_link *link, int devices, tess_predicted_solve *out);

/* model_file.c */
extern const char *const tess_extra_names[]; /* by kind */
bool tess_model_path(char *path, size_t size);
/* Puts the model into the file, beside those of other devices and what is there of other block
 * sizes and precisions; whole or not at all. */
tess_status tess_model_write(tess_ctx *ctx, const char *path, const tess_model *model);
/* Reads one device's. *out stays NULL when the text has none of it. */
tess_status tess_model_read_file(tess_ctx *ctx, const char *path, const char *device,
                                 tess_model **out);

/* profile.c: the device's model, from the user's file, or built in, or a stand-in; read once and
 * kept with the device. NULL: there is none at all, or no memory. */
const tess_model *tess_device_performance(tess_device *device);

/* What applies to A on this device, the fastest first as far as the model knows (SpMV), those it
 * knows nothing of last and in the backend's order; other parameters of a kernel than the first are
 * never ranked above it. One entry with empty names (= let prepare() choose) when the backend does
 * not list its kernels. */
tess_status tess_candidates_list(tess_device *device, const tess_matrix *A,
                                 const tess_product *product, tess_candidates *list);

/* rank.c: fills predicted of the candidates of an SpMV and puts the fastest first. */
tess_status tess_candidates_rank(tess_device *device, const tess_matrix *A, tess_candidates *list);
/* The predicted time by which candidates are compared: longer than `predicted` in formats whose
 * predictions are less certain. */
double tess_candidate_doubted(const tess_candidate *c);

/* sample.c: the typical product of a candidate; x and y are host arrays of the matrix's type. */
tess_status tess_sample_spmv(tess_device *device, const tess_matrix *A,
                             const tess_candidate *candidate, const void *x, void *y,
                             double *seconds);
/* The typical iteration of CG with pc=jacobi, and product of the same plan. */
tess_status tess_sample_iteration(tess_plan *plan, const void *b, double *product,
                                  double *iteration);

/* calibrate.c: measures a part of the model, that of one block size; 0: vectors and copies. `most`
 * is the largest product in bytes; 0: chosen. `classes`: those only, as "sliced,stream"; NULL: all.
 */
tess_status tess_model_calibrate(tess_device *device, tess_type type, int32_t block, double most,
                                 const char *classes, tess_model **out);
/* The parts of a whole model. */
extern const int32_t tess_model_blocks[];
extern const int tess_model_block_count;

#endif

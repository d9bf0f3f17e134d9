/* The performance model of paper 004, section 5: every operation is limited by memory, so its time
 * is the bytes it moves over the throughput that its kernel class has at that size.
 *
 * A model belongs to one device model. Its terms, each of one kernel class, block size and
 * precision:
 *
 *   term          unit       stands for                                        measured on
 *   curve         bytes/s    throughput as a sigmoid in log2 of the bytes       cubes of 7 and 27
 *                            moved, once from the cache and once from memory    points, bands
 *     row_bytes   bytes      a block row, beside the bytes it moves             the same
 *     step        seconds    one more block in every row: rows that run side    the same
 *                            by side each wait for their own loads
 *     lengths     factor     what those terms miss, by the blocks of a row      the same
 *     sizes       factor     what they miss in the cache, by the bytes          the same
 *   resident      share      data that stay in the cache, by their size         the same
 *   change        seconds    a row of another length than the row before        random columns
 *   alone         seconds    a block that one of several streams does alone,    ragged bands
 *                            its row being longer than those beside it
 *   far           seconds    a block out of reach of the rows before, by the    random columns
 *                            size of x
 *   longest       seconds    a block by which the longest row is longer than    one long row
 *                            the mean one
 *   cut           seconds    once, where a GPU's kernel cuts long rows: the     one long row
 *                            second launch
 *   uneven        seconds    once, where many rows change and the data come     bands with gaps
 *                            from a GPU's cache
 *
 * A class is what a backend calls it ("sliced", "stream" ...) or one of five that the model knows:
 *
 *   vectors            the passes of a CG iteration beside the product
 *   vectors streamed   the same on a GPU whose cache the matrix goes through
 *   at once            whole iterations, of systems that a device solves in one launch
 *   copies             a host vector to the device and another one back
 *   reading            plain reading: no product from memory is faster
 *
 * Between two calibrated block sizes the time of a class is interpolated, and doubted as far as the
 * two differ (tess_model_doubt).
 *
 * `tessera calibrate` measures and fits the terms (src/calibrate). They are kept as JSON beside the
 * wisdom, in model.json. Models of a few machines are built in (profiles/). The most similar one
 * stands in for a device that was never calibrated: stand_in.c fits it to what is known of the
 * device.
 */
#pragma once

#include "plan/model/fit.h"
#include "backend/backend.h"

enum { TESS_MODEL_CLASS = 32 };
#define TESS_MODEL_VECTORS "vectors"
#define TESS_MODEL_STREAMED "vectors streamed"
#define TESS_MODEL_AT_ONCE "at once"
#define TESS_MODEL_COPIES "copies"
#define TESS_MODEL_READING "reading"

/* A factor as a function of x: linear in log x between two points, constant beyond the first and
 * the last; 1 where there are no points. */
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
    double row_bytes;    /* a block row costs as much as this many bytes more */
    double step_seconds; /* one more block in every row costs this beside its bytes */
    tess_sigmoid average, best;
    tess_model_factors lengths; /* by the blocks of a row: prefetchers like some lengths better */
    tess_model_factors sizes;   /* in the cache, by the bytes: a GPU's smallest launches */
    int points;
    double error; /* mean relative error of the fit on its own points */
} tess_model_curve;

typedef enum tess_extra_kind {
    TESS_EXTRA_CHANGE,
    TESS_EXTRA_FAR,
    TESS_EXTRA_LONGEST,
    TESS_EXTRA_RESIDENT, /* a share instead of seconds */
    TESS_EXTRA_CUT,      /* of the class "vectors": launches that then cannot overlap */
    TESS_EXTRA_UNEVEN,
    TESS_EXTRA_ALONE
} tess_extra_kind;

typedef struct tess_model_extra {
    char name[TESS_MODEL_CLASS];
    int32_t block;
    tess_type type;
    tess_extra_kind kind;
    double x_bytes; /* FAR: the x that blocks are scattered over; RESIDENT: what is touched between
                       two uses of the same data; else 0 */
    double seconds; /* per row or block; CUT and UNEVEN: per product; RESIDENT: 0..1 */
} tess_model_extra;

/* How far a stand-in's throughputs are from those of the device. */
typedef struct tess_model_scale {
    double memory, cache; /* factors; 1: as they are */
} tess_model_scale;

typedef struct tess_model {
    tess_ctx *ctx;
    char device[160]; /* tess_device.model of the device that was measured */
    /* Of a GPU. Its L2, of which cache_bytes is a share, lets a matrix leave before a solver's
     * vectors. A launch has a time of its own, and long rows are cut by a second one. */
    bool gpu;
    double cache_bytes;
    double memory_speed, gpu_threads; /* as in tess_device, of the device that was measured */
    bool stand_in;                    /* the device itself was never calibrated */
    tess_model_scale scale;           /* of a stand-in: measured, kept in the file, and applied */
    bool foreign; /* of a CPU with other instructions: does not choose block sizes */
    bool partial; /* has some classes only: a file keeps what it knows of the others */
    tess_model_curve *curves;
    int64_t curve_count, curve_capacity;
    tess_model_extra *extras;
    int64_t extra_count, extra_capacity;
} tess_model;

tess_status tess_model_create(tess_ctx *ctx, const char *device, tess_model **out);
void tess_model_destroy(tess_model *model); /* NULL is fine */
tess_status tess_model_add_curve(tess_model *model, const tess_model_curve *curve);
tess_status tess_model_add_extra(tess_model *model, const tess_model_extra *extra);

/* Data of up to KEPT times the cache stay in it; of GONE times the cache nothing stays. Between the
 * two the share that stays is measured. */
#define TESS_CACHE_KEPT 0.45
#define TESS_CACHE_GONE 3.4
/* The largest product of a calibration moves this many times the cache, so that with half storage
 * it still comes from memory. */
#define TESS_CACHE_MOST 10.0
/* The blocks of a calibration's longest rows. */
#define TESS_LENGTH_MOST 81.0
/* KEPT and GONE of a GPU's L2, in terms of cache_bytes, which are three fifths of it: shares are
 * measured up to KEPT times, and nothing stays from GONE times on. */
#define TESS_L2_KEPT (1.4 / 1.1)
#define TESS_L2_GONE 1.4

/* The matrix as far as the model needs it, and the candidate that multiplies with it. */
typedef struct tess_model_problem {
    double rows;       /* scalars in a vector */
    double stored;     /* scalars in the matrix */
    double blocks;     /* blocks in the matrix */
    double far;        /* of these, out of reach of the rows before (tess_matrix_scattered) */
    double block_rows; /* block rows in the matrix */
    double changes;    /* of these, rows of another length than the row before */
    double longest;    /* blocks in the longest row */
    double alone;      /* blocks that one of the candidate's streams does alone in its row */
    double left;       /* share of the blocks that are left when another stream has ended */
    double idle;       /* seconds in which the candidate's long rows leave the memory idle */
    double waits;      /* as in tess_candidate */
    double x_bytes;
    int32_t block; /* b, or the square root of r c */
    tess_type type;
    bool at_once;                /* the device solves with it in one launch */
    char name[TESS_MODEL_CLASS]; /* the candidate's class; the next two as in tess_candidate */
    char irregular_as[TESS_MODEL_CLASS], single_class[TESS_MODEL_CLASS];
    double bytes; /* that the candidate moves for one product */
} tess_model_problem;

/* The problem of a matrix, without a candidate and without what only the device knows. */
tess_model_problem tess_model_problem_of(const tess_matrix *A);
/* Puts a candidate into the problem. */
void tess_model_problem_take(tess_model_problem *problem, const tess_candidate *candidate);

/* Blocks by which the longest row is longer than the mean one. Curves are of rows of one length,
 * and hold for the mean one. */
double tess_model_longer(const tess_model_problem *problem);

double tess_model_factor(const tess_model_factors *factors, double x);

/* What one run of a kernel class moves. */
typedef struct tess_model_load {
    const char *name;
    int32_t block;
    tess_type type;
    double bytes;
    double block_rows; /* 0 for vectors */
    double length;     /* mean number of blocks per row */
    double waits;      /* as in tess_candidate */
    double scalars;    /* in a block, which need not be square; 0: as many as in the class's */
    double working;    /* bytes touched between two uses of the same data: decides whether they come
                          from the cache */
} tess_model_load;

/* Seconds of a load whose data come from a cache, or from memory; 0: there is no curve. */
double tess_model_seconds_from(const tess_model *model, const tess_model_load *load, bool cached,
                               bool best);
/* Seconds of a load, 0 when there is no curve of the class at any block size. `best`: by the
 * envelope instead of the average. */
double tess_model_seconds(const tess_model *model, const tess_model_load *load, bool best);
/* By what factor the time may be longer than tess_model_seconds says: the residuals of the curves
 * that it comes from (a CPU's stand-in has none), and at a block size that was not calibrated the
 * slower of its two neighbours. At least 1. */
double tess_model_doubt(const tess_model *model, const tess_model_load *load);
/* Whether the class was calibrated at this block size, in this precision, where the data are. */
bool tess_model_calibrated(const tess_model *model, const tess_model_load *load);
/* tess_model_doubt of a product. `unsteady`: a kernel whose speed changes from one block size to
 * the next, which its neighbours say little of. */
double tess_model_spmv_doubt(const tess_model *model, const tess_model_problem *problem,
                             bool unsteady);
/* Seconds of one SpMV on one of `devices` equal devices, which each has its share of the rows. */
double tess_model_spmv(const tess_model *model, const tess_model_problem *problem, int devices,
                       bool best);

/* Which extras are meant. */
typedef struct tess_extra_key {
    const char *name;
    int32_t block;
    tess_type type;
    tess_extra_kind kind;
} tess_extra_key;

/* The extra of the nearest block size and precision. Between the measured sizes of x it is linear
 * in their logarithm, beyond them constant; `otherwise` where nothing was measured. */
double tess_model_extra_at(const tess_model *model, const tess_extra_key *key, double x,
                           double otherwise);
/* The share of the data that comes from the cache: as measured, else falling with the logarithm of
 * what is touched. */
double tess_model_resident_share(const tess_model *model, const tess_model_load *load);
/* What the class of the problem pays for one row or block of this kind; 0: nothing. */
double tess_model_extra_seconds(const tess_model *model, const tess_model_problem *problem,
                                tess_extra_kind kind);
/* Forgets all extras of this kind. */
void tess_model_drop_extras(tess_model *model, tess_extra_kind kind);

/* What a partition gives to the parts that have most. */
typedef struct tess_model_split {
    double bytes;    /* of the largest part's product, as a share of the whole matrix's */
    double rows;     /* of the part with most, as a share of all */
    double halo;     /* bytes of x that the part that needs most receives */
    double messages; /* that the part with most neighbours receives */
} tess_model_split;

/* How devices share the work, and how they talk. */
typedef struct tess_link {
    tess_sigmoid transfer; /* between two devices */
    double sync_seconds, latency_seconds;
    bool shared; /* the devices are parts of one: together they compute as fast as it does alone */
    const tess_model_split *split; /* NULL: even shares, and eq. 11's direct copies of all of p */
} tess_link;

/* Takes a caller's options, and refuses numbers outside their ranges. */
tess_status tess_model_take_options(tess_ctx *ctx, const char *call,
                                    const tess_predict_options *given, tess_predict_options *out);
/* The link as given. An option that is 0 stands for a default:
 *
 *     link_bandwidth    measured copies by way of the host, else 50 GB/s
 *     sync_seconds      10 us
 *     latency_seconds   2 us
 */
tess_link tess_model_link(const tess_model *model, const tess_predict_options *options);

/* A CG iteration with a diagonal preconditioner, kernel by kernel. Each pass ends with its
 * reductions; together they move 12 vectors. */
typedef struct tess_iteration {
    double spmv;
    double dot;           /* p.q: 2 vectors (Table 2: CG3 and a reduction) */
    double residual;      /* r, z, r.z and r.r: 5 vectors (CG4, CG2 and two reductions) */
    double direction;     /* x and p: 5 vectors (the rest of CG4, CG5) */
    double halo, sums;    /* between devices; 0 on one */
    double communication; /* both */
    double seconds;       /* eq. 6, or eq. 11 on several devices */
    double flops;         /* eq. 8, with the 13 of these passes per unknown */
} tess_iteration;

/* False: the model lacks a curve. link may be NULL for one device. */
bool tess_model_iteration(const tess_model *model, const tess_model_problem *problem, int devices,
                          const tess_link *link, bool best, tess_iteration *out);
/* predict.c: the same in the mean and at best, without the speed-up. */
bool tess_model_solve(const tess_model *model, const tess_model_problem *problem,
                      const tess_link *link, int devices, tess_predicted_solve *out);

/* file.c */
extern const char *const tess_extra_names[]; /* by kind */
bool tess_model_path(const tess_ctx *ctx, char *path, size_t size);
/* Puts the model into the file, whole or not at all. Models of other devices stay there, and so do
 * other block sizes and precisions. A file that holds something else is left as it is. NULL: only
 * finds out whether the file could be written. */
tess_status tess_model_write(tess_ctx *ctx, const char *path, tess_model *model);
/* Reads one device's model. *out stays NULL when the file has none. */
tess_status tess_model_read_file(tess_ctx *ctx, const char *path, const char *device,
                                 tess_model **out);

/* stand_in.c. Multiplies throughputs by the factors of `scale`: one in the cache, one from memory.
 * Copies, which pass neither, stay. */
void tess_model_rescale(tess_model *model, const tess_model_scale *scale);
/* Turns a model of another device into one that stands in for this one. A CPU's throughputs are in
 * proportion to its threads. A GPU's follow eq. 3 to 5: nu with the speed of its memory (in the
 * cache: with its threads), mu with the logarithm of its threads; sigma is the same for all. */
void tess_model_stand_in(tess_model *model, const tess_device *device);

/* Corrects the scale of a stand-in by what a search has measured of a product with A, and keeps it
 * beside the wisdom. The first correction takes over the whole error, later ones half of it. */
void tess_model_learn(tess_device *device, const tess_matrix *A, const tess_candidate *candidate,
                      double seconds);

/* file.c: the scale that a file keeps for a device whose stand-in is `model`; 1 and 1 where it has
 * none, or that of another stand-in. */
tess_status tess_model_write_scale(tess_ctx *ctx, const char *path, const char *device,
                                   const tess_model *model);
tess_model_scale tess_model_read_scale(tess_ctx *ctx, const char *path, const char *device,
                                       const tess_model *model);

/* profile.c: the device's model, from the user's file, or built in, or a stand-in; read once and
 * kept with the device. NULL: there is none at all, or no memory. */
const tess_model *tess_device_performance(tess_device *device);

/* What applies to A on this device. Candidates of an SpMV that the model knows come first, the
 * fastest first; the others follow in the backend's order. Other parameters of a kernel than the
 * backend's own are never ranked above it. A backend that does not list its kernels has one entry
 * with empty names: prepare() chooses. */
tess_status tess_candidates_list(tess_device *device, const tess_matrix *A,
                                 const tess_product *product, tess_candidates *list);

/* rank.c: fills predicted of the candidates of an SpMV and puts the fastest first. */
tess_status tess_candidates_rank(tess_device *device, const tess_matrix *A, tess_candidates *list);
/* The predicted time by which a candidate is compared with something that is no candidate, such as
 * other blocks: `predicted` times the doubt of its format. */
double tess_candidate_doubted(const tess_candidate *c);
/* The time by which candidates are ranked: the one above, times how unsure the model is of the
 * kernel. */
double tess_candidate_compared(const tess_candidate *c);

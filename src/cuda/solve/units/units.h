/* Units: a list of steps as launches, and the arithmetic on scalars between them. Plain C, no
 * device is needed. */
#pragma once

#include "cuda/driver/driver_api.h"
#include "cuda/solve/units/pass.h"

enum { TESS_FINISH_THREADS = 512 }; /* of finish.cu */

enum { TESS_OP_CONJUGATED = 8 }; /* added to an operation of a programme: steps.cuh */

/* The control of a system: steps.cuh. */
enum { TESS_GUARD_NONE = -1, TESS_GUARD_STOPPED = 0, TESS_GUARD_PAST = 1, TESS_CONTROL = 8 };
enum {
    TESS_CONTROL_COUNT = 2,
    TESS_CONTROL_LIMIT,
    TESS_CONTROL_ENOUGH,
    TESS_CONTROL_TOO_MUCH,
    TESS_CONTROL_SQUARE = 7
};

typedef enum tess_unit_kind {
    TESS_UNIT_APPLY,       /* a product; a FINISH adds up the partial sums of its dot product */
    TESS_UNIT_PASS,        /* one kernel of a pass */
    TESS_UNIT_FINISH,      /* the dot product of the APPLY before, and scalars */
    TESS_UNIT_RESCALE,     /* a vector to another precision */
    TESS_UNIT_PRECONDITION /* triangular solves, or the caller's operator */
} tess_unit_kind;

typedef struct tess_unit {
    tess_unit_kind kind;
    const tess_step *step;  /* that its time is counted for */
    tess_pass_kernel *pass; /* PASS; FINISH: the dot product, where no fused product left it */
    cu_function function;
    bool sums;                     /* APPLY, FINISH: the product leaves partial sums */
    int64_t first_update, updates; /* PASS: which updates of the steps it has */
    int64_t programme;             /* index into the list's programmes, -1: none */
    int64_t guard;
} tess_unit;

/* Units between two products that are one launch. */
typedef struct tess_between tess_between;

typedef struct tess_unit_list {
    struct tess_unit_list *next;
    tess_ctx *ctx; /* the steps may be gone before the list */
    const tess_steps *steps;
    int imaginary; /* from a slot's real part to its imaginary part; 0: the system is real */
    tess_unit *units;
    int64_t count, capacity;
    int *programmes;
    int64_t programme_count, programme_capacity;
    cu_pointer device_programmes;
    tess_between *between; /* of an iteration, in order */
    int between_count;
} tess_unit_list;

/* Which products leave the partial sums of their dot product w . y.
 *
 *     NONE  none
 *     ALL   all
 *     HALO  all but those where w is y. With several parts the partial sums are those of w . y
 *           before the halo is added to y. Where w is y they cannot be completed afterwards.
 */
typedef enum tess_fused { TESS_FUSED_NONE, TESS_FUSED_ALL, TESS_FUSED_HALO } tess_fused;

/* Fills a list that has its steps and `imaginary`. `iteration`: the list is one iteration, and its
 * last programme looks at the stops. */
tess_status tess_units_build(tess_unit_list *list, tess_fused fused, bool iteration,
                             const tess_stop *stops, int stop_count);
bool tess_step_fuses(const tess_step *step, tess_fused fused);
/* Frees all but the list itself and what is on the device. */
void tess_units_free(tess_unit_list *list);

/* What cg_single and cg_pipelined share: their scalars, and when these end a system. */
#pragma once

#include "solve/methods/method.h"

enum { GAMMA = TESS_S_OWN, GAMMA_NEW, DELTA, ALPHA, BETA, TURN, SLOTS };
enum { TESS_CG_SINGLE_STOPS = 2 };

/* Appends beta = gamma' / gamma and alpha = gamma' / (delta - beta gamma' / alpha), which come
 * after the dot products. */
void tess_cg_single_scalars(tess_steps *s);
void tess_cg_single_check(tess_solver *solver, tess_system *system, int64_t position);
extern const tess_stop tess_cg_single_stops[TESS_CG_SINGLE_STOPS];

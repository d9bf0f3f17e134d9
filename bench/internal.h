/* What the benchmarks use of the library's inside: bench/ and `tessera bench` include this header
 * and no other of src/. */
#ifndef TESSERA_BENCH_INTERNAL_H
#define TESSERA_BENCH_INTERNAL_H

#include "backend/backend.h"
#include "backend/shapes.h"
#include "calibrate/calibrate.h"
#include "core/threads.h"
#include "cpu/ceiling.h"
#include "cpu/update/update.h"
#include "cuda/kernels/support.h"
#include "cuda/plan/variants/launch.h"
#include "cuda/plan/plan.h"
#include "cuda/solve/triangles/factors.h"
#include "format/fbcsr/fbcsr.h"
#include "inspect/check.h"
#include "plan/model/model.h"
#include "plan/products.h"
#include "plan/tuner.h"
#include "plan/wisdom/wisdom.h"
#include "ref/ref.h"
#include "solve/pc/amg/amg.h"
#include "solve/pc/factors/factors.h"
#include "solve/solve.h"

#endif

/* What the tests on a real GPU share. */
#ifndef TEST_CUDA_DEVICE_H
#define TEST_CUDA_DEVICE_H

#include "cuda/plan/plan.h"
#include "support/support.h"

extern tess_device *device;

void ok(void **state, tess_status status, const char *what);
size_t vector_bytes(const tess_matrix *A, int64_t count);

/* y twice with alpha, beta: right, and the same bits. */
void check_spmv(void **state, tess_plan *plan, const tess_matrix *A, double alpha, double beta,
                const char *what);

/* device_calls.c: where vectors and values may be, streams and graphs. */
int test_calls(int (*start)(void **), int (*finish)(void **));
/* The same: what needs the device for itself. */
int test_alone(int (*start)(void **), int (*finish)(void **));

#endif

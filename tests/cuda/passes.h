/* The passes under test: those of every method with diagonal preconditioners, at many block sizes
 * and precisions, each kind once. The build prints this list to compile them for the emulator. */
#ifndef TEST_CUDA_PASSES_H
#define TEST_CUDA_PASSES_H

#include "cuda/solve/space.h"

enum { TEST_PASS_LINES = 24, TEST_BETWEENS = 3 };

/* Block rows and thread blocks that loops are run with. */
enum { TEST_LOOP_ROWS = 40, TEST_LOOP_GRID = 3 };

typedef struct test_pass {
    char name[32];  /* "pass_17" */
    char what[128]; /* method, preconditioner, block size */
    tess_pass_kernel kernel;
    tess_type type;
    tess_diagonal diagonal; /* without blocks */
    int64_t lines;
    tess_line line[TEST_PASS_LINES];
    char defines[TESS_PASS_TEXT];
} test_pass;

/* loop.cu and between.cu for a method and block size, without a device. */
typedef struct test_loop {
    char name[32]; /* "loop_3" */
    const char *method;
    int pc;
    int32_t block;
    tess_type type, held;
    tess_loop_code code;
    int programme_count;
    int programme[256];
    int betweens; /* "between_3_0", "between_3_1" */
    tess_between between[TEST_BETWEENS];
} test_loop;

/* Writes up to `capacity` loops; returns how many there are. */
int test_loops(test_loop *loops, int capacity);

/* Writes up to `capacity` passes; returns how many there are. */
int test_passes(test_pass *passes, int capacity);

#endif

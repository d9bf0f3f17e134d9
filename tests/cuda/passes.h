/* The passes under test: those of every method with diagonal preconditioners, at many block sizes
 * and precisions, each kind once. The build prints this list to compile them for the emulator. */
#ifndef TEST_CUDA_PASSES_H
#define TEST_CUDA_PASSES_H

#include "cuda/solve/space.h"

enum { TEST_PASS_UPDATES = 24, TEST_BETWEENS = 3 };

/* Block rows and thread blocks that loops are run with. */
enum { TEST_LOOP_ROWS = 40, TEST_LOOP_GRID = 3, TEST_LOOPS = 96 };

/* Slots of a pass under test; of complex ones as many imaginary parts follow. */
enum { TEST_SLOTS = 64 };

typedef struct test_pass {
    char name[32];  /* "pass_17" */
    char what[128]; /* method, preconditioner, block size */
    tess_pass_kernel kernel;
    tess_type type;
    tess_diagonal diagonal; /* the preconditioner's, without blocks */
    int64_t updates;
    tess_update update[TEST_PASS_UPDATES];
    char defines[TESS_PASS_TEXT];
} test_pass;

/* loop.cu and between.cu for a method and block size, without a device. */
enum { TEST_PROGRAMME = 512 };

typedef struct test_loop {
    char name[32]; /* "loop_3" */
    const char *method;
    const tess_pc_ops *pc;
    int32_t block;
    tess_type type, held;
    bool fused; /* products leave the parts of their dots */
    tess_loop_code code;
    int programme_count;
    int programme[TEST_PROGRAMME];
    int betweens; /* "between_3_0", "between_3_1" */
    tess_between between[TEST_BETWEENS];
} test_loop;

/* Writes up to `capacity` loops; returns how many there are. */
int test_loops(test_loop *loops, int capacity);

/* Writes up to `capacity` passes; returns how many there are. */
int test_passes(test_pass *passes, int capacity);

#endif

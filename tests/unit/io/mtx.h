/* How Matrix Market files are read in tests: with every chunk size by every number of threads. */
#ifndef TEST_MTX_H
#define TEST_MTX_H

#include "matrix/io/mm.h"
#include "unit/io/files.h"

static const size_t chunks[] = {1, 7, 33, 256, TESS_TEXT_CHUNK};
static const int thread_counts[] = {1, 2, 3, 7};

#define EACH(i, array) for (size_t i = 0; i < sizeof(array) / sizeof *(array); i++)
#define MTX "%%MatrixMarket matrix "
#define HEAD MTX "coordinate real general\n"

#endif

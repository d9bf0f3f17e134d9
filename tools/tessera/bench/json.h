/* The document of `tessera bench --json`. */
#ifndef TESSERA_BENCH_JSON_H
#define TESSERA_BENCH_JSON_H

#include <jansson.h>

#include "bench.h"
#include "search.h"

/* `search` may be NULL. NULL: no memory. */
json_t *bench_json(const tess_device *device, const tess_matrix *A, const char *input,
                   const char *product, const bench_report *report, const bench_search *search);

#endif

/* For `tessera predict --map`. */
#ifndef TOOLS_PREDICT_H
#define TOOLS_PREDICT_H

#include "plan/model.h"

typedef struct map_request {
    const tess_model *model;
    tess_model_problem problem; /* block size, precision and kernel class are taken from it */
    tess_link link;
    int devices; /* at least 2 */
    bool best;
} map_request;

tess_status predict_map(tess_ctx *ctx, const char *path, const map_request *request);

#endif

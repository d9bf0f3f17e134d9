/* The JSON form of models: for file.c and profile.c. */
#pragma once

#include <jansson.h>

#include "plan/model/model.h"

/* *out stays as it is when the document has no such device. */
tess_status tess_model_from_json(tess_ctx *ctx, const json_t *document, const char *device,
                                 tess_model **out);

/* The profiles that were built in: texts of model files, then NULL. */
extern const char *const tess_profiles[];

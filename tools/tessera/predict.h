/* tessera predict --map. */
#ifndef TOOLS_PREDICT_H
#define TOOLS_PREDICT_H

#include "command.h"

/* Draws CG's GFLOP/s on one device and on options->devices devices (at least 2), and the speed-up,
 * for regular matrices with A's block size and the kernel that would be taken for A. */
int predict_map(cli_app *app, const char *path, const tess_matrix *A, tess_device *device,
                const char *model, const tess_predict_options *options);

#endif

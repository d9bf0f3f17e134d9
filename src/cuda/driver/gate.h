/* A gate holds a stream until the host opens it, so that many launches wait in the stream and then
 * run one after the other without the host. Calls are made between tess_cuda_enter and
 * tess_cuda_leave. */
#pragma once

#include "cuda/driver/device.h"

/* Launches put into the stream from now on wait for tess_cuda_open_gate, 20 ms at most. */
tess_status tess_cuda_shut_gate(tess_cuda *cuda, cu_stream stream);
/* Opens all gates that were shut. */
void tess_cuda_open_gate(tess_cuda *cuda);

/* How fast the device reads; ceiling.c says how it is measured. */
#pragma once

#include "backend/backend.h"

/* The most bytes a second that the device's threads read from an array of `bytes` bytes read again
 * and again: the best of all ways that ceiling.c has, huge pages where the system gives them. */
tess_status tess_cpu_read_ceiling(tess_device *device, double bytes, double *bytes_per_second);
/* The backend's read_samples; forget_reading frees the array that they read. */
tess_status tess_cpu_read_samples(tess_device *device, double bytes, tess_readings *samples);
void tess_cpu_forget_reading(tess_device *device);

/* How fast the device reads; ceiling.c says how it is measured. */
#pragma once

#include "backend/backend.h"

/* Measures the read ceiling: the most bytes/s at which the device's threads read an array of
 * `bytes` bytes again and again. It is the best of all ways in ceiling.c, on huge pages where the
 * system gives them. */
tess_status tess_cpu_read_ceiling(tess_device *device, double bytes, double *bytes_per_second);
/* The backend's read_samples; forget_reading frees the array that they read. */
tess_status tess_cpu_read_samples(tess_device *device, double bytes, tess_readings *samples);
void tess_cpu_forget_reading(tess_device *device);

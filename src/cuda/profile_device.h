/* The devices "profile:NAME": GPUs that are known by their performance model only. */
#ifndef TESS_CUDA_PROFILE_DEVICE_H
#define TESS_CUDA_PROFILE_DEVICE_H

/* The i-th NAME; NULL behind the last. */
const char *tess_profile_name(int i);

#endif

/* The devices "profile:NAME": GPUs that are known by their performance model only. */
#pragma once

/* The i-th NAME; NULL behind the last. */
const char *tess_profile_name(int i);

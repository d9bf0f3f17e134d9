/* Products of one of several parts: tess_backend.part_multiply. */
#pragma once

#include "backend/backend.h"

tess_status tess_cuda_part_open(tess_plan *plan);
tess_status tess_cuda_part_multiply(tess_plan *plan, const tess_part_product *product,
                                    tess_status status);
void tess_cuda_part_release(tess_plan *plan);

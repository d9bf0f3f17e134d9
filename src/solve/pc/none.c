/* No preconditioner: M = I. */
#include "solve/pc/pc.h"

const tess_pc_ops tess_pc_none = {
    .name = "none",
    .summary = "no preconditioner",
    .identity = true,
    .complex = true,
};

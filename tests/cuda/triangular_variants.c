#include "triangular_variants.h"

#include <stdio.h>

int test_triangular_variants(test_triangular *variants, int capacity)
{
    static const int32_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 33, 300};
    static const tess_type types[][2] = {{TESS_F64, TESS_F64}, {TESS_F64, TESS_F32},
                                         {TESS_F32, TESS_F32}, {TESS_C64, TESS_C64},
                                         {TESS_C64, TESS_C32}, {TESS_C32, TESS_C32}};
    int count = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        /* Complex scalars at every second size. */
        for (int t = 0; t < (s % 2 == 0 ? 12 : 6); t++) {
            const tess_type *pair = types[t / 6 * 3 + t % 3];
            const bool second = t % 6 >= 3;
            const tess_triangle_tuning narrow = tess_triangle_guess(pair[0], sizes[s], 0);
            const tess_triangle_tuning wide = tess_triangle_guess(pair[0], sizes[s], 1e9);
            if (second && wide.depth == narrow.depth)
                continue; /* the same code */
            if (count++ >= capacity)
                continue;
            test_triangular *v = &variants[count - 1];
            *v = (test_triangular){.block = sizes[s],
                                   .vector_type = pair[0],
                                   .type = pair[1],
                                   .tuning = second ? wide : narrow};
            snprintf(v->name, sizeof v->name, "triangular_b%d_%s_%s%s", (int)sizes[s],
                     tess_type_name(v->vector_type), tess_type_name(v->type),
                     second ? "_wide" : "");
            tess_triangle_defines(&v->tuning, v->block, v->vector_type, v->type, v->defines,
                                  sizeof v->defines);
        }
    }
    return count;
}

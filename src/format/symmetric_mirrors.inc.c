/* Whether a block is the transpose of another one, without NaN: a template for REAL and SUFFIX. */
#define PASTE_(a, b) a##_##b
#define PASTE(a, b) PASTE_(a, b)

static inline bool PASTE(equal, SUFFIX)(const REAL *block, const REAL *mirror, const int b)
{
    bool equal = true;
    for (int q = 0; q < b; q++)
        for (int p = 0; p < b; p++)
            equal &= block[q * b + p] == mirror[p * b + q];
    return equal;
}

#undef PASTE
#undef PASTE_

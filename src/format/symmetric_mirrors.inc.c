/* Whether a block is the transpose of another one; a NaN equals nothing. A template for REAL and
 * SUFFIX. */
static inline bool TESS_PASTE(equal_, SUFFIX)(const REAL *block, const REAL *mirror, const int b)
{
    bool equal = true;
    for (int q = 0; q < b; q++)
        for (int p = 0; p < b; p++)
            equal &= block[q * b + p] == mirror[p * b + q];
    return equal;
}

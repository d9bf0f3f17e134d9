/* Where the scalars of a vector are.
 *
 *   FIELDS   0: blocks follow each other: scalar i of block j is element j size + i
 *            1: by fields, all first scalars of the blocks, then all second ones: scalar i of block
 *               j is element i n + j, of n blocks. Vectors have whole blocks and fewer than 2^31
 *               scalars.
 */
#ifndef TESS_FIELDS_CUH
#define TESS_FIELDS_CUH

#ifndef FIELDS
#define FIELDS 0
#endif

/* Where scalar i of block j is in a vector by fields, which has `count` scalars. */
DEVICE long long field_place(long long j, int i, long long count, unsigned size)
{
    return j + (long long)i * (long long)((unsigned)count / size);
}

/* Where scalar `row` of y is; y has `rows` scalars. */
DEVICE long long y_place(long long row, long long rows)
{
#if FIELDS
    return field_place((unsigned)row / BH, (int)((unsigned)row % BH), rows, BH);
#else
    (void)rows;
    return row;
#endif
}

#endif

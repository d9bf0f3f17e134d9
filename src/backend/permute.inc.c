/* permute.c in one precision: REAL is the type; PASS, NODES and FEW are the functions' names. A
 * share does some of the nodes, which are rows of the result, or with fields rows of a field. */

/* Permutes one vector node by node. `fields` is a constant for the compiler, which unrolls. */
static inline void NODES(const tess_permute *p, int64_t first, int64_t last, const int fields)
{
    const int64_t length = p->rows / fields, begins = p->begins;
    const REAL *restrict from = p->from;
    REAL *restrict to = p->to;
    if (p->to_fields)
        for (int64_t n = first; n < last; n++)
            for (int f = 0; f < fields; f++)
                to[f * length + n] = from[(n - begins) * fields + f];
    else
        for (int64_t n = first; n < last; n++)
            for (int f = 0; f < fields; f++)
                to[(n - begins) * fields + f] = from[f * length + n];
}

/* Permutes one vector of two to eight fields, and returns whether it was one. As fast as a plain
 * copy; field by field takes 1.2 to 1.8 times as long (AVX-512 Xeon, vectors of 0.5 to 7 MB). */
static bool FEW(const tess_permute *p, int64_t first, int64_t last)
{
    if (p->vectors != 1 || p->beta != 0 || p->from_row != 1 || p->to_row != 1)
        return false;
    switch (p->fields) {
    case 2:
        NODES(p, first, last, 2);
        return true;
    case 3:
        NODES(p, first, last, 3);
        return true;
    case 4:
        NODES(p, first, last, 4);
        return true;
    case 5:
        NODES(p, first, last, 5);
        return true;
    case 6:
        NODES(p, first, last, 6);
        return true;
    case 7:
        NODES(p, first, last, 7);
        return true;
    case 8:
        NODES(p, first, last, 8);
        return true;
    }
    return false;
}

static void PASS(const tess_permute *p, int64_t first, int64_t last)
{
    if (FEW(p, first, last))
        return;
    const int fields = p->fields > 0 ? p->fields : 1;
    const int64_t length = p->rows / fields;
    const bool to_fields = p->fields > 0 && p->to_fields, together = p->fields > 0 && !p->to_fields;
    const int64_t to_step = (together ? fields : 1) * p->to_row;
    const int64_t from_step = (to_fields ? fields : 1) * p->from_row;
    const int64_t to_begins = together ? p->begins : 0, from_begins = to_fields ? p->begins : 0;
    const REAL beta = (REAL)p->beta;
    for (int f = 0; f < fields; f++)
        for (int v = 0; v < p->vectors; v++) {
            REAL *to = (REAL *)p->to + f * (together ? 1 : length) * p->to_row + v * p->to_vector;
            const REAL *from = (const REAL *)p->from + f * (to_fields ? 1 : length) * p->from_row +
                               v * p->from_vector;
            if (p->fields > 0 && beta == 0)
                for (int64_t n = first; n < last; n++)
                    to[(n - to_begins) * to_step] = from[(n - from_begins) * from_step];
            else if (p->fields > 0)
                for (int64_t n = first; n < last; n++)
                    to[(n - to_begins) * to_step] =
                        from[(n - from_begins) * from_step] + beta * to[(n - to_begins) * to_step];
            else if (beta == 0)
                for (int64_t n = first; n < last; n++)
                    to[n * to_step] = from[p->source[n] * from_step];
            else
                for (int64_t n = first; n < last; n++)
                    to[n * to_step] = from[p->source[n] * from_step] + beta * to[n * to_step];
        }
}

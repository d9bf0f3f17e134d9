/* permute.c in one precision: REAL is the type, PASS the function's name. A share does some of the
 * nodes, which are rows of the result, or with fields rows of a field. */

static void PASS(const tess_permute *p, int64_t first, int64_t last)
{
    const int fields = p->fields > 0 ? p->fields : 1;
    const int64_t length = p->rows / fields;
    const bool to_fields = p->fields > 0 && p->to_fields, together = p->fields > 0 && !p->to_fields;
    const int64_t to_step = (together ? fields : 1) * p->to_row;
    const int64_t from_step = (to_fields ? fields : 1) * p->from_row;
    const REAL beta = (REAL)p->beta;
    for (int f = 0; f < fields; f++)
        for (int v = 0; v < p->vectors; v++) {
            REAL *to = (REAL *)p->to + f * (together ? 1 : length) * p->to_row + v * p->to_vector;
            const REAL *from = (const REAL *)p->from + f * (to_fields ? 1 : length) * p->from_row +
                               v * p->from_vector;
            if (p->fields > 0 && beta == 0)
                for (int64_t n = first; n < last; n++)
                    to[n * to_step] = from[n * from_step];
            else if (p->fields > 0)
                for (int64_t n = first; n < last; n++)
                    to[n * to_step] = from[n * from_step] + beta * to[n * to_step];
            else if (beta == 0)
                for (int64_t n = first; n < last; n++)
                    to[n * to_step] = from[p->source[n] * from_step];
            else
                for (int64_t n = first; n < last; n++)
                    to[n * to_step] = from[p->source[n] * from_step] + beta * to[n * to_step];
        }
}
